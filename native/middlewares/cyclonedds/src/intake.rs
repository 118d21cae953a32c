//! A reader takes serialised samples, one at a time, and does with each what the API's users get
//! done.
//!
//! `take: typed` copies the body into memory of the reader's own and gives Cyclone's buffer back
//! before the sample is handed over: what the deserialiser of a type of octets does. `take: raw`
//! hands out a pointer into that buffer. Cyclone reassembles fragments into one block per sample
//! before the take, so it is always contiguous. A sample that came over PSMX is the chunk of shared
//! memory that its writer filled, and it is read there: lent, as a typed reader's loan is.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use cyclors::*;
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Delivery, EndpointConfig, Error, Take};
use rmwbench_harness::own_memory::OwnMemory;
use rmwbench_harness::pump::Source;

use crate::entity::Entity;
use crate::locals::Heard;
use crate::wire::{Wire, ENCAPSULATION_BYTES};

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

impl Sample<'_> {
    #[inline]
    pub fn delivery(&self) -> Delivery<'_> {
        Delivery::taken(self.notified_ns, self.payload, self.zero_copy)
    }
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
    pub shared: AtomicU64,
    /// Samples of this process's own writers.
    pub local: AtomicU64,
    /// Samples too short to hold even the CDR before the payload: another type under our name.
    pub malformed: AtomicU64,
}

impl Intake {
    pub fn new(
        config: &EndpointConfig,
        wire: &Wire,
        outlet: Box<dyn Outlet>,
        heard: Heard,
    ) -> Intake {
        Intake {
            outlet,
            own: (config.take == Take::Typed).then(|| OwnMemory::of(&wire.message_type)),
            prefix_bytes: wire.message_type.cdr_prefix.len().saturating_sub(ENCAPSULATION_BYTES),
            payload_bytes: wire.message_type.payload_bytes as usize,
            heard,
            shared: AtomicU64::new(0),
            local: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        }
    }

    /// Takes one sample and delivers it; whether there was one. `notified_ns`: see
    /// [`Source::take`].
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
            let body = unsafe {
                std::slice::from_raw_parts(
                    loan.sample_ptr.cast::<u8>(),
                    (*loan.metadata).sample_size as usize,
                )
            };
            self.shared.fetch_add(1, Ordering::Relaxed);
            self.hand_over(body, true, notified_ns);
            // SAFETY: ours until here.
            return unsafe { ddsi_serdata_unref(sample) };
        }
        let mut cdr = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: the sample is valid; the reference keeps its bytes until `to_ser_unref`.
        unsafe {
            let held =
                ddsi_serdata_to_ser_ref(sample, 0, ddsi_serdata_size(sample) as usize, &mut cdr);
            let bytes = std::slice::from_raw_parts(cdr.iov_base.cast::<u8>(), cdr.iov_len);
            let body = bytes.get(ENCAPSULATION_BYTES..).unwrap_or_default();
            match &self.own {
                None => {
                    self.hand_over(body, false, notified_ns);
                    ddsi_serdata_to_ser_unref(held, &cdr);
                    ddsi_serdata_unref(sample);
                }
                Some(own) => {
                    // SAFETY: one take of a reader at a time: by its session's thread, or by its
                    // listener, which Cyclone calls once at a time for one reader (it waits while
                    // the reader's m_cb_count is not 0).
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
    /// Triggered while the reader's cache holds any sample; deleted after the thread has detached
    /// it.
    pub condition: Entity,
    intake: Arc<Intake>,
}

impl Watched {
    pub fn new(reader: dds_entity_t, intake: Arc<Intake>) -> Result<Self, Error> {
        // SAFETY: a plain call on a live reader.
        let condition =
            Entity::owned(unsafe { dds_create_readcondition(reader, DDS_ANY_STATE) }, || {
                "read condition".into()
            })?;
        Ok(Watched { reader, condition, intake })
    }
}

impl Source for Watched {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        self.intake.take(self.reader, notified_ns)
    }
}

/// An owned `dds_listener_t` that calls an intake when data arrives, in Cyclone's receive thread
/// (or, within one process, in the writer's).
pub struct Listener(pub *mut dds_listener_t);

impl Listener {
    pub fn new(intake: &Arc<Intake>) -> Self {
        // SAFETY: the intake's address stays valid while the reader exists, see
        // `CycloneSubscription`.
        unsafe {
            let listener = dds_create_listener(std::ptr::null_mut());
            dds_lset_data_available_arg(
                listener,
                Some(on_data),
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
        unsafe { dds_delete_listener(self.0) };
    }
}

unsafe extern "C" fn on_data(reader: dds_entity_t, intake: *mut c_void) {
    let mut notified_ns = now_ns();
    // SAFETY: the argument is the intake that `Listener::new` was given.
    let intake = unsafe { &*intake.cast::<Intake>() };
    // A sample that came meanwhile calls again; one that was there before the listener was set does
    // not.
    while intake.take(reader, notified_ns) {
        notified_ns = now_ns();
    }
}
