//! The futex word on which a process's waiting thread sleeps; every publisher of its subscriptions maps it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU32;

use rustix::io::Errno;

use crate::memory::Map;

const BYTES: usize = 4096;

pub struct Bell(Map);

impl Bell {
    pub fn create() -> Result<(Bell, OwnedFd), Errno> {
        let (map, fd) = Map::create("rmwbench-floor-bell", BYTES)?;
        Ok((Bell(map), fd))
    }

    pub fn open(fd: impl AsFd) -> Result<Bell, Errno> {
        Ok(Bell(Map::open(fd, BYTES)?))
    }

    #[inline]
    pub fn word(&self) -> &AtomicU32 {
        self.0.atomic(0)
    }
}
