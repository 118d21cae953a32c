//! Copies through more memory than the caches hold, so that the copies run at the speed of the
//! memory and take bandwidth from others.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Together the buffers are this many times the last-level cache.
const TIMES_CACHE: usize = 4;
const SMALLEST_BUFFER: usize = 16 << 20;
/// The size that is assumed if the kernel does not report it.
const DEFAULT_CACHE: usize = 32 << 20;
const CHUNK: usize = 128 << 10;

pub static COPIED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Bytes of each thread's source, and of its destination.
pub fn buffer_bytes(threads: usize) -> usize {
    let bytes = last_level_cache().unwrap_or(DEFAULT_CACHE) * TIMES_CACHE / (2 * threads.max(1));
    bytes.max(SMALLEST_BUFFER).next_multiple_of(CHUNK)
}

pub struct Copier {
    source: Vec<u8>,
    destination: Vec<u8>,
    at: usize,
}

impl Copier {
    /// Allocates and touches both buffers.
    pub fn new(bytes: usize) -> Copier {
        Copier { source: vec![0xA5; bytes], destination: vec![0x5A; bytes], at: 0 }
    }

    /// Copies the next chunk.
    pub fn step(&mut self) {
        let range = self.at..self.at + CHUNK;
        self.destination[range.clone()].copy_from_slice(&self.source[range]);
        std::hint::black_box(&self.destination);
        COPIED_BYTES.fetch_add(CHUNK as u64, Ordering::Relaxed);
        self.at = (self.at + CHUNK) % self.source.len();
    }
}

fn last_level_cache() -> Option<usize> {
    let entries = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    entries
        .flatten()
        .filter_map(|entry| size(&fs::read_to_string(entry.path().join("size")).ok()?))
        .max()
}

/// Converts `32768K` or `1M` to bytes.
fn size(text: &str) -> Option<usize> {
    let text = text.trim();
    let number: usize = text.trim_end_matches(['K', 'M']).parse().ok()?;
    Some(
        number
            << if text.ends_with('M') {
                20
            } else if text.ends_with('K') {
                10
            } else {
                0
            },
    )
}

/// Checks that the machine has room for twice `bytes`.
pub fn check_room(bytes: usize) -> io::Result<()> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"));
    let available = line
        .and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok())
        .map(|kib| kib << 10);
    match available {
        Some(available) if available < 2 * bytes => Err(io::Error::other(format!(
            "needs {bytes} bytes of memory, and only {available} are available"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(
            (size("32768K\n"), size("1M"), size("64")),
            (Some(32 << 20), Some(1 << 20), Some(64))
        );
        assert_eq!(size("large"), None);
    }

    #[test]
    fn the_buffers_together_exceed_the_cache_however_many_threads() {
        let cache = last_level_cache().unwrap_or(DEFAULT_CACHE);
        for threads in [1, 2, 7, 64] {
            assert!(2 * threads * buffer_bytes(threads) >= TIMES_CACHE * cache);
            assert_eq!(buffer_bytes(threads) % CHUNK, 0);
        }
    }

    #[test]
    fn every_byte_is_copied_and_counted() {
        let mut copier = Copier::new(4 * CHUNK);
        let before = COPIED_BYTES.load(Ordering::Relaxed);
        (0..4).for_each(|_| copier.step());
        assert_eq!(copier.source, copier.destination);
        assert_eq!(COPIED_BYTES.load(Ordering::Relaxed) - before, 4 * CHUNK as u64);
    }
}
