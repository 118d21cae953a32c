//! Sessions, endpoints and a sink that remembers: what the trait-level tests share.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{History, Qos, Reliability};

/// Generous: other things run on this machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Keeps what was delivered; can hold the delivering thread up at a gate.
#[derive(Default)]
pub struct Memory {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    messages: Vec<Vec<u8>>,
    closed: bool,
    waiting: bool,
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
            state = self.changed.wait_timeout(state, Duration::from_millis(50)).unwrap().0;
        }
        assert_eq!(state.bad_stamps, 0, "0 < notified <= taken");
        state.messages.clone()
    }

    pub fn len(&self) -> usize {
        self.state.lock().unwrap().messages.len()
    }

    /// From now on a delivery stays in the sink until `open_gate`.
    pub fn close_gate(&self) {
        self.state.lock().unwrap().closed = true;
    }

    pub fn wait_until_held(&self) {
        let mut state = self.state.lock().unwrap();
        let end = Instant::now() + PATIENCE;
        while !state.waiting {
            assert!(Instant::now() < end, "no delivery reached the gate");
            state = self.changed.wait_timeout(state, Duration::from_millis(50)).unwrap().0;
        }
    }

    pub fn open_gate(&self) {
        self.state.lock().unwrap().closed = false;
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
        while state.closed {
            state.waiting = true;
            state = self.changed.wait(state).unwrap();
        }
        state.waiting = false;
    }
}

pub fn config(profile: &Profile, domain_id: u32) -> SessionConfig {
    SessionConfig { profile: profile.clone(), options: BTreeMap::new(), domain_id, trial_nonce: 1 }
}

pub fn endpoint(endpoint: u32, topic: &str, bytes: u32) -> EndpointConfig {
    EndpointConfig {
        endpoint,
        topic: topic.into(),
        message_type: MessageType::bytes(bytes),
        qos: Qos::default(),
        loan: false,
        publish_mode: PublishMode::Default,
        wait: Wait::Block,
    }
}

pub fn with_qos(mut config: EndpointConfig, reliability: Reliability, history: History, depth: u32) -> EndpointConfig {
    config.qos = Qos { reliability, history, depth, ..Qos::default() };
    config
}

pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
