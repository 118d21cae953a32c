//! A reader: takes serialised samples and hands out a pointer into each, no copy of ours.
//!
//! Cyclone reassembles fragments into one block per sample before the take, so the payload is always contiguous. A sample that came
//! over PSMX is the chunk of shared memory that its writer filled, and it is read there.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use cyclors::*;
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Evidence, Granted, PublishMode, Sink, Subscription, Wait,
};

use crate::entity::Entity;
use crate::node::Parents;
use crate::qos::DdsQos;
use crate::statistics;
use crate::topic::ENCAPSULATION_BYTES;
use crate::waiter::{Waiter, Watched};

/// What a reader of callback numbers must know.
const IN_WRITERS_THREAD: &str = "a writer of the same process calls the subscription's callback within its publish call";
/// Samples per take: enough to empty ROS 2's default history of 10 at once.
const BATCH: usize = 16;

pub struct CycloneSubscription {
    /// The thread that takes and what it watches; None where Cyclone's own threads deliver.
    watch: Option<(Arc<Waiter>, Arc<Watched>)>,
    /// Dropped before `intake`, whose address a listener holds: deleting a reader waits for its listener to return.
    reader: Entity,
    _topic: Entity,
    intake: Arc<Intake>,
    granted: Granted,
    parents: Arc<Parents>,
}

/// From a reader's cache to the sink.
pub struct Intake {
    sink: Arc<dyn Sink>,
    prefix_bytes: usize,
    payload_bytes: usize,
    /// Samples read in shared memory.
    shared: AtomicU64,
    /// Samples too short to hold even the CDR before the payload: another type under our name.
    malformed: AtomicU64,
}

impl CycloneSubscription {
    pub fn new(config: &EndpointConfig, sink: Arc<dyn Sink>, parents: Arc<Parents>) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        let qos = parents.qos(config)?;
        let topic = parents.topic(config)?;
        let intake = Arc::new(Intake {
            sink,
            prefix_bytes: config.message_type.cdr_prefix.len(),
            payload_bytes: config.message_type.payload_bytes as usize,
            shared: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        });
        let listener = (config.wait == Wait::Callback).then(|| Listener::new(&intake));
        let listener = listener.as_ref().map_or(std::ptr::null(), |l| l.0.cast_const());
        // SAFETY: live parent, topic, QoS and listener, which Cyclone copies.
        let handle = unsafe { dds_create_reader(parents.subscriber.handle(), topic.handle(), qos.as_ptr(), listener) };
        let reader = Entity::owned(handle, || format!("{}: reader", object()))?;
        let granted = DdsQos::granted(reader.handle()).ok_or_else(|| Error::failed(object(), "its QoS cannot be read back"))?;
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
        Ok(CycloneSubscription {
            watch,
            reader,
            _topic: topic,
            intake,
            granted: Granted { qos: granted, publish_mode: PublishMode::Default, wait: config.wait, notes },
            parents,
        })
    }
}

impl Drop for CycloneSubscription {
    fn drop(&mut self) {
        if let Some((waiter, watched)) = &self.watch {
            waiter.remove(watched);
        }
    }
}

impl Intake {
    /// Takes up to [`BATCH`] samples and delivers them; returns how many were taken.
    ///
    /// `notified_ns`: when the wait returned or the listener was entered; None for a poll, which nothing notifies: the take's end.
    #[inline]
    pub fn take(&self, reader: dds_entity_t, notified_ns: Option<i64>) -> usize {
        let mut samples = [std::ptr::null_mut::<ddsi_serdata>(); BATCH];
        // SAFETY: plain data that Cyclone fills for each sample taken.
        let mut infos: [dds_sample_info_t; BATCH] = unsafe { std::mem::zeroed() };
        // SAFETY: both arrays have BATCH places.
        let taken = unsafe { dds_takecdr(reader, samples.as_mut_ptr(), BATCH as u32, infos.as_mut_ptr(), DDS_ANY_STATE) };
        if taken <= 0 {
            return 0; // nothing there, or the reader is being deleted
        }
        let taken_ns = now_ns();
        let taken = taken as usize;
        for (&sample, info) in samples[..taken].iter().zip(&infos[..taken]) {
            if info.valid_data {
                // SAFETY: a valid sample of ours until it is released below.
                unsafe { self.deliver(sample, notified_ns.unwrap_or(taken_ns), taken_ns) };
            }
            // SAFETY: the take gave us one reference.
            unsafe { ddsi_serdata_unref(sample) };
        }
        taken
    }

    #[inline]
    unsafe fn deliver(&self, sample: *mut ddsi_serdata, notified_ns: i64, taken_ns: i64) {
        // SAFETY: the sample is valid, and holds its loan until it is released.
        if let Some(loan) = unsafe { (*sample).loan.as_ref() } {
            // SAFETY: the metadata stands beside the sample of the size that it tells.
            let body = unsafe { std::slice::from_raw_parts(loan.sample_ptr.cast::<u8>(), (*loan.metadata).sample_size as usize) };
            self.shared.fetch_add(1, Ordering::Relaxed);
            return self.hand_over(body, self.prefix_bytes.saturating_sub(ENCAPSULATION_BYTES), true, notified_ns, taken_ns);
        }
        let mut cdr = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: the sample is valid; the reference keeps its bytes until `to_ser_unref`.
        unsafe {
            let held = ddsi_serdata_to_ser_ref(sample, 0, ddsi_serdata_size(sample) as usize, &mut cdr);
            let bytes = std::slice::from_raw_parts(cdr.iov_base.cast::<u8>(), cdr.iov_len);
            self.hand_over(bytes, self.prefix_bytes, false, notified_ns, taken_ns);
            ddsi_serdata_to_ser_unref(held, &cdr);
        }
    }

    #[inline]
    fn hand_over(&self, bytes: &[u8], prefix_bytes: usize, zero_copy: bool, notified_ns: i64, taken_ns: i64) {
        match bytes.get(prefix_bytes..) {
            Some(rest) => {
                let payload = &rest[..rest.len().min(self.payload_bytes)];
                self.sink.deliver(&Delivery { notified_ns, taken_ns, payload, zero_copy });
            }
            None => {
                self.malformed.fetch_add(1, Ordering::Relaxed);
            }
        }
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
    let notified_ns = now_ns();
    // SAFETY: the argument is the intake that `Listener::new` was given.
    let intake = unsafe { &*intake.cast::<Intake>() };
    while intake.take(reader, Some(notified_ns)) == BATCH {}
}

impl Endpoint for CycloneSubscription {
    fn matched(&self) -> u32 {
        // SAFETY: fills a plain struct.
        unsafe {
            let mut status = std::mem::zeroed::<dds_subscription_matched_status_t>();
            dds_get_subscription_matched_status(self.reader.handle(), &mut status);
            status.current_count
        }
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
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
        // Also when none came that way: what Cyclone does not vouch for then went elsewhere, whatever segments are mapped.
        let evidence = self.parents.session.domain.psmx.then(|| Evidence {
            path: "shm".into(),
            messages: self.intake.shared.load(Ordering::Relaxed),
            note: "read in the chunk of shared memory that the writer filled".into(),
        });
        Account { reader_drops: Some(u64::from(lost) + u64::from(rejected)), counters, evidence: evidence.into_iter().collect() }
    }
}

impl Subscription for CycloneSubscription {}
