//! What the trait-level tests share: sessions, endpoints, and a sink that remembers and can hold the delivering thread up.

mod isolation;

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

pub use isolation::isolated;
use rmwbench_fastdds::FastDds;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::Qos;

/// Generous: other things run on this machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Makes Fast DDS use its transports between two sessions of one process, as between processes.
pub const NO_INTRAPROCESS: &str = "<library_settings><intraprocess_delivery>OFF</intraprocess_delivery></library_settings>";

#[derive(Default)]
pub struct Memory {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    messages: Vec<Vec<u8>>,
    gate_closed: bool,
    bad_stamps: usize,
}

impl Memory {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Waits for `count` messages, or for patience to end, and returns what there is.
    pub fn wait_for(&self, count: usize) -> Vec<Vec<u8>> {
        let mut state = self.state.lock().unwrap();
        let end = Instant::now() + PATIENCE;
        while state.messages.len() < count && Instant::now() < end {
            state = self.changed.wait_timeout(state, Duration::from_millis(20)).unwrap().0;
        }
        assert_eq!(state.bad_stamps, 0, "0 < notified <= taken");
        state.messages.clone()
    }

    pub fn len(&self) -> usize {
        self.state.lock().unwrap().messages.len()
    }

    pub fn close_gate(&self) {
        self.state.lock().unwrap().gate_closed = true;
    }

    pub fn open_gate(&self) {
        self.state.lock().unwrap().gate_closed = false;
        self.changed.notify_all();
    }
}

impl Sink for Memory {
    fn deliver(&self, delivery: &Delivery<'_>) {
        let mut state = self.state.lock().unwrap();
        if delivery.notified_ns <= 0 || delivery.taken_ns < delivery.notified_ns {
            state.bad_stamps += 1;
        }
        state.messages.push(delivery.payload.to_vec());
        self.changed.notify_all();
        while state.gate_closed {
            state = self.changed.wait(state).unwrap();
        }
    }
}

pub fn try_open(format: &str, text: &str) -> Result<Box<dyn Session>, Error> {
    FastDds::new().open(&SessionConfig {
        profile: Profile { name: "test".into(), format: format.into(), text: text.into(), summary: String::new() },
        options: BTreeMap::new(),
        domain_id: 7,
        trial_nonce: 1,
    })
}

/// A session with the profile whose body is `xml`, or without one.
pub fn open(xml: &str) -> Box<dyn Session> {
    let text = if xml.is_empty() { String::new() } else { wrapped(xml) };
    try_open("xml", &text).unwrap()
}

pub fn wrapped(xml: &str) -> String {
    format!("<?xml version=\"1.0\"?>\n<dds xmlns=\"http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles\">{xml}</dds>")
}

pub fn endpoint(endpoint: u32, topic: &str, payload_bytes: u32) -> EndpointConfig {
    EndpointConfig {
        endpoint,
        topic: topic.into(),
        message_type: MessageType::bytes(payload_bytes),
        qos: Qos::default(),
        loan: false,
        publish_mode: PublishMode::Default,
        wait: Wait::Block,
    }
}

pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what} did not happen within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Publishes `message` until the reader has heard it: both sides may know of their match, and the first message still be lost. Each
/// attempt has its time: as installed, 32 MiB take a second of repairs, and new messages would push it out of the history.
pub fn until_heard(writer: &mut dyn Publisher, memory: &Memory, message: &[u8]) {
    let attempt = Duration::from_millis(20 + message.len() as u64 / 8192);
    wait_until("the first message", || {
        writer.publish(message).unwrap();
        let end = Instant::now() + attempt;
        while memory.len() == 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        memory.len() > 0
    });
}
