//! Cyclone's wait set, on which the harness's receive loop blocks: a read condition for each
//! reader, and a guard condition that wakes.

use std::sync::Arc;

use rmwbench_harness::middleware::Error;
use rmwbench_harness::pump::{self, Waker};

use crate::entity::{words, Entity};
use crate::intake::{Message, Watched};
use crate::sys::{self, Handle};

pub struct WaitSet {
    set: Entity,
    woken: Entity,
    triggered: Vec<isize>,
    attached: usize,
}

impl WaitSet {
    pub fn new(participant: Handle) -> Result<(Self, Waker), Error> {
        // SAFETY: plain calls on live entities.
        unsafe {
            let set = Entity::owned(sys::dds_create_waitset(participant), || "wait set".into())?;
            let woken = Entity::owned(sys::dds_create_guardcondition(participant), || {
                "guard condition".into()
            })?;
            match sys::dds_waitset_attach(set.handle(), woken.handle(), 0) {
                0 => {
                    let waker = waker(&woken);
                    Ok((WaitSet { set, woken, triggered: vec![0], attached: 0 }, waker))
                }
                code => Err(Error::failed("wait set", words(code))),
            }
        }
    }
}

fn waker(woken: &Entity) -> Waker {
    let woken = woken.handle();
    // SAFETY: a plain call with a handle, which Cyclone refuses once the condition is gone.
    Box::new(move || unsafe {
        sys::dds_set_guardcondition(woken, true);
    })
}

impl<M: Message> pump::WaitSet<Watched<M>> for WaitSet {
    fn attach(&mut self, watched: &Arc<Watched<M>>, token: usize) {
        // SAFETY: both exist: the loop holds the reader's condition until it detached it.
        unsafe {
            sys::dds_waitset_attach(
                self.set.handle(),
                watched.condition.handle(),
                token as isize + 1,
            )
        };
        self.attached += 1;
        self.triggered.resize(self.attached + 1, 0);
    }

    fn detach(&mut self, watched: &Watched<M>, _token: usize) {
        // SAFETY: as above.
        unsafe { sys::dds_waitset_detach(self.set.handle(), watched.condition.handle()) };
        self.attached -= 1;
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        let timeout_ns = if block { i64::MAX } else { 0 };
        // SAFETY: `triggered` has a place for everything attached.
        let count = unsafe {
            sys::dds_waitset_wait(
                self.set.handle(),
                self.triggered.as_mut_ptr(),
                self.triggered.len(),
                timeout_ns,
            )
        };
        for &attached in &self.triggered[..count.max(0) as usize] {
            if attached == 0 {
                let mut was_set = false;
                // SAFETY: a plain call on a live entity.
                unsafe { sys::dds_take_guardcondition(self.woken.handle(), &mut was_set) };
            } else {
                ready.push(attached as usize - 1);
            }
        }
    }
}
