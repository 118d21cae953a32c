//! A publisher's messages: slots in one shared segment, and for each slot the set of readers that
//! still hold it.
//!
//! There is one pool per publisher and not one per reader: a message for three readers is written
//! once, and a loan serves all of them. A slot has a bit per reader instead of a count, so that the
//! slots of a killed reader can be taken back.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::io::Errno;

use crate::memory::Map;

/// Each reader has one bit of a 64-bit word.
pub const MAX_READERS: usize = 64;

const LINE: usize = 64;
const PAGE: usize = 4096;
/// The word on which a blocked publisher sleeps; readers wake it.
const SPACE: usize = 0;
const HOLDERS: usize = PAGE;

pub struct Pool {
    map: Map,
    slots: u32,
    slot_bytes: u32,
    stride: usize,
    payloads: usize,
}

impl Pool {
    pub fn create(slots: u32, slot_bytes: u32) -> Result<(Pool, OwnedFd), Errno> {
        let (stride, payloads, bytes) = layout(slots, slot_bytes);
        let (map, fd) = Map::create("rmwbench-floor-pool", bytes)?;
        Ok((Pool { map, slots, slot_bytes, stride, payloads }.populated(), fd))
    }

    pub fn open(fd: impl AsFd, slots: u32, slot_bytes: u32) -> Result<Pool, Errno> {
        let (stride, payloads, bytes) = layout(slots, slot_bytes);
        Ok(Pool { map: Map::open(fd, bytes)?, slots, slot_bytes, stride, payloads }.populated())
    }

    /// The slots that are used while no reader lags, which are the lowest.
    fn populated(self) -> Pool {
        self.map.populate(0, HOLDERS + LINE);
        self.map.populate(self.payloads, self.stride * 2.min(self.slots as usize));
        self
    }

    pub fn slots(&self) -> u32 {
        self.slots
    }

    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes as usize
    }

    pub fn space(&self) -> &AtomicU32 {
        self.map.atomic(SPACE)
    }

    /// The readers that hold `slot`, a bit each.
    #[inline]
    pub fn holders(&self, slot: u32) -> &AtomicU64 {
        assert!(slot < self.slots);
        self.map.atomic(HOLDERS + slot as usize * LINE)
    }

    #[inline]
    pub fn payload(&self, slot: u32) -> *mut u8 {
        assert!(slot < self.slots);
        self.map.pointer(self.payloads + slot as usize * self.stride)
    }
}

/// The stride of a slot, the offset of the first payload, the size of the segment.
fn layout(slots: u32, slot_bytes: u32) -> (usize, usize, usize) {
    // At least two lines: the hardware prefetches lines in pairs, and neighbours belong to
    // different messages.
    let grain = if slot_bytes as usize >= PAGE { PAGE } else { 2 * LINE };
    let stride = (slot_bytes as usize).max(1).div_ceil(grain) * grain;
    let payloads = (HOLDERS + slots as usize * LINE).div_ceil(PAGE) * PAGE;
    (stride, payloads, payloads + stride * slots as usize)
}
