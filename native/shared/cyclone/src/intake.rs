//! A reader takes messages, one at a time, and treats each as users of the API do.
//!
//! `take: typed` copies the body into the reader's own memory and returns Cyclone's buffer before
//! the message is delivered, as the deserialiser of a type of octets does. `take: raw` hands out a
//! pointer into that buffer. Cyclone reassembles fragments into one block per message before the
//! take, so it is always contiguous. A message from shared memory is the chunk that its writer
//! filled, and is read there, as a loan.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Delivery, EndpointConfig, Error, Take};
use rmwbench_harness::own_memory::OwnMemory;
use rmwbench_harness::pump::Source;

use crate::entity::Entity;
use crate::sys::{self, Handle};
use crate::wire::Wire;

/// A message that the reader holds; dropping it returns it.
pub trait Message: Sized + 'static {
    /// What a reader records about the messages that it takes.
    type Heard: Send + Sync;

    fn take(reader: Handle) -> Taken<Self>;

    fn hear(&self, heard: &Self::Heard);

    /// The message without its encapsulation, including a service's header.
    fn body(&self) -> &[u8];

    /// Whether it is in shared memory.
    fn is_lent(&self) -> bool;
}

pub enum Taken<M> {
    /// There is no message, or the reader is being deleted.
    Nothing,
    /// A sample without data, which reports a change of a writer.
    NoData,
    Message(M),
}

/// Delivers a message: its body, in which a service finds its header, and the delivery for the
/// sink.
pub type Deliver = Box<dyn Fn(&[u8], &Delivery<'_>) + Send + Sync>;

/// Takes messages from a reader's cache and delivers them.
pub struct Intake<M: Message> {
    deliver: Deliver,
    /// The reader's own memory, with the size of a whole message; None for `take: raw`.
    own: Option<OwnMemory>,
    payload_at: usize,
    payload_bytes: usize,
    pub heard: M::Heard,
    /// The number of messages read in shared memory.
    pub shared: AtomicU64,
    /// The number of messages too short to hold even the CDR before the payload: they have another
    /// type under our name.
    pub malformed: AtomicU64,
}

impl<M: Message> Intake<M> {
    pub fn new(config: &EndpointConfig, wire: &Wire, deliver: Deliver, heard: M::Heard) -> Self {
        Intake {
            deliver,
            own: (config.take == Take::Typed).then(|| OwnMemory::of_bytes(wire.cdr_bytes())),
            payload_at: wire.payload_at(),
            payload_bytes: wire.message_type.payload_bytes as usize,
            heard,
            shared: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        }
    }

    /// Takes one message and delivers it; returns whether there was one. `notified_ns`: see
    /// [`Source::take`].
    #[inline]
    fn take(&self, reader: Handle, notified_ns: i64) -> bool {
        match M::take(reader) {
            Taken::Nothing => return false,
            Taken::NoData => (),
            Taken::Message(message) => self.receive(message, notified_ns),
        }
        true
    }

    // This is always inlined: measured, both calls out of line cost 10 ns a message.
    #[inline(always)]
    fn receive(&self, message: M, notified_ns: i64) {
        message.hear(&self.heard);
        let lent = message.is_lent();
        match &self.own {
            Some(own) if !lent => {
                // SAFETY: a reader has one take at a time: in its session's thread, or in its
                // listener, which Cyclone calls once at a time for one reader (it waits while the
                // reader's m_cb_count is not 0).
                let body = unsafe { own.copy(message.body()) };
                drop(message);
                self.hand_over(body, false, notified_ns);
            }
            _ => {
                if lent {
                    self.shared.fetch_add(1, Ordering::Relaxed);
                }
                self.hand_over(message.body(), lent, notified_ns);
            }
        }
    }

    #[inline(always)]
    fn hand_over(&self, body: &[u8], zero_copy: bool, notified_ns: i64) {
        let Some(rest) = body.get(self.payload_at..) else {
            self.malformed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let payload = &rest[..rest.len().min(self.payload_bytes)];
        (self.deliver)(body, &Delivery::taken(notified_ns, payload, zero_copy));
    }
}

/// A reader that its session's thread watches.
pub struct Watched<M: Message> {
    reader: Handle,
    /// Triggered while the reader's cache holds any message; deleted after the thread has detached
    /// it.
    pub condition: Entity,
    intake: Arc<Intake<M>>,
}

impl<M: Message> Watched<M> {
    pub fn new(reader: Handle, intake: Arc<Intake<M>>) -> Result<Self, Error> {
        // SAFETY: a plain call on a live reader.
        let condition = Entity::owned(
            unsafe { sys::dds_create_readcondition(reader, sys::ANY_STATE) },
            || "read condition".into(),
        )?;
        Ok(Watched { reader, condition, intake })
    }
}

impl<M: Message> Source for Watched<M> {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        self.intake.take(self.reader, notified_ns)
    }
}

/// An owned `dds_listener_t` that calls an intake when data arrives, in Cyclone's receive thread
/// (or, within one process, in the writer's).
pub struct Listener(pub *mut sys::Listener);

impl Listener {
    /// `intake` must stay where it is until the reader is gone.
    pub fn new<M: Message>(intake: &Arc<Intake<M>>) -> Self {
        // SAFETY: as promised, the intake's address stays valid while the reader exists.
        unsafe {
            let listener = sys::dds_create_listener(std::ptr::null_mut());
            sys::dds_lset_data_available_arg(
                listener,
                on_data::<M>,
                Arc::as_ptr(intake).cast_mut().cast(),
                true,
            );
            Listener(listener)
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { sys::dds_delete_listener(self.0) };
    }
}

unsafe extern "C" fn on_data<M: Message>(reader: Handle, intake: *mut c_void) {
    let mut notified_ns = now_ns();
    // SAFETY: the argument is the intake which `Listener::new` was given.
    let intake = unsafe { &*intake.cast::<Intake<M>>() };
    // A message that came meanwhile calls the listener again; one that was there before the
    // listener was set does not.
    while intake.take(reader, notified_ns) {
        notified_ns = now_ns();
    }
}
