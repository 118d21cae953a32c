//! A DDS reader of raw CDR: takes messages and hands out a pointer into each, no copy of ours.
//!
//! Cyclone reassembles fragments into one block per message before the take, so the payload is always contiguous. A message from shared
//! memory is the chunk that its writer filled, and it is read there.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{Account, Delivery, EndpointConfig, Error, Evidence, Granted, PublishMode, Wait};

use crate::entity::Entity;
use crate::node::Parents;
use crate::qos::{self, DdsQos};
use crate::statistics;
use crate::sys::{self, Handle};
use crate::waiter::{Waiter, Watched};
use crate::writer::ENCAPSULATION_BYTES;

/// What a reader of callback numbers must know.
const IN_WRITERS_THREAD: &str = "over UDP a writer of the same process calls the callback within its publish call";
/// Messages per take: enough to empty ROS 2's default history of 10 at once.
const BATCH: usize = 16;

pub struct Reader {
    /// The thread that takes and what it watches; None where Cyclone's own threads deliver.
    watch: Option<(Arc<Waiter>, Arc<Watched>)>,
    /// Dropped before `intake`, whose address a listener holds: deleting a reader waits for its listener to return.
    reader: Entity,
    _topic: Entity,
    intake: Arc<Intake>,
    granted: Granted,
    parents: Arc<Parents>,
}

/// What is done with a message: its header (empty but for services) and what the sink gets.
pub type Deliver = Box<dyn Fn(&[u8], &Delivery<'_>) + Send + Sync>;

/// From a reader's cache to whoever it is for.
pub struct Intake {
    deliver: Deliver,
    header_bytes: usize,
    /// The CDR between the encapsulation header and the payload, a service's header apart.
    before_bytes: usize,
    payload_bytes: usize,
    /// Messages read in shared memory.
    shared: AtomicU64,
    /// Messages too short to hold even the CDR before the payload: another type under our name.
    malformed: AtomicU64,
}

/// `config` for a reader whose delivering writes reliably. A listener runs in Cyclone's receive thread, which alone could take the
/// acknowledgements that such a write may have to wait for: `wait: callback` then means a thread of ours, and `block` is granted.
pub fn off_the_receive_thread(config: &EndpointConfig) -> EndpointConfig {
    let wait = if config.wait == Wait::Callback { Wait::Block } else { config.wait };
    EndpointConfig { wait, ..config.clone() }
}

impl Reader {
    pub fn new(
        config: &EndpointConfig,
        topic: &str,
        message_type: &MessageType,
        header_bytes: usize,
        parents: Arc<Parents>,
        deliver: Deliver,
    ) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        let qos = DdsQos::asked(config)?;
        let (topic, _) = parents.topic(config, topic, message_type, header_bytes)?;
        let intake = Arc::new(Intake {
            deliver,
            header_bytes,
            before_bytes: message_type.cdr_prefix.len().saturating_sub(ENCAPSULATION_BYTES),
            payload_bytes: message_type.payload_bytes as usize,
            shared: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        });
        let listener = (config.wait == Wait::Callback).then(|| Listener::new(&intake));
        let listener = listener.as_ref().map_or(std::ptr::null(), |l| l.0.cast_const());
        // SAFETY: live parent, topic, QoS and listener, which Cyclone copies.
        let handle = unsafe { sys::dds_create_reader(parents.subscriber.handle(), topic.handle(), qos.as_ptr(), listener) };
        let reader = Entity::owned(handle, || format!("{}: reader", object()))?;
        let granted = qos::granted(reader.handle()).ok_or_else(|| Error::failed(object(), "its QoS cannot be read back"))?;
        let mut notes = parents.notes(reader.handle(), config);
        if config.wait == Wait::Callback {
            notes.push(IN_WRITERS_THREAD.into());
        }
        let watch = match parents.session.waiter(config.wait)? {
            None => None,
            Some(waiter) => {
                let watched = Arc::new(Watched::new(reader.handle(), intake.clone())?);
                waiter.add(watched.clone());
                Some((waiter, watched))
            }
        };
        Ok(Reader {
            watch,
            reader,
            _topic: topic,
            intake,
            granted: Granted { qos: granted, publish_mode: PublishMode::Default, wait: config.wait, notes },
            parents,
        })
    }

    pub fn matched(&self) -> u32 {
        // SAFETY: a plain call on a live entity.
        unsafe { sys::rmwbench_writers_matched(self.reader.handle()) }
    }

    pub fn granted(&self) -> Granted {
        self.granted.clone()
    }

    pub fn account(&self) -> Account {
        let mut counters = statistics::of(self.reader.handle());
        let (mut lost, mut rejected) = (0, 0);
        // SAFETY: writes two numbers.
        unsafe { sys::rmwbench_lost(self.reader.handle(), &mut lost, &mut rejected) };
        // Cyclone counts what never reached the reader's cache, not what keep-last overwrote there: that only the ledger shows.
        counters.insert("sample_lost".into(), lost.into());
        counters.insert("sample_rejected".into(), rejected.into());
        counters.insert("malformed".into(), self.intake.malformed.load(Ordering::Relaxed) as i64);
        // Also when none came that way: what Cyclone does not vouch for then went elsewhere, whatever segments are mapped.
        let evidence = self.parents.session.domain.settings.shared_memory.then(|| Evidence {
            path: "shm".into(),
            messages: self.intake.shared.load(Ordering::Relaxed),
            note: "read in the chunk of shared memory that the writer filled".into(),
        });
        Account { reader_drops: Some(u64::from(lost) + u64::from(rejected)), counters, evidence: evidence.into_iter().collect() }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some((waiter, watched)) = &self.watch {
            waiter.remove(watched);
        }
    }
}

impl Intake {
    /// Takes up to [`BATCH`] messages and delivers them; returns how many were taken.
    ///
    /// `notified_ns`: when the wait returned or the listener was entered; None for a poll, which nothing notifies: the take's end.
    #[inline]
    pub fn take(&self, reader: Handle, notified_ns: Option<i64>) -> usize {
        let mut messages = [std::ptr::null_mut(); BATCH];
        // SAFETY: the array has BATCH places.
        let taken = unsafe { sys::rmwbench_take(reader, messages.as_mut_ptr(), BATCH as u32) };
        if taken <= 0 {
            return 0; // nothing there, or the reader is being deleted
        }
        let taken_ns = now_ns();
        for &message in &messages[..taken as usize] {
            // SAFETY: a message of ours until it is released.
            unsafe {
                self.hand_over(message, notified_ns.unwrap_or(taken_ns), taken_ns);
                sys::rmwbench_release(message);
            }
        }
        taken as usize
    }

    #[inline]
    unsafe fn hand_over(&self, message: *mut c_void, notified_ns: i64, taken_ns: i64) {
        let mut view = sys::View { bytes: std::ptr::null(), size: 0, shared: false };
        // SAFETY: fills the view with a pointer into the message, which the caller holds.
        let bytes = unsafe {
            sys::rmwbench_view_of(message, &mut view);
            std::slice::from_raw_parts(view.bytes, view.size)
        };
        let begin = if view.shared { 0 } else { ENCAPSULATION_BYTES };
        let header_end = begin + self.header_bytes;
        let Some(rest) = bytes.get(header_end + self.before_bytes..) else {
            self.malformed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.shared.fetch_add(u64::from(view.shared), Ordering::Relaxed);
        let payload = &rest[..rest.len().min(self.payload_bytes)];
        (self.deliver)(&bytes[begin..header_end], &Delivery { notified_ns, taken_ns, payload, zero_copy: view.shared });
    }
}

/// An owned `dds_listener_t` that calls an intake when data arrives, in Cyclone's thread or in the writer's.
struct Listener(*mut sys::Listener);

impl Listener {
    fn new(intake: &Arc<Intake>) -> Self {
        // SAFETY: the intake's address stays valid while the reader exists, see `Reader`.
        unsafe {
            let listener = sys::dds_create_listener(std::ptr::null_mut());
            sys::dds_lset_data_available_arg(listener, on_data, Arc::as_ptr(intake).cast_mut().cast(), true);
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

unsafe extern "C" fn on_data(reader: Handle, intake: *mut c_void) {
    let notified_ns = now_ns();
    // SAFETY: the argument is the intake that `Listener::new` was given.
    let intake = unsafe { &*intake.cast::<Intake>() };
    while intake.take(reader, Some(notified_ns)) == BATCH {}
}
