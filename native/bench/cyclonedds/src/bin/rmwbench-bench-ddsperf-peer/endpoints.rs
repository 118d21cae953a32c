//! A writer and a reader on ddsperf's data topic, as raw CDR: `struct KeyedSeq { unsigned long seq;
//! @key unsigned long keyval; sequence<octet> baggage; }`, our payload being the baggage.
//!
//! The topic is the reliability's: ddsperf has one for each. A message's source time stamp is the
//! monotonic clock at the write, its lowest bit clear, which is what ddsperf's own writer does: so
//! `ddsperf sub -l` reads latencies, and sends no pong.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

use cyclors::*;
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, PublishError, PublishMode,
};
use rmwbench_harness::middleware::{Publisher, Sink, Subscription, Wait};
use rmwbench_harness::payload::{Header, Phase};
use rmwbench_harness::qos::{History, Qos, Reliability};

use crate::{good, Shared};

/// Encapsulation, sequence number, key, length of the baggage.
const BEFORE_PAYLOAD_BYTES: usize = 16;
/// Longer than any trial: a writer that waits for a full reader is not to give up.
const BLOCKING_NS: i64 = 10_000_000_000;

pub struct Writer {
    writer: dds_entity_t,
    sertype: *const ddsi_sertype,
    granted: Granted,
    /// Waits for its successor to be written first.
    held: Option<(u32, Vec<u8>)>,
    not_written: u64,
    shared: Arc<Shared>,
}

// SAFETY: the sertype lives as long as the writer, and Cyclone's calls may come from any thread.
unsafe impl Send for Writer {}

impl Writer {
    pub fn new(config: &EndpointConfig, shared: Arc<Shared>) -> Result<Writer, Error> {
        // SAFETY: the C API as its manual has it; what is created goes with the participant.
        unsafe {
            let topic = topic(&shared, config)?;
            let qos = qos(&config.qos)?;
            let writer =
                good(dds_create_writer(shared.participant, topic, qos, std::ptr::null()), "writer");
            dds_delete_qos(qos);
            let writer = writer?;
            let mut sertype = std::ptr::null();
            good(dds_get_entity_sertype(writer, &mut sertype), "type")?;
            Ok(Writer {
                writer,
                sertype,
                granted: granted(config),
                held: None,
                not_written: 0,
                shared,
            })
        }
    }

    fn write(&self, seq: u32, payload: &[u8]) -> Result<(), PublishError> {
        let mut head = [0_u8; BEFORE_PAYLOAD_BYTES];
        head[1] = 1; // plain CDR, little endian
        head[4..8].copy_from_slice(&seq.to_le_bytes());
        head[12..].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        let padding = [0_u8; 3];
        let parts = [&head, payload, &padding[..payload.len().next_multiple_of(4) - payload.len()]];
        let bytes = parts.iter().map(|part| part.len()).sum();
        let parts = parts
            .map(|part| iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
        // SAFETY: the parts outlive the call that copies them; the write takes over the sample.
        let code = unsafe {
            let sample = ddsi_serdata_from_ser_iov(
                self.sertype,
                ddsi_serdata_kind_SDK_DATA,
                parts.len(),
                parts.as_ptr(),
                bytes,
            );
            (*sample).statusinfo = 0;
            (*sample).timestamp.v = now_ns() & !1;
            dds_forwardcdr(self.writer, sample)
        };
        if code == 0 {
            Ok(())
        } else {
            Err(PublishError::Failed)
        }
    }
}

impl Publisher for Writer {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        let Ok(Header { seq, phase, .. }) = Header::read(payload) else {
            return Err(PublishError::Failed);
        };
        if phase == Phase::Probe {
            return Ok(()); // ddsperf would count it
        }
        let shared = self.shared.clone();
        let faults = &shared.faults;
        if let Some(stall) = faults.stall(seq) {
            std::thread::sleep(stall);
        }
        if faults.lost(seq) {
            self.not_written += 1;
            return Ok(());
        }
        if faults.swapped(seq) {
            self.held = Some((seq as u32, payload.to_vec()));
            return Ok(());
        }
        self.write(seq as u32, payload)?;
        if faults.twice(seq) {
            self.write(seq as u32, payload)?;
        }
        match self.held.take() {
            Some((held_seq, held)) => self.write(held_seq, &held),
            None => Ok(()),
        }
    }
}

impl Endpoint for Writer {
    fn matched(&self) -> u32 {
        // SAFETY: fills a plain struct.
        unsafe {
            let mut status = std::mem::zeroed::<dds_publication_matched_status_t>();
            dds_get_publication_matched_status(self.writer, &mut status);
            status.current_count
        }
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        Account {
            counters: BTreeMap::from([("not_written_on_purpose".into(), self.not_written as i64)]),
            ..Account::default()
        }
    }
}

pub struct Reader {
    inner: Arc<Inner>,
    granted: Granted,
    thread: Option<JoinHandle<()>>,
    _shared: Arc<Shared>,
}

struct Inner {
    reader: dds_entity_t,
    wait_set: dds_entity_t,
    stop_condition: dds_entity_t,
    sink: Arc<dyn Sink>,
    stop: AtomicBool,
    malformed: AtomicU64,
}

impl Reader {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        shared: Arc<Shared>,
    ) -> Result<Reader, Error> {
        // SAFETY: the C API as its manual has it; what is created goes with the participant.
        let inner = unsafe {
            let topic = topic(&shared, config)?;
            let qos = qos(&config.qos)?;
            let reader =
                good(dds_create_reader(shared.participant, topic, qos, std::ptr::null()), "reader");
            dds_delete_qos(qos);
            let reader = reader?;
            let wait_set = good(dds_create_waitset(shared.participant), "wait set")?;
            dds_waitset_attach(
                wait_set,
                good(dds_create_readcondition(reader, DDS_ANY_STATE), "read condition")?,
                1,
            );
            let stop_condition =
                good(dds_create_guardcondition(shared.participant), "guard condition")?;
            dds_waitset_attach(wait_set, stop_condition, 0);
            Inner {
                reader,
                wait_set,
                stop_condition,
                sink,
                stop: AtomicBool::new(false),
                malformed: AtomicU64::new(0),
            }
        };
        let inner = Arc::new(inner);
        let theirs = inner.clone();
        let thread = Some(std::thread::spawn(move || theirs.run()));
        Ok(Reader { inner, granted: granted(config), thread, _shared: shared })
    }
}

impl Inner {
    fn run(&self) {
        const BATCH: usize = 16;
        let mut attached = [0; 2];
        while !self.stop.load(Ordering::Relaxed) {
            // SAFETY: the C API as its manual has it; the arrays have the sizes given.
            unsafe {
                dds_waitset_wait(self.wait_set, attached.as_mut_ptr(), attached.len(), i64::MAX);
                let notified_ns = now_ns();
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
                        self.deliver(sample, notified_ns, taken_ns);
                    }
                    ddsi_serdata_unref(sample);
                }
            }
        }
    }

    /// # Safety
    /// `sample` is valid.
    unsafe fn deliver(&self, sample: *mut ddsi_serdata, notified_ns: i64, taken_ns: i64) {
        let mut cdr = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: the reference keeps the bytes until `to_ser_unref`.
        unsafe {
            let held =
                ddsi_serdata_to_ser_ref(sample, 0, ddsi_serdata_size(sample) as usize, &mut cdr);
            let bytes = std::slice::from_raw_parts(cdr.iov_base.cast::<u8>(), cdr.iov_len);
            match payload(bytes) {
                Some(payload) => self.sink.deliver(&Delivery {
                    notified_ns,
                    taken_ns,
                    payload,
                    zero_copy: false,
                    lossy: false,
                }),
                None => {
                    self.malformed.fetch_add(1, Ordering::Relaxed);
                }
            }
            ddsi_serdata_to_ser_unref(held, &cdr);
        }
    }
}

/// The baggage of a serialised KeyedSeq, by its own length: padding may follow.
fn payload(cdr: &[u8]) -> Option<&[u8]> {
    let (head, rest) = cdr.split_at_checked(BEFORE_PAYLOAD_BYTES)?;
    rest.get(..u32::from_le_bytes(head[12..].try_into().expect("4 bytes")) as usize)
}

impl Subscription for Reader {}

impl Endpoint for Reader {
    fn matched(&self) -> u32 {
        // SAFETY: fills a plain struct.
        unsafe {
            let mut status = std::mem::zeroed::<dds_subscription_matched_status_t>();
            dds_get_subscription_matched_status(self.inner.reader, &mut status);
            status.current_count
        }
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let malformed = self.inner.malformed.load(Ordering::Relaxed) as i64;
        Account {
            counters: BTreeMap::from([("malformed".into(), malformed)]),
            ..Account::default()
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.inner.stop.store(true, Ordering::Relaxed);
        // SAFETY: live entities of ours.
        unsafe { dds_set_guardcondition(self.inner.stop_condition, true) };
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // SAFETY: ours, and nobody waits on it any more.
        unsafe { dds_delete(self.inner.reader) };
    }
}

unsafe fn topic(shared: &Shared, config: &EndpointConfig) -> Result<dds_entity_t, Error> {
    let name = match config.qos.reliability {
        Reliability::Reliable => c"DDSPerfRDataKS",
        Reliability::BestEffort => c"DDSPerfUDataKS",
    };
    // SAFETY: the strings outlive the call, which copies them. Keyed, as ddsperf's type is; all
    // messages have the key 0.
    let handle = unsafe {
        cdds_create_blob_topic(
            shared.participant,
            name.as_ptr().cast_mut(),
            c"KeyedSeq".as_ptr().cast_mut(),
            false,
        )
    };
    good(handle, "topic")
}

unsafe fn qos(asked: &Qos) -> Result<*mut dds_qos_t, Error> {
    let (history, depth) = match asked.history {
        History::KeepAll => (dds_history_kind_DDS_HISTORY_KEEP_ALL, 1),
        History::KeepLast => (dds_history_kind_DDS_HISTORY_KEEP_LAST, asked.depth as i32),
    };
    let reliability = match asked.reliability {
        Reliability::Reliable => dds_reliability_kind_DDS_RELIABILITY_RELIABLE,
        Reliability::BestEffort => dds_reliability_kind_DDS_RELIABILITY_BEST_EFFORT,
    };
    // SAFETY: plain setters on a fresh object.
    unsafe {
        let qos = dds_create_qos();
        dds_qset_reliability(qos, reliability, BLOCKING_NS);
        dds_qset_history(qos, history, depth);
        dds_qset_writer_data_lifecycle(qos, false);
        Ok(qos)
    }
}

fn granted(config: &EndpointConfig) -> Granted {
    Granted {
        qos: config.qos.clone(),
        publish_mode: PublishMode::Sync,
        wait: Wait::Block,
        take: None,
        when_full: None,
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_as_long_as_it_says() {
        let mut cdr = vec![0; BEFORE_PAYLOAD_BYTES];
        cdr[12] = 5;
        cdr.extend([7, 7, 7, 7, 7, 0, 0, 0]);
        assert_eq!(payload(&cdr), Some([7; 5].as_slice()));
        cdr[12] = 9;
        assert_eq!(payload(&cdr), None);
        assert_eq!(payload(&cdr[..10]), None);
    }
}
