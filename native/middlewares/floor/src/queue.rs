//! A reader's queue: a segment of its own, with one writer and one reader; the writer may take the
//! oldest entry back.
//!
//! An entry has the number of a slot in the publisher's pool, or holds a small message itself: this
//! saves two cache lines that would travel between the cores, and for 64 bytes they cost more than
//! copying the message twice.
//!
//! An entry has its own sequence number, so the reader watches the entry itself, and one cache line
//! brings both the change and the slot. `head` is advanced by compare-and-swap because "keep last"
//! lets the writer forget the oldest entry while the reader takes it: exactly one of them gets it,
//! so drops are counted exactly.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;

use crate::memory::Map;

const HEAD: usize = 0;
const DROPPED: usize = 128;
const READER: usize = 136;
const WAKE_AT: usize = 192;
const ENTRIES: usize = 256;
/// The hardware fetches lines in pairs: entries that hold messages begin on such a pair.
const LINE_PAIR: usize = 128;
const POPULATED: usize = 1 << 20;

/// The shared part, as both sides map it.
pub struct Queue {
    map: Map,
    /// The number of messages that it holds; the size of its array is the next power of two.
    depth: u64,
    mask: u64,
    /// The bytes from one entry to the next.
    stride: usize,
}

/// The head of an entry; if the message is inline, it follows the head.
struct Entry {
    /// Position + 1 once the entry is written.
    ready: AtomicU64,
    /// The slot, and the length in the upper half.
    message: AtomicU64,
}

impl Queue {
    /// `inline_bytes`: the room for a message in each entry, 0 if messages are in slots.
    pub fn create(depth: u32, inline_bytes: u32) -> Result<(Queue, OwnedFd), Errno> {
        let (map, fd) = Map::create("rmwbench-floor-queue", bytes(depth, inline_bytes))?;
        Ok((Queue::over(map, depth, inline_bytes), fd))
    }

    pub fn open(fd: impl AsFd, depth: u32, inline_bytes: u32) -> Result<Queue, Errno> {
        let map = Map::open(fd, bytes(depth, inline_bytes))?;
        Ok(Queue::over(map, depth, inline_bytes))
    }

    fn over(map: Map, depth: u32, inline_bytes: u32) -> Queue {
        map.populate(0, bytes(depth, inline_bytes).min(POPULATED));
        Queue {
            map,
            depth: u64::from(depth),
            mask: u64::from(depth.next_power_of_two()) - 1,
            stride: stride(inline_bytes),
        }
    }

    fn head(&self) -> &AtomicU64 {
        self.map.atomic(HEAD)
    }

    /// Messages that this reader's side lost: "keep last" dropped them, or they were skipped
    /// because readers held every slot.
    pub fn dropped(&self) -> &AtomicU64 {
        self.map.atomic(DROPPED)
    }

    /// The reader's bit in the pool, which the writer sets before the first entry.
    pub fn reader(&self) -> &AtomicU32 {
        self.map.atomic(READER)
    }

    /// Whether a sleeping writer may have to be woken by this reader's progress.
    pub fn may_wake_writer(&self) -> bool {
        self.head().load(Ordering::Relaxed) >= self.wake_at().load(Ordering::Acquire)
    }

    /// The position of the head from which on the reader wakes a sleeping writer.
    fn wake_at(&self) -> &AtomicU64 {
        self.map.atomic(WAKE_AT)
    }

    #[inline]
    fn entry(&self, position: u64) -> &Entry {
        self.map.atomic(self.offset(position))
    }

    #[inline]
    fn offset(&self, position: u64) -> usize {
        ENTRIES + (position & self.mask) as usize * self.stride
    }

    /// The room behind an entry's head; it consists of atomics because the reader may read while
    /// the writer takes the entry back.
    #[inline]
    fn words(&self, position: u64) -> &[AtomicU64] {
        let start = self.offset(position) + size_of::<Entry>();
        let words = (self.stride - size_of::<Entry>()) / 8;
        // SAFETY: the entry lies within the map (`bytes`), and its stride is a multiple of 8.
        unsafe { std::slice::from_raw_parts(self.map.pointer(start).cast(), words) }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        // If an eviction in between moved the head on, the entry of the new head decides.
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

    /// Takes the oldest message: its slot and length. An inline message is copied to `inline`,
    /// which has room for the longest. `alone`: the writer never takes an entry back, so the reader
    /// need not compete for it.
    #[inline]
    pub fn pop(&self, inline: Option<&mut [u64]>, alone: bool) -> Option<(u32, u32)> {
        let mut inline = inline;
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
            if let Some(inline) = &mut inline {
                let words = ((message >> 32) as usize).div_ceil(8).min(inline.len());
                for (word, shared) in inline[..words].iter_mut().zip(self.words(head)) {
                    *word = shared.load(Ordering::Relaxed);
                }
            }
            if alone {
                self.head().store(head + 1, Ordering::Release);
                return Some((message as u32, (message >> 32) as u32));
            }
            // This fails if the writer took this entry back meanwhile; the data that was read may
            // then be of a later lap.
            if self
                .head()
                .compare_exchange(head, head + 1, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
            {
                return Some((message as u32, (message >> 32) as u32));
            }
        }
    }
}

fn stride(inline_bytes: u32) -> usize {
    match inline_bytes {
        0 => size_of::<Entry>(),
        bytes => (size_of::<Entry>() + bytes as usize).div_ceil(LINE_PAIR) * LINE_PAIR,
    }
}

fn bytes(depth: u32, inline_bytes: u32) -> usize {
    ENTRIES + depth.next_power_of_two() as usize * stride(inline_bytes)
}

/// The writer's end; it remembers the reader's position, and reads it again only when the queue
/// seems full.
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

    /// Call this before the writer sleeps because a queue is full: for that queue, half of it must
    /// be free again before the reader wakes the writer. Waking for each message would cost both
    /// sides a system call per message, and the writer's core a sleep.
    pub fn wake_when_half_empty(&mut self) {
        let at = if self.has_room() { u64::MAX } else { self.tail - self.queue.depth / 2 };
        self.queue.wake_at().store(at, Ordering::Release);
    }

    /// Call this before the writer sleeps because no slot is free.
    pub fn wake_at_once(&self) {
        self.queue.wake_at().store(0, Ordering::Release);
    }

    /// Reads the reader's position if the next message will need it: after a message was sent, this
    /// delays nobody.
    #[inline]
    pub fn look_ahead(&mut self) {
        let _ = self.has_room();
    }

    /// Appends a slot; the caller made room. `order` is SeqCst if a sleeping reader must be noticed
    /// afterwards.
    #[inline]
    pub fn push(&mut self, slot: u32, length: u32, order: Ordering) {
        let entry = self.queue.entry(self.tail);
        entry.message.store(u64::from(slot) | u64::from(length) << 32, Ordering::Release);
        entry.ready.store(self.tail + 1, order);
        self.tail += 1;
    }

    /// Appends a message itself; the caller made room, and the queue was made for messages of this
    /// size.
    #[inline]
    pub fn push_inline(&mut self, message: &[u8], order: Ordering) {
        let whole = message.chunks_exact(8);
        let rest = whole.remainder();
        let shared = self.queue.words(self.tail);
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            shared[message.len() / 8].store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
        // Backwards: the line that the reader watches is written last and at once; otherwise the
        // reader would fetch it half written.
        for (word, shared) in whole.zip(shared).rev() {
            shared.store(u64::from_le_bytes(word.try_into().unwrap()), Ordering::Relaxed);
        }
        self.push(0, message.len() as u32, order);
    }

    /// Takes the oldest entry back and returns its slot; None if the reader has taken all entries.
    pub fn evict(&mut self) -> Option<u32> {
        loop {
            let head = self.queue.head().load(Ordering::SeqCst);
            self.head_seen = head;
            if head == self.tail {
                return None;
            }
            let slot = self.queue.entry(head).message.load(Ordering::Relaxed) as u32;
            if self
                .queue
                .head()
                .compare_exchange(head, head + 1, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
            {
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
        let (queue, fd) = Queue::create(5, 0).unwrap();
        let mut writer = QueueWriter::new(Queue::open(&fd, 5, 0).unwrap());
        const N: u32 = 200_000;
        let taken = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut taken = Vec::new();
                while taken.last() != Some(&(N - 1)) {
                    if let Some((slot, length)) = queue.pop(None, false) {
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
        assert!(queue.is_empty() && queue.pop(None, false).is_none());
    }

    #[test]
    fn a_full_queue_keeps_the_last() {
        let (queue, fd) = Queue::create(3, 0).unwrap();
        let mut writer = QueueWriter::new(Queue::open(&fd, 3, 0).unwrap());
        for i in 0..10 {
            if !writer.has_room() {
                assert_eq!(writer.evict(), Some(i - 3));
            }
            writer.push(i, 0, Ordering::SeqCst);
        }
        assert_eq!(
            std::iter::from_fn(|| queue.pop(None, false)).map(|m| m.0).collect::<Vec<_>>(),
            [7, 8, 9]
        );
        assert_eq!(queue.dropped().load(Ordering::Relaxed), 7);
    }

    #[test]
    fn an_inline_message_is_never_torn_while_the_writer_takes_entries_back() {
        let (queue, fd) = Queue::create(2, 100).unwrap();
        let mut writer = QueueWriter::new(Queue::open(&fd, 2, 100).unwrap());
        const N: u64 = 200_000;
        let content = |n: u64| -> Vec<u8> {
            n.to_le_bytes().into_iter().chain((0..n % 93).map(|i| (n * 7 + i) as u8)).collect()
        };
        let taken = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut words = [0_u64; 13];
                let (mut taken, mut n) = (0, 0);
                while n < N - 1 {
                    let Some((_, length)) = queue.pop(Some(&mut words), false) else { continue };
                    let bytes: Vec<u8> =
                        words.iter().flat_map(|w| w.to_le_bytes()).take(length as usize).collect();
                    assert!(taken == 0 || words[0] > n, "order");
                    n = words[0];
                    assert_eq!(bytes, content(n), "message {n} is torn");
                    taken += 1;
                }
                taken
            });
            for n in 0..N {
                if !writer.has_room() {
                    writer.evict();
                }
                writer.push_inline(&content(n), Ordering::Release);
            }
            reader.join().unwrap()
        });
        assert_eq!(taken + queue.dropped().load(Ordering::Relaxed), N);
    }

    #[test]
    fn lengths_that_are_not_whole_words_come_back_whole() {
        let (queue, fd) = Queue::create(1, 40).unwrap();
        let mut writer = QueueWriter::new(Queue::open(&fd, 1, 40).unwrap());
        for length in 0..=40 {
            let message: Vec<u8> = (0..length).map(|i| 200 - i).collect();
            assert!(writer.has_room());
            writer.push_inline(&message, Ordering::SeqCst);
            let mut words = [0_u64; 5];
            assert_eq!(queue.pop(Some(&mut words), true), Some((0, u32::from(length))));
            assert!(words.iter().flat_map(|w| w.to_le_bytes()).take(length as usize).eq(message));
        }
    }
}
