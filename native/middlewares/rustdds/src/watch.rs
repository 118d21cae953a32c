//! Who waits: one thread of the session for the data of its readers and the status of all
//! endpoints, by RustDDS's event sources; and a spinning one, where a reader polls.
//!
//! RustDDS keeps four unread status events of an endpoint and drops what comes beyond, matches too:
//! what is matched is therefore counted in [`crate::peers`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::Wait;
use rustdds::mio1::{event::Source, Events, Interest, Poll, Registry, Token, Waker};

/// The thread's own token: it is to look around.
const ATTENTION: Token = Token(0);

/// Something that the threads look after.
pub trait Watched: Send + Sync {
    /// Takes what there is; `notified_ns` is when the wait returned, None where nobody waits.
    fn take(&self, notified_ns: Option<i64>);

    /// Reads the status events that there are.
    fn statuses(&self);
}

/// The threads of a session; dropping it ends them.
pub struct Watch {
    shared: Arc<Shared>,
    registry: Registry,
    waker: Waker,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    watched: Mutex<Table>,
    /// Readers that a spinning thread takes from; it copies them when this changes.
    polled_changed: AtomicBool,
    ended: AtomicBool,
}

#[derive(Default)]
struct Table {
    last: usize,
    /// By their tokens: data is even, statuses are odd.
    entries: HashMap<usize, (Arc<dyn Watched>, Wait)>,
    spins: bool,
}

/// A place in the table; dropping it takes the endpoint out. A delivery that runs may still end
/// after that.
pub struct Watching {
    shared: Arc<Shared>,
    number: usize,
}

impl Watch {
    pub fn open() -> std::io::Result<Watch> {
        let mut poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = Waker::new(poll.registry(), ATTENTION)?;
        let shared = Arc::new(Shared {
            watched: Mutex::default(),
            polled_changed: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let inside = shared.clone();
        let thread = thread::Builder::new()
            .name("rustdds-wait".into())
            .spawn(move || inside.wait(&mut poll))?;
        Ok(Watch { shared, registry, waker, threads: Mutex::new(vec![thread]) })
    }

    /// A number to register an endpoint's sources with.
    pub fn number(&self) -> usize {
        let mut table = self.shared.lock();
        table.last += 1;
        table.last
    }

    pub fn register_data(&self, source: &mut dyn Source, number: usize) -> std::io::Result<()> {
        source.register(&self.registry, Token(2 * number), Interest::READABLE)
    }

    pub fn register_statuses(&self, source: &mut dyn Source, number: usize) -> std::io::Result<()> {
        source.register(&self.registry, Token(2 * number + 1), Interest::READABLE)
    }

    /// Begins to look after an endpoint whose sources are registered; what came meanwhile is looked
    /// at at once.
    pub fn begin(
        &self,
        number: usize,
        endpoint: Arc<dyn Watched>,
        wait: Wait,
    ) -> std::io::Result<Watching> {
        let mut table = self.shared.lock();
        table.entries.insert(number, (endpoint, wait));
        if wait == Wait::Poll {
            self.shared.polled_changed.store(true, Ordering::Release);
            if !std::mem::replace(&mut table.spins, true) {
                let inside = self.shared.clone();
                let thread = thread::Builder::new()
                    .name("rustdds-poll".into())
                    .spawn(move || inside.spin())?;
                self.threads.lock().expect("starting a thread panicked").push(thread);
            }
        }
        drop(table);
        self.waker.wake()?;
        Ok(Watching { shared: self.shared.clone(), number })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        let _ = self.waker.wake();
        for thread in self.threads.lock().expect("starting a thread panicked").drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let removed = self.shared.lock().entries.remove(&self.number);
        self.shared.polled_changed.store(true, Ordering::Release);
        drop(removed); // after the lock: it may be the last holder
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.watched.lock().expect("the table's users do not panic")
    }

    fn entry(&self, number: usize) -> Option<(Arc<dyn Watched>, Wait)> {
        self.lock().entries.get(&number).cloned()
    }

    fn wait(&self, poll: &mut Poll) {
        let mut events = Events::with_capacity(256);
        loop {
            match poll.poll(&mut events, None) {
                Ok(()) => {}
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => panic!("waiting for RustDDS's event sources: {e}"),
            }
            let notified_ns = now_ns();
            if self.ended.load(Ordering::Acquire) {
                return;
            }
            for event in &events {
                let Token(token) = event.token();
                if event.token() == ATTENTION {
                    let all: Vec<_> = self.lock().entries.values().cloned().collect();
                    for (endpoint, wait) in all {
                        endpoint.statuses();
                        if wait != Wait::Poll {
                            endpoint.take(Some(notified_ns));
                        }
                    }
                } else if let Some((endpoint, wait)) = self.entry(token / 2) {
                    if token % 2 == 1 {
                        endpoint.statuses();
                    } else if wait != Wait::Poll {
                        endpoint.take(Some(notified_ns));
                    }
                }
            }
        }
    }

    fn spin(&self) {
        let mut polled: Vec<Arc<dyn Watched>> = Vec::new();
        while !self.ended.load(Ordering::Acquire) {
            if self.polled_changed.swap(false, Ordering::AcqRel) {
                let table = self.lock();
                polled = table
                    .entries
                    .values()
                    .filter(|(_, wait)| *wait == Wait::Poll)
                    .map(|(endpoint, _)| endpoint.clone())
                    .collect();
            }
            for endpoint in &polled {
                endpoint.take(None);
            }
            std::hint::spin_loop();
        }
    }
}
