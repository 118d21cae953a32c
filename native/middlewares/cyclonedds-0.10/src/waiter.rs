//! One thread that takes for all subscriptions of a session, blocked on a wait set or spinning.
//!
//! Subscriptions come and go by a list and a version; the thread alone attaches and detaches, so what the wait set returns is never
//! stale, and its loop costs one atomic load of ours. Removing waits until the thread has seen the new list: no delivery after that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Error, Wait};

use crate::entity::{words, Entity};
use crate::reader::Intake;
use crate::sys::{self, Handle};

/// A reader in the list.
pub struct Watched {
    reader: Handle,
    /// Triggered while the reader's cache holds any sample; deleted after the thread has detached it.
    condition: Entity,
    intake: Arc<Intake>,
}

impl Watched {
    pub fn new(reader: Handle, intake: Arc<Intake>) -> Result<Self, Error> {
        // SAFETY: a plain call on a live reader.
        let condition = Entity::owned(unsafe { sys::dds_create_readcondition(reader, sys::ANY_STATE) }, || "read condition".into())?;
        Ok(Watched { reader, condition, intake })
    }
}

pub struct Waiter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// The list's version, read by the thread in every turn.
    version: AtomicU64,
    list: Mutex<List>,
    seen: Condvar,
    wait_set: Option<WaitSet>,
}

#[derive(Default)]
struct List {
    watched: Vec<Arc<Watched>>,
    version: u64,
    seen_version: u64,
    closing: bool,
}

struct WaitSet {
    set: Entity,
    /// Wakes the thread when the list changed.
    changed: Entity,
}

impl Waiter {
    /// Starts the thread: blocking for [`Wait::Block`], spinning for [`Wait::Poll`].
    pub fn start(participant: Handle, wait: Wait) -> Result<Self, Error> {
        let wait_set = if wait == Wait::Block { Some(WaitSet::new(participant)?) } else { None };
        let shared = Arc::new(Shared { version: AtomicU64::new(0), list: Mutex::default(), seen: Condvar::new(), wait_set });
        let theirs = shared.clone();
        let run = move || match &theirs.wait_set {
            Some(wait_set) => theirs.block(wait_set),
            None => theirs.poll(),
        };
        let thread = std::thread::Builder::new().name("waiter".into()).spawn(run).map_err(|e| Error::failed("waiting thread", e))?;
        Ok(Waiter { shared, thread: Some(thread) })
    }

    pub fn add(&self, watched: Arc<Watched>) {
        self.shared.change(|list| list.watched.push(watched));
    }

    /// Returns when the thread will not touch `watched` again.
    pub fn remove(&self, watched: &Arc<Watched>) {
        let version = self.shared.change(|list| list.watched.retain(|w| !Arc::ptr_eq(w, watched)));
        let list = self.shared.list.lock().unwrap();
        drop(self.shared.seen.wait_while(list, |list| list.seen_version < version).unwrap());
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

impl WaitSet {
    fn new(participant: Handle) -> Result<Self, Error> {
        // SAFETY: plain calls on live entities.
        unsafe {
            let set = Entity::owned(sys::dds_create_waitset(participant), || "wait set".into())?;
            let changed = Entity::owned(sys::dds_create_guardcondition(participant), || "guard condition".into())?;
            match sys::dds_waitset_attach(set.handle(), changed.handle(), 0) {
                0 => Ok(WaitSet { set, changed }),
                code => Err(Error::failed("wait set", words(code))),
            }
        }
    }
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut List)) -> u64 {
        let mut list = self.list.lock().unwrap();
        change(&mut list);
        list.version += 1;
        self.version.store(list.version, Ordering::Release);
        self.seen.notify_all(); // a polling thread without readers sleeps on it
        if let Some(wait_set) = &self.wait_set {
            // SAFETY: a plain call on a live entity.
            unsafe { sys::dds_set_guardcondition(wait_set.changed.handle(), true) };
        }
        list.version
    }

    /// Brings `live` up to date; false when the thread must end. The caller detached nothing yet: that happens here.
    fn update(&self, live: &mut Vec<Arc<Watched>>) -> bool {
        let mut list = self.list.lock().unwrap();
        if let Some(wait_set) = &self.wait_set {
            let missing = |one: &Arc<Watched>, others: &[Arc<Watched>]| !others.iter().any(|w| Arc::ptr_eq(w, one));
            // SAFETY: the conditions live: a removed one until `remove` returns, which waits for us.
            unsafe {
                let mut was_set = false;
                sys::dds_take_guardcondition(wait_set.changed.handle(), &mut was_set);
                for gone in live.iter().filter(|w| missing(w, &list.watched)) {
                    sys::dds_waitset_detach(wait_set.set.handle(), gone.condition.handle());
                }
                for new in list.watched.iter().filter(|w| missing(w, live)) {
                    sys::dds_waitset_attach(wait_set.set.handle(), new.condition.handle(), Arc::as_ptr(new) as isize);
                }
            }
        }
        live.clone_from(&list.watched);
        list.seen_version = list.version;
        self.seen.notify_all();
        !list.closing
    }

    fn block(&self, wait_set: &WaitSet) {
        let mut live = Vec::new();
        let mut seen = u64::MAX;
        let mut triggered: Vec<isize> = Vec::new();
        loop {
            let version = self.version.load(Ordering::Acquire);
            if version != seen {
                if !self.update(&mut live) {
                    return;
                }
                seen = version;
                triggered.resize(live.len() + 1, 0);
            }
            // SAFETY: `triggered` has a place for everything attached.
            let count = unsafe { sys::dds_waitset_wait(wait_set.set.handle(), triggered.as_mut_ptr(), triggered.len(), i64::MAX) };
            let notified_ns = now_ns();
            for &attached in &triggered[..count.max(0) as usize] {
                if attached != 0 {
                    // SAFETY: attached in `update`, and `live` holds it.
                    let watched = unsafe { &*(attached as *const Watched) };
                    watched.intake.take(watched.reader, Some(notified_ns));
                }
            }
        }
    }

    fn poll(&self) {
        let mut live: Vec<Arc<Watched>> = Vec::new();
        let mut seen = u64::MAX;
        loop {
            let version = self.version.load(Ordering::Acquire);
            if version != seen {
                if !self.update(&mut live) {
                    return;
                }
                seen = version;
            }
            if live.is_empty() {
                let list = self.list.lock().unwrap();
                drop(self.seen.wait_while(list, |list| list.version == seen).unwrap());
            }
            for watched in &live {
                watched.intake.take(watched.reader, None);
            }
        }
    }
}
