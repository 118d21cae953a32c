//! A reader's queue of slot numbers: its own segment, one writer, one reader, and the writer may take the oldest back.
//!
//! An entry carries its own sequence number, so the reader watches the entry itself and one cache line brings both the news and the
//! slot. `head` is advanced by compare-and-swap because "keep last" lets the writer forget the oldest entry while the reader takes
//! it: exactly one of them gets it, so drops are counted exactly.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;

use crate::memory::Map;

const HEAD: usize = 0;
const DROPPED: usize = 128;
const READER: usize = 136;
const ENTRIES: usize = 256;

/// The shared part, as both sides map it.
pub struct Queue {
    map: Map,
    /// Messages it holds; its array is the next power of two.
    depth: u64,
    mask: u64,
}

struct Entry {
    /// Position + 1 once the entry is written.
    ready: AtomicU64,
    /// Slot, and length in the upper half.
    message: AtomicU64,
}

impl Queue {
    pub fn create(depth: u32) -> Result<(Queue, OwnedFd), Errno> {
        let (map, fd) = Map::create("rmwbench-floor-queue", bytes(depth))?;
        map.populate(0, bytes(depth).min(1 << 16));
        Ok((Queue::over(map, depth), fd))
    }

    pub fn open(fd: impl AsFd, depth: u32) -> Result<Queue, Errno> {
        let map = Map::open(fd, bytes(depth))?;
        map.populate(0, bytes(depth).min(1 << 16));
        Ok(Queue::over(map, depth))
    }

    fn over(map: Map, depth: u32) -> Queue {
        Queue { map, depth: u64::from(depth), mask: u64::from(depth.next_power_of_two()) - 1 }
    }

    fn head(&self) -> &AtomicU64 {
        self.map.atomic(HEAD)
    }

    /// Messages that this reader's side lost: forgotten by "keep last", or skipped because every slot was in someone's hand.
    pub fn dropped(&self) -> &AtomicU64 {
        self.map.atomic(DROPPED)
    }

    /// The reader's bit in the pool, given by the writer before the first entry.
    pub fn reader(&self) -> &AtomicU32 {
        self.map.atomic(READER)
    }

    #[inline]
    fn entry(&self, position: u64) -> &Entry {
        self.map.atomic(ENTRIES + (position & self.mask) as usize * size_of::<Entry>())
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        // An eviction in between moves head on: the entry of the new head decides.
        loop {
            let head = self.head().load(Ordering::SeqCst);
            if self.entry(head).ready.load(Ordering::SeqCst) == head + 1 {
                return false;
            }
            if self.head().load(Ordering::SeqCst) == head {
                return true;
            }
        }
    }

    /// Takes the oldest message: slot and length.
    #[inline]
    pub fn pop(&self) -> Option<(u32, u32)> {
        loop {
            let head = self.head().load(Ordering::Relaxed);
            let entry = self.entry(head);
            if entry.ready.load(Ordering::Acquire) != head + 1 {
                if self.head().load(Ordering::Acquire) == head {
                    return None;
                }
                continue;
            }
            let message = entry.message.load(Ordering::Acquire);
            // Fails when the writer forgot this entry meanwhile; what was read may then be of a later lap.
            if self.head().compare_exchange(head, head + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                return Some((message as u32, (message >> 32) as u32));
            }
        }
    }
}

fn bytes(depth: u32) -> usize {
    ENTRIES + depth.next_power_of_two() as usize * size_of::<Entry>()
}

/// The writer's end; it remembers where the reader was, and looks again only when the queue seems full.
pub struct QueueWriter {
    pub queue: Queue,
    tail: u64,
    head_seen: u64,
}

impl QueueWriter {
    pub fn new(queue: Queue) -> QueueWriter {
        QueueWriter { queue, tail: 0, head_seen: 0 }
    }

    #[inline]
    pub fn has_room(&mut self) -> bool {
        if self.tail - self.head_seen < self.queue.depth {
            return true;
        }
        self.head_seen = self.queue.head().load(Ordering::SeqCst);
        self.tail - self.head_seen < self.queue.depth
    }

    /// Appends; the caller made room. `order` is SeqCst where a sleeping reader must be noticed afterwards.
    #[inline]
    pub fn push(&mut self, slot: u32, length: u32, order: Ordering) {
        let entry = self.queue.entry(self.tail);
        entry.message.store(u64::from(slot) | u64::from(length) << 32, Ordering::Release);
        entry.ready.store(self.tail + 1, order);
        self.tail += 1;
    }

    /// Takes the oldest entry back, unless the reader has taken them all: its slot.
    pub fn evict(&mut self) -> Option<u32> {
        loop {
            let head = self.queue.head().load(Ordering::SeqCst);
            self.head_seen = head;
            if head == self.tail {
                return None;
            }
            let slot = self.queue.entry(head).message.load(Ordering::Relaxed) as u32;
            if self.queue.head().compare_exchange(head, head + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                self.head_seen = head + 1;
                self.count_drop();
                return Some(slot);
            }
        }
    }

    pub fn count_drop(&self) {
        self.queue.dropped().fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_taken_once_or_counted_as_dropped() {
        let (queue, fd) = Queue::create(5).unwrap();
        let mut writer = QueueWriter::new(Queue::open(&fd, 5).unwrap());
        const N: u32 = 200_000;
        let taken = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut taken = Vec::new();
                while taken.last() != Some(&(N - 1)) {
                    if let Some((slot, length)) = queue.pop() {
                        assert_eq!(length, slot ^ 0xFFFF);
                        taken.push(slot);
                    }
                }
                taken
            });
            for i in 0..N {
                if !writer.has_room() {
                    writer.evict();
                }
                writer.push(i, i ^ 0xFFFF, Ordering::Release);
            }
            reader.join().unwrap()
        });
        assert!(taken.windows(2).all(|w| w[0] < w[1]), "order");
        assert_eq!(taken.len() as u64 + queue.dropped().load(Ordering::Relaxed), u64::from(N));
        assert!(queue.is_empty() && queue.pop().is_none());
    }

    #[test]
    fn a_full_queue_keeps_the_last() {
        let (queue, fd) = Queue::create(3).unwrap();
        let mut writer = QueueWriter::new(Queue::open(&fd, 3).unwrap());
        for i in 0..10 {
            if !writer.has_room() {
                assert_eq!(writer.evict(), Some(i - 3));
            }
            writer.push(i, 0, Ordering::SeqCst);
        }
        assert_eq!(std::iter::from_fn(|| queue.pop()).map(|m| m.0).collect::<Vec<_>>(), [7, 8, 9]);
        assert_eq!(queue.dropped().load(Ordering::Relaxed), 7);
    }
}
