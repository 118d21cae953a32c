//! Moves a port of `ipc::Service` to another thread, whole.
//!
//! Such a port is not `Send` because it shares its state with its samples through an `Rc`. Here a port and every sample made from
//! it are always in the hands of one thread: a sample never outlives the call that made it, and a port is moved only between calls.

pub struct Exclusive<T>(pub T);

// SAFETY: the `Rc`s inside are reachable through this value alone (see above), so no two threads touch their counters at once;
// what ports share with each other (service, node) is behind `Arc`s and in shared memory made for concurrent use.
unsafe impl<T> Send for Exclusive<T> {}
