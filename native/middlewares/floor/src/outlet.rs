//! The destination of a link's messages, and their count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::middleware::{Delivery, Sink};

/// A subscription's counters, written by the receive loop.
#[derive(Default)]
pub struct Stats {
    pub received: AtomicU64,
    pub dropped: AtomicU64,
}

pub struct Outlet {
    pub sink: Arc<dyn Sink>,
    pub stats: Arc<Stats>,
}

impl Outlet {
    /// Counts, then delivers, so that a sink that saw a message finds it counted. Only the receive
    /// loop writes the count.
    #[inline]
    pub fn deliver(&self, delivery: &Delivery<'_>) {
        self.stats
            .received
            .store(self.stats.received.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.sink.deliver(delivery);
    }
}
