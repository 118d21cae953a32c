//! Properties of roscpp alone, on the traits: which reader gets the same object that was published,
//! and which a copy.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmwbench_conformance::pair::{self, byte, endpoint, until_heard, wait_until, with_qos, Memory};
use rmwbench_conformance::{isolated, Daemons};
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};
use rmwbench_roscpp::{sys, Roscpp};
use serde_json::{json, Value};

const WORKER: &str = env!("CARGO_BIN_EXE_rmwbench-roscpp");

/// Runs `body` in namespaces of its own, with a master.
fn with_master(test: &str, modes: &[(&str, Value)], body: impl FnOnce(&mut dyn Session)) {
    isolated(test, || {
        let modes: BTreeMap<String, Value> =
            modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
        let profile = &Roscpp.describe().profiles[0];
        let _master = Daemons::start(WORKER, &Roscpp, profile, &BTreeMap::new()).unwrap();
        body(&mut *Roscpp.open(&SessionConfig { modes, ..pair::session(profile, 0) }).unwrap());
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
fn a_loan_is_the_very_object_within_the_process_and_a_copy_is_not() {
    with_master("a_loan_is_the_very_object_within_the_process_and_a_copy_is_not", &[], |session| {
        let mut node = session.node("within").unwrap();
        let (mut publisher, subscription, memory) = matched(&mut *node, &endpoint(1, "within", 1));
        let path = |note: &str| {
            let evidence = subscription.account().evidence;
            assert!(evidence.iter().all(|e| e.path == "intra_process"), "{evidence:?}");
            evidence.iter().find(|e| e.note.starts_with(note)).map_or(0, |e| e.messages)
        };
        assert_eq!((path("the very object"), path("serialised") > 0), (0, true));
        let before = memory.len();
        publisher.publish_loaned(1, &mut |place| place[0] = 9).unwrap();
        assert_eq!(memory.wait_for(before + 1)[before], byte(9));
        assert_eq!(path("the very object"), 1);
    });
}

#[test]
fn a_late_joiner_gets_the_latched_message_alone() {
    with_master("a_late_joiner_gets_the_latched_message_alone", &[], |session| {
        let mut node = session.node("latched").unwrap();
        let qos = Qos { durability: Durability::TransientLocal, depth: 7, ..Qos::default() };
        let config = EndpointConfig { qos, ..endpoint(1, "latched", 1) };
        let mut publisher = node.publisher(&config).unwrap();
        assert!(publisher.granted().notes.iter().any(|note| note.starts_with("latched")));
        (0..7).for_each(|number| publisher.publish(&byte(number)).unwrap());
        let memory = Memory::new();
        let _subscription = node.subscription(&config, memory.clone()).unwrap();
        assert_eq!(memory.wait_for(1), [byte(6)]);
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(memory.len(), 1);
    });
}

#[test]
fn what_roscpp_throws_is_an_error_in_its_words_and_nothing_ends() {
    with_master("what_roscpp_throws_is_an_error_in_its_words_and_nothing_ends", &[], |session| {
        let mut node = session.node("names").unwrap();
        let spaced = EndpointConfig { topic: "a b".into(), ..endpoint(1, "t", 1) };
        let error = node.publisher(&spaced).err().unwrap();
        assert!(error.to_string().contains("a b"), "{error}");
        // The worker refuses that name itself; this shows what roscpp does with it.
        // SAFETY: the strings and the error outlive the calls.
        let publisher = sys::create("endpoint 1", |error| unsafe {
            sys::rmwbench_publisher_new(c"/a b".as_ptr(), 1, false, error)
        });
        // SAFETY: as above.
        let client = sys::create("endpoint 2", |error| unsafe {
            sys::rmwbench_client_new(c"/a b".as_ptr(), false, error)
        });
        for refused in [publisher.err().unwrap(), client.err().unwrap()] {
            assert_eq!(refused.kind, ErrorKind::Failed, "{refused}");
            assert!(refused.message.contains("a b"), "{refused}");
        }
        node.publisher(&endpoint(2, "after", 1)).unwrap();
    });
}

#[test]
fn udpros_is_for_best_effort_and_names_are_ros_names() {
    with_master(
        "udpros_is_for_best_effort_and_names_are_ros_names",
        &[("transport", json!("udp"))],
        |session| {
            let mut node = session.node("udp").unwrap();
            let reliable = node.subscription(&endpoint(1, "udp", 1), Memory::new()).err().unwrap();
            assert_eq!(reliable.kind, ErrorKind::Unsupported);
            let config =
                with_qos(endpoint(1, "udp", 1), Reliability::BestEffort, History::KeepLast, 10);
            assert!(node
                .subscription(&config, Memory::new())
                .unwrap()
                .granted()
                .notes
                .contains(&"UDPROS".to_string()));
            let bad = EndpointConfig { topic: "2nd topic".into(), ..config };
            assert_eq!(node.publisher(&bad).err().unwrap().kind, ErrorKind::Invalid);
        },
    );
}
