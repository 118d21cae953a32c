//! A DDS reader of raw CDR: takes messages, one at a time, and does with each what the API's users
//! get done.
//!
//! `take: typed` copies the message into memory of the reader's own and gives Cyclone's buffer back
//! before it is handed over: what the deserialiser of a type of octets does. `take: raw` hands out
//! a pointer into that buffer. Cyclone reassembles fragments into one block per message before the
//! take, so it is always contiguous. A message from shared memory is the chunk that its writer
//! filled, and it is read there: lent.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    Account, Delivery, EndpointConfig, Error, Evidence, Granted, PublishMode, Take, TakenAs, Wait,
    WhenFull,
};
use rmwbench_harness::own_memory::OwnMemory;
use rmwbench_harness::pump::{self, Pump, Source};

use crate::entity::Entity;
use crate::node::Parents;
use crate::qos::{self, DdsQos};
use crate::shared_memory;
use crate::statistics;
use crate::sys::{self, Handle};
use crate::writer::ENCAPSULATION_BYTES;

/// What a reader of callback numbers must know.
const IN_WRITERS_THREAD: &str =
    "over UDP a writer of the same process calls the callback within its publish call";
const RAW: &str = "take raw: read in Cyclone DDS's receive buffer, no deserialiser ran";
const TYPED: &str = "take typed: the payload is copied into the reader's own memory before it is taken, as a deserialiser does";

pub struct Reader {
    /// The thread that takes and what it watches; None where Cyclone's own threads deliver.
    watch: Option<(Arc<Pump<Watched>>, Arc<Watched>)>,
    /// Dropped before `intake`, whose address a listener holds: deleting a reader waits for its
    /// listener to return.
    reader: Entity,
    _topic: Entity,
    intake: Arc<Intake>,
    granted: Granted,
    parents: Arc<Parents>,
}

/// What is done with a message: its header (empty but for services) and what the sink gets.
pub type Deliver = Box<dyn Fn(&[u8], &Delivery<'_>) + Send + Sync>;

/// A message as it lies: with its encapsulation where it was serialised, without in shared memory.
struct Lying<'a> {
    bytes: &'a [u8],
    shared: bool,
}

/// From a reader's cache to whoever it is for.
pub struct Intake {
    deliver: Deliver,
    /// The reader's own memory, of the size of a whole message; None for `take: raw`.
    own: Option<OwnMemory>,
    header_bytes: usize,
    /// The CDR between the encapsulation header and the payload, a service's header apart.
    before_bytes: usize,
    payload_bytes: usize,
    /// Messages read in shared memory.
    shared: AtomicU64,
    /// Messages too short to hold even the CDR before the payload: another type under our name.
    malformed: AtomicU64,
}

/// `config` for a reader whose delivering writes reliably. A listener runs in Cyclone's receive
/// thread, which alone could take the acknowledgements that such a write may have to wait for:
/// `wait: callback` then means a thread of ours, and `block` is granted.
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
            own: (config.take == Take::Typed)
                .then(|| OwnMemory::of_bytes(message_type.cdr_bytes() + header_bytes)),
            header_bytes,
            before_bytes: message_type.cdr_prefix.len().saturating_sub(ENCAPSULATION_BYTES),
            payload_bytes: message_type.payload_bytes as usize,
            shared: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        });
        let listener = (config.wait == Wait::Callback).then(|| Listener::new(&intake));
        let listener = listener.as_ref().map_or(std::ptr::null(), |l| l.0.cast_const());
        // SAFETY: live parent, topic, QoS and listener, which Cyclone copies.
        let handle = unsafe {
            sys::dds_create_reader(
                parents.subscriber.handle(),
                topic.handle(),
                qos.as_ptr(),
                listener,
            )
        };
        let reader = Entity::owned(handle, || format!("{}: reader", object()))?;
        let granted = qos::granted(reader.handle())
            .ok_or_else(|| Error::failed(object(), "its QoS cannot be read back"))?;
        let mut notes = parents.notes(reader.handle(), config);
        if config.wait == Wait::Callback {
            notes.push(IN_WRITERS_THREAD.into());
        } else {
            notes.push(pump::NOTE.into());
        }
        let take = match config.take {
            _ if parents.session.domain.settings.shared_memory
                && shared_memory::in_use(reader.handle()) =>
            {
                TakenAs::Lent
            }
            Take::Raw => TakenAs::Raw,
            Take::Typed => TakenAs::Typed,
        };
        notes.extend(match take {
            TakenAs::Raw => Some(RAW.into()),
            TakenAs::Typed => Some(TYPED.into()),
            TakenAs::Lent => None,
        });
        let watch = match parents.session.pump(config.wait)? {
            None => None,
            Some(pump) => {
                let watched = Arc::new(Watched::new(reader.handle(), intake.clone())?);
                pump.add(watched.clone());
                Some((pump, watched))
            }
        };
        let when_full = WhenFull::of_dds_reader(&granted);
        Ok(Reader {
            watch,
            reader,
            _topic: topic,
            intake,
            granted: Granted {
                qos: granted,
                publish_mode: PublishMode::Default,
                wait: config.wait,
                take: Some(take),
                when_full,
                notes,
            },
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
        // Cyclone counts what never reached the reader's cache, not what keep-last overwrote there:
        // that only the ledger shows.
        counters.insert("sample_lost".into(), lost.into());
        counters.insert("sample_rejected".into(), rejected.into());
        counters.insert("malformed".into(), self.intake.malformed.load(Ordering::Relaxed) as i64);
        // Also when none came that way: what Cyclone does not vouch for then went elsewhere,
        // whatever segments are mapped.
        let evidence = self.parents.session.domain.settings.shared_memory.then(|| Evidence {
            path: "shm".into(),
            messages: self.intake.shared.load(Ordering::Relaxed),
            note: "read in the chunk of shared memory that the writer filled".into(),
        });
        Account {
            reader_drops: Some(u64::from(lost) + u64::from(rejected)),
            counters,
            evidence: evidence.into_iter().collect(),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some((pump, watched)) = &self.watch {
            pump.remove(watched);
        }
    }
}

impl Intake {
    /// Takes one message and delivers it; whether there was one. `notified_ns`: see
    /// [`Source::take`].
    #[inline]
    pub fn take(&self, reader: Handle, notified_ns: i64) -> bool {
        let mut message = std::ptr::null_mut();
        // SAFETY: one place.
        if unsafe { sys::rmwbench_take(reader, &mut message) } <= 0 {
            return false; // nothing there, or the reader is being deleted
        }
        if !message.is_null() {
            // SAFETY: a message of ours, which is released there.
            unsafe { self.deliver(message, notified_ns) };
        }
        true
    }

    /// Delivers a message and gives it back.
    #[inline]
    unsafe fn deliver(&self, message: *mut c_void, notified_ns: i64) {
        let mut view = sys::View { bytes: std::ptr::null(), size: 0, shared: false };
        // SAFETY: fills the view with a pointer into the message, which we hold.
        let bytes = unsafe {
            sys::rmwbench_view_of(message, &mut view);
            std::slice::from_raw_parts(view.bytes, view.size)
        };
        match &self.own {
            Some(own) if !view.shared => {
                // SAFETY: one take of a reader at a time: by its session's thread, or by its
                // listener, which Cyclone calls once at a time for one reader (it waits while the
                // reader's m_cb_count is not 0).
                let bytes = unsafe { own.copy(bytes) };
                // SAFETY: ours, and no longer looked at.
                unsafe { sys::rmwbench_release(message) };
                self.hand_over(&Lying { bytes, shared: false }, notified_ns);
            }
            _ => {
                self.hand_over(&Lying { bytes, shared: view.shared }, notified_ns);
                // SAFETY: ours until here.
                unsafe { sys::rmwbench_release(message) };
            }
        }
    }

    #[inline]
    fn hand_over(&self, lying: &Lying<'_>, notified_ns: i64) {
        let begin = if lying.shared { 0 } else { ENCAPSULATION_BYTES };
        let header_end = begin + self.header_bytes;
        let Some(rest) = lying.bytes.get(header_end + self.before_bytes..) else {
            self.malformed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.shared.fetch_add(u64::from(lying.shared), Ordering::Relaxed);
        let payload = &rest[..rest.len().min(self.payload_bytes)];
        (self.deliver)(
            &lying.bytes[begin..header_end],
            &Delivery::taken(notified_ns, payload, lying.shared),
        );
    }
}

/// A reader in its session's thread.
pub struct Watched {
    reader: Handle,
    /// Triggered while the reader's cache holds any message; deleted after the thread has detached
    /// it.
    pub condition: Entity,
    intake: Arc<Intake>,
}

impl Watched {
    fn new(reader: Handle, intake: Arc<Intake>) -> Result<Self, Error> {
        // SAFETY: a plain call on a live reader.
        let condition = Entity::owned(
            unsafe { sys::dds_create_readcondition(reader, sys::ANY_STATE) },
            || "read condition".into(),
        )?;
        Ok(Watched { reader, condition, intake })
    }
}

impl Source for Watched {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        self.intake.take(self.reader, notified_ns)
    }
}

/// An owned `dds_listener_t` that calls an intake when data arrives, in Cyclone's thread or in the
/// writer's.
struct Listener(*mut sys::Listener);

impl Listener {
    fn new(intake: &Arc<Intake>) -> Self {
        // SAFETY: the intake's address stays valid while the reader exists, see `Reader`.
        unsafe {
            let listener = sys::dds_create_listener(std::ptr::null_mut());
            sys::dds_lset_data_available_arg(
                listener,
                on_data,
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

unsafe extern "C" fn on_data(reader: Handle, intake: *mut c_void) {
    let mut notified_ns = now_ns();
    // SAFETY: the argument is the intake that `Listener::new` was given.
    let intake = unsafe { &*intake.cast::<Intake>() };
    // A message that came meanwhile calls again; one that was there before the listener was set
    // does not.
    while intake.take(reader, notified_ns) {
        notified_ns = now_ns();
    }
}
