//! An eventfd, by which other threads wake one that sleeps in poll(2).

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use rmwbench_harness::middleware::Error;

pub struct EventFd(File);

impl EventFd {
    pub fn new() -> Result<Self, Error> {
        // SAFETY: plain integers; the descriptor is ours.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(Error::failed("eventfd", std::io::Error::last_os_error()));
        }
        // SAFETY: a fresh descriptor that nobody else holds.
        Ok(EventFd(unsafe { File::from_raw_fd(fd) }))
    }

    pub fn raise(&self) {
        let _ = (&self.0).write_all(&1_u64.to_ne_bytes()); // full: it is already raised
    }

    pub fn clear(&self) {
        let _ = (&self.0).read_exact(&mut [0; 8]);
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
