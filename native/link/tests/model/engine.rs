//! The engine against the real clock, without devices.

use std::fs::File;
use std::time::Duration;

use rmwbench_link::engine::{Engine, Waiting};
use rmwbench_link::log::Log;
use rmwbench_link::multicast::Multicast;
use rmwbench_link::network::{Network, Plan};

#[test]
fn an_engine_that_did_not_get_its_processor_says_so() {
    let nothing = || Plan {
        seed: 1,
        ports: vec![],
        links: Default::default(),
        media: Default::default(),
        multicast: Multicast::default(),
        priority: vec![],
    };
    let log = File::from(rustix::fs::memfd_create("log", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
    let waiting = Waiting { quantum_ns: 0, spin_ns: 0 };
    let engine =
        Engine::start(vec![], waiting, move || Ok(Network::new(nothing(), Log::map(&log)?, 0)));
    let engine = engine.unwrap();
    // The network is held for longer than the thread may sleep between two wake-ups, so each time
    // it misses at least one.
    for _ in 0..20 {
        engine.ask(|_| std::thread::sleep(Duration::from_millis(15))).unwrap();
    }
    let wakes = engine.ask(|network| network.watch.wakes.clone()).unwrap();
    let long_holds = wakes.late.iter().filter(|(_, late_ns)| *late_ns >= 5_000_000).count();
    assert!(long_holds >= 20, "{wakes:?}");
    assert_eq!((wakes.every_ns, wakes.from_ns, wakes.unkept), (5_000_000, 50_000, 0));
}
