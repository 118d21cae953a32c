//! The keystore of a trial ([`crate::keystore`]) for middlewares in C or C++.

use std::ffi::{c_char, c_int};

use super::{answer, raw};
use crate::keystore::Keystore;
use crate::middleware::Error;

/// # Safety
/// `directory` has `room` bytes, and `error` is an error of the header.
#[no_mangle]
unsafe extern "C" fn rmwbench_security_keystore(
    trial_nonce: u64,
    directory: *mut c_char,
    room: usize,
    error: *mut raw::Error,
) -> c_int {
    let path = Keystore::of(trial_nonce).and_then(|keystore| {
        let path = keystore.directory().as_os_str().as_encoded_bytes().to_vec();
        let fits = path.len() < room;
        fits.then_some(path).ok_or_else(|| {
            Error::failed(
                "mode security",
                format!("the path of the keystore is longer than {room} bytes"),
            )
        })
    });
    answer(path, std::slice::from_raw_parts_mut(directory, room), &mut *error)
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::fs;

    use super::*;

    #[test]
    fn the_path_of_the_keystore_ends_with_a_nul_and_one_that_does_not_fit_is_an_error() {
        let nonce = u64::from(std::process::id()) << 32 | 9;
        let mut error = raw::Error { kind: -1, object: [1; 128], message: [1; 1920] };
        let mut directory = [1 as c_char; 512];
        // SAFETY: both have the stated room, and every text ends with a NUL.
        let (directory_text, short, object) = unsafe {
            assert_eq!(
                rmwbench_security_keystore(
                    nonce,
                    directory.as_mut_ptr(),
                    directory.len(),
                    &mut error
                ),
                1
            );
            let directory_text = CStr::from_ptr(directory.as_ptr()).to_str().unwrap().to_string();
            let short = rmwbench_security_keystore(nonce, directory.as_mut_ptr(), 4, &mut error);
            (directory_text, short, CStr::from_ptr(error.object.as_ptr()).to_str().unwrap())
        };
        assert!(fs::metadata(format!("{directory_text}/enclaves/rmwbench/permissions.p7s")).is_ok());
        assert_eq!((short, error.kind, object), (0, 2, "mode security"));
        fs::remove_dir_all(directory_text).unwrap();
    }
}
