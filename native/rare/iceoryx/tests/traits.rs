//! Properties of iceoryx alone, on the traits: requests that would end the process are refused, and
//! blocking calls block.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmwbench_conformance::pair::{self, byte, endpoint, until_heard, wait_until, with_qos, Memory};
use rmwbench_conformance::{isolated, Daemons};
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};
use rmwbench_iceoryx::Iceoryx;
use serde_json::{json, Value};

const WORKER: &str = env!("CARGO_BIN_EXE_rmwbench-iceoryx");

/// Runs `body` in namespaces of its own, with a RouDi of small pools.
fn with_roudi(test: &str, modes: &[(&str, Value)], body: impl FnOnce(&mut dyn Session) + Send) {
    let modes: BTreeMap<String, Value> =
        modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
    let options = BTreeMap::from([("roudi_pools".to_string(), json!("1K:1000 64K:50"))]);
    isolated(test, || {
        // iceoryx' runtime needs more than the 2 MiB of a libtest thread; a worker opens on its
        // main thread.
        let run = || {
            let profile = &Iceoryx.describe().profiles[0];
            let _roudi = Daemons::start(WORKER, &Iceoryx, profile, &options).unwrap();
            let config = SessionConfig { options, modes, ..pair::session(profile, 0) };
            body(&mut *Iceoryx.open(&config).unwrap());
        };
        std::thread::scope(|scope| {
            let thread =
                std::thread::Builder::new().stack_size(16 << 20).spawn_scoped(scope, run).unwrap();
            thread.join().map_err(std::panic::resume_unwind).unwrap();
        });
    });
}

fn matched(
    node: &mut dyn Node,
    config: &EndpointConfig,
) -> (Box<dyn Publisher>, Box<dyn Subscription>, Arc<Memory>) {
    let memory = Memory::new();
    let mut publisher = node.publisher(config).unwrap();
    let subscription = node.subscription(config, memory.clone()).unwrap();
    wait_until("a match", || publisher.matched() == 1 && subscription.matched() == 1);
    until_heard(&mut *publisher, &memory, &byte(255));
    (publisher, subscription, memory)
}

#[test]
fn without_a_roudi_it_answers_at_once() {
    isolated("without_a_roudi_it_answers_at_once", || {
        let error = Iceoryx.open(&pair::session(&Iceoryx.describe().profiles[0], 0)).err().unwrap();
        assert!(error.message.contains("none serves this host"), "{error}");
    });
}

#[test]
fn a_message_that_no_pool_holds_is_refused() {
    with_roudi("a_message_that_no_pool_holds_is_refused", &[], |session| {
        let mut node = session.node("large").unwrap();
        assert!(node.publisher(&endpoint(1, "fits", 64 << 10)).is_ok());
        let error = node.publisher(&endpoint(1, "large", 1 << 20)).err().unwrap();
        assert!(
            error.kind == ErrorKind::Unsupported && error.message.contains("roudi_pools"),
            "{error}"
        );
    });
}

/// Answers nothing.
struct Silent;

impl Handler for Silent {
    fn handle(&self, _: &Delivery<'_>, _: &mut dyn Reply) {}
}

#[test]
fn a_second_service_of_a_name_is_refused_and_the_process_lives() {
    with_roudi("a_second_service_of_a_name_is_refused_and_the_process_lives", &[], |session| {
        let mut node = session.node("services").unwrap();
        let (message_type, reply) = MessageType::service_bytes(8, 8);
        let config =
            EndpointConfig { message_type, reply_type: Some(reply), ..endpoint(1, "one", 8) };
        let first = node.service(&config, Arc::new(Silent)).unwrap();
        assert_eq!(
            node.service(&config, Arc::new(Silent)).err().unwrap().kind,
            ErrorKind::Unsupported
        );
        drop(first);
        assert!(node.service(&config, Arc::new(Silent)).is_ok(), "the name is free again");
    });
}

#[test]
fn best_effort_overwrites_the_oldest_and_congestion_block_waits() {
    let test = "best_effort_overwrites_the_oldest_and_congestion_block_waits";
    with_roudi(test, &[], |session| {
        let mut node = session.node("overrun").unwrap();
        let config =
            with_qos(endpoint(1, "overrun", 1), Reliability::BestEffort, History::KeepLast, 4);
        let (mut publisher, subscription, memory) = matched(&mut *node, &config);
        let before = memory.len();
        pair::overrun(&mut *publisher, &memory, 20);
        memory.open_gate();
        let expected: Vec<Vec<u8>> = [0, 17, 18, 19, 20].map(byte).to_vec();
        assert_eq!(memory.wait_for(before + 5).split_off(before), expected);
        wait_until("the overflow to be seen", || {
            subscription.account().counters["overflows_seen"] > 0
        });
    });
}

#[test]
fn a_late_joiner_gets_as_many_as_it_asked_for() {
    with_roudi("a_late_joiner_gets_as_many_as_it_asked_for", &[], |session| {
        let mut node = session.node("late").unwrap();
        let qos = Qos { durability: Durability::TransientLocal, depth: 3, ..Qos::default() };
        let config = EndpointConfig { qos, ..endpoint(1, "late", 1) };
        let mut publisher = node.publisher(&config).unwrap();
        (0..7).for_each(|number| publisher.publish(&byte(number)).unwrap());
        for wait in [Wait::Block, Wait::Poll, Wait::Callback] {
            let memory = Memory::new();
            let _subscription = node
                .subscription(&EndpointConfig { wait, ..config.clone() }, memory.clone())
                .unwrap();
            assert_eq!(memory.wait_for(3), [4, 5, 6].map(byte), "{wait:?}");
        }
        let deep = EndpointConfig { qos: Qos { depth: 17, ..config.qos.clone() }, ..config };
        assert_eq!(node.publisher(&deep).err().unwrap().kind, ErrorKind::Unsupported);
    });
}
