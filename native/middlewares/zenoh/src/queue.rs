//! Queues between Zenoh's callbacks and the harness's receive loop, one for each reading endpoint:
//! `block` and `poll` wait on them.
//!
//! A thread can wait for only one of Zenoh's channels, and 200 nodes must not need 200 threads. So
//! each endpoint's callback puts its arrivals into a queue here and wakes the session's loop
//! through a condition variable, as rmw_zenoh does with its wait set. The drops of a full queue are
//! counted exactly.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use rmwbench_harness::middleware::{Error, Wait};
use rmwbench_harness::pump::{Announcements, Announcing, Pumps, Registration, Source};
use zenoh::query::Query;
use zenoh::sample::Sample;

use crate::outgoing::is_sending;

/// The behaviour of a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullQueue {
    DropOldest,
    DropNewest,
    /// Zenoh's receiving thread waits; its link fills up, and the publisher's call waits in turn.
    Block,
}

/// An item of a queue.
pub struct Arrival {
    pub what: What,
    /// Zenoh called within the sender's own call: the payload is the sender's memory.
    pub in_session: bool,
}

/// A message or a reply, or a request.
pub enum What {
    Sample(Sample),
    Request(Query),
}

impl Arrival {
    /// Call it in Zenoh's callback.
    #[inline]
    pub fn now(what: What) -> Arrival {
        Arrival { what, in_session: is_sending() }
    }
}

/// Passes an arrival to its endpoint: (arrival, when the wait returned, 0 if no thread waits).
pub type Deliver = Box<dyn Fn(Arrival, i64) + Send + Sync>;

pub struct Queue {
    state: Mutex<State>,
    /// The length of `state.arrivals`, which a spinning loop reads.
    length: AtomicUsize,
    /// Senders wait here for room.
    room: Condvar,
    depth: usize,
    when_full: FullQueue,
    announced: Arc<Announcements>,
    deliver: Deliver,
}

#[derive(Default)]
struct State {
    arrivals: VecDeque<Arrival>,
    senders_waiting: usize,
    dropped: u64,
    /// The loop knows the queue by this token; None if the loop does not block on it.
    token: Option<usize>,
    closed: bool,
}

/// The receive loops of a session, and the queues for which the blocking one waits.
#[derive(Default)]
pub struct Queues {
    pumps: Pumps<Queue>,
    announced: Arc<Announcements>,
}

impl Queues {
    /// A queue that the loop for `wait` empties.
    pub fn add(
        &self,
        wait: Wait,
        depth: usize,
        when_full: FullQueue,
        deliver: Deliver,
    ) -> Result<Registration<Queue>, Error> {
        // The queue is allocated now, so that the receiving thread need not allocate for it.
        let state =
            State { arrivals: VecDeque::with_capacity(depth.min(4096)), ..State::default() };
        let (state, length, room, announced) =
            (Mutex::new(state), AtomicUsize::new(0), Condvar::new(), self.announced.clone());
        let queue = Queue { state, length, room, depth, when_full, announced, deliver };
        self.pumps.add(wait, Arc::new(queue), || Ok(self.announced.wait_set()))
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a delivery panicked")
    }

    /// Queues an arrival; called by Zenoh's threads, or by the publisher's own if both ends are in
    /// this session. `in_loop`: whether the caller is the loop that empties this queue.
    pub fn put(&self, arrival: Arrival, in_loop: impl Fn() -> bool) {
        let mut displaced = None; // dropped after the lock: it may be the last holder of a large buffer
        let mut state = self.lock();
        while !state.closed && state.arrivals.len() >= self.depth {
            match self.when_full {
                FullQueue::DropOldest => {
                    state.dropped += 1;
                    displaced = state.arrivals.pop_front();
                }
                FullQueue::DropNewest => {
                    state.dropped += 1;
                    return;
                }
                // A relay that publishes into its own session would wait for itself.
                FullQueue::Block if in_loop() => break,
                FullQueue::Block => {
                    state.senders_waiting += 1;
                    state = self.room.wait(state).expect("a delivery panicked");
                    state.senders_waiting -= 1;
                }
            }
        }
        if state.closed {
            return;
        }
        state.arrivals.push_back(arrival);
        self.length.store(state.arrivals.len(), Ordering::Release);
        let announce = state.token.filter(|_| state.arrivals.len() == 1);
        drop(state);
        if let Some(token) = announce {
            self.announced.announce(token);
        }
        drop(displaced);
    }

    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// Ends queueing and taking; blocked senders continue.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let left = std::mem::take(&mut state.arrivals);
        drop(state);
        self.room.notify_all();
        drop(left);
    }
}

impl Source for Queue {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        if self.length.load(Ordering::Acquire) == 0 {
            return false;
        }
        let mut state = self.lock();
        let Some(arrival) = state.arrivals.pop_front() else { return false };
        self.length.store(state.arrivals.len(), Ordering::Release);
        let wake_sender = state.senders_waiting > 0;
        drop(state);
        if wake_sender {
            self.room.notify_one();
        }
        (self.deliver)(arrival, notified_ns);
        true
    }
}

impl Announcing for Queue {
    fn announce_by(&self, token: Option<usize>) {
        self.lock().token = token;
    }
}
