//! Queues of messages, one per reading endpoint, emptied by one thread: how `block` and `poll` wait.
//!
//! Zenoh's channels are waited for one by one, and 200 nodes must not need 200 threads. So each subscription's callback puts its
//! sample into a queue here and wakes the session's thread through a condition variable, as rmw_zenoh does with its wait set. What a
//! full queue drops is counted exactly. One lock guards all queues: a put or a take holds it for some tens of nanoseconds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle, ThreadId};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::Wait;
use rmwbench_harness::pump::TURN;
use zenoh::query::Query;
use zenoh::sample::Sample;

/// What happens when a queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullQueue {
    DropOldest,
    DropNewest,
    /// Zenoh's receiving thread waits; its link fills up, and the publisher's call waits in turn.
    Block,
}

/// What waits in a queue: messages and replies, or requests.
pub enum Mail {
    Sample(Sample),
    Request(Query),
}

/// Hands mail to its endpoint: (mail, when the wait returned, 0 where nobody waits).
pub type Deliver = Box<dyn Fn(Mail, i64) + Send + Sync>;

pub struct Mailroom {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// The thread waits here for mail.
    arrived: Condvar,
    /// Blocked senders wait here for room, removals for the end of a delivery.
    settled: Condvar,
    /// Queues with mail: what a spinning thread looks at.
    ready: AtomicUsize,
    spin: bool,
}

#[derive(Default)]
struct State {
    boxes: Vec<Option<Mailbox>>,
    ready: VecDeque<usize>,
    /// The box whose sample is being delivered.
    busy: Option<usize>,
    thread: Option<ThreadId>,
    sleeping: bool,
    ended: bool,
}

struct Mailbox {
    queue: VecDeque<Mail>,
    depth: usize,
    when_full: FullQueue,
    dropped: u64,
    deliver: Arc<Deliver>,
}

/// A subscription's queue; dropping it ends delivery.
pub struct Post {
    shared: Arc<Shared>,
    id: usize,
}

impl Mailroom {
    pub fn open(wait: Wait) -> std::io::Result<Mailroom> {
        let spin = wait == Wait::Poll;
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            arrived: Condvar::new(),
            settled: Condvar::new(),
            ready: AtomicUsize::new(0),
            spin,
        });
        let inside = shared.clone();
        let name = if spin { "zenoh-poll" } else { "zenoh-wait" };
        let thread = thread::Builder::new().name(name.into()).spawn(move || inside.work())?;
        Ok(Mailroom { shared, thread: Some(thread) })
    }

    pub fn post(&self, depth: usize, when_full: FullQueue, deliver: Deliver) -> Arc<Post> {
        let mut state = self.shared.lock();
        let id = state.boxes.len();
        // Room for the queue now: the receiving thread should not allocate for it.
        let queue = VecDeque::with_capacity(depth.min(4096));
        state.boxes.push(Some(Mailbox { queue, depth, when_full, dropped: 0, deliver: Arc::new(deliver) }));
        Arc::new(Post { shared: self.shared.clone(), id })
    }
}

impl Drop for Mailroom {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.ready.fetch_add(1, Ordering::Release); // out of its spin
        self.shared.arrived.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Post {
    /// Queues mail; called by Zenoh's threads, or by the publisher's own when both ends are in this session.
    pub fn put(&self, mail: Mail) {
        let displaced; // dropped after the lock: it may be the last holder of a large buffer
        let mut state = self.shared.lock();
        loop {
            let own_thread = state.thread == Some(thread::current().id());
            let Some(mailbox) = state.boxes[self.id].as_mut() else { return };
            if mailbox.queue.len() < mailbox.depth {
                displaced = None;
                break;
            }
            match mailbox.when_full {
                FullQueue::DropOldest => {
                    mailbox.dropped += 1;
                    displaced = mailbox.queue.pop_front();
                    break;
                }
                FullQueue::DropNewest => {
                    mailbox.dropped += 1;
                    drop(state);
                    return;
                }
                // A relay that publishes into its own session: waiting would be for itself.
                FullQueue::Block if own_thread => {
                    displaced = None;
                    break;
                }
                FullQueue::Block => state = self.shared.settled.wait(state).expect("a delivery panicked"),
            }
        }
        let mailbox = state.boxes[self.id].as_mut().expect("checked above, and the lock was held since");
        mailbox.queue.push_back(mail);
        if mailbox.queue.len() == 1 && state.busy != Some(self.id) {
            state.ready.push_back(self.id);
            self.shared.ready.fetch_add(1, Ordering::Release);
        }
        let wake = std::mem::take(&mut state.sleeping);
        drop(state);
        if wake {
            self.shared.arrived.notify_one();
        }
        drop(displaced);
    }

    pub fn dropped(&self) -> u64 {
        self.shared.lock().boxes[self.id].as_ref().map_or(0, |b| b.dropped)
    }

    /// Ends delivery: after this the subscription hears nothing more, and blocked senders go on.
    pub fn close(&self) {
        let mut state = self.shared.lock();
        let closed = state.boxes[self.id].take();
        let own_thread = state.thread == Some(thread::current().id());
        self.shared.settled.notify_all();
        while state.busy == Some(self.id) && !own_thread {
            state = self.shared.settled.wait(state).expect("a delivery panicked");
        }
        drop(state);
        drop(closed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a delivery panicked")
    }

    fn work(&self) {
        self.lock().thread = Some(thread::current().id());
        loop {
            let mut state = self.wait_for_mail();
            // Nobody waits when polling.
            let mut notified_ns = if self.spin { 0 } else { now_ns() };
            if state.ended {
                return;
            }
            let Some(id) = state.ready.pop_front() else { continue };
            self.ready.fetch_sub(1, Ordering::Relaxed);
            state.busy = Some(id);
            for message in 0..TURN {
                let Some(mailbox) = state.boxes[id].as_mut() else { break };
                let Some(mail) = mailbox.queue.pop_front() else { break };
                let deliver = mailbox.deliver.clone();
                let senders_wait = mailbox.when_full == FullQueue::Block;
                drop(state);
                if senders_wait {
                    self.settled.notify_all();
                }
                // A further message was announced by no wait: the thread turns to it now.
                if message > 0 && !self.spin {
                    notified_ns = now_ns();
                }
                deliver(mail, notified_ns);
                state = self.lock();
            }
            state.busy = None;
            match &state.boxes[id] {
                None => self.settled.notify_all(), // it was closed meanwhile, and someone waits for this delivery to end
                Some(mailbox) if !mailbox.queue.is_empty() => {
                    state.ready.push_back(id);
                    self.ready.fetch_add(1, Ordering::Relaxed);
                }
                Some(_) => {}
            }
        }
    }

    fn wait_for_mail(&self) -> MutexGuard<'_, State> {
        if self.spin {
            while self.ready.load(Ordering::Acquire) == 0 {
                std::hint::spin_loop();
            }
            return self.lock();
        }
        let mut state = self.lock();
        while state.ready.is_empty() && !state.ended {
            state.sleeping = true;
            state = self.arrived.wait(state).expect("a delivery panicked");
        }
        state
    }
}
