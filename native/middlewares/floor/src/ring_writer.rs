//! The publisher's end of the shared-memory ring: a pool of slots and, for each reader, a queue.
//!
//! Reliable: the publish call blocks while a reader's queue is full or every slot is in use; it
//! sends to all readers or to none. Best effort: a full queue drops its oldest message, and if
//! readers hold every slot the newest message is not sent; both are counted exactly, per reader.
//! Slots are reused lowest first, so that small rings stay in the cache. Small messages need no
//! slot: they lie in the queues (option `inline_bytes`).
//!
//! The publishing thread owns everything it writes. The control thread posts readers that join or
//! leave, and the publishing thread handles them before the next message, so publishing takes no
//! lock.
//!
//! A relay publishes in the waiting thread: if its own reader is served by that thread too and lags
//! (several relays feeding one topic within one process), the call blocks until its time-out. Plain
//! chains do not block: a turn of the thread is no longer than the queue.

use std::os::fd::OwnedFd;
use std::slice;
use std::sync::atomic::{fence, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Error, PublishError};
use rustix::io::Errno;

use crate::eventcount;
use crate::pool::{Pool, MAX_READERS};
use crate::queue::{Queue, QueueWriter};
use crate::rendezvous::{Acceptance, Outgoing, PeerId};
use crate::wake_word::WakeWord;

/// From this size on, reusing a slot that is still in the cache is worth checking every slot's
/// holders again for each message.
const LARGE_BYTES: usize = 16 << 10;
/// How many free slots are collected at a time, for smaller messages: each costs a cache line.
const LOOK_AHEAD: usize = 8;

/// A blocked publisher checks by itself at this interval, since a fast reader wakes it only when
/// the queue is half empty, and with a slow one it would miss the first free place.
const LONGEST_SLEEP_NS: i64 = 500_000;

/// The part of the publisher that the control thread uses, too.
pub struct Ring {
    pool: Pool,
    pool_fd: OwnedFd,
    /// The room for messages in the queues themselves; 0: they are in slots.
    inline_bytes: u32,
    posted: Mutex<Posted>,
    /// The number of posted changes; it is read before each message, so it is outside of the lock.
    changes: AtomicU64,
    /// How many times a publish call had to wait for a reader.
    pub blocked: AtomicU64,
}

#[derive(Default)]
struct Posted {
    changes: Vec<Change>,
    /// The number of readers after all changes are handled.
    readers: usize,
}

enum Change {
    Join(Box<Reader>),
    Leave(PeerId),
}

struct Reader {
    peer: PeerId,
    /// The reader's bit in the holders of a slot.
    bit: u64,
    queue: QueueWriter,
    reliable: bool,
    /// None: that reader spins.
    wake_word: Option<WakeWord>,
}

/// The part that the publishing thread owns.
pub struct RingWriter {
    ring: Arc<Ring>,
    readers: Vec<Reader>,
    /// The number of changes that were handled.
    applied: u64,
    /// Slots known to be free, the best one last.
    free: Vec<u32>,
    /// The memory to which a loan is written if messages go inline.
    staging: Vec<u8>,
    timeout_ns: i64,
}

enum Step {
    /// The message can be sent; the slot, if it needs one.
    Ready(u32),
    /// A reliable reader must make room first.
    Wait,
    /// Best-effort readers hold every slot: this message is skipped.
    Skip,
}

impl Ring {
    pub fn new(slots: u32, payload_bytes: u32, inline_bytes: u32) -> Result<Arc<Ring>, Error> {
        let slots = if inline_bytes > 0 { 1 } else { slots };
        let (pool, pool_fd) = Pool::create(slots, payload_bytes).map_err(|e| {
            Error::failed(format!("pool of {slots} slots of {payload_bytes} bytes"), e)
        })?;
        let (posted, changes, blocked) = (Mutex::default(), AtomicU64::new(0), AtomicU64::new(0));
        Ok(Arc::new(Ring { pool, pool_fd, inline_bytes, posted, changes, blocked }))
    }

    pub fn slots(&self) -> u32 {
        self.pool.slots()
    }

    fn post(&self, posted: &mut Posted, change: Change) {
        posted.changes.push(change);
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

impl Outgoing for Ring {
    fn offer(&self, _peer: PeerId) -> Result<OwnedFd, Errno> {
        self.pool_fd.try_clone().map_err(|_| Errno::MFILE)
    }

    fn accept(
        &self,
        peer: PeerId,
        acceptance: &Acceptance,
        fds: Vec<OwnedFd>,
    ) -> Result<(), Errno> {
        let mut fds = fds.into_iter();
        let queue = Queue::open(
            fds.next().ok_or(Errno::PROTO)?,
            acceptance.queue_depth,
            self.inline_bytes,
        )?;
        let wake_word = fds.next().map(WakeWord::open).transpose()?;
        let mut posted = self.posted.lock().unwrap();
        if posted.readers == MAX_READERS {
            return Err(Errno::USERS);
        }
        posted.readers += 1;
        let reader = Reader {
            peer,
            bit: 0,
            queue: QueueWriter::new(queue),
            reliable: acceptance.reliable,
            wake_word,
        };
        self.post(&mut posted, Change::Join(Box::new(reader)));
        Ok(())
    }

    fn remove(&self, peer: PeerId, accepted: bool) {
        if !accepted {
            return; // an offer that was not accepted leaves nothing behind
        }
        let mut posted = self.posted.lock().unwrap();
        posted.readers -= 1;
        self.post(&mut posted, Change::Leave(peer));
        drop(posted);
        // A publisher that waits for this reader must stop waiting.
        eventcount::wake(self.pool.space());
    }
}

impl RingWriter {
    pub fn new(ring: Arc<Ring>, timeout_ns: i64) -> RingWriter {
        let staging = vec![0xA5; ring.inline_bytes as usize];
        RingWriter {
            ring,
            readers: Vec::with_capacity(MAX_READERS),
            applied: 0,
            free: Vec::with_capacity(LOOK_AHEAD),
            staging,
            timeout_ns,
        }
    }

    pub fn blocked(&self) -> u64 {
        self.ring.blocked.load(Ordering::Relaxed)
    }

    /// Copies one message to every reader.
    #[inline]
    pub fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        if self.ring.inline_bytes == 0 {
            return self.publish_in_place(payload.len(), |slot| slot.copy_from_slice(payload));
        }
        if let Step::Ready(_) = self.begin(payload.len())? {
            self.commit_inline(payload);
        }
        Ok(())
    }

    /// Has `fill` write one message of `bytes` and passes it to every reader: in place, unless
    /// messages go inline.
    #[inline]
    pub fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        if self.ring.inline_bytes == 0 {
            return self.publish_in_place(bytes, fill);
        }
        if let Step::Ready(_) = self.begin(bytes)? {
            let mut staging = std::mem::take(&mut self.staging);
            fill(&mut staging[..bytes]);
            self.commit_inline(&staging[..bytes]);
            self.staging = staging;
        }
        Ok(())
    }

    #[inline]
    fn publish_in_place(
        &mut self,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), PublishError> {
        if let Step::Ready(slot) = self.begin(bytes)? {
            // SAFETY: no reader holds this slot, so it is ours until `commit`.
            fill(unsafe { slice::from_raw_parts_mut(self.ring.pool.payload(slot), bytes) });
            self.commit(slot, bytes as u32);
        }
        Ok(())
    }

    /// Reserves what one message of `bytes` needs, waiting for it if necessary.
    #[inline]
    fn begin(&mut self, bytes: usize) -> Result<Step, PublishError> {
        if bytes > self.ring.pool.slot_bytes() {
            return Err(PublishError::Failed);
        }
        self.take_up_changes();
        match self.prepare() {
            Step::Wait => self.wait(),
            step => Ok(step),
        }
    }

    /// Sleeps until the message can go.
    #[cold]
    fn wait(&mut self) -> Result<Step, PublishError> {
        self.ring.blocked.fetch_add(1, Ordering::Relaxed);
        let ring = self.ring.clone();
        let deadline = now_ns() + self.timeout_ns;
        loop {
            self.say_when_to_wake();
            let armed = eventcount::arm(ring.pool.space());
            fence(Ordering::SeqCst); // pairs with that of the reader, before it reads the word
            self.take_up_changes();
            let step = self.prepare();
            let left = deadline - now_ns();
            if left > 0 && matches!(step, Step::Wait) {
                eventcount::sleep(ring.pool.space(), armed, Some(left.min(LONGEST_SLEEP_NS)));
                continue;
            }
            eventcount::disarm(ring.pool.space());
            return if matches!(step, Step::Wait) { Err(PublishError::Timeout) } else { Ok(step) };
        }
    }

    fn say_when_to_wake(&mut self) {
        if self.readers_have_room() {
            self.readers.iter().for_each(|r| r.queue.wake_at_once()); // here no slot is free
        } else {
            self.readers.iter_mut().for_each(|r| r.queue.wake_when_half_empty());
        }
    }

    /// The readers that must not lose a message.
    #[inline]
    fn readers_have_room(&mut self) -> bool {
        self.readers.iter_mut().all(|r| !r.reliable || r.queue.has_room())
    }

    #[inline]
    fn prepare(&mut self) -> Step {
        if !self.readers_have_room() {
            return Step::Wait;
        }
        if self.ring.inline_bytes > 0 {
            return Step::Ready(0);
        }
        match self.free_slot() {
            Some(slot) => Step::Ready(slot),
            None => self.reclaim(),
        }
    }

    #[inline]
    fn free_slot(&mut self) -> Option<u32> {
        let pool = &self.ring.pool;
        let is_large = pool.slot_bytes() >= LARGE_BYTES;
        if self.free.is_empty() || is_large {
            self.free.clear();
            let free = (0..pool.slots()).filter(|&s| pool.holders(s).load(Ordering::SeqCst) == 0);
            self.free.extend(free.take(if is_large { 1 } else { LOOK_AHEAD }));
            self.free.reverse();
        }
        self.free.pop()
    }

    /// No slot is free: best-effort readers' oldest messages are dropped until one is.
    #[cold]
    fn reclaim(&mut self) -> Step {
        loop {
            let mut evicted = false;
            for reader in self.readers.iter_mut().filter(|r| !r.reliable) {
                if let Some(slot) = reader.queue.evict() {
                    evicted = true;
                    if self.ring.pool.holders(slot).fetch_and(!reader.bit, Ordering::SeqCst)
                        == reader.bit
                    {
                        return Step::Ready(slot);
                    }
                }
            }
            if let Some(slot) = self.free_slot() {
                return Step::Ready(slot); // a reader returned one meanwhile
            }
            if !evicted {
                break;
            }
        }
        if self.readers.iter().any(|r| r.reliable) {
            return Step::Wait;
        }
        self.readers.iter().for_each(|r| r.queue.count_drop());
        Step::Skip
    }

    #[inline]
    fn commit(&mut self, slot: u32, length: u32) {
        let pool = &self.ring.pool;
        let holders = self.readers.iter().fold(0, |all, r| all | r.bit);
        if holders == 0 {
            self.free.push(slot);
            return;
        }
        pool.holders(slot).store(holders, Ordering::Relaxed); // the queue's entry publishes it
        for reader in &mut self.readers {
            if !reader.queue.has_room() {
                if let Some(oldest) = reader.queue.evict() {
                    pool.holders(oldest).fetch_and(!reader.bit, Ordering::SeqCst);
                }
            }
            reader.queue.push(slot, length, reader.order());
            reader.wake();
            reader.queue.look_ahead();
        }
    }

    #[inline]
    fn commit_inline(&mut self, payload: &[u8]) {
        for reader in &mut self.readers {
            if !reader.queue.has_room() {
                reader.queue.evict();
            }
            reader.queue.push_inline(payload, reader.order());
            reader.wake();
            reader.queue.look_ahead();
        }
    }

    #[inline]
    fn take_up_changes(&mut self) {
        if self.ring.changes.load(Ordering::SeqCst) != self.applied {
            self.apply();
        }
    }

    #[cold]
    fn apply(&mut self) {
        let ring = self.ring.clone();
        let changes = {
            let mut posted = ring.posted.lock().unwrap();
            self.applied = ring.changes.load(Ordering::SeqCst);
            std::mem::take(&mut posted.changes)
        };
        for change in changes {
            match change {
                Change::Join(mut reader) => {
                    let taken = self.readers.iter().fold(0, |all, r| all | r.bit);
                    // `accept` admitted it, so there is a place.
                    let place = (!taken).trailing_zeros();
                    reader.bit = 1 << place;
                    reader.queue.queue.reader().store(place, Ordering::Relaxed); // its first entry publishes it
                    self.readers.push(*reader);
                }
                Change::Leave(peer) => {
                    let Some(place) = self.readers.iter().position(|r| r.peer == peer) else {
                        continue;
                    };
                    let gone = self.readers.remove(place);
                    for slot in 0..ring.pool.slots() {
                        ring.pool.holders(slot).fetch_and(!gone.bit, Ordering::SeqCst);
                    }
                }
            }
        }
    }
}

impl Reader {
    /// Sequential consistency is what lets the writer see a reader that is about to sleep.
    #[inline]
    fn order(&self) -> Ordering {
        if self.wake_word.is_some() {
            Ordering::SeqCst
        } else {
            Ordering::Release
        }
    }

    #[inline]
    fn wake(&self) {
        if let Some(word) = &self.wake_word {
            eventcount::wake(word.word());
        }
    }
}
