//! iceoryx2's wait set, on which the harness's receive loop blocks: the listener of each reader,
//! and a socket pair that wakes.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use iceoryx2::port::listener::Listener;
use iceoryx2::prelude::*;
use iceoryx2::waitset::{WaitSet as Set, WaitSetGuard};
use rmwbench_harness::middleware::{Error, Wait};
use rmwbench_harness::pump::{self, Pumps, Registration, Source, Waker};

use crate::exclusive::Exclusive;

/// The part of a reader that the loop uses: its ports and the destination of its messages.
pub trait Reader {
    /// None if the reader polls.
    fn listener(&self) -> Option<&Listener<ipc::Service>>;

    /// Takes one message, if there is one, and delivers it: see [`Source::take`].
    fn take(&self, notified_ns: i64) -> bool;
}

/// A reader that a loop watches.
pub struct Watched(Exclusive<Box<dyn Reader>>);

/// The receive loops of a session.
#[derive(Default)]
pub struct Waiters(Pumps<Watched>);

impl Waiters {
    /// From now on the loop for `wait` takes for `reader`, until the result is dropped.
    pub fn add(
        &self,
        wait: Wait,
        reader: impl Reader + 'static,
    ) -> Result<Registration<Watched>, Error> {
        // SAFETY: only the loop's thread uses the reader until it is removed, and it is dropped
        // after that.
        let watched = Watched(unsafe { Exclusive::new(Box::new(reader)) });
        self.0.add(wait, Arc::new(watched), WaitSet::new)
    }
}

impl Source for Watched {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        self.0.get().take(notified_ns)
    }
}

type Guard = WaitSetGuard<'static, 'static, ipc::Service>;

struct WaitSet {
    attached: HashMap<WaitSetAttachmentId<ipc::Service>, Attached>,
    // Guards point to fields that are declared after them.
    _woken: Guard,
    wake: Arc<Wake>,
    set: Rc<Set<ipc::Service>>,
}

struct Attached {
    token: usize,
    listener: &'static Listener<ipc::Service>,
    _guard: Guard,
}

// SAFETY: it is moved once, whole, to the thread that uses it from then on.
unsafe impl Send for WaitSet {}

impl WaitSet {
    fn new() -> Result<(WaitSet, Waker), Error> {
        let failed = |e: &dyn std::fmt::Display| Error::failed("wait set", e);
        let (caller, woken) = UnixStream::pair().map_err(|e| failed(&e))?;
        caller.set_nonblocking(true).map_err(|e| failed(&e))?;
        woken.set_nonblocking(true).map_err(|e| failed(&e))?;
        let descriptor = FileDescriptor::non_owning_new(woken.as_raw_fd())
            .ok_or_else(|| failed(&"a socket without descriptor"))?;
        let wake = Arc::new(Wake { woken, descriptor });
        let builder = WaitSetBuilder::new().signal_handling_mode(SignalHandlingMode::Disabled);
        let set = Rc::new(builder.create::<ipc::Service>().map_err(|e| failed(&e))?);
        // SAFETY: both stay where they are and outlive the guard, which is declared before them.
        let guard = unsafe { (*Rc::as_ptr(&set)).attach_notification(&*Arc::as_ptr(&wake)) }
            .map_err(|e| failed(&e))?;
        let waker = move || drop((&caller).write(&[1])); // full: a wake-up is already pending
        Ok((WaitSet { attached: HashMap::new(), _woken: guard, wake, set }, Box::new(waker)))
    }
}

impl pump::WaitSet<Watched> for WaitSet {
    fn attach(&mut self, watched: &Arc<Watched>, token: usize) {
        let Some(listener) = watched.0.get().listener() else { return };
        // SAFETY: the loop keeps the reader until it detached it or dropped this; the set outlives
        // its guards.
        let (set, listener) = unsafe { (&*Rc::as_ptr(&self.set), &*std::ptr::from_ref(listener)) };
        match set.attach_notification(listener) {
            Ok(guard) => {
                let id = WaitSetAttachmentId::from_guard(&guard);
                self.attached.insert(id, Attached { token, listener, _guard: guard });
            }
            Err(why) => {
                eprintln!("iceoryx2 wait set: a reader of this process hears nothing: {why}")
            }
        }
    }

    fn detach(&mut self, _watched: &Watched, token: usize) {
        self.attached.retain(|_, attached| attached.token != token);
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        let handle_event = |id| {
            match self.attached.get(&id) {
                // The listener is emptied before messages are taken, as in iceoryx2's manual: a
                // message sent after this wakes the loop again. (Taking messages first and looking
                // twice would hide about 2 of 15 µs from the latency; its users do not write that.)
                Some(attached) => {
                    let _ = attached.listener.try_wait(|_| {});
                    ready.push(attached.token);
                }
                None => self.wake.clear(),
            }
            CallbackProgression::Continue
        };
        let waited = match block {
            true => self.set.wait_and_process_once(handle_event),
            false => self.set.wait_and_process_once_with_timeout(handle_event, Duration::ZERO),
        };
        if let Err(why) = waited {
            // No reader of this session can be woken any more: print the error, and keep additions
            // and removals working.
            eprintln!("iceoryx2 wait set: {why}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The end of the socket pair that a wait set can watch.
#[derive(Debug)]
struct Wake {
    woken: UnixStream,
    descriptor: FileDescriptor,
}

impl Wake {
    fn clear(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.woken).read(&mut bytes), Ok(n) if n > 0) {}
    }
}

impl FileDescriptorBased for Wake {
    fn file_descriptor(&self) -> &FileDescriptor {
        &self.descriptor
    }
}

impl SynchronousMultiplexing for Wake {}
