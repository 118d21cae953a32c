//! Cyclone's wait set, as the harness's receive loop blocks on it: a read condition for each
//! reader, and a guard condition that wakes.

use cyclors::*;
use std::sync::Arc;

use rmwbench_harness::middleware::Error;
use rmwbench_harness::pump::{self, Waker};

use crate::entity::{words, Entity};
use crate::intake::Watched;

pub struct WaitSet {
    set: Entity,
    woken: Entity,
    triggered: Vec<dds_attach_t>,
    attached: usize,
}

impl WaitSet {
    pub fn new(participant: dds_entity_t) -> Result<(Self, Waker), Error> {
        // SAFETY: plain calls on live entities.
        unsafe {
            let set = Entity::owned(dds_create_waitset(participant), || "wait set".into())?;
            let woken =
                Entity::owned(dds_create_guardcondition(participant), || "guard condition".into())?;
            match dds_waitset_attach(set.handle(), woken.handle(), 0) {
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
        dds_set_guardcondition(woken, true);
    })
}

impl pump::WaitSet<Watched> for WaitSet {
    fn attach(&mut self, watched: &Arc<Watched>, token: usize) {
        // SAFETY: both live: the loop holds the reader's condition until it detached it.
        unsafe {
            dds_waitset_attach(
                self.set.handle(),
                watched.condition.handle(),
                token as dds_attach_t + 1,
            )
        };
        self.attached += 1;
        self.triggered.resize(self.attached + 1, 0);
    }

    fn detach(&mut self, watched: &Watched, _token: usize) {
        // SAFETY: as above.
        unsafe { dds_waitset_detach(self.set.handle(), watched.condition.handle()) };
        self.attached -= 1;
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        let timeout_ns = if block { i64::MAX } else { 0 };
        // SAFETY: `triggered` has a place for everything attached.
        let count = unsafe {
            dds_waitset_wait(
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
                unsafe { dds_take_guardcondition(self.woken.handle(), &mut was_set) };
            } else {
                ready.push(attached as usize - 1);
            }
        }
    }
}
