//! One thread that takes for all endpoints of a session, blocked on a WaitSet or spinning.
//!
//! Endpoints come and go by a list and a version; the thread alone attaches and detaches. Removing waits until the thread has seen the
//! new list: no delivery after that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Error, Wait};

use crate::intake::Intake;
use crate::sys;

pub struct Waiter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    version: AtomicU64,
    list: Mutex<List>,
    changed: Condvar,
    wait_set: Option<WaitSet>,
}

#[derive(Default)]
struct List {
    intakes: Vec<Arc<Intake>>,
    version: u64,
    seen_version: u64,
    closing: bool,
}

struct WaitSet(*mut sys::WaitSet);

// SAFETY: one thread attaches, detaches and waits; others only pull its trigger.
unsafe impl Send for WaitSet {}
// SAFETY: as above.
unsafe impl Sync for WaitSet {}

impl Drop for WaitSet {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once, when the thread has ended.
        unsafe { sys::rmwbench_wait_set_delete(self.0) };
    }
}

impl Waiter {
    /// Starts the thread: blocking for [`Wait::Block`], spinning for [`Wait::Poll`].
    pub fn start(wait: Wait) -> Result<Self, Error> {
        // SAFETY: the runtime exists.
        let wait_set = (wait == Wait::Block).then(|| WaitSet(unsafe { sys::rmwbench_wait_set_new() }));
        let shared = Arc::new(Shared { version: AtomicU64::new(0), list: Mutex::default(), changed: Condvar::new(), wait_set });
        let theirs = shared.clone();
        let run = move || match &theirs.wait_set {
            Some(wait_set) => theirs.block(wait_set),
            None => theirs.poll(),
        };
        let thread = std::thread::Builder::new().name("waiter".into()).spawn(run).map_err(|e| Error::failed("waiting thread", e))?;
        Ok(Waiter { shared, thread: Some(thread) })
    }

    /// False when a WaitSet has no place for more.
    #[must_use]
    pub fn add(&self, intake: Arc<Intake>) -> bool {
        // SAFETY: a constant of the library.
        let limit = unsafe { sys::rmwbench_limit_waiting() } as usize;
        if self.shared.wait_set.is_some() && self.shared.list.lock().unwrap().intakes.len() >= limit {
            return false;
        }
        self.shared.change(|list| list.intakes.push(intake));
        true
    }

    /// Returns when the thread will not touch `intake` again.
    pub fn remove(&self, intake: &Arc<Intake>) {
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
        if let Some(wait_set) = &self.wait_set {
            // SAFETY: a live wait set; the trigger may be pulled by anybody.
            unsafe { sys::rmwbench_wait_set_wake(wait_set.0) };
        }
        list.version
    }

    /// Brings `live` up to date; None when the thread must end.
    fn update(&self, live: &mut Vec<Arc<Intake>>) -> Option<u64> {
        let mut list = self.list.lock().unwrap();
        if let Some(wait_set) = &self.wait_set {
            let missing = |one: &Arc<Intake>, others: &[Arc<Intake>]| !others.iter().any(|i| Arc::ptr_eq(i, one));
            // SAFETY: origins live: a removed one until `remove` returns, which waits for us.
            unsafe {
                for gone in live.iter().filter(|i| missing(i, &list.intakes)) {
                    sys::rmwbench_wait_set_detach(wait_set.0, gone.origin());
                }
                for new in list.intakes.iter().filter(|i| missing(i, live)) {
                    sys::rmwbench_wait_set_attach(wait_set.0, new.origin(), Arc::as_ptr(new) as u64);
                }
            }
        }
        live.clone_from(&list.intakes);
        list.seen_version = list.version;
        self.changed.notify_all();
        (!list.closing).then_some(list.version)
    }

    fn block(&self, wait_set: &WaitSet) {
        let (mut live, mut seen) = (Vec::new(), u64::MAX);
        let mut ids = Vec::new();
        loop {
            if self.version.load(Ordering::Acquire) != seen {
                let Some(version) = self.update(&mut live) else { return };
                seen = version;
                ids.resize(live.len() + 1, 0);
            }
            // SAFETY: `ids` has so many places.
            let count = unsafe { sys::rmwbench_wait_set_wait(wait_set.0, ids.as_mut_ptr(), ids.len()) };
            let notified_ns = now_ns();
            for &id in &ids[..count] {
                // SAFETY: attached in `update`, and `live` holds it.
                unsafe { &*(id as *const Intake) }.drain(Some(notified_ns));
            }
        }
    }

    fn poll(&self) {
        let (mut live, mut seen) = (Vec::new(), u64::MAX);
        loop {
            if self.version.load(Ordering::Acquire) != seen {
                let Some(version) = self.update(&mut live) else { return };
                seen = version;
            }
            if live.is_empty() {
                let list = self.list.lock().unwrap();
                drop(self.changed.wait_while(list, |list| list.version == seen).unwrap());
            }
            live.iter().for_each(|intake| intake.drain(None));
        }
    }
}
