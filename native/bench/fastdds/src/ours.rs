//! The worker's own path: the harness's recording publisher and sink over the C table of the Fast DDS shim.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rmwbench_fastdds::FastDds;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{EndpointConfig, Error, Middleware, Node, PublishMode, Session, Subscription, Wait};
use rmwbench_harness::payload::{touched_bytes, Phase, Touch};
use rmwbench_harness::publisher::{Cause, PublisherParts, RecordedPublisher};
use rmwbench_harness::qos::Qos;
use rmwbench_harness::records::{layout, memfd, Kind, Records, SLOT_BYTES};
use rmwbench_harness::sink::RecordingSink;

use crate::profile::session;

const WRITER: u32 = 1;
const READER: u32 = 2;
const NONCE: u64 = 7;

/// Fields in the order of closing.
pub struct Ours {
    publisher: RecordedPublisher,
    subscription: Box<dyn Subscription>,
    sink: Arc<RecordingSink>,
    file: OwnedFd,
    sent: u64,
    _nodes: [Box<dyn Node>; 2],
    _sessions: [Box<dyn Session>; 2],
}

impl Ours {
    pub fn new(domain: u32, topic: &str, payload_bytes: u32, capacity: usize) -> Result<Self, Error> {
        let fastdds = FastDds::new();
        let mut sessions = [fastdds.open(&session(domain, NONCE))?, fastdds.open(&session(domain, NONCE))?];
        let mut nodes = [sessions[0].node("talker")?, sessions[1].node("listener")?];
        let config = EndpointConfig {
            endpoint: WRITER,
            topic: topic.into(),
            message_type: MessageType::bytes(payload_bytes),
            qos: Qos::default(),
            loan: false,
            publish_mode: PublishMode::Default,
            wait: Wait::Block,
        };
        let failed = |e: std::io::Error| Error::failed("records file", e);
        let sections = [(Kind::Sent, WRITER, capacity as u64), (Kind::Received, READER, capacity as u64)];
        let file = memfd(&layout(NONCE, &sections)).map_err(failed)?;
        let records = Records::map(file.try_clone().map_err(failed)?)?;
        let sink = Arc::new(RecordingSink::new(records.section(Kind::Received, READER), NONCE, Touch::All, 1));
        let reading = EndpointConfig { endpoint: READER, ..config.clone() };
        let subscription = nodes[1].subscription(&reading, sink.clone())?;
        let parts = PublisherParts {
            section: records.section(Kind::Sent, WRITER),
            endpoint: WRITER,
            nonce: NONCE,
            payload_bytes,
            touched_bytes: touched_bytes(Touch::All, &config.message_type),
            loan: false,
        };
        let publisher = RecordedPublisher::new(nodes[0].publisher(&config)?, parts);
        Ok(Ours { publisher, subscription, sink, file, sent: 0, _nodes: nodes, _sessions: sessions })
    }

    pub fn matched(&self) -> bool {
        self.publisher.publisher().matched() > 0 && self.subscription.matched() > 0
    }

    pub fn send(&mut self, due_ns: i64) {
        // A failed call is in the records, and its message counts as never arrived.
        let _ = self.publisher.send(due_ns, Phase::Steady, Cause::default());
        self.sent += 1;
    }

    pub fn all_received(&self) -> bool {
        self.sent == 0 || self.sink.has_seen(WRITER, self.sent - 1)
    }

    /// From the publish call to the take, by sequence number; infinite for what never arrived.
    pub fn latencies_ns(&self) -> Vec<f64> {
        let size = rustix::fs::fstat(&self.file).map_or(0, |stat| stat.st_size as usize);
        let mut bytes = vec![0; size];
        let _ = rustix::io::pread(&self.file, &mut bytes, 0);
        let word = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        // Section k: (sequence number, word at `offset`) of each slot in use.
        let read = |k: usize, offset: usize| -> Vec<(usize, i64)> {
            let entry = SLOT_BYTES * (1 + k);
            let (first, slots) = (word(entry + 8) as usize, word(entry + 24).min(word(entry + 16)) as usize);
            (0..slots).map(|i| first + i * SLOT_BYTES).map(|slot| (word(slot) as usize, word(slot + offset))).collect()
        };
        let mut latencies = vec![f64::INFINITY; self.sent as usize];
        let mut called = vec![0; self.sent as usize];
        read(0, 24).into_iter().for_each(|(seq, call_ns)| called[seq] = call_ns);
        read(1, 16).into_iter().for_each(|(seq, taken_ns)| latencies[seq] = (taken_ns - called[seq]) as f64);
        latencies
    }
}
