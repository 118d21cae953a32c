//! One thread that takes for all endpoints of a session: the harness's receive loop, which blocks
//! on iceoryx's WaitSet or spins.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use rmwbench_harness::middleware::{Error, Wait};
use rmwbench_harness::pump::{self, Pump};

use crate::intake::Intake;
use crate::sys;

pub struct Waiter {
    pump: Pump<Intake>,
    /// How many endpoints may still be added, because the places of a WaitSet are limited.
    free: AtomicUsize,
}

/// A WaitSet; any thread may pull its trigger, and only the loop uses the rest.
struct Set(*mut sys::WaitSet);

// SAFETY: one thread attaches, detaches and waits; others only pull its trigger.
unsafe impl Send for Set {}
// SAFETY: as above.
unsafe impl Sync for Set {}

impl Drop for Set {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once, when neither the loop nor a waker has it.
        unsafe { sys::rmwbench_wait_set_delete(self.0) };
    }
}

impl Set {
    fn wake(&self) {
        // SAFETY: the wait set exists, and any thread may pull its trigger.
        unsafe { sys::rmwbench_wait_set_wake(self.0) };
    }
}

impl Waiter {
    /// Starts the thread: blocking for [`Wait::Block`], spinning for [`Wait::Poll`].
    pub fn start(wait: Wait) -> Result<Self, Error> {
        let (pump, free) = if wait == Wait::Block {
            // SAFETY: the runtime exists.
            let set = Arc::new(Set(unsafe { sys::rmwbench_wait_set_new() }));
            let waker = set.clone();
            let wait_set = WaitSet { set, ids: vec![0], attached: 0 };
            // SAFETY: a constant of the library.
            (Pump::block("waiter", wait_set, Box::new(move || waker.wake())), unsafe {
                sys::rmwbench_limit_waiting()
            }
                as usize)
        } else {
            (Pump::poll("waiter"), usize::MAX)
        };
        Ok(Waiter {
            pump: pump.map_err(|e| Error::failed("waiting thread", e))?,
            free: AtomicUsize::new(free),
        })
    }

    /// False if a WaitSet has no place left.
    #[must_use]
    pub fn add(&self, intake: Arc<Intake>) -> bool {
        let taken =
            self.free.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |free| free.checked_sub(1));
        if taken.is_ok() {
            self.pump.add(intake);
        }
        taken.is_ok()
    }

    /// Returns when the thread will not touch `intake` again.
    pub fn remove(&self, intake: &Arc<Intake>) {
        self.pump.remove(intake);
        self.free.fetch_add(1, Ordering::SeqCst);
    }
}

struct WaitSet {
    set: Arc<Set>,
    ids: Vec<u64>,
    attached: usize,
}

impl pump::WaitSet<Intake> for WaitSet {
    fn attach(&mut self, intake: &Arc<Intake>, token: usize) {
        // SAFETY: the loop holds the intake, and so its origin, until it detached it.
        unsafe { sys::rmwbench_wait_set_attach(self.set.0, intake.origin(), token as u64) };
        self.attached += 1;
        self.ids.resize(self.attached + 1, 0);
    }

    fn detach(&mut self, intake: &Intake, _token: usize) {
        // SAFETY: as above.
        unsafe { sys::rmwbench_wait_set_detach(self.set.0, intake.origin()) };
        self.attached -= 1;
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        if !block {
            self.set.wake(); // a wait cannot return without waiting, so its own trigger ends it
        }
        // SAFETY: `ids` has this many places.
        let count = unsafe {
            sys::rmwbench_wait_set_wait(self.set.0, self.ids.as_mut_ptr(), self.ids.len())
        };
        ready.extend(self.ids[..count].iter().map(|id| *id as usize));
    }
}
