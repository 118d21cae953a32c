//! The writers of this process, by instance handle: what a reader gets from one of them never left
//! the process.
//!
//! Cyclone delivers within a domain itself, whatever the transport; it tells of each sample who
//! wrote it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Default)]
pub struct Locals(Mutex<BTreeSet<u64>>);

impl Locals {
    pub fn add(&self, handle: u64) {
        self.0.lock().unwrap().insert(handle);
    }

    pub fn remove(&self, handle: u64) {
        self.0.lock().unwrap().remove(&handle);
    }
}

/// A reader's memory of whom it heard last: almost always it is one of these two, and no lock is
/// taken.
pub struct Heard {
    locals: Arc<Locals>,
    local: AtomicU64,
    remote: AtomicU64,
}

impl Heard {
    pub fn new(locals: Arc<Locals>) -> Heard {
        Heard { locals, local: AtomicU64::new(0), remote: AtomicU64::new(0) }
    }

    /// Whether the writer of this handle is of this process.
    #[inline]
    pub fn is_local(&self, handle: u64) -> bool {
        if handle == self.local.load(Ordering::Relaxed) {
            return true;
        }
        handle != self.remote.load(Ordering::Relaxed) && self.look_up(handle)
    }

    fn look_up(&self, handle: u64) -> bool {
        let local = self.locals.0.lock().unwrap().contains(&handle);
        if local { &self.local } else { &self.remote }.store(handle, Ordering::Relaxed);
        local
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_told_apart_also_when_they_take_turns() {
        let locals = Arc::new(Locals::default());
        (1..4).for_each(|handle| locals.add(handle));
        let heard = Heard::new(locals.clone());
        for _ in 0..3 {
            assert!((1..4).all(|handle| heard.is_local(handle)));
            assert!((7..9).all(|handle| !heard.is_local(handle)));
        }
        locals.remove(2);
        assert!(!heard.is_local(2) && heard.is_local(1));
    }
}
