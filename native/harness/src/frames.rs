//! Frames of a source that is not part of the worker: a camera's, or GStreamer's, from a ring in
//! memory that the orchestrator made (`docs/formats/frames.md`). Workers link no GStreamer, and
//! every middleware gets the same frames.
//!
//! A publisher sends each frame once, in order, beginning two behind the newest: a delay of the
//! source by less than two periods has no effect. If the source is later than that, the newest
//! frame is sent again and counted; if the publisher is so late that its frame was overwritten, it
//! continues two behind the newest.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};

use crate::middleware::Error;
use crate::payload::{Sum, HEADER_BYTES};

pub const MAGIC: &[u8; 8] = b"RMWBFRM1";
pub const VERSION: u32 = 1;
const FIRST_NUMBER: usize = 64;
const NUMBER_BYTES: usize = 64;
/// Frames between the one that is sent and the newest one.
const SLACK: u64 = 2;
/// Bytes that are copied and summed at a time, so that the sum reads them from the first-level
/// cache.
const BLOCK_BYTES: usize = 4096;

/// What happened to the frames of the publisher's messages, probes apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub fresh: u64,
    /// Frames that were sent again, because the source had no next one in time.
    pub repeated: u64,
    /// Frames that were overwritten before the publisher reached them.
    pub skipped: u64,
    /// Frames that were overwritten while they were copied.
    pub torn: u64,
}

/// The reading end of a ring, for one publisher.
pub struct Frames {
    map: NonNull<u8>,
    bytes: usize,
    slots: u64,
    slot_bytes: usize,
    first_slot: usize,
    frame_bytes: usize,
    next: Option<u64>,
    counts: Counts,
}

// SAFETY: the map is only read, and its numbers through atomics; one publisher owns the reader.
unsafe impl Send for Frames {}

impl Frames {
    /// Maps the ring and faults its pages in.
    pub fn map(fd: OwnedFd) -> Result<Frames, Error> {
        let file = File::from(fd);
        let bytes = file.metadata().map_err(|e| Error::failed("frames", e))?.len() as usize;
        if bytes < FIRST_NUMBER {
            return Err(Error::invalid(
                "frames",
                format!("expected at least {FIRST_NUMBER} bytes, found {bytes}"),
            ));
        }
        // SAFETY: a fresh shared mapping of a file that the orchestrator sized before it started
        // us.
        let map = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ,
                MapFlags::SHARED | MapFlags::POPULATE,
                &file,
                0,
            )
        }
        .map_err(|e| Error::failed("frames", e))?;
        let mut frames = Frames {
            map: NonNull::new(map.cast()).expect("mmap returned null"),
            bytes,
            slots: 0,
            slot_bytes: 0,
            first_slot: 0,
            frame_bytes: 0,
            next: None,
            counts: Counts::default(),
        };
        frames.check()?;
        Ok(frames)
    }

    fn check(&mut self) -> Result<(), Error> {
        let wrong = |what: &str, expected: String, found: String| {
            Err(Error::invalid("frames", format!("{what}: expected {expected}, found {found}")))
        };
        // SAFETY: the header lies within the map, whose size was checked.
        let magic: [u8; 8] = unsafe { self.map.as_ptr().cast::<[u8; 8]>().read() };
        if &magic != MAGIC {
            return wrong("magic", format!("{MAGIC:?}"), format!("{magic:?}"));
        }
        let version = self.word(8) as u32;
        if version != VERSION {
            return wrong("version", VERSION.to_string(), version.to_string());
        }
        self.slots = self.word(8) >> 32;
        self.frame_bytes = self.word(16) as usize;
        self.slot_bytes = self.word(24) as usize;
        self.first_slot = self.word(32) as usize;
        let numbers_end = FIRST_NUMBER as u64 + self.slots * NUMBER_BYTES as u64;
        let end = (self.slot_bytes as u64)
            .checked_mul(self.slots)
            .and_then(|b| b.checked_add(self.first_slot as u64));
        let fits = end.is_some_and(|end| end <= self.bytes as u64)
            && numbers_end <= self.first_slot as u64;
        if self.slots < 4 || self.frame_bytes > self.slot_bytes || !fits {
            let found = format!(
                "{} slots of {} bytes from {}",
                self.slots, self.slot_bytes, self.first_slot
            );
            return wrong(
                "slots",
                format!("4 or more of at least {} within {} bytes", self.frame_bytes, self.bytes),
                found,
            );
        }
        Ok(())
    }

    pub fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Copies the next frame over `body`, which follows the header in its payload, and returns the
    /// sum of the copied bytes. A probe takes the newest frame and does not advance. If there is no
    /// frame yet, the body is zero.
    #[inline]
    pub fn take(&mut self, body: &mut [u8], probe: bool) -> u64 {
        let finished = self.number(40).load(Ordering::Acquire);
        if finished == 0 {
            body.fill(0);
            self.counts.repeated += u64::from(!probe);
            return Sum::of(body);
        }
        let frame = if probe { finished - 1 } else { self.choose(finished) };
        let slot = (frame % self.slots) as usize;
        let before = self.slot_number(slot).load(Ordering::Acquire);
        let sum = self.copy(slot, body);
        std::sync::atomic::fence(Ordering::Acquire);
        if !probe
            && (before != frame + 1 || self.slot_number(slot).load(Ordering::Relaxed) != before)
        {
            self.counts.torn += 1;
        }
        sum
    }

    fn choose(&mut self, finished: u64) -> u64 {
        let newest = finished - 1;
        let next_frame = self.next.unwrap_or(newest.saturating_sub(SLACK));
        if next_frame > newest {
            self.counts.repeated += 1;
            return newest;
        }
        // The slot behind the newest one is being written, so one slot less than all can be read.
        let oldest = finished.saturating_sub(self.slots - 1);
        let frame =
            if next_frame < oldest { newest.saturating_sub(SLACK).max(oldest) } else { next_frame };
        self.counts.skipped += frame - next_frame;
        self.counts.fresh += 1;
        self.next = Some(frame + 1);
        frame
    }

    fn copy(&self, slot: usize, body: &mut [u8]) -> u64 {
        let length = body.len().min(self.frame_bytes.saturating_sub(HEADER_BYTES));
        let mut sum = Sum::default();
        let mut from = self.first_slot + slot * self.slot_bytes + HEADER_BYTES;
        for block in body[..length].chunks_mut(BLOCK_BYTES) {
            // SAFETY: `check` found the slot within the map. The source may write meanwhile: its
            // bytes are then torn, which the slot's number shows, and the sum is that of the copied
            // bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    self.map.as_ptr().add(from),
                    block.as_mut_ptr(),
                    block.len(),
                )
            };
            from += block.len();
            sum.add(block);
        }
        sum.finish()
    }

    fn slot_number(&self, slot: usize) -> &AtomicU64 {
        self.number(FIRST_NUMBER + slot * NUMBER_BYTES)
    }

    fn number(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: callers stay within the checked size, at multiples of 8; other processes reach
        // the word through their own atomics.
        unsafe { &*self.map.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    fn word(&self, offset: usize) -> u64 {
        // SAFETY: as above; these words never change.
        unsafe { self.map.as_ptr().add(offset).cast::<u64>().read() }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: nothing borrows the map beyond a call.
        let _ = unsafe { munmap(self.map.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{memfd_create, MemfdFlags};
    use std::os::unix::fs::FileExt;

    const FRAME: usize = 300;
    const SLOTS: u64 = 4;
    const SLOT: usize = 4096;

    fn ring() -> File {
        let file = File::from(memfd_create("ring", MemfdFlags::CLOEXEC).unwrap());
        file.set_len((SLOT * (1 + SLOTS as usize)) as u64).unwrap();
        let mut head = MAGIC.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.extend((SLOTS as u32).to_le_bytes());
        for word in [FRAME as u64, SLOT as u64, SLOT as u64, 0] {
            head.extend(word.to_le_bytes());
        }
        file.write_all_at(&head, 0).unwrap();
        file
    }

    /// Writes a frame as the source does: the slot has no number while the frame is written.
    fn produce(file: &File, frame: u64) {
        let slot = (frame % SLOTS) as usize;
        let number = (FIRST_NUMBER + slot * NUMBER_BYTES) as u64;
        file.write_all_at(&0_u64.to_le_bytes(), number).unwrap();
        file.write_all_at(&[frame as u8 + 1; FRAME], (SLOT + slot * SLOT) as u64).unwrap();
        file.write_all_at(&(frame + 1).to_le_bytes(), number).unwrap();
        file.write_all_at(&(frame + 1).to_le_bytes(), 40).unwrap();
    }

    fn reader(file: &File) -> Frames {
        Frames::map(file.try_clone().unwrap().into()).unwrap()
    }

    fn take(frames: &mut Frames) -> u8 {
        let mut body = [0; FRAME - HEADER_BYTES];
        let sum = frames.take(&mut body, false);
        assert_eq!(sum, Sum::of(&body));
        assert!(body.iter().all(|&b| b == body[0]), "{body:?}");
        body[0].wrapping_sub(1)
    }

    #[test]
    fn each_frame_is_sent_once_and_a_source_that_is_late_by_two_periods_is_not_noticed() {
        let file = ring();
        (0..4).for_each(|f| produce(&file, f));
        let mut frames = reader(&file);
        assert_eq!(take(&mut frames), 1); // not the newest, because of the slack
        assert_eq!((take(&mut frames), take(&mut frames)), (2, 3)); // the source is late
        (4..6).for_each(|f| produce(&file, f));
        assert_eq!((take(&mut frames), take(&mut frames)), (4, 5));
        assert_eq!(frames.counts(), Counts { fresh: 5, ..Counts::default() });
    }

    #[test]
    fn a_source_that_stops_gives_its_last_frame_again_and_again_and_the_order_goes_on_behind_it() {
        let file = ring();
        (0..2).for_each(|f| produce(&file, f));
        let mut frames = reader(&file);
        assert_eq!((take(&mut frames), take(&mut frames), take(&mut frames)), (0, 1, 1));
        produce(&file, 2);
        assert_eq!(take(&mut frames), 2);
        assert_eq!(frames.counts(), Counts { fresh: 3, repeated: 1, ..Counts::default() });
    }

    #[test]
    fn a_publisher_that_is_late_goes_on_near_the_newest_and_counts_what_it_never_saw() {
        let file = ring();
        (0..2).for_each(|f| produce(&file, f));
        let mut frames = reader(&file);
        assert_eq!(take(&mut frames), 0);
        (2..9).for_each(|f| produce(&file, f));
        assert_eq!(take(&mut frames), 6);
        assert_eq!(frames.counts(), Counts { fresh: 2, skipped: 5, ..Counts::default() });
    }

    #[test]
    fn a_frame_that_is_being_overwritten_is_told_apart_and_a_probe_counts_nothing() {
        let file = ring();
        (0..3).for_each(|f| produce(&file, f));
        let mut frames = reader(&file);
        let mut body = [0; FRAME - HEADER_BYTES];
        frames.take(&mut body, true);
        assert_eq!((body[0], frames.counts()), (3, Counts::default()));
        file.write_all_at(&0_u64.to_le_bytes(), FIRST_NUMBER as u64).unwrap();
        take(&mut frames);
        assert_eq!(frames.counts(), Counts { fresh: 1, torn: 1, ..Counts::default() });
    }

    #[test]
    fn a_ring_without_frames_is_zero_and_one_that_is_not_ours_is_refused() {
        let file = ring();
        assert_eq!(take(&mut reader(&file)), 255);
        file.write_all_at(&[9], 8).unwrap();
        let error = Frames::map(file.try_clone().unwrap().into()).err().unwrap();
        assert!(error.to_string().contains("version: expected 1, found 9"), "{error}");
        file.write_all_at(&[1], 8).unwrap();
        file.write_all_at(&[255], 12).unwrap();
        assert!(Frames::map(file.try_clone().unwrap().into())
            .err()
            .unwrap()
            .to_string()
            .contains("slots"));
    }
}
