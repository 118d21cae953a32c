//! RouDi for PSMX: the one of the iceoryx with which this worker is linked (Debian's iox-roudi
//! 2.0.3 speaks another protocol), in a process of its own, with pools sized for robots' messages.

use std::ffi::c_void;
use std::os::unix::fs::MetadataExt;

use rmwbench_harness::middleware::{Daemon, Error, SessionConfig};
use rmwbench_roudi::{Few, Pool, Rules};
pub use rmwbench_roudi::{MODE, NAME, POOLS};

/// Why a shared host has no RouDi: the names of its socket and segments are compiled into iceoryx.
pub const ONE_PER_MACHINE: &str = "iceoryx has one RouDi under one name per machine, and applications of a robot here would join it";
const RULES: Rules = Rules { multiple_bytes: 8, few: Few::Refused };
/// The socket on which RouDi listens, as iceoryx names it.
const SOCKET: &str = "/tmp/iox1_0_i_roudi";

extern "C" {
    fn rmwbench_roudi_start(pools: *const Pool, count: usize) -> *mut c_void;
    fn rmwbench_roudi_stop(daemon: *mut c_void);
}

/// A RouDi that serves; dropping it removes its segments, sockets and locks.
pub struct RouDi(*mut c_void);

impl RouDi {
    /// Starts RouDi in this process. Errors: invalid pools; any other error ends the process with
    /// iceoryx's text.
    pub fn start(config: &SessionConfig) -> Result<RouDi, Error> {
        let pools = pools(config)?;
        rmwbench_roudi::refuse_second(SOCKET)?;
        // SAFETY: the list outlives the call, which copies it.
        Ok(RouDi(unsafe { rmwbench_roudi_start(pools.as_ptr(), pools.len()) }))
    }
}

impl Daemon for RouDi {}

impl Drop for RouDi {
    fn drop(&mut self) {
        // SAFETY: ours, ended once.
        unsafe { rmwbench_roudi_stop(self.0) };
    }
}

/// The RouDi that serves this host now, so that another one can be distinguished from it; None if
/// there is none.
pub fn serving() -> Option<Serving> {
    let file = std::fs::metadata(SOCKET).ok()?;
    rmwbench_roudi::listens(SOCKET)
        .then(|| Serving { inode: file.ino(), created_at: (file.ctime(), file.ctime_nsec()) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serving {
    inode: u64,
    created_at: (i64, i64),
}

/// The pools that the option or the modes request, or else the default, smallest first.
pub fn pools(config: &SessionConfig) -> Result<Vec<Pool>, Error> {
    Ok(RULES.requested_pools(config)?.unwrap_or_else(|| RULES.default_pools()))
}

/// The pools as text, for a note.
pub fn described(pools: &[Pool]) -> String {
    let pools: Vec<String> =
        pools.iter().map(|pool| format!("{} × {} bytes", pool.chunks, pool.chunk_bytes)).collect();
    format!("RouDi's pools as the modes ask: {}", pools.join(", "))
}
