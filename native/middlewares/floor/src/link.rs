//! A reader's end of one channel, from which the harness's receive loop takes: a subscription has
//! one for each of its publishers.

use std::cell::UnsafeCell;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rmwbench_harness::pump::Source;

use crate::datagram::DatagramReader;
use crate::outlet::Outlet;
use crate::ring_reader::RingReader;
use crate::stream::StreamReader;

pub enum Channel {
    Ring(RingReader),
    Stream(StreamReader),
    Datagram(DatagramReader),
}

pub struct Link {
    pub id: u64,
    /// The subscription or client that it belongs to.
    pub owner: u64,
    outlet: Outlet,
    turn: usize,
    spins: bool,
    /// The writer is gone: its remaining messages are delivered, and then the link ends.
    closing: AtomicBool,
    over: AtomicBool,
    end: UnsafeCell<End>,
}

/// The part that only the loop's thread uses: a lock would delay what the sink does next.
struct End {
    channel: Channel,
    /// For a socket: data has arrived, and the socket was not read since.
    readable: bool,
}

// SAFETY: only `take` and the wait set use `end`, both in the thread of the one loop
// that the link was added to.
unsafe impl Sync for Link {}

impl Link {
    /// `spins`: no wait set reports its socket.
    pub fn new(
        id: u64,
        owner: u64,
        outlet: Outlet,
        channel: Channel,
        turn: usize,
        spins: bool,
    ) -> Link {
        let (closing, over) = (AtomicBool::new(false), AtomicBool::new(false));
        Link {
            id,
            owner,
            outlet,
            turn,
            spins,
            closing,
            over,
            end: UnsafeCell::new(End { channel, readable: false }),
        }
    }

    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
    }

    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Whether a ring has messages.
    ///
    /// # Safety
    /// Only the loop's thread calls this.
    #[inline]
    pub unsafe fn has_messages(&self) -> bool {
        // SAFETY: promised by the caller.
        matches!(unsafe { &(*self.end.get()).channel }, Channel::Ring(reader) if !reader.is_empty())
    }

    /// The wait reported this link's socket.
    ///
    /// # Safety
    /// Only the loop's thread calls this.
    pub unsafe fn tell(&self) {
        // SAFETY: promised by the caller.
        unsafe { (*self.end.get()).readable = true };
    }

    /// The link's descriptor; None for a ring.
    ///
    /// # Safety
    /// Only the loop's thread calls this.
    pub unsafe fn fd(&self) -> Option<&OwnedFd> {
        // SAFETY: promised by the caller; a reader keeps its descriptor.
        match unsafe { &(*self.end.get()).channel } {
            Channel::Ring(_) => None,
            Channel::Stream(reader) => Some(reader.fd()),
            Channel::Datagram(reader) => Some(reader.fd()),
        }
    }
}

impl End {
    /// Whether to read the socket, which costs a system call: once each time that the wait reported
    /// it.
    #[inline]
    fn asks(&mut self, always: bool) -> bool {
        std::mem::take(&mut self.readable) || always
    }
}

impl Source for Link {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        let closing = self.is_closing();
        // SAFETY: this is the loop's thread, and a delivery does not call this again.
        let end = unsafe { &mut *self.end.get() };
        let asks = match &end.channel {
            Channel::Ring(reader) => !reader.is_empty(),
            Channel::Stream(reader) if reader.has_whole() => true,
            _ => end.asks(self.spins || closing),
        };
        let (received, dropped, ended) = match &mut end.channel {
            _ if !asks => (false, 0, false),
            Channel::Ring(reader) => {
                (reader.receive(&self.outlet, notified_ns), reader.new_drops(), false)
            }
            Channel::Stream(reader) => {
                (reader.receive(&self.outlet, notified_ns), reader.new_drops(), reader.ended())
            }
            Channel::Datagram(reader) => {
                (reader.receive(&self.outlet, notified_ns), reader.new_drops(), false)
            }
        };
        if dropped > 0 {
            self.outlet.stats.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
        if !received && (closing || ended) {
            self.over.store(true, Ordering::Relaxed);
        }
        received
    }

    fn turn(&self) -> usize {
        self.turn
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}
