//! A relay that Cyclone's own thread calls: that thread takes acknowledgements, and a writer that
//! keeps all may have to wait for some; a keep_last writer never waits.

mod network;

use std::time::{Duration, Instant};

use rmwbench_conformance::pair::{until_heard, wait_until, Memory, Relay};
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::History;

use network::{endpoint, Network};

const BYTES: u32 = 20_000;

fn config(topic: &str, wait: Wait, history: History) -> EndpointConfig {
    let mut config = EndpointConfig { wait, ..endpoint(topic, BYTES) };
    (config.qos.history, config.qos.depth) = (history, 400);
    config
}

/// `count` messages of 20 kB, back to back, through a relay with `wait: callback` in a second
/// domain, and back. Returns how many came back, and how long that took.
fn relayed(history: History, count: usize) -> (usize, Duration) {
    let network = Network::new();
    let (mut ends, mut middle) = (network.open(0), network.open(1));
    let (mut ends, mut middle) = (ends.node("ends").unwrap(), middle.node("middle").unwrap());
    let config = |topic: &str, wait| config(topic, wait, history);
    let memory = Memory::new();
    let end = ends.subscription(&config("out", Wait::Block), memory.clone()).unwrap();
    let relay = Relay::new(middle.publisher(&config("out", Wait::Block)).unwrap(), false);
    let from = middle.subscription(&config("in", Wait::Callback), relay).unwrap();
    assert_eq!(from.granted().wait, Wait::Callback);
    let mut begin = ends.publisher(&config("in", Wait::Block)).unwrap();
    wait_until("all matches", || begin.matched() == 1 && end.matched() == 1);
    until_heard(&mut *begin, &memory, &[255; BYTES as usize]);
    let before = memory.len();
    let begun = Instant::now();
    for number in 0..count {
        begin.publish(&[(number % 250) as u8; BYTES as usize]).unwrap();
    }
    let last = [((count - 1) % 250) as u8; BYTES as usize];
    wait_until("the last message", || memory.last().is_some_and(|message| message == last));
    let took = begun.elapsed();
    let probes = memory.wait_for(0).iter().skip(before).filter(|message| message[0] == 255).count();
    (memory.len() - before - probes, took)
}

#[test]
fn a_relay_of_keep_last_is_called_back_and_carries_all() {
    let (came_back, took) = relayed(History::KeepLast, 300);
    assert_eq!(came_back, 300);
    println!("in Cyclone's receive thread, keep_last: 300 in {took:?}");
}

#[test]
fn a_relay_that_may_wait_for_acknowledgements_is_not_called_back() {
    let network = Network::new();
    let mut session = network.open(0);
    let mut node = session.node("middle").unwrap();
    let config = |topic: &str, wait| config(topic, wait, History::KeepAll);
    let mut relay = || Relay::new(node.publisher(&config("out", Wait::Block)).unwrap(), true);
    let (called, waited) = (relay(), relay());
    let refused = node.subscription(&config("in", Wait::Callback), called).map(drop).unwrap_err();
    assert!(
        refused.kind == ErrorKind::Unsupported && refused.message.contains("wait callback"),
        "{refused:?}"
    );
    node.subscription(&config("in", Wait::Block), waited).unwrap();
}

/// This shows what the refusal prevents: run it by hand, and read its output.
#[test]
#[ignore = "it waits for a lease to run out"]
fn surprise_a_relay_of_keep_all_in_the_receive_thread_waits_for_its_own_acknowledgements() {
    let (came_back, took) = relayed(History::KeepAll, 4);
    println!("in Cyclone's receive thread, keep_all: {came_back} for 4 in {took:?}");
}
