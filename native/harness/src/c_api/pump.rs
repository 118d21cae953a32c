//! The receive loop ([`crate::pump`]) for middlewares in C or C++: a reader is a function that
//! takes one message, and the middleware's wait set is four functions.

use std::ptr::null_mut;
use std::sync::Arc;

use super::raw;
use super::reports::wait_mode;
use crate::middleware::Error;
use crate::pump::{Pumps, Registration, Source, WaitSet, Waker};

/// `rmwbench_pumps`.
pub struct CPumps {
    pumps: Pumps<CSource>,
    wait_set: raw::WaitSet,
}

struct CSource(raw::Source);

// SAFETY: the header lets `take` be called from the loop's thread, and the context live until the
// registration has ended.
unsafe impl Send for CSource {}
unsafe impl Sync for CSource {}

impl Source for CSource {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        // SAFETY: as above.
        unsafe { (self.0.take)(self.0.context, notified_ns) != 0 }
    }
}

struct CWaitSet(raw::WaitSet);

// SAFETY: the header says which of its functions are called from the loop's thread; `wake` may be
// called from any.
unsafe impl Send for CWaitSet {}
unsafe impl Sync for CWaitSet {}

impl CWaitSet {
    fn wake(&self) {
        // SAFETY: the context lives until `rmwbench_pumps_destroy` returned.
        unsafe { (self.0.wake)(self.0.context) }
    }
}

impl WaitSet<CSource> for CWaitSet {
    fn attach(&mut self, source: &Arc<CSource>, token: usize) {
        // SAFETY: as above; the source is registered.
        unsafe { (self.0.attach)(self.0.context, source.0.context, token) }
    }

    fn detach(&mut self, source: &CSource, token: usize) {
        // SAFETY: as above.
        unsafe { (self.0.detach)(self.0.context, source.0.context, token) }
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        let place = ready.spare_capacity_mut();
        let room = place.len();
        // SAFETY: the place has that room, and the header promises that as many tokens as the
        // function returned were written.
        unsafe {
            let count =
                (self.0.wait)(self.0.context, block.into(), place.as_mut_ptr().cast(), room);
            ready.set_len(ready.len() + count.min(room));
        }
    }
}

/// # Safety
/// `wait_set` keeps the header's promises until `rmwbench_pumps_destroy` returned.
#[no_mangle]
unsafe extern "C" fn rmwbench_pumps_create(wait_set: *const raw::WaitSet) -> *mut CPumps {
    Box::into_raw(Box::new(CPumps { pumps: Pumps::default(), wait_set: *wait_set }))
}

/// # Safety
/// `pumps` came from `rmwbench_pumps_create` and is destroyed once, after its last registration
/// ended; or it is NULL.
#[no_mangle]
unsafe extern "C" fn rmwbench_pumps_destroy(pumps: *mut CPumps) {
    if !pumps.is_null() {
        drop(Box::from_raw(pumps));
    }
}

/// # Safety
/// `source` keeps the header's promises until its registration ended.
#[no_mangle]
unsafe extern "C" fn rmwbench_pumps_add(
    pumps: *const CPumps,
    wait: i32,
    source: *const raw::Source,
) -> *mut Registration<CSource> {
    let CPumps { pumps, wait_set } = &*pumps;
    let make_wait_set = || -> Result<(CWaitSet, Waker), Error> {
        let waker = CWaitSet(*wait_set);
        Ok((CWaitSet(*wait_set), Box::new(move || waker.wake())))
    };
    let registration = pumps.add(wait_mode(wait), Arc::new(CSource(*source)), make_wait_set);
    registration.map_or(null_mut(), |registration| Box::into_raw(Box::new(registration)))
}

/// # Safety
/// `registration` came from `rmwbench_pumps_add` and ends once; or it is NULL.
#[no_mangle]
unsafe extern "C" fn rmwbench_registration_end(registration: *mut Registration<CSource>) {
    if !registration.is_null() {
        drop(Box::from_raw(registration));
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::sync::{Condvar, Mutex};

    use super::*;

    /// A wait set in C: the ready tokens, and whether the waker was called.
    #[derive(Default)]
    struct Queue {
        state: Mutex<State>,
        changed: Condvar,
    }

    #[derive(Default)]
    struct State {
        attached: Vec<(usize, usize)>,
        woken: bool,
        left: Vec<(usize, u32)>,
        taken: Vec<(usize, bool)>,
    }

    impl State {
        /// The attached readers that have messages.
        fn tokens(&self) -> Vec<usize> {
            let has_messages =
                |number: usize| self.left.iter().any(|(of, left)| *of == number && *left > 0);
            self.attached
                .iter()
                .filter(|(number, _)| has_messages(*number))
                .map(|(_, token)| *token)
                .collect()
        }
    }

    impl Queue {
        unsafe fn of<'a>(context: *mut c_void) -> &'a Queue {
            &*context.cast::<Queue>()
        }

        fn wait_set(&self) -> raw::WaitSet {
            raw::WaitSet {
                context: (&raw const *self).cast_mut().cast(),
                attach,
                detach,
                wait,
                wake,
            }
        }

        fn publish(&self, reader: usize, messages: u32) {
            self.state.lock().unwrap().left.push((reader, messages));
            self.changed.notify_all();
        }

        fn until_taken(&self, messages: usize) {
            let state = self.state.lock().unwrap();
            drop(self.changed.wait_while(state, |s| s.taken.len() < messages).unwrap());
        }
    }

    /// A reader in C: its number, and where its messages are.
    struct Reader<'a> {
        number: usize,
        queue: &'a Queue,
    }

    impl Reader<'_> {
        fn source(&self) -> raw::Source {
            raw::Source { context: (&raw const *self).cast_mut().cast(), take }
        }
    }

    unsafe extern "C" fn take(reader: *mut c_void, notified_ns: i64) -> i32 {
        let reader = &*reader.cast::<Reader>();
        let mut state = reader.queue.state.lock().unwrap();
        let Some(place) =
            state.left.iter().position(|(number, left)| *number == reader.number && *left > 0)
        else {
            return 0;
        };
        state.left[place].1 -= 1;
        state.taken.push((reader.number, notified_ns > 0));
        reader.queue.changed.notify_all();
        1
    }

    unsafe extern "C" fn attach(queue: *mut c_void, reader: *mut c_void, token: usize) {
        let number = (*reader.cast::<Reader>()).number;
        Queue::of(queue).state.lock().unwrap().attached.push((number, token));
    }

    unsafe extern "C" fn detach(queue: *mut c_void, reader: *mut c_void, token: usize) {
        let number = (*reader.cast::<Reader>()).number;
        Queue::of(queue).state.lock().unwrap().attached.retain(|place| *place != (number, token));
    }

    unsafe extern "C" fn wait(
        queue: *mut c_void,
        block: i32,
        ready: *mut usize,
        room: usize,
    ) -> usize {
        let queue = Queue::of(queue);
        let is_idle = |s: &mut State| block != 0 && !s.woken && s.tokens().is_empty();
        let mut state = queue.changed.wait_while(queue.state.lock().unwrap(), is_idle).unwrap();
        state.woken = false;
        let tokens = state.tokens();
        assert!(tokens.len() <= room, "there is room for every reader");
        tokens.as_ptr().copy_to(ready, tokens.len());
        tokens.len()
    }

    unsafe extern "C" fn wake(queue: *mut c_void) {
        Queue::of(queue).state.lock().unwrap().woken = true;
        Queue::of(queue).changed.notify_all();
    }

    #[test]
    fn readers_behind_c_are_served_in_turns_and_end_when_their_registration_does() {
        for (wait, is_announced) in [(0, true), (1, false)] {
            let queue = Queue::default();
            let (a, b) = (Reader { number: 1, queue: &queue }, Reader { number: 2, queue: &queue });
            // SAFETY: all arguments outlive the registrations and the loops.
            unsafe {
                let pumps = rmwbench_pumps_create(&queue.wait_set());
                let [first, second] =
                    [&a, &b].map(|reader| rmwbench_pumps_add(pumps, wait, &reader.source()));
                assert!(!first.is_null() && !second.is_null());
                queue.publish(2, 1);
                queue.publish(1, 9);
                queue.until_taken(10);
                rmwbench_registration_end(first);
                queue.publish(1, 1);
                queue.publish(2, 5);
                queue.until_taken(15);
                rmwbench_registration_end(second);
                rmwbench_pumps_destroy(pumps);
            }
            let state = queue.state.lock().unwrap();
            assert_eq!(
                state.taken.iter().filter(|(number, _)| *number == 1).count(),
                9,
                "nothing after its registration ended"
            );
            assert!(
                state.taken.iter().all(|(_, announced)| *announced == is_announced),
                "notified_ns is 0 where nobody waits"
            );
            assert!(state.attached.is_empty(), "each that was attached was detached");
        }
    }
}
