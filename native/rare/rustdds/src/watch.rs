//! The status of all endpoints of a session: a thread reads the events when they come, and
//! otherwise sleeps.
//!
//! RustDDS keeps four unread status events of an endpoint and drops further ones, even matches: so
//! a thread must read them all the time, and matches are counted in [`crate::peers`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use rustdds::mio1::{event::Source, Events, Interest, Poll, Registry, Token, Waker};

/// The thread's own token: it must check all endpoints.
const ATTENTION: Token = Token(0);

/// An object whose status events the thread reads.
pub trait StatusSource: Send + Sync {
    /// Reads the present status events.
    fn read_status_events(&self);
}

/// The thread of a session; dropping it ends it.
pub struct StatusThread {
    shared: Arc<Shared>,
    registry: Registry,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    table: Mutex<Table>,
    ended: AtomicBool,
}

#[derive(Default)]
struct Table {
    last: usize,
    entries: HashMap<usize, Arc<dyn StatusSource>>,
}

/// A place in the table; dropping it removes the endpoint.
pub struct StatusRegistration {
    shared: Arc<Shared>,
    number: usize,
}

impl StatusThread {
    pub fn open() -> std::io::Result<StatusThread> {
        let mut poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = Waker::new(poll.registry(), ATTENTION)?;
        let shared = Arc::new(Shared { table: Mutex::default(), ended: AtomicBool::new(false) });
        let inside = shared.clone();
        let thread = thread::Builder::new()
            .name("rustdds-status".into())
            .spawn(move || inside.wait(&mut poll))?;
        Ok(StatusThread { shared, registry, waker, thread: Some(thread) })
    }

    /// A new token for an endpoint; 0 is the waker's.
    pub fn number(&self) -> usize {
        let mut table = self.shared.lock();
        table.last += 1;
        table.last
    }

    pub fn register(&self, source: &mut dyn Source, number: usize) -> std::io::Result<()> {
        source.register(&self.registry, Token(number), Interest::READABLE)
    }

    /// Begins to read the events of an endpoint whose source is registered; events since
    /// registration are read immediately.
    pub fn begin(
        &self,
        number: usize,
        endpoint: Arc<dyn StatusSource>,
    ) -> std::io::Result<StatusRegistration> {
        self.shared.lock().entries.insert(number, endpoint);
        self.waker.wake()?;
        Ok(StatusRegistration { shared: self.shared.clone(), number })
    }
}

impl Drop for StatusThread {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        let _ = self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for StatusRegistration {
    fn drop(&mut self) {
        let removed = self.shared.lock().entries.remove(&self.number);
        drop(removed); // after the lock: it may be the last holder
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("the table's users do not panic")
    }

    fn wait(&self, poll: &mut Poll) {
        let mut events = Events::with_capacity(256);
        loop {
            match poll.poll(&mut events, None) {
                Ok(()) => {}
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => panic!("waiting for RustDDS's status events: {e}"),
            }
            if self.ended.load(Ordering::Acquire) {
                return;
            }
            for event in &events {
                let endpoints: Vec<_> = if event.token() == ATTENTION {
                    self.lock().entries.values().cloned().collect()
                } else {
                    self.lock().entries.get(&event.token().0).cloned().into_iter().collect()
                };
                endpoints.iter().for_each(|endpoint| endpoint.read_status_events());
            }
        }
    }
}
