//! The recorder: it writes 64-byte slots in memory that the orchestrator owns. Slots are claimed
//! atomically, and published with a release store.
//!
//! No allocation, lock or system call: a record costs one atomic addition and one cache line. Slots
//! are claimed atomically because callbacks may come from a pool; they are claimed per endpoint so
//! that two endpoints never share the counter's cache line.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};

use crate::middleware::Error;

pub const SLOT_BYTES: usize = 64;
pub const MAGIC: &[u8; 8] = b"RMWBREC1";
pub const VERSION: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    Sent = 1,
    Received = 2,
    Span = 3,
}

/// Flags of a SENT record.
pub mod sent_flag {
    pub const FAILED: u32 = 1;
    pub const LOANED: u32 = 2;
    pub const WARMUP: u32 = 4;
}

/// Flags of a RECEIVED record.
pub mod received_flag {
    pub const CORRUPT: u32 = 1;
    pub const ZERO_COPY: u32 = 2;
    pub const WARMUP: u32 = 4;
    pub const LATE: u32 = 8;
    pub const FOREIGN: u32 = 16;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub seq: u64,
    pub intended_ns: i64,
    pub begun_ns: i64,
    pub call_ns: i64,
    pub return_ns: i64,
    pub cause_seq: u64,
    pub cause_endpoint: u32,
    pub bytes: u32,
    pub flags: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    pub seq: u64,
    pub notified_ns: i64,
    pub taken_ns: i64,
    pub callback_ns: i64,
    pub consumed_ns: i64,
    pub intended_ns: i64,
    pub writer: u32,
    pub bytes: u32,
    pub flags: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub seq: u64,
    pub time_ns: i64,
    pub layer: u32,
    pub writer: u32,
}

/// The mapped records file.
pub struct Records {
    map: NonNull<u8>,
    bytes: usize,
    nonce: u64,
}

// SAFETY: the map is only reached through atomics and through slots that one claim owns.
unsafe impl Send for Records {}
unsafe impl Sync for Records {}

impl Records {
    /// Maps the file and faults every page in, so that the hot path never does.
    pub fn map(fd: OwnedFd) -> Result<Arc<Records>, Error> {
        let file = File::from(fd);
        let bytes = file.metadata().map_err(|e| Error::failed("records file", e))?.len() as usize;
        if bytes < SLOT_BYTES {
            return Err(Error::invalid(
                "records file",
                format!("expected at least {SLOT_BYTES} bytes, found {bytes}"),
            ));
        }
        // SAFETY: a fresh shared mapping of a file that the orchestrator sized before it started
        // us.
        let map = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::POPULATE,
                &file,
                0,
            )
        }
        .map_err(|e| Error::failed("records file", e))?;
        let records =
            Records { map: NonNull::new(map.cast()).expect("mmap returned null"), bytes, nonce: 0 };
        records.checked().map(Arc::new)
    }

    fn checked(mut self) -> Result<Records, Error> {
        let wrong = |what: &str, expected: String, found: String| {
            Err(Error::invalid(
                "records file",
                format!("{what}: expected {expected}, found {found}"),
            ))
        };
        // SAFETY: the header lies within the map, whose size was checked.
        let magic: [u8; 8] = unsafe { self.map.as_ptr().cast::<[u8; 8]>().read() };
        if &magic != MAGIC {
            return wrong("magic", format!("{MAGIC:?}"), format!("{magic:?}"));
        }
        if self.u32_at(8) != VERSION {
            return wrong("version", VERSION.to_string(), self.u32_at(8).to_string());
        }
        if self.u64_at(24) != self.bytes as u64 {
            return wrong("size", self.u64_at(24).to_string(), self.bytes.to_string());
        }
        let sections = self.u32_at(12) as usize;
        if SLOT_BYTES * (1 + sections) > self.bytes {
            return wrong(
                "sections",
                format!("room for {sections}"),
                format!("{} bytes", self.bytes),
            );
        }
        for section in 0..sections {
            let entry = SLOT_BYTES * (1 + section);
            let (offset, capacity) = (self.u64_at(entry + 8), self.u64_at(entry + 16));
            let end = capacity.checked_mul(SLOT_BYTES as u64).and_then(|b| b.checked_add(offset));
            if offset % 4096 != 0 || end.is_none_or(|end| end > self.bytes as u64) {
                return wrong(
                    "section bounds",
                    format!("within {} bytes", self.bytes),
                    format!("{offset} + {capacity} slots"),
                );
            }
        }
        self.nonce = self.u64_at(16);
        Ok(self)
    }

    pub fn nonce(&self) -> u64 {
        self.nonce
    }

    /// The section of `endpoint` for records of `kind`, or None where the plan has none.
    pub fn section(self: &Arc<Self>, kind: Kind, endpoint: u32) -> Option<Section> {
        let entry = (0..self.u32_at(12) as usize)
            .map(|i| SLOT_BYTES * (1 + i))
            .find(|&e| self.u32_at(e) == kind as u32 && self.u32_at(e + 4) == endpoint)?;
        // SAFETY: `checked` found the entry and its slots within the map; `_records` keeps it
        // mapped.
        let (claimed, slots) = unsafe {
            let claimed =
                NonNull::new_unchecked(self.map.as_ptr().add(entry + 24).cast::<AtomicU64>());
            (
                claimed,
                NonNull::new_unchecked(self.map.as_ptr().add(self.u64_at(entry + 8) as usize)),
            )
        };
        Some(Section {
            claimed,
            slots,
            capacity: self.u64_at(entry + 16),
            endpoint,
            _records: self.clone(),
        })
    }

    fn u32_at(&self, offset: usize) -> u32 {
        // SAFETY: callers stay within the checked size.
        unsafe { self.map.as_ptr().add(offset).cast::<u32>().read() }
    }

    fn u64_at(&self, offset: usize) -> u64 {
        // SAFETY: as above.
        unsafe { self.map.as_ptr().add(offset).cast::<u64>().read() }
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        // SAFETY: every Section holds an Arc of self, so no slot is in use.
        let _ = unsafe { munmap(self.map.as_ptr().cast(), self.bytes) };
    }
}

/// The slots of one endpoint and kind.
pub struct Section {
    claimed: NonNull<AtomicU64>,
    slots: NonNull<u8>,
    capacity: u64,
    endpoint: u32,
    _records: Arc<Records>,
}

// SAFETY: as for Records.
unsafe impl Send for Section {}
unsafe impl Sync for Section {}

impl Section {
    pub fn endpoint(&self) -> u32 {
        self.endpoint
    }

    #[inline]
    pub fn sent(&self, r: &Sent) {
        let words = [
            r.seq,
            r.intended_ns as u64,
            r.begun_ns as u64,
            r.call_ns as u64,
            r.return_ns as u64,
            r.cause_seq,
        ];
        self.store(words, r.cause_endpoint, r.bytes, Kind::Sent as u32 | r.flags << 8);
    }

    #[inline]
    pub fn received(&self, r: &Received) {
        self.taken(r);
    }

    /// Records a message that is kept for a while; returns its slot, into which the end of that
    /// time is still to be written. None if no slot was left.
    #[inline]
    pub fn taken(&self, r: &Received) -> Option<Kept<'_>> {
        let words = [
            r.seq,
            r.notified_ns as u64,
            r.taken_ns as u64,
            r.callback_ns as u64,
            r.consumed_ns as u64,
            r.intended_ns as u64,
        ];
        // SAFETY: the slot lies within the map, eight words of eight bytes on a cache line.
        self.store(words, r.writer, r.bytes, Kind::Received as u32 | r.flags << 8)
            .map(|slot| Kept(unsafe { slot.add(CONSUMED_OFFSET).cast::<AtomicI64>().as_ref() }))
    }

    #[inline]
    pub fn span(&self, r: &Span) {
        self.store(
            [r.seq, r.time_ns as u64, u64::from(r.layer), 0, 0, 0],
            r.writer,
            0,
            Kind::Span as u32,
        );
    }

    #[inline]
    fn store(&self, words: [u64; 6], peer: u32, bytes: u32, last: u32) -> Option<NonNull<u8>> {
        // SAFETY: `claimed` lies in the map that `_records` keeps.
        let slot = unsafe { self.claimed.as_ref() }.fetch_add(1, Ordering::Relaxed);
        if slot >= self.capacity {
            return None; // `claimed` counts it, and the orchestrator voids the trial
        }
        // SAFETY: the claim makes this slot ours alone, and it lies within the map.
        unsafe {
            let slot = self.slots.as_ptr().add(slot as usize * SLOT_BYTES);
            slot.cast::<[u64; 6]>().write(words);
            slot.add(48).cast::<[u32; 3]>().write([peer, self.endpoint, bytes]);
            (*slot.add(60).cast::<AtomicU32>()).store(last, Ordering::Release);
            Some(NonNull::new_unchecked(slot))
        }
    }
}

/// The offset of `consumed_ns` in a RECEIVED slot (docs/formats/records.md).
const CONSUMED_OFFSET: usize = 32;

/// A message that was taken and is not consumed yet. Its `consumed_ns` is 0 until it is consumed,
/// even if this process is killed meanwhile.
pub struct Kept<'s>(&'s AtomicI64);

impl Kept<'_> {
    pub fn consumed(self, time_ns: i64) {
        self.0.store(time_ns, Ordering::Release);
    }
}

/// Builds an empty records file for the harness's own tests and benches; in a trial the
/// orchestrator (Python) builds it.
pub fn layout(nonce: u64, sections: &[(Kind, u32, u64)]) -> Vec<u8> {
    let page = |bytes: usize| bytes.div_ceil(4096) * 4096;
    let mut next = page(SLOT_BYTES * (1 + sections.len()));
    let mut header = Vec::new();
    for &(kind, endpoint, capacity) in sections {
        header.extend((kind as u32).to_le_bytes());
        header.extend(endpoint.to_le_bytes());
        header.extend((next as u64).to_le_bytes());
        header.extend(capacity.to_le_bytes());
        header.extend([0; 40]);
        next += page(capacity as usize * SLOT_BYTES);
    }
    let mut file = Vec::with_capacity(next);
    file.extend(MAGIC);
    file.extend(VERSION.to_le_bytes());
    file.extend((sections.len() as u32).to_le_bytes());
    file.extend(nonce.to_le_bytes());
    file.extend((next as u64).to_le_bytes());
    file.extend([0; 32]);
    file.extend(header);
    file.resize(next, 0);
    file
}

/// A memfd with `content`: the form in which records files travel.
pub fn memfd(content: &[u8]) -> std::io::Result<OwnedFd> {
    use std::io::Write;
    let fd = rustix::fs::memfd_create("rmwbench-records", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(fd);
    file.write_all(content)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::io::Seek;

    fn contents(fd: &OwnedFd) -> Vec<u8> {
        let mut file = File::from(fd.try_clone().unwrap());
        file.rewind().unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn concurrent_claims_lose_nothing_and_overflow_is_counted() {
        let fd = memfd(&layout(5, &[(Kind::Sent, 1, 8), (Kind::Received, 2, 1000)])).unwrap();
        let records = Records::map(fd.try_clone().unwrap()).unwrap();
        let section = records.section(Kind::Received, 2).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let section = &section;
                scope.spawn(move || {
                    (0..300).for_each(|seq| {
                        section.received(&Received { seq, writer, bytes: 9, ..Default::default() })
                    })
                });
            }
        });
        let bytes = contents(&fd);
        let claimed = u64::from_le_bytes(bytes[64 + 64 + 24..64 + 64 + 32].try_into().unwrap());
        assert_eq!(claimed, 1200);
        let start =
            u64::from_le_bytes(bytes[64 + 64 + 8..64 + 64 + 16].try_into().unwrap()) as usize;
        let mut seen = std::collections::HashSet::new();
        for slot in bytes[start..start + 1000 * 64].chunks(64) {
            assert_eq!(u32::from_le_bytes(slot[60..64].try_into().unwrap()), 2);
            assert!(seen.insert((slot[48], u64::from_le_bytes(slot[..8].try_into().unwrap()))));
        }
    }

    #[test]
    fn a_file_that_is_not_ours_is_refused_with_expected_and_found() {
        let mut file = layout(5, &[(Kind::Sent, 1, 8)]);
        file[8] = 9;
        let error = Records::map(memfd(&file).unwrap()).err().unwrap();
        assert!(error.to_string().contains("version: expected 1, found 9"), "{error}");
        file[8] = 1;
        file[64 + 16] = 255;
        assert!(Records::map(memfd(&file).unwrap())
            .err()
            .unwrap()
            .to_string()
            .contains("section bounds"));
        assert!(Records::map(memfd(b"short").unwrap()).is_err());
    }

    /// A test without a file, because Miri cannot map one (`native/sanitize/run miri`).
    #[test]
    fn in_memory_slots_are_written_by_several_threads_and_kept_ones_finished_later() {
        const CAPACITY: u64 = 20;
        let file = layout(5, &[(Kind::Received, 2, CAPACITY)]);
        let words = file.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        let memory = Box::into_raw(words.collect::<Box<[u64]>>());
        let records =
            Records { map: NonNull::new(memory).unwrap().cast(), bytes: file.len(), nonce: 0 };
        let records = Arc::new(records.checked().unwrap());
        let section = records.section(Kind::Received, 2).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..3 {
                let section = &section;
                scope.spawn(move || {
                    for seq in 0..10 {
                        let kept = section.taken(&Received { seq, writer, ..Default::default() });
                        kept.into_iter().for_each(|kept| kept.consumed(77));
                    }
                });
            }
        });
        drop(section);
        // It was never mapped, so it is not unmapped.
        std::mem::forget(Arc::into_inner(records));
        // SAFETY: nothing else refers to it any more.
        let memory = unsafe { Box::from_raw(memory) };
        assert_eq!(memory[8 + 3], 30, "claims");
        let mut messages: Vec<(u64, u64)> = memory[512..]
            .chunks(8)
            .take(CAPACITY as usize)
            .inspect(|slot| assert_eq!((slot[4], slot[7] >> 32), (77, Kind::Received as u64)))
            .map(|slot| (slot[6] & 0xFFFF_FFFF, slot[0]))
            .collect();
        messages.sort_unstable();
        messages.dedup();
        assert_eq!(messages.len() as u64, CAPACITY, "no slot was written twice");
    }
}
