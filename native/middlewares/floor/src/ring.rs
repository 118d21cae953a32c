//! The shared-memory ring: a publisher's pool of slots and a queue of slot numbers for each reader.
//!
//! Reliable: the publish call blocks while a reader's queue is full or every slot is in use; it sends to all readers or to none.
//! Best effort: a full queue forgets its oldest message, and when every slot is in a reader's hand the newest is not sent; both
//! are counted per reader, exactly. Slots are reused lowest first, so that small rings stay in the cache. Small messages need no
//! slot: they lie in the queues (option `inline_bytes`).
//!
//! A relay publishes in the waiting thread: if its own reader is served by that thread too and lags (several relays feeding one
//! topic within one process), the call blocks until its time-out. Plain chains do not: the thread takes one message of each in turn.

use std::os::fd::{AsFd, OwnedFd};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Delivery, Error, PublishError};
use rustix::io::Errno;

use crate::eventcount;
use crate::memory::Map;
use crate::pool::{Pool, MAX_READERS};
use crate::queue::{Queue, QueueWriter};
use crate::rendezvous::{Acceptance, Outgoing, PeerId};
use crate::waiter::Outlet;

/// Bytes that `loan` may need for a message that is then copied into each queue.
type Staging = Vec<u8>;

/// From this size on a slot that is still in the cache is worth looking at every slot's holders again for each message.
const LARGE_BYTES: usize = 16 << 10;
/// Free slots to collect in one look, for smaller messages: it costs a cache line for each.
const LOOK_AHEAD: usize = 8;
const BELL: usize = 0;

/// The futex word on which a process's waiting thread sleeps; every publisher of its subscriptions maps it.
pub struct Bell(Map);

impl Bell {
    pub fn create() -> Result<(Bell, OwnedFd), Errno> {
        let (map, fd) = Map::create("rmwbench-floor-bell", 4096)?;
        Ok((Bell(map), fd))
    }

    pub fn open(fd: impl AsFd) -> Result<Bell, Errno> {
        Ok(Bell(Map::open(fd, 4096)?))
    }

    pub fn word(&self) -> &std::sync::atomic::AtomicU32 {
        self.0.atomic(BELL)
    }
}

/// The publisher's end.
pub struct RingWriter {
    pool: Pool,
    pool_fd: OwnedFd,
    state: Mutex<State>,
    /// Room for messages in the queues themselves; 0: they lie in slots.
    inline_bytes: u32,
    timeout_ns: i64,
    /// Times that a publish call had to wait for a reader.
    pub blocked: AtomicU64,
}

struct State {
    readers: Vec<Reader>,
    /// Slots known to be free, the best one last.
    free: Vec<u32>,
    staging: Staging,
}

struct Reader {
    peer: PeerId,
    bit: u64,
    queue: QueueWriter,
    reliable: bool,
    /// None: that reader spins.
    bell: Option<Bell>,
}

enum Step {
    Ready(u32),
    /// A reliable reader must make room first.
    Wait,
    /// Every slot is in the hand of a best-effort reader: this message is skipped.
    Skip,
}

impl RingWriter {
    pub fn new(slots: u32, payload_bytes: u32, inline_bytes: u32, timeout_ns: i64) -> Result<RingWriter, Error> {
        let pooled = if inline_bytes > 0 { 1 } else { slots };
        let (pool, pool_fd) =
            Pool::create(pooled, payload_bytes).map_err(|e| Error::failed(format!("pool of {slots} slots of {payload_bytes} bytes"), e))?;
        let state = State { readers: Vec::with_capacity(MAX_READERS), free: Vec::with_capacity(LOOK_AHEAD), staging: vec![0; inline_bytes as usize] };
        Ok(RingWriter { pool, pool_fd, state: Mutex::new(state), inline_bytes, timeout_ns, blocked: AtomicU64::new(0) })
    }

    pub fn slots(&self) -> u32 {
        self.pool.slots()
    }

    /// Copies one message to every reader. One publishing thread at a time.
    #[inline]
    pub fn publish(&self, payload: &[u8]) -> Result<(), PublishError> {
        if self.inline_bytes == 0 {
            return self.publish_in_place(payload.len(), |slot| slot.copy_from_slice(payload));
        }
        if payload.len() > self.pool.slot_bytes() {
            return Err(PublishError::Failed);
        }
        let mut state = self.state.lock().unwrap();
        if !state.readers_have_room() {
            state = self.wait(state)?.0;
        }
        state.commit_inline(payload);
        Ok(())
    }

    /// Has `fill` write one message of `bytes` and hands it to every reader: in place, unless messages go inline.
    #[inline]
    pub fn publish_loaned(&self, bytes: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<(), PublishError> {
        if self.inline_bytes == 0 {
            return self.publish_in_place(bytes, fill);
        }
        if bytes > self.pool.slot_bytes() {
            return Err(PublishError::Failed);
        }
        let mut state = self.state.lock().unwrap();
        let mut staging = std::mem::take(&mut state.staging);
        fill(&mut staging[..bytes]);
        if !state.readers_have_room() {
            match self.wait(state) {
                Ok((guard, _)) => state = guard,
                Err(error) => {
                    self.state.lock().unwrap().staging = staging;
                    return Err(error);
                }
            }
        }
        state.commit_inline(&staging[..bytes]);
        state.staging = staging;
        Ok(())
    }

    #[inline]
    fn publish_in_place(&self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), PublishError> {
        if bytes > self.pool.slot_bytes() {
            return Err(PublishError::Failed);
        }
        let mut state = self.state.lock().unwrap();
        let slot = match state.prepare(&self.pool) {
            Step::Ready(slot) => slot,
            Step::Skip => return Ok(()),
            Step::Wait => {
                let (guard, slot) = self.wait(state)?;
                state = guard;
                match slot {
                    Some(slot) => slot,
                    None => return Ok(()),
                }
            }
        };
        // SAFETY: no reader holds this slot and no other thread publishes, so it is ours until `commit`.
        fill(unsafe { slice::from_raw_parts_mut(self.pool.payload(slot), bytes) });
        state.commit(&self.pool, slot, bytes as u32);
        Ok(())
    }

    /// Sleeps until a slot is ready; the lock is free meanwhile, so that a reader can join, leave, or be found dead.
    #[cold]
    fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<(MutexGuard<'a, State>, Option<u32>), PublishError> {
        self.blocked.fetch_add(1, Ordering::Relaxed);
        let deadline = now_ns() + self.timeout_ns;
        loop {
            let armed = eventcount::arm(self.pool.space());
            let step = match self.inline_bytes {
                0 => state.prepare(&self.pool),
                _ if state.readers_have_room() => Step::Skip, // it needs no slot
                _ => Step::Wait,
            };
            let slot = match step {
                Step::Ready(slot) => Some(slot),
                Step::Skip => None,
                Step::Wait => {
                    let left = deadline - now_ns();
                    if left <= 0 {
                        eventcount::disarm(self.pool.space());
                        return Err(PublishError::Timeout);
                    }
                    drop(state);
                    eventcount::sleep(self.pool.space(), armed, Some(left));
                    state = self.state.lock().unwrap();
                    continue;
                }
            };
            eventcount::disarm(self.pool.space());
            return Ok((state, slot));
        }
    }
}

impl State {
    #[inline]
    fn prepare(&mut self, pool: &Pool) -> Step {
        if !self.readers_have_room() {
            return Step::Wait;
        }
        match self.free_slot(pool) {
            Some(slot) => Step::Ready(slot),
            None => self.reclaim(pool),
        }
    }

    /// Those that must not lose anything.
    #[inline]
    fn readers_have_room(&mut self) -> bool {
        self.readers.iter_mut().all(|r| !r.reliable || r.queue.has_room())
    }

    #[inline]
    fn free_slot(&mut self, pool: &Pool) -> Option<u32> {
        if self.free.is_empty() || pool.slot_bytes() >= LARGE_BYTES {
            self.free.clear();
            let wanted = if pool.slot_bytes() >= LARGE_BYTES { 1 } else { LOOK_AHEAD };
            let free = (0..pool.slots()).filter(|&s| pool.holders(s).load(Ordering::SeqCst) == 0);
            self.free.extend(free.take(wanted));
            self.free.reverse();
        }
        self.free.pop()
    }

    /// No slot is free: lets best-effort readers forget their oldest messages until one is.
    #[cold]
    fn reclaim(&mut self, pool: &Pool) -> Step {
        loop {
            let mut evicted = false;
            for reader in self.readers.iter_mut().filter(|r| !r.reliable) {
                if let Some(slot) = reader.queue.evict() {
                    evicted = true;
                    if pool.holders(slot).fetch_and(!reader.bit, Ordering::SeqCst) == reader.bit {
                        return Step::Ready(slot);
                    }
                }
            }
            if let Some(slot) = self.free_slot(pool) {
                return Step::Ready(slot); // a reader gave one back meanwhile
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
    fn commit(&mut self, pool: &Pool, slot: u32, length: u32) {
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
        }
    }
}

impl Reader {
    /// Sequential consistency is what lets the writer see a reader that is about to sleep.
    #[inline]
    fn order(&self) -> Ordering {
        if self.bell.is_some() { Ordering::SeqCst } else { Ordering::Release }
    }

    #[inline]
    fn wake(&self) {
        if let Some(bell) = &self.bell {
            eventcount::ring(bell.word());
        }
    }
}

impl Outgoing for RingWriter {
    fn offer(&self, _peer: PeerId) -> Result<OwnedFd, Errno> {
        Ok(self.pool_fd.try_clone().map_err(|_| Errno::MFILE)?)
    }

    fn accept(&self, peer: PeerId, acceptance: &Acceptance, fds: Vec<OwnedFd>) -> Result<(), Errno> {
        let mut fds = fds.into_iter();
        let queue = Queue::open(fds.next().ok_or(Errno::PROTO)?, acceptance.queue_depth, self.inline_bytes)?;
        let bell = fds.next().map(Bell::open).transpose()?;
        let mut state = self.state.lock().unwrap();
        let taken = state.readers.iter().fold(0, |all, r| all | r.bit);
        let place = (!taken).trailing_zeros();
        if place as usize >= MAX_READERS {
            return Err(Errno::USERS);
        }
        queue.reader().store(place, Ordering::Relaxed);
        let reader = Reader { peer, bit: 1 << place, queue: QueueWriter::new(queue), reliable: acceptance.reliable, bell };
        state.readers.push(reader);
        Ok(())
    }

    fn remove(&self, peer: PeerId) {
        let mut state = self.state.lock().unwrap();
        let Some(place) = state.readers.iter().position(|r| r.peer == peer) else { return };
        let gone = state.readers.remove(place);
        for slot in 0..self.pool.slots() {
            self.pool.holders(slot).fetch_and(!gone.bit, Ordering::SeqCst);
        }
        drop(state);
        eventcount::ring(self.pool.space());
    }
}


/// The reader's end, owned by the waiting thread.
pub struct RingReader {
    pool: Pool,
    queue: Queue,
    hand: Hand,
    drops_seen: u64,
}

/// Where a message is while its reader looks at it.
enum Hand {
    /// In its slot.
    InPlace,
    /// Copied out of its slot.
    Copy(Vec<u8>),
    /// Copied out of the queue.
    Inline(Vec<u64>),
}

impl RingReader {
    pub fn new(pool: Pool, queue: Queue, inline_bytes: u32, zero_copy: bool) -> RingReader {
        let hand = match (inline_bytes, zero_copy) {
            (0, true) => Hand::InPlace,
            (0, false) => Hand::Copy(vec![0; pool.slot_bytes()]),
            (bytes, _) => Hand::Inline(vec![0; (bytes as usize).div_ceil(8)]),
        };
        RingReader { pool, queue, hand, drops_seen: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Delivers the oldest message, if there is one.
    #[inline]
    pub fn receive(&mut self, outlet: &Outlet) -> bool {
        let inline = if let Hand::Inline(words) = &mut self.hand { Some(&mut words[..]) } else { None };
        let Some((slot, length)) = self.queue.pop(inline) else { return false };
        let notified_ns = now_ns();
        eventcount::ring(self.pool.space());
        let length = length as usize;
        if slot >= self.pool.slots() || length > self.pool.slot_bytes() {
            return true; // a publisher that does not keep the protocol must not crash its reader
        }
        match &mut self.hand {
            Hand::Inline(words) => {
                // SAFETY: `pop` copied `length` bytes there, at most the slot size that `words` was made for.
                let payload = unsafe { slice::from_raw_parts(words.as_ptr().cast(), length) };
                outlet.deliver(&Delivery { notified_ns, taken_ns: notified_ns, payload, zero_copy: false });
            }
            Hand::InPlace => {
                // SAFETY: our bit is set in this slot's holders, so the publisher does not touch it until `release`.
                let payload = unsafe { slice::from_raw_parts(self.pool.payload(slot), length) };
                outlet.deliver(&Delivery { notified_ns, taken_ns: notified_ns, payload, zero_copy: true });
                release(&self.pool, &self.queue, slot);
            }
            Hand::Copy(copy) => {
                let copy = &mut copy[..length];
                // SAFETY: as above.
                copy.copy_from_slice(unsafe { slice::from_raw_parts(self.pool.payload(slot), length) });
                release(&self.pool, &self.queue, slot);
                outlet.deliver(&Delivery { notified_ns, taken_ns: now_ns(), payload: copy, zero_copy: false });
            }
        }
        true
    }

    /// Drops since the last call.
    #[inline]
    pub fn new_drops(&mut self) -> u64 {
        let drops = self.queue.dropped().load(Ordering::Relaxed);
        let new = drops - self.drops_seen;
        self.drops_seen = drops;
        new
    }
}

/// Gives a slot back to its publisher, and wakes it if it waits for one.
#[inline]
fn release(pool: &Pool, queue: &Queue, slot: u32) {
    let bit = 1_u64 << (queue.reader().load(Ordering::Relaxed) & 63);
    pool.holders(slot).fetch_and(!bit, Ordering::SeqCst);
    eventcount::ring(pool.space());
}
