//! The same exchange written by hand on Cyclone's C API: what a user would write who needs the latency of each message.
//!
//! It writes and reads the whole payload as the worker does, because that is the user's work, not the instrument's; it stamps a
//! message twice, before the write and after the take.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cyclors::*;
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::payload::{fill, verify};

use crate::network::{READING, WRITING};

/// Sequence number, then the pattern.
const HEAD_BYTES: usize = 8;

pub struct Bare {
    participants: [dds_entity_t; 2],
    writer: dds_entity_t,
    sertype: *const ddsi_sertype,
    prefix: Vec<u8>,
    message: Vec<u8>,
    sent_ns: Vec<i64>,
    reader: Arc<Reader>,
    thread: Option<JoinHandle<()>>,
}

struct Reader {
    reader: dds_entity_t,
    wait_set: dds_entity_t,
    stop_condition: dds_entity_t,
    prefix_bytes: usize,
    taken_ns: Vec<AtomicI64>,
    next: AtomicU64,
    corrupt: AtomicBool,
    stop: AtomicBool,
}

impl Bare {
    /// In the domains that our path has opened already.
    pub fn new(payload_bytes: u32, capacity: usize) -> Result<Self, String> {
        let message_type = MessageType::bytes(payload_bytes);
        let name = std::ffi::CString::new(format!("rt/bare{payload_bytes}")).unwrap();
        let type_name = std::ffi::CString::new(message_type.dds_type_name()).unwrap();
        let good = |handle: dds_entity_t| if handle > 0 { Ok(handle) } else { Err(format!("Cyclone DDS answers {handle}")) };
        // SAFETY: the C API as its manual has it; what is created goes with its participant.
        unsafe {
            let qos = dds_create_qos();
            dds_qset_reliability(qos, dds_reliability_kind_DDS_RELIABILITY_RELIABLE, i64::MAX);
            dds_qset_history(qos, dds_history_kind_DDS_HISTORY_KEEP_LAST, 10);
            dds_qset_writer_data_lifecycle(qos, false);
            let endpoints = [WRITING, READING].map(|domain| -> Result<[dds_entity_t; 2], String> {
                let participant = good(dds_create_participant(domain, std::ptr::null(), std::ptr::null()))?;
                let topic = good(cdds_create_blob_topic(participant, name.as_ptr().cast_mut(), type_name.as_ptr().cast_mut(), true))?;
                let endpoint = if domain == WRITING {
                    dds_create_writer(participant, topic, qos, std::ptr::null())
                } else {
                    dds_create_reader(participant, topic, qos, std::ptr::null())
                };
                Ok([participant, good(endpoint)?])
            });
            dds_delete_qos(qos);
            let [writing, reading] = endpoints;
            let ([writing, writer], [reading, reader]) = (writing?, reading?);
            let mut sertype = std::ptr::null();
            dds_get_entity_sertype(writer, &mut sertype);
            let wait_set = good(dds_create_waitset(reading))?;
            dds_waitset_attach(wait_set, good(dds_create_readcondition(reader, DDS_ANY_STATE))?, 1);
            let stop_condition = good(dds_create_guardcondition(reading))?;
            dds_waitset_attach(wait_set, stop_condition, 0);
            let reader = Arc::new(Reader {
                reader,
                wait_set,
                stop_condition,
                prefix_bytes: message_type.cdr_prefix.len(),
                taken_ns: (0..capacity).map(|_| AtomicI64::new(0)).collect(),
                next: AtomicU64::new(0),
                corrupt: AtomicBool::new(false),
                stop: AtomicBool::new(false),
            });
            let theirs = reader.clone();
            let thread = std::thread::spawn(move || theirs.run());
            Ok(Bare {
                participants: [writing, reading],
                writer,
                sertype,
                prefix: message_type.cdr_prefix,
                message: vec![0xA5; payload_bytes as usize],
                sent_ns: Vec::with_capacity(capacity),
                reader,
                thread: Some(thread),
            })
        }
    }

    pub fn ready(&self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            // SAFETY: fill plain structs.
            let (publication, subscription) = unsafe {
                let mut publication = std::mem::zeroed::<dds_publication_matched_status_t>();
                let mut subscription = std::mem::zeroed::<dds_subscription_matched_status_t>();
                dds_get_publication_matched_status(self.writer, &mut publication);
                dds_get_subscription_matched_status(self.reader.reader, &mut subscription);
                (publication.current_count, subscription.current_count)
            };
            if publication > 0 && subscription > 0 {
                return true;
            }
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn send(&mut self) {
        let seq = self.sent_ns.len() as u64;
        self.message[..HEAD_BYTES].copy_from_slice(&seq.to_le_bytes());
        fill(&mut self.message[HEAD_BYTES..], 1, seq);
        let parts = [&self.prefix, &self.message].map(|p| iovec { iov_base: p.as_ptr().cast_mut().cast(), iov_len: p.len() });
        self.sent_ns.push(now_ns());
        // SAFETY: the parts outlive the call that copies them; the write takes over the sample. All sizes here are multiples of 4.
        unsafe {
            let bytes = self.prefix.len() + self.message.len();
            let sample = ddsi_serdata_from_ser_iov(self.sertype, ddsi_serdata_kind_SDK_DATA, parts.len(), parts.as_ptr(), bytes);
            dds_writecdr(self.writer, sample);
        }
    }

    pub fn all_received(&self) -> bool {
        self.reader.next.load(Ordering::Acquire) >= self.sent_ns.len() as u64
    }

    pub fn latencies_ns(&self) -> Vec<Option<f64>> {
        let taken = self.reader.taken_ns.iter().map(|t| t.load(Ordering::Relaxed));
        self.sent_ns.iter().zip(taken).map(|(sent, taken)| (taken != 0).then_some((taken - sent) as f64)).collect()
    }

    pub fn corrupt(&self) -> bool {
        self.reader.corrupt.load(Ordering::Relaxed)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.reader.stop.store(true, Ordering::Relaxed);
        // SAFETY: live entities of ours.
        unsafe { dds_set_guardcondition(self.reader.stop_condition, true) };
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for participant in self.participants {
            // SAFETY: deletes everything below it.
            unsafe { dds_delete(participant) };
        }
    }
}

impl Reader {
    fn run(&self) {
        const BATCH: usize = 16;
        let mut attached = [0; 2];
        while !self.stop.load(Ordering::Relaxed) {
            // SAFETY: the C API as its manual has it; the arrays have the sizes given.
            unsafe {
                dds_waitset_wait(self.wait_set, attached.as_mut_ptr(), attached.len(), i64::MAX);
                let mut samples = [std::ptr::null_mut::<ddsi_serdata>(); BATCH];
                let mut infos: [dds_sample_info_t; BATCH] = std::mem::zeroed();
                let count = dds_takecdr(self.reader, samples.as_mut_ptr(), BATCH as u32, infos.as_mut_ptr(), DDS_ANY_STATE);
                let taken_ns = now_ns();
                for (&sample, info) in samples.iter().zip(&infos).take(count.max(0) as usize) {
                    if info.valid_data {
                        let mut cdr = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
                        let held = ddsi_serdata_to_ser_ref(sample, 0, ddsi_serdata_size(sample) as usize, &mut cdr);
                        let bytes = std::slice::from_raw_parts(cdr.iov_base.cast::<u8>(), cdr.iov_len);
                        self.consume(&bytes[self.prefix_bytes..], taken_ns);
                        ddsi_serdata_to_ser_unref(held, &cdr);
                    }
                    ddsi_serdata_unref(sample);
                }
            }
        }
    }

    fn consume(&self, payload: &[u8], taken_ns: i64) {
        let seq = u64::from_le_bytes(payload[..HEAD_BYTES].try_into().unwrap());
        if !verify(&payload[HEAD_BYTES..], 1, seq) {
            self.corrupt.store(true, Ordering::Relaxed);
        }
        self.taken_ns[seq as usize].store(taken_ns, Ordering::Relaxed);
        self.next.store(seq + 1, Ordering::Release);
    }
}
