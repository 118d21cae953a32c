//! A reader's end of the shared-memory ring, owned by the receive loop.
//!
//! Between taking a message and handing it on there is no locked instruction for a reliable reader:
//! one would delay everything that the sink does next until all earlier stores have left the core.
//! The publisher is notified after the delivery.

use std::slice;
use std::sync::atomic::{fence, Ordering};

use rmwbench_harness::middleware::Delivery;

use crate::eventcount;
use crate::outlet::Outlet;
use crate::pool::Pool;
use crate::queue::Queue;

pub struct RingReader {
    pool: Pool,
    queue: Queue,
    /// The writer never takes an entry back: the reader takes one without synchronising.
    reliable: bool,
    hand: Hand,
    drops_seen: u64,
}

/// Where a message is while its reader looks at it.
enum Hand {
    /// It is in its slot.
    InPlace,
    /// It was copied out of its slot.
    Copy(Vec<u8>),
    /// It was copied out of the queue.
    Inline(Vec<u64>),
}

impl RingReader {
    pub fn new(
        pool: Pool,
        queue: Queue,
        reliable: bool,
        inline_bytes: u32,
        zero_copy: bool,
    ) -> RingReader {
        let hand = match (inline_bytes, zero_copy) {
            (0, true) => Hand::InPlace,
            // Not zeros, for which the allocator might supply pages that nobody has touched: the
            // first message must not pay for them, here as with any middleware.
            (0, false) => Hand::Copy(vec![0xA5; pool.slot_bytes()]),
            (bytes, _) => Hand::Inline(vec![u64::MAX; (bytes as usize).div_ceil(8)]),
        };
        RingReader { pool, queue, reliable, hand, drops_seen: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Delivers the oldest message, if there is one. `notified_ns` as for [`Delivery::taken`].
    #[inline]
    pub fn receive(&mut self, outlet: &Outlet, notified_ns: i64) -> bool {
        let inline =
            if let Hand::Inline(words) = &mut self.hand { Some(&mut words[..]) } else { None };
        let Some((slot, length)) = self.queue.pop(inline, self.reliable) else { return false };
        let length = length as usize;
        if slot >= self.pool.slots() || length > self.pool.slot_bytes() {
            return true; // a publisher that violates the protocol must not crash its reader
        }
        match &mut self.hand {
            Hand::Inline(words) => {
                // SAFETY: `pop` copied `length` bytes there, at most the slot size that `words` was
                // made for.
                let payload = unsafe { slice::from_raw_parts(words.as_ptr().cast(), length) };
                outlet.deliver(&Delivery::taken(notified_ns, payload, false));
            }
            Hand::InPlace => {
                // SAFETY: our bit is set in this slot's holders, so the publisher does not touch it
                // until `release`.
                let payload = unsafe { slice::from_raw_parts(self.pool.payload(slot), length) };
                outlet.deliver(&Delivery::taken(notified_ns, payload, true));
                release(&self.pool, &self.queue, slot);
            }
            Hand::Copy(copy) => {
                let copy = &mut copy[..length];
                // SAFETY: as above.
                copy.copy_from_slice(unsafe {
                    slice::from_raw_parts(self.pool.payload(slot), length)
                });
                release(&self.pool, &self.queue, slot);
                outlet.deliver(&Delivery::taken(notified_ns, copy, false));
            }
        }
        if self.reliable {
            fence(Ordering::SeqCst); // the publisher's counterpart is in its wait
            wake_publisher(&self.pool, &self.queue);
        }
        true
    }

    /// The number of drops since the last call.
    #[inline]
    pub fn new_drops(&mut self) -> u64 {
        let drops = self.queue.dropped().load(Ordering::Relaxed);
        let new = drops - self.drops_seen;
        self.drops_seen = drops;
        new
    }
}

/// Returns a slot to its publisher. Even a best-effort reader may hold one for which a publisher
/// waits on behalf of a reliable one.
#[inline]
fn release(pool: &Pool, queue: &Queue, slot: u32) {
    let bit = 1_u64 << (queue.reader().load(Ordering::Relaxed) & 63);
    pool.holders(slot).fetch_and(!bit, Ordering::SeqCst);
    wake_publisher(pool, queue);
}

#[inline]
fn wake_publisher(pool: &Pool, queue: &Queue) {
    if eventcount::is_armed(pool.space()) && queue.may_wake_writer() {
        eventcount::wake(pool.space());
    }
}
