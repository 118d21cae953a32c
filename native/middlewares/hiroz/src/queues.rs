//! How `block` waits: a queue per subscription, emptied by one thread of the session.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use rmwbench_harness::clock::now_ns;

/// Hands a message over: (message, when the wait returned).
pub type Deliver = Box<dyn Fn(&[u8], i64) + Send>;

pub struct Queues {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    /// Queues with messages, each as often as it has some.
    ready: VecDeque<Arc<Queue>>,
    ended: bool,
}

pub struct Queue {
    /// None: without bounds.
    depth: Option<usize>,
    messages: Mutex<Messages>,
    /// None once the subscription is gone; locked while it delivers.
    deliver: Mutex<Option<Deliver>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Messages {
    waiting: VecDeque<Vec<u8>>,
    dropped: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a delivery panicked")
}

impl Queues {
    pub fn open() -> std::io::Result<Queues> {
        let shared = Arc::<Shared>::default();
        let inside = shared.clone();
        let thread =
            thread::Builder::new().name("hiroz-wait".into()).spawn(move || inside.work())?;
        Ok(Queues { shared, thread: Some(thread) })
    }

    pub fn queue(&self, depth: Option<usize>, deliver: Deliver) -> Arc<Queue> {
        Arc::new(Queue {
            depth,
            messages: Mutex::default(),
            deliver: Mutex::new(Some(deliver)),
            shared: self.shared.clone(),
        })
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        locked(&self.shared.state).ended = true;
        self.shared.arrived.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Queue {
    /// Full, it drops its oldest, as ROS 2's keep_last does.
    pub fn put(self: &Arc<Self>, message: Vec<u8>) {
        let mut messages = locked(&self.messages);
        let full = self.depth.is_some_and(|depth| messages.waiting.len() >= depth);
        if full {
            messages.waiting.pop_front();
            messages.dropped += 1;
        }
        messages.waiting.push_back(message);
        drop(messages);
        if !full {
            locked(&self.shared.state).ready.push_back(self.clone());
            self.shared.arrived.notify_one();
        }
    }

    pub fn dropped(&self) -> u64 {
        locked(&self.messages).dropped
    }

    /// Waits for a delivery that runs; none comes after.
    pub fn close(&self) {
        locked(&self.deliver).take();
    }
}

impl Shared {
    fn work(&self) {
        loop {
            let mut state = locked(&self.state);
            while state.ready.is_empty() && !state.ended {
                state = self.arrived.wait(state).expect("a delivery panicked");
            }
            let notified_ns = now_ns();
            if state.ended {
                return;
            }
            let Some(queue) = state.ready.pop_front() else { continue };
            drop(state);
            let deliver = locked(&queue.deliver);
            let message = locked(&queue.messages).waiting.pop_front();
            if let (Some(message), Some(deliver)) = (message, deliver.as_ref()) {
                deliver(&message, notified_ns);
            }
        }
    }
}
