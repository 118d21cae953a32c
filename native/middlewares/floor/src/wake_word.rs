//! The futex word on which a process's receive loop sleeps; every publisher of its subscriptions
//! maps it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU32;

use rustix::io::Errno;

use crate::memory::Map;

const BYTES: usize = 4096;

pub struct WakeWord(Map);

impl WakeWord {
    pub fn create() -> Result<(WakeWord, OwnedFd), Errno> {
        let (map, fd) = Map::create("rmwbench-floor-wake", BYTES)?;
        Ok((WakeWord(map), fd))
    }

    pub fn open(fd: impl AsFd) -> Result<WakeWord, Errno> {
        Ok(WakeWord(Map::open(fd, BYTES)?))
    }

    #[inline]
    pub fn word(&self) -> &AtomicU32 {
        self.0.atomic(0)
    }
}
