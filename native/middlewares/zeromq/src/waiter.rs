//! One thread that receives for all endpoints of a session, asleep in poll(2) or spinning.
//!
//! Endpoints come and go by a list and a version. Removing waits until the thread has seen the new list: no delivery after that.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Error, Wait};

use crate::event_fd::EventFd;

/// What an endpoint does with what has arrived.
pub trait Intake: Send + Sync {
    /// Readable when something may have arrived.
    fn fd(&self) -> RawFd;

    /// Receives and delivers until there is nothing. `notified_ns`: when the wait returned; None for a poll, which nothing notifies.
    fn drain(&self, notified_ns: Option<i64>);
}

pub struct Waiter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    version: AtomicU64,
    list: Mutex<List>,
    changed: Condvar,
    wake: Arc<EventFd>,
}

#[derive(Default)]
struct List {
    intakes: Vec<Arc<dyn Intake>>,
    version: u64,
    seen_version: u64,
    closing: bool,
}

impl Waiter {
    pub fn start(wait: Wait) -> Result<Self, Error> {
        let shared = Arc::new(Shared {
            version: AtomicU64::new(0),
            list: Mutex::default(),
            changed: Condvar::new(),
            wake: Arc::new(EventFd::new()?),
        });
        let theirs = shared.clone();
        let run = move || match wait {
            Wait::Poll => theirs.poll(),
            _ => theirs.block(),
        };
        let thread = std::thread::Builder::new().name("waiter".into()).spawn(run).map_err(|e| Error::failed("waiting thread", e))?;
        Ok(Waiter { shared, thread: Some(thread) })
    }

    /// What makes the thread look at every endpoint again.
    pub fn wake(&self) -> Arc<EventFd> {
        self.shared.wake.clone()
    }

    pub fn add(&self, intake: Arc<dyn Intake>) {
        self.shared.change(|list| list.intakes.push(intake));
    }

    /// Returns when the thread will not touch `intake` again.
    pub fn remove(&self, intake: &Arc<dyn Intake>) {
        let version = self.shared.change(|list| list.intakes.retain(|i| !Arc::ptr_eq(i, intake)));
        let list = self.shared.list.lock().unwrap();
        drop(self.shared.changed.wait_while(list, |list| list.seen_version < version).unwrap());
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.shared.change(|list| list.closing = true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut List)) -> u64 {
        let mut list = self.list.lock().unwrap();
        change(&mut list);
        list.version += 1;
        self.version.store(list.version, Ordering::Release);
        self.changed.notify_all(); // a polling thread without endpoints sleeps on it
        self.wake.raise();
        list.version
    }

    /// The list as it is now; None when the thread must end.
    fn update(&self) -> Option<(Vec<Arc<dyn Intake>>, u64)> {
        let mut list = self.list.lock().unwrap();
        list.seen_version = list.version;
        self.changed.notify_all();
        (!list.closing).then(|| (list.intakes.clone(), list.version))
    }

    fn block(&self) {
        let (mut live, mut seen) = (Vec::new(), u64::MAX);
        let mut waiting: Vec<libc::pollfd> = Vec::new();
        let item = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        loop {
            if self.version.load(Ordering::Acquire) != seen {
                let Some(new) = self.update() else { return };
                (live, seen) = new;
                waiting = std::iter::once(item(self.wake.fd())).chain(live.iter().map(|intake| item(intake.fd()))).collect();
                // A descriptor tells only what happened after the last look.
                live.iter().for_each(|intake| intake.drain(Some(now_ns())));
            }
            // SAFETY: as many entries as said.
            unsafe { libc::poll(waiting.as_mut_ptr(), waiting.len() as libc::nfds_t, -1) };
            let notified_ns = now_ns();
            let woken = waiting[0].revents != 0;
            if woken {
                self.wake.clear();
            }
            for (intake, _) in live.iter().zip(&waiting[1..]).filter(|(_, item)| woken || item.revents != 0) {
                intake.drain(Some(notified_ns));
            }
        }
    }

    fn poll(&self) {
        let (mut live, mut seen): (Vec<Arc<dyn Intake>>, u64) = (Vec::new(), u64::MAX);
        loop {
            if self.version.load(Ordering::Acquire) != seen {
                let Some(new) = self.update() else { return };
                (live, seen) = new;
            }
            if live.is_empty() {
                let list = self.list.lock().unwrap();
                drop(self.changed.wait_while(list, |list| list.version == seen).unwrap());
            }
            live.iter().for_each(|intake| intake.drain(None));
        }
    }
}
