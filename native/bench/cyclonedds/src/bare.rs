//! The same exchange written by hand on Cyclone's C API, as by a user who needs the latency of each
//! message.
//!
//! It writes and reads the whole payload as the worker does, because that is the user's work, not
//! the instrument's; it stamps a message twice, before the write and after the take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

use cyclors::*;
use rmwbench_bench::{write_message, Arrivals, ByHand, Round};
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::message_type::MessageType;

use crate::network::{READING, WRITING};

pub struct Bare {
    participants: [dds_entity_t; 2],
    writer: dds_entity_t,
    sertype: *const ddsi_sertype,
    prefix: Vec<u8>,
    message: Vec<u8>,
    call_ns: Vec<i64>,
    reader: Arc<Reader>,
    thread: Option<JoinHandle<()>>,
}

struct Reader {
    reader: dds_entity_t,
    wait_set: dds_entity_t,
    stop_condition: dds_entity_t,
    prefix_bytes: usize,
    arrivals: Arrivals,
    stop: AtomicBool,
}

impl Bare {
    /// Opens in the domains that our path has already opened.
    pub fn open(round: &Round) -> Result<Bare, String> {
        let message_type = MessageType::bytes(round.load.payload_bytes);
        let name = std::ffi::CString::new(format!("rt/bare_{}", round.name())).unwrap();
        let type_name = std::ffi::CString::new(message_type.dds_type_name()).unwrap();
        let good = |handle: dds_entity_t| {
            if handle > 0 {
                Ok(handle)
            } else {
                Err(format!("Cyclone DDS answers {handle}"))
            }
        };
        // SAFETY: the C API as in its manual; the entities are deleted with their participant.
        unsafe {
            let qos = dds_create_qos();
            dds_qset_reliability(qos, dds_reliability_kind_DDS_RELIABILITY_RELIABLE, i64::MAX);
            dds_qset_history(qos, dds_history_kind_DDS_HISTORY_KEEP_LAST, 10);
            dds_qset_writer_data_lifecycle(qos, false);
            let endpoints = [WRITING, READING].map(|domain| -> Result<[dds_entity_t; 2], String> {
                let participant =
                    good(dds_create_participant(domain, std::ptr::null(), std::ptr::null()))?;
                let topic = good(cdds_create_blob_topic(
                    participant,
                    name.as_ptr().cast_mut(),
                    type_name.as_ptr().cast_mut(),
                    true,
                ))?;
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
                arrivals: Arrivals::new(round.messages()),
                stop: AtomicBool::new(false),
            });
            let theirs = reader.clone();
            let thread = std::thread::spawn(move || theirs.run());
            Ok(Bare {
                participants: [writing, reading],
                writer,
                sertype,
                prefix: message_type.cdr_prefix,
                message: vec![0xA5; round.load.payload_bytes as usize],
                call_ns: Vec::with_capacity(round.messages()),
                reader,
                thread: Some(thread),
            })
        }
    }
}

impl ByHand for Bare {
    fn matched(&mut self) -> bool {
        // SAFETY: fill plain structs.
        unsafe {
            let mut publication = std::mem::zeroed::<dds_publication_matched_status_t>();
            let mut subscription = std::mem::zeroed::<dds_subscription_matched_status_t>();
            dds_get_publication_matched_status(self.writer, &mut publication);
            dds_get_subscription_matched_status(self.reader.reader, &mut subscription);
            publication.current_count > 0 && subscription.current_count > 0
        }
    }

    fn send(&mut self) {
        write_message(&mut self.message, self.call_ns.len() as u64);
        let parts = [&self.prefix, &self.message]
            .map(|p| iovec { iov_base: p.as_ptr().cast_mut().cast(), iov_len: p.len() });
        self.call_ns.push(now_ns());
        // SAFETY: the parts outlive the call that copies them; the write takes over the sample. All
        // sizes here are multiples of 4.
        unsafe {
            let bytes = self.prefix.len() + self.message.len();
            let sample = ddsi_serdata_from_ser_iov(
                self.sertype,
                ddsi_serdata_kind_SDK_DATA,
                parts.len(),
                parts.as_ptr(),
                bytes,
            );
            dds_writecdr(self.writer, sample);
        }
    }

    fn calls_ns(&self) -> &[i64] {
        &self.call_ns
    }

    fn arrivals(&self) -> &Arrivals {
        &self.reader.arrivals
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.reader.stop.store(true, Ordering::Relaxed);
        // SAFETY: these entities exist and are ours.
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
            // SAFETY: the C API as in its manual; the arrays have the given sizes.
            unsafe {
                dds_waitset_wait(self.wait_set, attached.as_mut_ptr(), attached.len(), i64::MAX);
                let mut samples = [std::ptr::null_mut::<ddsi_serdata>(); BATCH];
                let mut infos: [dds_sample_info_t; BATCH] = std::mem::zeroed();
                let count = dds_takecdr(
                    self.reader,
                    samples.as_mut_ptr(),
                    BATCH as u32,
                    infos.as_mut_ptr(),
                    DDS_ANY_STATE,
                );
                let taken_ns = now_ns();
                for (&sample, info) in samples.iter().zip(&infos).take(count.max(0) as usize) {
                    if info.valid_data {
                        let mut cdr = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
                        let reference = ddsi_serdata_to_ser_ref(
                            sample,
                            0,
                            ddsi_serdata_size(sample) as usize,
                            &mut cdr,
                        );
                        let bytes =
                            std::slice::from_raw_parts(cdr.iov_base.cast::<u8>(), cdr.iov_len);
                        self.arrivals.take(&bytes[self.prefix_bytes..], taken_ns);
                        ddsi_serdata_to_ser_unref(reference, &cdr);
                    }
                    ddsi_serdata_unref(sample);
                }
            }
        }
    }
}
