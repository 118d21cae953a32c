//! Removal of what a killed process left: its ports stay registered, and its full queue stays full,
//! until a living process cleans up.
//!
//! iceoryx2 does it by itself only when a node or a service is opened. A robot that runs for long
//! needs it at three more times, and so does the instrument: when peers are counted (a dead peer is
//! not a match), when a reader's queue stays full, and when a client has its maximum of requests
//! without an answer.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;

use iceoryx2::prelude::*;
use rmwbench_harness::clock::now_ns;

/// Checking every node costs some file operations each: this period is short enough for a person,
/// and too long to cost much.
const PERIOD_NS: i64 = 100_000_000;

#[derive(Clone)]
pub struct DeadNodes {
    config: Arc<Config>,
    last_ns: Arc<AtomicI64>,
}

impl DeadNodes {
    pub fn new(config: Arc<Config>) -> Self {
        DeadNodes { config, last_ns: Arc::new(AtomicI64::new(now_ns())) }
    }

    /// Cleans up after dead nodes, unless that was done less than 100 ms ago; returns whether it
    /// did.
    pub fn sweep(&self) -> bool {
        let (now, last) = (now_ns(), self.last_ns.load(Ordering::Relaxed));
        if now - last < PERIOD_NS
            || self
                .last_ns
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return false;
        }
        let _ = Node::<ipc::Service>::list(&self.config, |node| {
            if let NodeState::Dead(view) = node {
                // Another process may be cleaning up already, or this one may lack the permission:
                // the next sweep will show it.
                let _ = view.try_remove_stale_resources();
            }
            CallbackProgression::Continue
        });
        true
    }
}
