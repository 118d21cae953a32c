//! Moves a whole port of `ipc::Service` to another thread.
//!
//! Such a port is not `Send` because it shares its state with its samples through an `Rc`. Here
//! only one thread at a time uses a port and every sample made from it: a sample never outlives the
//! call that made it, and a port is moved only between calls.

pub struct Exclusive<T>(T);

// SAFETY: promised to `new`: the `Rc`s inside are reachable through this value alone, and no two
// threads touch their counters at once; what ports share with each other (service, node) is behind
// `Arc`s and in shared memory made for concurrent use.
unsafe impl<T> Send for Exclusive<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    /// # Safety
    /// `value` holds every clone of the `Rc`s in it, and one thread at a time uses what
    /// [`Exclusive::get`] returns.
    pub unsafe fn new(value: T) -> Self {
        Exclusive(value)
    }

    #[inline]
    pub fn get(&self) -> &T {
        &self.0
    }
}
