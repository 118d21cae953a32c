//! The writers of this process, by instance handle: a message that a reader gets from one of them
//! never left the process.
//!
//! Within a domain Cyclone delivers directly, whatever the transport; each sample has the handle of
//! its writer.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Default)]
pub struct Locals(Mutex<BTreeSet<u64>>);

impl Locals {
    /// Adds a writer until the result is dropped.
    pub fn add(self: &Arc<Self>, handle: u64) -> Local {
        self.0.lock().unwrap().insert(handle);
        Local { locals: self.clone(), handle }
    }
}

/// A writer of this process.
pub struct Local {
    locals: Arc<Locals>,
    handle: u64,
}

impl Drop for Local {
    fn drop(&mut self) {
        self.locals.0.lock().unwrap().remove(&self.handle);
    }
}

/// A reader's memory of the last writers: a message is almost always from one of these two, and
/// then no lock is taken.
pub struct Heard {
    locals: Arc<Locals>,
    local: AtomicU64,
    remote: AtomicU64,
    /// The number of messages of this process's own writers.
    messages: AtomicU64,
}

impl Heard {
    pub fn new(locals: Arc<Locals>) -> Heard {
        let [local, remote, messages] = [0; 3].map(AtomicU64::new);
        Heard { locals, local, remote, messages }
    }

    /// Counts a message of this writer, if the writer is in this process.
    #[inline]
    pub fn hear(&self, handle: u64) {
        if self.is_local(handle) {
            self.messages.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of messages that it heard from this process's own writers.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Whether the writer with this handle is in this process.
    #[inline]
    fn is_local(&self, handle: u64) -> bool {
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
        let mut writers: Vec<_> = (1..4).map(|handle| locals.add(handle)).collect();
        let heard = Heard::new(locals.clone());
        for _ in 0..3 {
            assert!((1..4).all(|handle| heard.is_local(handle)));
            assert!((7..9).all(|handle| !heard.is_local(handle)));
            (2..9).for_each(|handle| heard.hear(handle));
        }
        writers.remove(1);
        assert!(!heard.is_local(2) && heard.is_local(1));
        assert_eq!(heard.messages(), 6);
    }
}
