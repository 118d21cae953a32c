//! The worker's own path: the harness's recording publisher and sink on the middleware's traits.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmwbench_cyclonedds::CycloneDds;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{EndpointConfig, Error, Middleware, Node, PublishMode, Session, Subscription, Wait};
use rmwbench_harness::payload::{touched_bytes, Phase, Touch};
use rmwbench_harness::publisher::{Cause, PublisherParts, RecordedPublisher};
use rmwbench_harness::qos::Qos;
use rmwbench_harness::records::{layout, memfd, Kind, Records, SLOT_BYTES};
use rmwbench_harness::sink::RecordingSink;

use crate::network::{session, READING, WRITING};

const WRITER: u32 = 1;
const READER: u32 = 2;
const NONCE: u64 = 7;

/// Fields in the order of closing.
pub struct Ours {
    publisher: RecordedPublisher,
    subscription: Box<dyn Subscription>,
    sink: Arc<RecordingSink>,
    file: OwnedFd,
    capacity: u64,
    sent: u64,
    _nodes: [Box<dyn Node>; 2],
    _sessions: [Box<dyn Session>; 2],
}

impl Ours {
    pub fn new(payload_bytes: u32, capacity: u64) -> Result<Self, Error> {
        let mut sessions = [CycloneDds.open(&session(WRITING, NONCE))?, CycloneDds.open(&session(READING, NONCE))?];
        let mut nodes = [sessions[0].node("talker")?, sessions[1].node("listener")?];
        let config = EndpointConfig {
            endpoint: WRITER,
            topic: format!("ours{payload_bytes}"),
            message_type: MessageType::bytes(payload_bytes),
            qos: Qos::default(),
            loan: false,
            publish_mode: PublishMode::Default,
            wait: Wait::Block,
        };
        let file = memfd(&layout(NONCE, &[(Kind::Sent, WRITER, capacity), (Kind::Received, READER, capacity)]))
            .map_err(|e| Error::failed("records file", e))?;
        let records = Records::map(file.try_clone().map_err(|e| Error::failed("records file", e))?)?;
        let sink = Arc::new(RecordingSink::new(records.section(Kind::Received, READER), NONCE, Touch::All, 1));
        let subscription = nodes[1].subscription(&EndpointConfig { endpoint: READER, ..config.clone() }, sink.clone())?;
        let parts = PublisherParts {
            section: records.section(Kind::Sent, WRITER),
            endpoint: WRITER,
            nonce: NONCE,
            payload_bytes,
            touched_bytes: touched_bytes(Touch::All, &config.message_type),
            loan: false,
        };
        let publisher = RecordedPublisher::new(nodes[0].publisher(&config)?, parts);
        Ok(Ours { publisher, subscription, sink, file, capacity, sent: 0, _nodes: nodes, _sessions: sessions })
    }

    pub fn ready(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.publisher.publisher().matched() == 0 || self.subscription.matched() == 0 {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    pub fn send(&mut self, due_ns: i64) {
        let _ = self.publisher.send(due_ns, Phase::Steady, Cause::default());
        self.sent += 1;
    }

    pub fn all_received(&self) -> bool {
        self.sent == 0 || self.sink.has_seen(WRITER, self.sent - 1)
    }

    /// From the publish call to the take, by sequence number; None where the message never arrived.
    pub fn latencies_ns(&self) -> Vec<Option<f64>> {
        let mut bytes = vec![0; rustix::fs::fstat(&self.file).map_or(0, |s| s.st_size as usize)];
        let _ = rustix::io::pread(&self.file, &mut bytes, 0);
        let word = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let section = |k: usize| {
            let entry = SLOT_BYTES * (1 + k);
            let claimed = (word(entry + 24) as u64).min(self.capacity) as usize;
            let first = word(entry + 8) as usize;
            (0..claimed).map(move |i| first + i * SLOT_BYTES)
        };
        let mut call_ns = vec![0; self.sent as usize];
        section(0).for_each(|slot| call_ns[word(slot) as usize] = word(slot + 24));
        let mut latencies = vec![None; self.sent as usize];
        section(1).for_each(|slot| {
            let seq = word(slot) as usize;
            latencies[seq] = Some((word(slot + 16) - call_ns[seq]) as f64);
        });
        latencies
    }
}
