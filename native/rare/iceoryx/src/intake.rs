//! Takes messages for a subscription, a client or a service: a chunk is delivered in place and
//! returned.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Account, Delivery, Error, Evidence, Granted, Wait};
use rmwbench_harness::pump::{self, Source};

use crate::session::Shared;
use crate::sys;
use crate::waiter::Waiter;

/// Delivers a message: the chunk's address and the delivery for the sink.
pub type Deliver = Box<dyn Fn(*const u8, &Delivery<'_>) + Send + Sync>;

/// An origin from which messages are taken until this is dropped.
pub struct Taken {
    intake: Arc<Intake>,
    watch: Watch,
}

enum Watch {
    Thread(Arc<Waiter>),
    Callback(Arc<Listener>),
}

pub struct Intake {
    origin: Origin,
    deliver: Deliver,
    /// iceoryx's Listener calls from its own thread; the first look, which finds earlier messages,
    /// is in ours.
    taking: Mutex<()>,
    messages: AtomicU64,
    /// How many times messages were found overwritten; iceoryx does not report how many messages.
    overflows: AtomicU64,
}

/// An owned origin.
pub struct Origin(pub *mut sys::Origin);

// SAFETY: one thread at a time takes; a client's port separates sending and taking.
unsafe impl Send for Origin {}
// SAFETY: as above.
unsafe impl Sync for Origin {}

impl Drop for Origin {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { sys::rmwbench_origin_delete(self.0) };
    }
}

impl Taken {
    pub fn new(
        endpoint: u32,
        wait: Wait,
        origin: Origin,
        session: &Shared,
        deliver: Deliver,
    ) -> Result<Self, Error> {
        let intake = Arc::new(Intake {
            origin,
            deliver,
            taking: Mutex::new(()),
            messages: AtomicU64::new(0),
            overflows: AtomicU64::new(0),
        });
        let full = || {
            Error::unsupported(
                format!("endpoint {endpoint}"),
                "one process waits for 255 endpoints at most",
            )
        };
        let watch = match session.waiter(wait)? {
            Some(waiter) => {
                if !waiter.add(intake.clone()) {
                    return Err(full());
                }
                Watch::Thread(waiter)
            }
            None => {
                let listener = session.listener();
                // SAFETY: the intake lives until `detach` returned.
                let attached = unsafe {
                    sys::rmwbench_listener_attach(
                        listener.0,
                        intake.origin.0,
                        arrived,
                        Arc::as_ptr(&intake).cast_mut().cast(),
                    )
                };
                if !attached {
                    return Err(full());
                }
                intake.drain();
                Watch::Callback(listener)
            }
        };
        Ok(Taken { intake, watch })
    }

    pub fn origin(&self) -> *mut sys::Origin {
        self.intake.origin.0
    }

    /// The granted settings, and how messages are taken.
    pub fn granted(&self, mut granted: Granted) -> Granted {
        let note = match self.watch {
            Watch::Thread(_) => pump::NOTE,
            Watch::Callback(_) => pump::DRAIN_NOTE,
        };
        granted.notes.push(note.into());
        granted
    }

    pub fn is_connected(&self) -> bool {
        // SAFETY: the origin exists.
        unsafe { sys::rmwbench_origin_connected(self.intake.origin.0) }
    }

    pub fn account(&self) -> Account {
        let evidence = Evidence {
            path: "shm".into(),
            messages: self.intake.messages.load(Ordering::Relaxed),
            note: "read in the chunk of shared memory that was sent".into(),
        };
        let overflows = self.intake.overflows.load(Ordering::Relaxed) as i64;
        Account {
            counters: [("overflows_seen".to_string(), overflows)].into(),
            evidence: vec![evidence],
            ..Account::default()
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        match &self.watch {
            Watch::Thread(waiter) => waiter.remove(&self.intake),
            // SAFETY: attached, and detached once.
            Watch::Callback(listener) => unsafe {
                sys::rmwbench_listener_detach(listener.0, self.intake.origin.0)
            },
        }
    }
}

impl Intake {
    pub fn origin(&self) -> *mut sys::Origin {
        self.origin.0
    }

    /// Takes and delivers until there is no message, in iceoryx's own thread, in which no other
    /// reader waits.
    fn drain(&self) {
        let mut notified_ns = now_ns();
        while self.take(notified_ns) {
            notified_ns = now_ns();
        }
    }
}

impl Source for Intake {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        let _one = self.taking.lock().unwrap_or_else(|e| e.into_inner());
        let mut bytes = 0;
        // SAFETY: the origin exists; a chunk is ours until it is released.
        let chunk = unsafe { sys::rmwbench_origin_take(self.origin.0, &mut bytes) };
        if chunk.is_null() {
            // SAFETY: the origin exists.
            if unsafe { sys::rmwbench_origin_missed(self.origin.0) } {
                self.overflows.fetch_add(1, Ordering::Relaxed);
            }
            return false;
        }
        self.messages.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the chunk has this many bytes, which nobody writes any more.
        let payload = unsafe { std::slice::from_raw_parts(chunk, bytes) };
        (self.deliver)(chunk, &Delivery::taken(notified_ns, payload, true));
        // SAFETY: taken above.
        unsafe { sys::rmwbench_origin_release(self.origin.0, chunk) };
        true
    }
}

unsafe extern "C" fn arrived(intake: *mut c_void) {
    // SAFETY: the intake of `Taken::new`, which outlives its attachment.
    unsafe { &*intake.cast::<Intake>() }.drain();
}

/// iceoryx's own thread that calls back.
pub struct Listener(*mut sys::Listener);

// SAFETY: iceoryx's Listener is safe to use from any thread.
unsafe impl Send for Listener {}
// SAFETY: as above.
unsafe impl Sync for Listener {}

impl Listener {
    pub fn new() -> Self {
        // SAFETY: the runtime exists.
        Listener(unsafe { sys::rmwbench_listener_new() })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { sys::rmwbench_listener_delete(self.0) };
    }
}
