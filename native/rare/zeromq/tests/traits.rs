//! Properties of ZeroMQ alone, on the traits: which messages a full queue keeps, which peers are
//! counted, and which client gets which answer.
//!
//! Each test runs in namespaces of its own: the board is in the temporary directory, which in
//! trials is removed with its host.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rmwbench_conformance::isolated;
use rmwbench_conformance::pair::{
    self, byte, domain, endpoint, until_heard, wait_until, with_qos, Memory,
};
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};
use rmwbench_zeromq::ZeroMq;
use serde_json::{json, Value};

fn open(test: u32, modes: &[(&str, Value)]) -> Box<dyn Session> {
    let modes: BTreeMap<String, Value> =
        modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
    let profile = &ZeroMq.describe().profiles[0];
    ZeroMq.open(&SessionConfig { modes, ..pair::session(profile, domain(test)) }).unwrap()
}

/// A matched pair that has exchanged a first message.
fn matched(
    session: &mut dyn Session,
    config: &EndpointConfig,
) -> (Box<dyn Publisher>, Box<dyn Subscription>, Arc<Memory>) {
    let mut node = session.node("pair").unwrap();
    let memory = Memory::new();
    let mut publisher = node.publisher(config).unwrap();
    let subscription = node.subscription(config, memory.clone()).unwrap();
    wait_until("a match", || publisher.matched() == 1 && subscription.matched() == 1);
    until_heard(&mut *publisher, &memory, &byte(255));
    (publisher, subscription, memory)
}

const TRANSPORTS: [&str; 3] = ["tcp", "unix", "intra_process"];

/// The library's own behaviour: DDS would keep the newest. When this test fails, change `keep_last`
/// in the capabilities.
#[test]
fn a_full_queue_keeps_the_oldest_and_drops_the_newest() {
    isolated("a_full_queue_keeps_the_oldest_and_drops_the_newest", || {
        let mut session = open(1, &[("transport", json!("intra_process"))]);
        let config =
            with_qos(endpoint(1, "full", 1), Reliability::BestEffort, History::KeepLast, 4);
        let (mut publisher, _subscription, memory) = matched(&mut *session, &config);
        let before = memory.len();
        pair::overrun(&mut *publisher, &memory, 100);
        memory.open_gate();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let heard = memory.wait_for(0).split_off(before);
        assert!(heard.len() < 20, "{} of 101 messages came through queues of 4 and 4", heard.len());
        let first: Vec<Vec<u8>> = (0..heard.len()).map(byte).collect();
        assert_eq!(heard, first, "the oldest, without a gap");
    });
}

#[test]
fn a_depth_of_one_keeps_the_latest() {
    isolated("a_depth_of_one_keeps_the_latest", || {
        let mut session = open(2, &[]);
        let config =
            with_qos(endpoint(1, "latest", 1), Reliability::BestEffort, History::KeepLast, 1);
        let (mut publisher, _subscription, memory) = matched(&mut *session, &config);
        pair::overrun(&mut *publisher, &memory, 10);
        // The writer's queue of one may drop messages while its thread is busy: this tests only how
        // the reader treats several.
        for number in 11..200 {
            publisher.publish(&byte(number)).unwrap();
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        memory.open_gate();
        wait_until("the latest", || memory.last().is_some_and(|last| last[0] > 150));
        assert!(memory.len() < 60, "{} messages were kept", memory.len());
    });
}

#[test]
fn congestion_block_waits_where_drop_drops() {
    isolated("congestion_block_waits_where_drop_drops", || {
        for (mode, loses) in [("block", false), ("drop", true)] {
            let mut session =
                open(3, &[("transport", json!("intra_process")), ("congestion", json!(mode))]);
            let config =
                with_qos(endpoint(1, "congested", 1), Reliability::Reliable, History::KeepLast, 4);
            let (mut publisher, _subscription, memory) = matched(&mut *session, &config);
            let before = memory.len();
            memory.close_gate();
            std::thread::scope(|scope| {
                let flood = scope.spawn(|| {
                    (0..200).for_each(|number| publisher.publish(&byte(number)).unwrap())
                });
                memory.wait_until_held();
                std::thread::sleep(std::time::Duration::from_millis(100));
                assert_eq!(flood.is_finished(), loses, "{mode}");
                memory.open_gate();
            });
            std::thread::sleep(std::time::Duration::from_millis(200));
            assert_eq!(memory.len() - before == 200, !loses, "{mode}");
        }
    });
}

#[test]
fn every_transport_carries_messages_and_says_so() {
    isolated("every_transport_carries_messages_and_says_so", || {
        for transport in TRANSPORTS {
            let mut session = open(4, &[("transport", json!(transport))]);
            let (_publisher, subscription, memory) =
                matched(&mut *session, &endpoint(1, "where/it goes%", 1));
            let evidence = subscription.account().evidence;
            assert_eq!(
                (evidence[0].path.as_str(), evidence[0].messages),
                (transport, memory.len() as u64)
            );
            let configuration: Value =
                serde_json::from_str(&session.configuration().unwrap().text).unwrap();
            assert_eq!(configuration["transport"], json!(transport));
        }
    });
}

#[test]
fn a_peer_that_left_is_not_counted_and_its_successor_is() {
    isolated("a_peer_that_left_is_not_counted_and_its_successor_is", || {
        for transport in TRANSPORTS {
            let mut session = open(6, &[("transport", json!(transport))]);
            let config = endpoint(1, "comings", 1);
            let (publisher, subscription, memory) = matched(&mut *session, &config);
            drop(publisher);
            wait_until("the writer to be gone", || subscription.matched() == 0);
            let mut node = session.node("next").unwrap();
            let mut next = node.publisher(&config).unwrap();
            wait_until("the next writer", || subscription.matched() == 1 && next.matched() == 1);
            let before = memory.len();
            wait_until("its message", || {
                next.publish(&byte(7)).unwrap();
                memory.len() > before
            });
            drop(subscription);
            wait_until("the reader to be gone", || next.matched() == 0);
        }
    });
}

#[test]
fn what_zeromq_lacks_is_unsupported() {
    isolated("what_zeromq_lacks_is_unsupported", || {
        let mut session = open(7, &[]);
        let mut node = session.node("lacking").unwrap();
        let base = endpoint(1, "lacking", 8);
        for config in [
            EndpointConfig {
                qos: Qos { durability: Durability::TransientLocal, ..Qos::default() },
                ..base.clone()
            },
            EndpointConfig { publish_mode: PublishMode::Sync, ..base.clone() },
        ] {
            assert_eq!(node.publisher(&config).err().unwrap().kind, ErrorKind::Unsupported);
        }
        let config = EndpointConfig { wait: Wait::Callback, ..base.clone() };
        assert_eq!(
            node.subscription(&config, Memory::new()).err().unwrap().kind,
            ErrorKind::Unsupported
        );
        let config = EndpointConfig { qos: Qos { depth: 0, ..Qos::default() }, ..base };
        assert_eq!(node.publisher(&config).err().unwrap().kind, ErrorKind::Invalid);
    });
}

/// Answers each request with its first byte; waits while its gate is locked.
#[derive(Default)]
struct Echo(Mutex<()>);

impl Handler for Echo {
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
        let _open = self.0.lock().unwrap();
        reply.send(&[request.payload[0]; 3]).unwrap();
    }
}

#[test]
fn every_client_gets_its_own_answers_and_asks_without_waiting() {
    isolated("every_client_gets_its_own_answers_and_asks_without_waiting", || {
        for transport in TRANSPORTS {
            let mut session = open(8, &[("transport", json!(transport))]);
            let (message_type, reply) = MessageType::service_bytes(8, 3);
            let config =
                EndpointConfig { message_type, reply_type: Some(reply), ..endpoint(1, "echo", 8) };
            let mut node = session.node("services").unwrap();
            let echo = Arc::new(Echo::default());
            let heard = [Memory::new(), Memory::new()];
            let mut clients: Vec<_> =
                heard.iter().map(|memory| node.client(&config, memory.clone()).unwrap()).collect();
            assert_eq!(
                clients[0].publish(&[0; 8]),
                Err(PublishError::Full),
                "there is no service yet"
            );
            let service = node.service(&config, echo.clone()).unwrap();
            wait_until("all matches", || {
                service.matched() == 2 && clients.iter().all(|client| client.matched() == 1)
            });
            let guard = echo.0.lock().unwrap();
            for number in 0..5 {
                for (place, client) in clients.iter_mut().enumerate() {
                    client.publish(&[(number * 2 + place) as u8; 8]).unwrap();
                }
            }
            drop(guard);
            for (place, memory) in heard.iter().enumerate() {
                let expected: Vec<Vec<u8>> =
                    (0..5).map(|number| vec![(number * 2 + place) as u8; 3]).collect();
                assert_eq!(memory.wait_for(5), expected, "{transport}");
            }
            drop(clients.pop());
            wait_until("a client to be gone", || service.matched() == 1);
            drop(service);
            wait_until("the service to be gone", || clients[0].matched() == 0);
        }
    });
}
