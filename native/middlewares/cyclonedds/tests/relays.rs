//! A relay that Cyclone's own thread calls: that thread takes acknowledgements, and a reliable
//! writer may have to wait for some.

mod network;

use rmwbench_conformance::pair::{until_heard, wait_until, Memory, Relay};
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::History;

use network::{endpoint, Network};

const BYTES: u32 = 20_000;

/// `count` messages of 20 kB, back to back, through a relay with `wait: callback` in a second
/// domain, and back. Returns what the relay's subscription was granted, how many came back, and how
/// long that took.
fn relayed(reliable: bool, count: usize) -> (Wait, usize, std::time::Duration) {
    let network = Network::new();
    let (mut ends, mut middle) = (network.open(0), network.open(1));
    let (mut ends, mut middle) = (ends.node("ends").unwrap(), middle.node("middle").unwrap());
    let config = |topic: &str, wait| {
        let mut config = EndpointConfig { wait, ..endpoint(topic, BYTES) };
        config.qos.history = History::KeepAll;
        config
    };
    let memory = Memory::new();
    let end = ends.subscription(&config("out", Wait::Block), memory.clone()).unwrap();
    let relay = Relay::new(middle.publisher(&config("out", Wait::Block)).unwrap(), reliable);
    let from = middle.subscription(&config("in", Wait::Callback), relay).unwrap();
    let mut begin = ends.publisher(&config("in", Wait::Block)).unwrap();
    wait_until("all matches", || begin.matched() == 1 && end.matched() == 1);
    until_heard(&mut *begin, &memory, &[255; BYTES as usize]);
    let before = memory.len();
    let begun = std::time::Instant::now();
    for number in 0..count {
        begin.publish(&[(number % 250) as u8; BYTES as usize]).unwrap();
    }
    let last = [((count - 1) % 250) as u8; BYTES as usize];
    wait_until("the last message", || memory.last().is_some_and(|message| message == last));
    let took = begun.elapsed();
    let probes = memory.wait_for(0).iter().skip(before).filter(|message| message[0] == 255).count();
    (from.granted().wait, memory.len() - before - probes, took)
}

#[test]
fn a_reliable_relay_has_a_thread_of_its_own() {
    let (wait, came_back, took) = relayed(true, 300);
    assert_eq!((wait, came_back), (Wait::Block, 300));
    println!("through a thread of its own: 300 in {took:?}");
}

/// What it is kept from: to be run by hand, and read.
#[test]
#[ignore = "it waits for a lease to run out"]
fn surprise_a_relay_in_the_receive_thread_waits_for_its_own_acknowledgements() {
    let (wait, came_back, took) = relayed(false, 4);
    assert_eq!(wait, Wait::Callback);
    println!("in Cyclone's receive thread: {came_back} for 4 in {took:?}");
}
