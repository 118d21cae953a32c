//! A writer and a reader on the traits, in the test's own process: the common part of the tests for
//! one middleware alone.
//!
//! The suite drives whole workers and sees only their records; these tests see every answer of the
//! traits. The sink remembers every message and can stop the delivering thread at a gate, which
//! makes a slow reader without any timing.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    Delivery, EndpointConfig, Profile, PublishMode, Publisher, SessionConfig, Sink, Take, Wait,
};
use rmwbench_harness::qos::{History, Qos, Reliability};
use serde_json::Value;

/// Generous, because other programs run on the machine of a test.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Keeps the delivered messages; every access to them asserts 0 < notified <= taken.
#[derive(Default)]
pub struct Memory {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    messages: Vec<Vec<u8>>,
    gate_closed: bool,
    at_gate: bool,
    bad_stamps: usize,
}

impl Memory {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.state.lock().unwrap();
        assert_eq!(state.bad_stamps, 0, "0 < notified <= taken");
        state
    }

    /// Waits for `count` messages, or until PATIENCE ends, and returns the messages so far.
    pub fn wait_for(&self, count: usize) -> Vec<Vec<u8>> {
        let mut state = self.state();
        let end = Instant::now() + PATIENCE;
        while state.messages.len() < count && Instant::now() < end {
            state = self.changed.wait_timeout(state, Duration::from_millis(50)).unwrap().0;
        }
        drop(state);
        self.state().messages.clone()
    }

    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.state().messages.len()
    }

    pub fn last(&self) -> Option<Vec<u8>> {
        self.state().messages.last().cloned()
    }

    /// From now on a delivery stays in the sink until `open_gate`.
    pub fn close_gate(&self) {
        self.state().gate_closed = true;
    }

    pub fn open_gate(&self) {
        self.state().gate_closed = false;
        self.changed.notify_all();
    }

    pub fn wait_until_held(&self) {
        wait_until("a delivery at the gate", || self.state().at_gate);
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
            state.at_gate = true;
            state = self.changed.wait(state).unwrap();
        }
        state.at_gate = false;
    }
}

/// Forwards each message within its delivery, as a relay of the harness does.
pub struct Relay {
    publisher: Mutex<Box<dyn Publisher>>,
    /// What the sink reports to the middleware.
    pub may_wait: bool,
}

impl Relay {
    pub fn new(publisher: Box<dyn Publisher>, may_wait: bool) -> Arc<Self> {
        Arc::new(Relay { publisher: Mutex::new(publisher), may_wait })
    }
}

impl Sink for Relay {
    fn deliver(&self, delivery: &Delivery<'_>) {
        self.publisher.lock().unwrap().publish(delivery.payload).unwrap();
    }

    fn publish_may_wait(&self) -> bool {
        self.may_wait
    }
}

/// Panics if PATIENCE ends before `condition` holds.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "waited {PATIENCE:?} in vain for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn profile(format: &str, text: &str) -> Profile {
    Profile {
        name: "test".into(),
        format: format.into(),
        text: text.into(),
        summary: String::new(),
    }
}

pub fn session(profile: &Profile, domain_id: u32) -> SessionConfig {
    SessionConfig {
        profile: profile.clone(),
        options: BTreeMap::new(),
        modes: Default::default(),
        domain_id,
        trial_nonce: 1,
    }
}

/// A session of this profile in domain 0 that requests these modes.
pub fn session_with_modes(profile: &Profile, modes: &[(&str, Value)]) -> SessionConfig {
    let modes = modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
    SessionConfig { modes, ..session(profile, 0) }
}

/// A domain per process and test: tests of one binary run side by side.
pub fn domain(test: u32) -> u32 {
    std::process::id() % 1_000_000 * 100 + test
}

/// Reliable, volatile, keep last 10; by copy; the middleware's own publish mode; a blocking wait.
pub fn endpoint(endpoint: u32, topic: &str, bytes: u32) -> EndpointConfig {
    EndpointConfig {
        endpoint,
        topic: topic.into(),
        message_type: MessageType::bytes(bytes),
        reply_type: None,
        qos: Qos::default(),
        loan: false,
        publish_mode: PublishMode::Default,
        wait: Wait::Block,
        take: Take::Typed,
    }
}

pub fn with_qos(
    mut config: EndpointConfig,
    reliability: Reliability,
    history: History,
    depth: u32,
) -> EndpointConfig {
    config.qos = Qos { reliability, history, depth, ..Qos::default() };
    config
}

/// A message of one byte.
pub fn byte(number: usize) -> Vec<u8> {
    vec![number as u8]
}

/// Publishes `message` until the reader has received it: the first message can be lost although
/// both sides know of their match.
pub fn until_heard(writer: &mut dyn Publisher, memory: &Memory, message: &[u8]) {
    wait_until("the first message", || {
        writer.publish(message).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        memory.len() > 0
    });
}

/// Leaves the reader at its closed gate with message 0, after messages 1 to `more` were published.
pub fn overrun(writer: &mut dyn Publisher, memory: &Memory, more: usize) {
    memory.close_gate();
    writer.publish(&byte(0)).unwrap();
    memory.wait_until_held();
    (1..=more).for_each(|number| writer.publish(&byte(number)).unwrap());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliver(memory: &Memory, payload: &[u8], stamps: (i64, i64)) {
        memory.deliver(&Delivery {
            notified_ns: stamps.0,
            taken_ns: stamps.1,
            payload,
            zero_copy: false,
            lossy: false,
        });
    }

    #[test]
    fn a_closed_gate_holds_the_delivering_thread_and_an_open_one_lets_it_go() {
        let memory = Memory::new();
        memory.close_gate();
        std::thread::scope(|scope| {
            let delivering =
                scope.spawn(|| (0..3).for_each(|n| deliver(&memory, &byte(n), (1, 2))));
            memory.wait_until_held();
            std::thread::sleep(Duration::from_millis(20));
            assert!(memory.len() == 1 && !delivering.is_finished());
            memory.open_gate();
            assert_eq!(memory.wait_for(3), [byte(0), byte(1), byte(2)]);
        });
        assert_eq!(memory.last(), Some(byte(2)));
    }

    #[test]
    fn a_stamp_taken_before_it_was_notified_fails_the_test() {
        for stamps in [(0, 1), (2, 1)] {
            let memory = Memory::new();
            deliver(&memory, &byte(1), stamps);
            assert!(
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| memory.len())).is_err(),
                "{stamps:?}"
            );
        }
    }
}
