//! RouDi of iceoryx 2.0 as distributions install it: Debian's, and ROS 2's `iox-roudi`.
//!
//! The worker on rclcpp is in C++ and uses this code through the harness's C library.

use std::ffi::{c_char, c_int, CStr};

use rmwbench_harness::c_api::{answer, raw};
use rmwbench_harness::middleware::Error;

use crate::{listens, Few, Pool, Rules, NAME};

pub const RULES: Rules = Rules { multiple_bytes: 32, few: Few::LeftOut };
/// The socket on which it listens.
pub const SOCKET: &str = "/tmp/roudi";

/// The configuration file of a RouDi with these pools, in TOML.
pub fn written(pools: &[Pool]) -> String {
    let mut text = "[general]\nversion = 1\n\n[[segment]]\n".to_string();
    for pool in pools {
        text += &format!(
            "\n[[segment.mempool]]\nsize = {}\ncount = {}\n",
            pool.chunk_bytes, pool.chunks
        );
    }
    text
}

#[no_mangle]
extern "C" fn rmwbench_roudi_serves() -> c_int {
    listens(SOCKET).into()
}

/// # Safety
/// `pools` is a text, `file` has `room` bytes, and `error` is an error of the header.
#[no_mangle]
unsafe extern "C" fn rmwbench_roudi_file(
    pools: *const c_char,
    file: *mut c_char,
    room: usize,
    error: *mut raw::Error,
) -> c_int {
    let pools = CStr::from_ptr(pools).to_string_lossy();
    let text = RULES.listed(&pools).and_then(|pools| {
        let text = written(&pools);
        let fits = text.len() < room;
        fits.then_some(text).ok_or_else(|| {
            Error::failed(format!("daemon {NAME}"), format!("its file has more than {room} bytes"))
        })
    });
    answer(text, std::slice::from_raw_parts_mut(file, room), &mut *error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_is_given_the_file_or_the_error() {
        let write_file = |pools: &CStr, room: usize| {
            let mut error = raw::Error { kind: -1, object: [0; 128], message: [0; 1920] };
            let mut file = vec![1 as c_char; room];
            // SAFETY: each has the stated room, and every text ends with a NUL.
            unsafe {
                let status =
                    rmwbench_roudi_file(pools.as_ptr(), file.as_mut_ptr(), room, &mut error);
                let text = if status == 1 { file.as_ptr() } else { error.object.as_ptr() };
                (status, error.kind, CStr::from_ptr(text).to_str().unwrap().to_string())
            }
        };
        let file = written(&[Pool { chunk_bytes: 1025 << 10, chunks: 48 }]);
        assert_eq!(write_file(c"1M:48", 4096), (1, -1, file));
        assert_eq!(write_file(c"1M", 4096), (0, 1, "option roudi_pools".into()));
        assert_eq!(write_file(c"1M:48", 16), (0, 2, "daemon roudi".into()));
    }
}
