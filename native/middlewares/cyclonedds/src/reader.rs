//! A reader: takes serialised samples, one at a time, and does with each what the API's users get done.
//!
//! `take: typed` copies the body into memory of the reader's own and gives Cyclone's buffer back before the sample is handed over: what
//! the deserialiser of a type of octets does. `take: raw` hands out a pointer into that buffer. Cyclone reassembles fragments into one
//! block per sample before the take, so it is always contiguous. A sample that came over PSMX is the chunk of shared memory that its
//! writer filled, and it is read there: lent, as a typed reader's loan is.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use cyclors::*;
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Account, EndpointConfig, Error, Evidence, Granted, PublishMode, Take, TakenAs, Wait, WhenFull};
use rmwbench_harness::own_memory::OwnMemory;
use rmwbench_harness::pump::{self, Pump, Source};

use crate::entity::Entity;
use crate::filter::{self, Filter};
use crate::locals::Heard;
use crate::node::Parents;
use crate::psmx;
use crate::qos::DdsQos;
use crate::statistics;
use crate::topic::{self, ENCAPSULATION_BYTES};
use crate::wire::Wire;

/// What a reader of callback numbers must know.
const IN_WRITERS_THREAD: &str = "a writer of the same process calls the subscription's callback within its publish call";
const RAW: &str = "take raw: read in Cyclone DDS's receive buffer, no deserialiser ran";
const TYPED: &str = "take typed: the payload is copied into the reader's own memory before it is taken, as a deserialiser does";

pub struct Reader {
    /// The thread that takes and what it watches; None where Cyclone's own threads deliver.
    watch: Option<(Arc<Pump<Watched>>, Arc<Watched>)>,
    /// Dropped before `intake` and `filter`, whose addresses Cyclone holds: deleting a reader waits for its listener to return.
    reader: Entity,
    _topic: Entity,
    filter: Option<Box<Filter>>,
    intake: Arc<Intake>,
    granted: Granted,
    parents: Arc<Parents>,
}

/// Where a reader's samples go.
pub trait Outlet: Send + Sync {
    fn sample(&self, sample: &Sample<'_>);
}

/// One sample in the reader's hands.
pub struct Sample<'a> {
    /// The message less its encapsulation header, request header included.
    pub body: &'a [u8],
    pub payload: &'a [u8],
    /// As for [`Delivery::taken`](rmwbench_harness::middleware::Delivery::taken).
    pub notified_ns: i64,
    pub zero_copy: bool,
}

/// From a reader's cache to its outlet.
pub struct Intake {
    outlet: Box<dyn Outlet>,
    /// The reader's own memory, of the size of a whole body; None for `take: raw`.
    own: Option<OwnMemory>,
    prefix_bytes: usize,
    payload_bytes: usize,
    heard: Heard,
    /// Samples read in shared memory.
    shared: AtomicU64,
    /// Samples of this process's own writers.
    local: AtomicU64,
    /// Samples too short to hold even the CDR before the payload: another type under our name.
    malformed: AtomicU64,
}

/// `config` for a reader whose delivering writes reliably. A listener runs in Cyclone's receive thread, which alone could take the
/// acknowledgements that such a write may have to wait for: `wait: callback` then means a thread of ours, and `block` is granted.
pub fn off_the_receive_thread(config: &EndpointConfig) -> EndpointConfig {
    let wait = if config.wait == Wait::Callback { Wait::Block } else { config.wait };
    EndpointConfig { wait, ..config.clone() }
}

impl Reader {
    pub fn new(config: &EndpointConfig, wire: &Wire, outlet: Box<dyn Outlet>, parents: Arc<Parents>) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        let session = &parents.session;
        let filter = Filter::asked(config, wire)?.map(Box::new);
        let topics = filter.as_ref().map_or(session.topics, |filter| filter.topics());
        let qos = parents.qos(config, topics)?.with_user_data(wire.user_data.as_deref());
        let topic = topic::create(session.participant.handle(), topics, &object(), wire)?;
        if let Some(filter) = &filter {
            filter.set(topic.handle(), &object())?;
        }
        let intake = Arc::new(Intake {
            outlet,
            own: (config.take == Take::Typed).then(|| OwnMemory::of(&wire.message_type)),
            prefix_bytes: wire.message_type.cdr_prefix.len().saturating_sub(ENCAPSULATION_BYTES),
            payload_bytes: wire.message_type.payload_bytes as usize,
            heard: Heard::new(session.domain.locals.clone()),
            shared: AtomicU64::new(0),
            local: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        });
        let listener = (config.wait == Wait::Callback).then(|| Listener::new(&intake));
        let listener = listener.as_ref().map_or(std::ptr::null(), |l| l.0.cast_const());
        // SAFETY: live parent, topic, QoS and listener, which Cyclone copies.
        let handle = unsafe { dds_create_reader(parents.subscriber.handle(), topic.handle(), qos.as_ptr(), listener) };
        let reader = Entity::owned(handle, || format!("{}: reader", object()))?;
        let mut qos = DdsQos::granted(reader.handle()).ok_or_else(|| Error::failed(object(), "its QoS cannot be read back"))?;
        let mut notes = parents.notes(reader.handle(), config, topics);
        if filter.is_some() {
            qos.content_filter.clone_from(&config.qos.content_filter);
            notes.push(filter::NOTE.into());
        }
        if config.wait == Wait::Callback {
            notes.push(IN_WRITERS_THREAD.into());
        } else {
            notes.push(pump::NOTE.into());
        }
        let take = match config.take {
            _ if psmx::in_use(reader.handle()) => TakenAs::Lent,
            Take::Raw => TakenAs::Raw,
            Take::Typed => TakenAs::Typed,
        };
        notes.extend(match take {
            TakenAs::Raw => Some(RAW.into()),
            TakenAs::Typed => Some(TYPED.into()),
            TakenAs::Lent => None,
        });
        let watch = match session.pump(config.wait)? {
            None => None,
            Some(pump) => {
                let watched = Arc::new(Watched::new(reader.handle(), intake.clone())?);
                pump.add(watched.clone());
                Some((pump, watched))
            }
        };
        let when_full = WhenFull::of_dds_reader(&qos);
        let granted = Granted { qos, publish_mode: PublishMode::Default, wait: config.wait, take: Some(take), when_full, notes };
        Ok(Reader { watch, reader, _topic: topic, filter, intake, granted, parents: parents.clone() })
    }

    /// Writers matched now.
    pub fn matched(&self) -> u32 {
        // SAFETY: fills a plain struct.
        unsafe {
            let mut status = std::mem::zeroed::<dds_subscription_matched_status_t>();
            dds_get_subscription_matched_status(self.reader.handle(), &mut status);
            status.current_count
        }
    }

    pub fn granted(&self) -> Granted {
        self.granted.clone()
    }

    pub fn account(&self) -> Account {
        let mut counters = statistics::of(self.reader.handle());
        // SAFETY: fill plain structs.
        let (lost, rejected) = unsafe {
            let mut lost = std::mem::zeroed::<dds_sample_lost_status_t>();
            let mut rejected = std::mem::zeroed::<dds_sample_rejected_status_t>();
            dds_get_sample_lost_status(self.reader.handle(), &mut lost);
            dds_get_sample_rejected_status(self.reader.handle(), &mut rejected);
            (lost.total_count, rejected.total_count)
        };
        // Cyclone counts what never reached the reader's cache, not what keep-last overwrote there: that only the ledger shows.
        counters.insert("sample_lost".into(), lost.into());
        counters.insert("sample_rejected".into(), rejected.into());
        counters.insert("malformed".into(), self.intake.malformed.load(Ordering::Relaxed) as i64);
        counters.extend(self.filter.iter().flat_map(|filter| filter.counters()));
        Account { reader_drops: Some(u64::from(lost) + u64::from(rejected)), counters, evidence: self.evidence() }
    }

    fn evidence(&self) -> Vec<Evidence> {
        let mut evidence = Vec::new();
        let said = |path: &str, messages, note: &str| Evidence { path: path.into(), messages, note: note.into() };
        // Also when none came that way: what Cyclone does not vouch for then went elsewhere, whatever segments are mapped.
        if self.parents.session.domain.psmx {
            let shared = self.intake.shared.load(Ordering::Relaxed);
            evidence.push(said("shm", shared, "read in the chunk of shared memory that the writer filled"));
        }
        let local = self.intake.local.load(Ordering::Relaxed);
        if local > 0 {
            evidence.push(said("intra_process", local, "written in this process, delivered by Cyclone within its domain"));
        }
        evidence
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
    /// Takes one sample and delivers it; whether there was one. `notified_ns`: see [`Source::take`].
    #[inline]
    pub fn take(&self, reader: dds_entity_t, notified_ns: i64) -> bool {
        let mut sample = std::ptr::null_mut::<ddsi_serdata>();
        // SAFETY: plain data that Cyclone fills for the sample taken.
        let mut info: dds_sample_info_t = unsafe { std::mem::zeroed() };
        // SAFETY: one place each.
        if unsafe { dds_takecdr(reader, &mut sample, 1, &mut info, DDS_ANY_STATE) } <= 0 {
            return false; // nothing there, or the reader is being deleted
        }
        if !info.valid_data {
            // SAFETY: the take gave us one reference.
            unsafe { ddsi_serdata_unref(sample) };
            return true;
        }
        if self.heard.is_local(info.publication_handle) {
            self.local.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: a valid sample, of which the take gave us one reference.
        unsafe { self.deliver(sample, notified_ns) };
        true
    }

    /// Delivers a sample and gives it back.
    #[inline]
    unsafe fn deliver(&self, sample: *mut ddsi_serdata, notified_ns: i64) {
        // SAFETY: the sample is valid, and holds its loan until it is released.
        if let Some(loan) = unsafe { (*sample).loan.as_ref() } {
            // SAFETY: the metadata stands beside the sample of the size that it tells.
            let body = unsafe { std::slice::from_raw_parts(loan.sample_ptr.cast::<u8>(), (*loan.metadata).sample_size as usize) };
            self.shared.fetch_add(1, Ordering::Relaxed);
            self.hand_over(body, true, notified_ns);
            // SAFETY: ours until here.
            return unsafe { ddsi_serdata_unref(sample) };
        }
        let mut cdr = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: the sample is valid; the reference keeps its bytes until `to_ser_unref`.
        unsafe {
            let held = ddsi_serdata_to_ser_ref(sample, 0, ddsi_serdata_size(sample) as usize, &mut cdr);
            let bytes = std::slice::from_raw_parts(cdr.iov_base.cast::<u8>(), cdr.iov_len);
            let body = bytes.get(ENCAPSULATION_BYTES..).unwrap_or_default();
            match &self.own {
                None => {
                    self.hand_over(body, false, notified_ns);
                    ddsi_serdata_to_ser_unref(held, &cdr);
                    ddsi_serdata_unref(sample);
                }
                Some(own) => {
                    // SAFETY: one take of a reader at a time: by its session's thread, or by its listener, which Cyclone calls once
                    // at a time for one reader (it waits while the reader's m_cb_count is not 0).
                    let own = own.copy(body);
                    ddsi_serdata_to_ser_unref(held, &cdr);
                    ddsi_serdata_unref(sample);
                    self.hand_over(own, false, notified_ns);
                }
            }
        }
    }

    #[inline]
    fn hand_over(&self, body: &[u8], zero_copy: bool, notified_ns: i64) {
        let Some(rest) = body.get(self.prefix_bytes..) else {
            self.malformed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let payload = &rest[..rest.len().min(self.payload_bytes)];
        self.outlet.sample(&Sample { body, payload, notified_ns, zero_copy });
    }
}

/// A reader in its session's thread.
pub struct Watched {
    reader: dds_entity_t,
    /// Triggered while the reader's cache holds any sample; deleted after the thread has detached it.
    pub condition: Entity,
    intake: Arc<Intake>,
}

impl Watched {
    fn new(reader: dds_entity_t, intake: Arc<Intake>) -> Result<Self, Error> {
        // SAFETY: a plain call on a live reader.
        let condition = Entity::owned(unsafe { dds_create_readcondition(reader, DDS_ANY_STATE) }, || "read condition".into())?;
        Ok(Watched { reader, condition, intake })
    }
}

impl Source for Watched {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        self.intake.take(self.reader, notified_ns)
    }
}

/// An owned `dds_listener_t` that calls an intake when data arrives, in Cyclone's receive thread (or, within one process, in the
/// writer's).
struct Listener(*mut dds_listener_t);

impl Listener {
    fn new(intake: &Arc<Intake>) -> Self {
        // SAFETY: the intake's address stays valid while the reader exists, see `CycloneSubscription`.
        unsafe {
            let listener = dds_create_listener(std::ptr::null_mut());
            dds_lset_data_available_arg(listener, Some(on_data), Arc::as_ptr(intake).cast_mut().cast(), true);
            Listener(listener)
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { dds_delete_listener(self.0) };
    }
}

unsafe extern "C" fn on_data(reader: dds_entity_t, intake: *mut c_void) {
    let mut notified_ns = now_ns();
    // SAFETY: the argument is the intake that `Listener::new` was given.
    let intake = unsafe { &*intake.cast::<Intake>() };
    // A sample that came meanwhile calls again; one that was there before the listener was set does not.
    while intake.take(reader, notified_ns) {
        notified_ns = now_ns();
    }
}
