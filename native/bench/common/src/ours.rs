//! The worker's own path: the harness's recording publisher and sink on a middleware's traits, as
//! in a trial.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    EndpointConfig, Error, Middleware, Node, PublishMode, Session, SessionConfig, Subscription,
    Take, Wait,
};
use rmwbench_harness::payload::{touched_bytes, Phase, Touch};
use rmwbench_harness::publisher::{Cause, RecordedPublisher, Recorder};
use rmwbench_harness::qos::Qos;
use rmwbench_harness::records::{layout, memfd, received_flag, Kind, Records, SLOT_BYTES};
use rmwbench_harness::sink::RecordingSink;

use crate::turns::{Path, Round};

const WRITER: u32 = 1;
const READER: u32 = 2;

/// The fields are in the order of closing.
pub struct Ours {
    publisher: RecordedPublisher,
    subscription: Box<dyn Subscription>,
    sink: Arc<RecordingSink>,
    file: OwnedFd,
    sent: u64,
    loan: bool,
    _nodes: [Box<dyn Node>; 2],
    _sessions: [Box<dyn Session>; 2],
}

impl Ours {
    /// Opens a writer and a reader in a session each (`sessions` in this order, with the same
    /// nonce), so that messages take the path between processes.
    pub fn open(
        middleware: &dyn Middleware,
        sessions: [&SessionConfig; 2],
        round: &Round,
        wait: Wait,
        loan: bool,
    ) -> Result<Ours, Error> {
        let failed = |e: std::io::Error| Error::failed("records file", e);
        let nonce = sessions[0].trial_nonce;
        let mut sessions = [middleware.open(sessions[0])?, middleware.open(sessions[1])?];
        let mut nodes = [sessions[0].node("talker")?, sessions[1].node("listener")?];
        let writer = EndpointConfig {
            endpoint: WRITER,
            topic: format!("ours_{}", round.name()),
            message_type: MessageType::bytes(round.load.payload_bytes),
            reply_type: None,
            qos: Qos::default(),
            loan,
            publish_mode: PublishMode::Default,
            wait,
            // The same as the bare programs, which read a message where their API puts it.
            take: Take::Raw,
        };
        let capacity = round.messages() as u64;
        let file = memfd(&layout(
            nonce,
            &[(Kind::Sent, WRITER, capacity), (Kind::Received, READER, capacity)],
        ))
        .map_err(failed)?;
        let records = Records::map(file.try_clone().map_err(failed)?)?;
        let sink = Arc::new(RecordingSink::new(
            records.section(Kind::Received, READER),
            nonce,
            Touch::All,
            1,
        ));
        let reader = EndpointConfig { endpoint: READER, loan: false, ..writer.clone() };
        let subscription = nodes[1].subscription(&reader, sink.clone())?;
        let parts = Recorder {
            section: records.section(Kind::Sent, WRITER),
            endpoint: WRITER,
            nonce,
            payload_bytes: round.load.payload_bytes,
            touched_bytes: touched_bytes(Touch::All, &writer.message_type),
            loan,
        };
        let publisher = RecordedPublisher::new(nodes[0].publisher(&writer)?, parts);
        Ok(Ours {
            publisher,
            subscription,
            sink,
            file,
            sent: 0,
            loan,
            _nodes: nodes,
            _sessions: sessions,
        })
    }

    /// The records so far: of sent and of received messages.
    fn slots(&self) -> [Vec<[u8; SLOT_BYTES]>; 2] {
        let mut bytes = vec![0; rustix::fs::fstat(&self.file).map_or(0, |s| s.st_size as usize)];
        let read = rustix::io::pread(&self.file, &mut bytes, 0).unwrap_or(0);
        bytes.truncate(read);
        [0, 1].map(|section| {
            let entry = &bytes[SLOT_BYTES * (1 + section)..];
            let (first, claimed) =
                (word(entry, 8) as usize, word(entry, 24).min(word(entry, 16)) as usize);
            bytes[first..]
                .chunks_exact(SLOT_BYTES)
                .take(claimed)
                .map(|slot| slot.try_into().expect("64 bytes"))
                .collect()
        })
    }
}

fn word(slot: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(slot[at..at + 8].try_into().expect("8 bytes"))
}

impl Path for Ours {
    fn matched(&mut self) -> bool {
        self.publisher.publisher().matched() > 0 && self.subscription.matched() > 0
    }

    fn send(&mut self, due_ns: i64) {
        // The records show a failed call, and its message counts as never arrived.
        let _ = self.publisher.send(due_ns, Phase::Steady, Cause::default());
        self.sent += 1;
    }

    fn all_received(&self) -> bool {
        self.sent == 0 || self.sink.has_seen(WRITER, self.sent - 1)
    }

    fn latencies_ns(&self) -> Vec<Option<f64>> {
        let [sent, received] = self.slots();
        let mut call_ns = vec![0; self.sent as usize];
        for slot in &sent {
            // The time of writing into a loan is part of the call, and is the user's.
            let fill_ns = if self.loan { word(slot, 40) } else { 0 };
            call_ns[word(slot, 0) as usize] = word(slot, 24) + fill_ns;
        }
        let mut latencies = vec![None; self.sent as usize];
        for slot in &received {
            let seq = word(slot, 0) as usize;
            latencies[seq] = Some((word(slot, 16) - call_ns[seq]) as f64);
        }
        latencies
    }

    fn intact(&self) -> bool {
        let flags = |slot: &[u8; SLOT_BYTES]| {
            u32::from_le_bytes(slot[60..].try_into().expect("4 bytes")) >> 8
        };
        self.slots()[1]
            .iter()
            .all(|slot| flags(slot) & (received_flag::CORRUPT | received_flag::FOREIGN) == 0)
    }
}
