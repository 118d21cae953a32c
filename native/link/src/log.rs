//! The frame log: records of 48 bytes in a memory file that the orchestrator made, so they survive
//! even if this process dies.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};

use crate::direction::Way;
use crate::frame::{Frame, Verdict};

pub const RECORD_BYTES: usize = 48;
/// Flags of a record besides the frame's own: the direction in which the frame ended. A record has
/// one of them; logs of earlier versions have neither.
const ENDED_UP: u8 = 32;
const ENDED_DOWN: u8 = 64;

pub struct Log {
    base: *mut u8,
    bytes: usize,
    capacity: usize,
    pub written: usize,
    pub unlogged: u64,
}

impl Log {
    /// Maps the file; with an empty one nothing is logged. Its pages are allocated when they are
    /// written (a microsecond every 85 frames), because the file is sized for the worst case and
    /// most trials fill little of it.
    pub fn map(file: &File) -> Result<Log, String> {
        let bytes = file.metadata().map_err(|e| format!("the log file: {e}"))?.len() as usize;
        let mut log = Log {
            base: std::ptr::null_mut(),
            bytes,
            capacity: bytes / RECORD_BYTES,
            written: 0,
            unlogged: 0,
        };
        if bytes > 0 {
            // SAFETY: a fresh shared mapping of the whole file, which nobody makes shorter.
            let base = unsafe {
                mmap(
                    std::ptr::null_mut(),
                    bytes,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::SHARED,
                    file.as_fd(),
                    0,
                )
            };
            log.base = base.map_err(|e| format!("the log file: {e}"))?.cast();
        }
        Ok(log)
    }

    /// Writes one record; `way` is the direction in which the frame ended. For a frame that is not
    /// delivered, `due_ns` and `out_ns` are 0.
    pub fn write(&mut self, frame: &Frame, verdict: Verdict, way: Way, due_ns: i64, out_ns: i64) {
        if self.written >= self.capacity {
            self.unlogged += 1;
            return;
        }
        let record = encode(frame, verdict, way, due_ns, out_ns);
        // SAFETY: the record lies within the mapping, since written < capacity.
        unsafe {
            std::ptr::copy_nonoverlapping(
                record.as_ptr(),
                self.base.add(self.written * RECORD_BYTES),
                RECORD_BYTES,
            )
        };
        self.written += 1;
    }

    /// Ends the log: a later frame is neither logged nor counted as unlogged.
    pub fn close(&mut self) -> (usize, u64) {
        let counts = (self.written, self.unlogged);
        if self.bytes > 0 {
            // SAFETY: our own mapping, which is not used again: capacity is 0 from here on.
            let _ = unsafe { munmap(self.base.cast(), self.bytes) };
        }
        (self.bytes, self.capacity) = (0, 0);
        counts
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.close();
    }
}

fn encode(
    frame: &Frame,
    verdict: Verdict,
    way: Way,
    due_ns: i64,
    out_ns: i64,
) -> [u8; RECORD_BYTES] {
    let ended = match way {
        Way::Up => ENDED_UP,
        Way::Down => ENDED_DOWN,
    };
    let mut record = [0; RECORD_BYTES];
    record[0..8].copy_from_slice(&frame.index.to_le_bytes());
    record[8..16].copy_from_slice(&frame.in_ns.to_le_bytes());
    record[16..24].copy_from_slice(&due_ns.to_le_bytes());
    record[24..32].copy_from_slice(&out_ns.to_le_bytes());
    record[32..36].copy_from_slice(&(frame.bytes.len() as u32).to_le_bytes());
    record[36..40].copy_from_slice(&frame.facts.payload_bytes.to_le_bytes());
    record[40..42].copy_from_slice(&frame.from.to_le_bytes());
    record[42..44].copy_from_slice(&frame.to.to_le_bytes());
    record[44..48].copy_from_slice(&[
        verdict as u8,
        frame.facts.class as u8,
        frame.flags() | ended,
        frame.attempts,
    ]);
    record
}
