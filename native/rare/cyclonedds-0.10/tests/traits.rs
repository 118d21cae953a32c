//! Properties of this worker alone, on the traits: its own raw type on the wire and in shared
//! memory, and DDS Security.
//!
//! Each test runs in namespaces of its own. Two domains of the test's process have one id on the
//! network (`ExternalDomainId`): between endpoints of one domain Cyclone sends nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmwbench_conformance::pair::{self, endpoint, until_heard, wait_until, Memory, Relay};
use rmwbench_conformance::{isolated, Daemons};
use rmwbench_cyclonedds_0_10::CycloneDds;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{History, Qos};
use serde_json::{json, Value};

const WORKER: &str = env!("CARGO_BIN_EXE_rmwbench-cyclonedds-0-10");

fn profile(name: &str) -> Profile {
    CycloneDds.describe().profiles.into_iter().find(|p| p.name == name).unwrap()
}

/// A side of one network, on loopback.
fn open(side: u32, modes: &[(&str, Value)]) -> Result<Box<dyn Session>, Error> {
    let text =
        "<CycloneDDS><Domain Id=\"any\"><General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/></Interfaces></General>\
                <Discovery><ExternalDomainId>9</ExternalDomainId></Discovery></Domain></CycloneDDS>";
    let modes: BTreeMap<String, Value> =
        modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
    CycloneDds.open(&SessionConfig { modes, ..pair::session(&pair::profile("xml", text), side) })
}

fn two_sides(modes: &[(&str, Value)], work: impl FnOnce(&mut dyn Node, &mut dyn Node)) {
    let (mut writing, mut reading) = (open(0, modes).unwrap(), open(1, modes).unwrap());
    let (mut talker, mut listener) =
        (writing.node("talker").unwrap(), reading.node("listener").unwrap());
    work(&mut *talker, &mut *listener);
}

#[test]
fn messages_of_every_length_pass_the_wire_whole() {
    isolated("messages_of_every_length_pass_the_wire_whole", || {
        two_sides(&[], |talker, listener| {
            for bytes in [0, 1, 2, 3, 4, 5, 1344, 200_001] {
                let mut config = endpoint(1, &format!("length{bytes}"), bytes);
                config.message_type.cdr_suffix = vec![0xEE; (bytes % 3) as usize];
                let memory = Memory::new();
                let _subscription = listener.subscription(&config, memory.clone()).unwrap();
                let mut publisher = talker.publisher(&config).unwrap();
                let payload: Vec<u8> = (0..bytes).map(|k| (k % 251) as u8).collect();
                until_heard(&mut *publisher, &memory, &payload);
                assert_eq!(memory.last(), Some(payload));
                assert_eq!(
                    publisher.publish(&vec![0; bytes as usize + 1]),
                    Err(PublishError::Failed),
                    "its length is another"
                );
            }
        });
    });
}

/// Cyclone's own tracing of contents calls the type's print function, which cyclors' blob type
/// lacks.
#[test]
fn tracing_the_content_of_a_message_does_no_harm() {
    isolated("tracing_the_content_of_a_message_does_no_harm", || {
        let text = "<CycloneDDS><Domain Id=\"any\"><Tracing><Verbosity>finest</Verbosity><OutputFile>/dev/null</OutputFile></Tracing>\
                    <General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/></Interfaces></General></Domain></CycloneDDS>";
        let mut session = CycloneDds.open(&pair::session(&pair::profile("xml", text), 0)).unwrap();
        let mut node = session.node("traced").unwrap();
        let memory = Memory::new();
        let config = endpoint(1, "traced", 100);
        let _subscription = node.subscription(&config, memory.clone()).unwrap();
        until_heard(&mut *node.publisher(&config).unwrap(), &memory, &[7; 100]);
    });
}

#[test]
fn what_cyclone_says_of_a_wrong_configuration_is_told() {
    isolated("what_cyclone_says_of_a_wrong_configuration_is_told", || {
        let text = "<CycloneDDS><Domain Id=\"any\"><General><NoSuchThing>1</NoSuchThing></General></Domain></CycloneDDS>";
        let error = CycloneDds.open(&pair::session(&pair::profile("xml", text), 0)).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Invalid);
        assert!(error.message.contains("NoSuchThing"), "{}", error.message);
    });
}

#[test]
fn secured_participants_talk_and_others_do_not_hear_them() {
    isolated("secured_participants_talk_and_others_do_not_hear_them", || {
        let secure = [("security", json!(true))];
        two_sides(&secure, |talker, listener| {
            let config = endpoint(1, "secret", 64);
            let memory = Memory::new();
            let subscription = listener.subscription(&config, memory.clone()).unwrap();
            let mut publisher = talker.publisher(&config).unwrap();
            let mut stranger = open(2, &[]).unwrap();
            let overheard = Memory::new();
            let outside = stranger
                .node("stranger")
                .unwrap()
                .subscription(&config, overheard.clone())
                .unwrap();
            until_heard(&mut *publisher, &memory, &[7; 64]);
            assert_eq!((publisher.matched(), subscription.matched(), outside.matched()), (1, 1, 0));
            assert_eq!(overheard.len(), 0);
        });
    });
}

/// Answers with the request's first byte.
struct Echo;

impl Handler for Echo {
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
        reply.send(&[request.payload[0]; 5]).unwrap();
    }
}

/// Only Cyclone's receive thread takes acknowledgements, and a reliable keep_all writer with 30 kB
/// unacknowledged waits for some; a keep_last writer never waits.
#[test]
fn who_may_wait_for_acknowledgements_never_does_so_in_the_receive_thread() {
    isolated("who_may_wait_for_acknowledgements_never_does_so_in_the_receive_thread", || {
        two_sides(&[], |ends, middle| {
            let config = |topic: &str, wait, history| {
                let qos = Qos { history, depth: 300, ..Qos::default() };
                EndpointConfig { wait, qos, ..endpoint(1, topic, 20_000) }
            };
            let keeping = |topic: &str, wait| config(topic, wait, History::KeepLast);
            let memory = Memory::new();
            let end = ends.subscription(&keeping("out", Wait::Block), memory.clone()).unwrap();
            let publisher = middle.publisher(&keeping("out", Wait::Block)).unwrap();
            let relay = middle
                .subscription(&keeping("in", Wait::Callback), Relay::new(publisher, false))
                .unwrap();
            let mut begin = ends.publisher(&keeping("in", Wait::Block)).unwrap();
            wait_until("all matches", || begin.matched() == 1 && end.matched() == 1);
            until_heard(&mut *begin, &memory, &[255; 20_000]);
            (0..200).for_each(|number| begin.publish(&[number; 20_000]).unwrap());
            wait_until("the last message", || memory.last() == Some(vec![199; 20_000]));

            let (message_type, reply) = MessageType::service_bytes(8, 5);
            let config_with = |history| EndpointConfig {
                message_type: message_type.clone(),
                reply_type: Some(reply.clone()),
                ..config("echo", Wait::Callback, history)
            };
            let service = middle.service(&config_with(History::KeepLast), Arc::new(Echo)).unwrap();
            let client = ends.client(&config_with(History::KeepAll), Memory::new()).unwrap();
            let granted = [relay.granted().wait, service.granted().wait, client.granted().wait];
            assert_eq!(granted, [Wait::Callback; 3]);

            let publisher =
                middle.publisher(&config("all", Wait::Block, History::KeepAll)).unwrap();
            let waiting = Relay::new(publisher, true);
            for refused in [
                middle
                    .service(&config_with(History::KeepAll), Arc::new(Echo))
                    .map(drop)
                    .unwrap_err(),
                middle.subscription(&keeping("in", Wait::Callback), waiting).map(drop).unwrap_err(),
            ] {
                assert!(
                    refused.kind == ErrorKind::Unsupported
                        && refused.message.contains("wait callback"),
                    "{refused:?}"
                );
            }
        });
    });
}

#[test]
fn replies_to_other_clients_are_dropped_and_counted() {
    isolated("replies_to_other_clients_are_dropped_and_counted", || {
        two_sides(&[], |asking, answering| {
            let (message_type, reply) = MessageType::service_bytes(8, 5);
            let config =
                EndpointConfig { message_type, reply_type: Some(reply), ..endpoint(1, "echo", 8) };
            let service = answering.service(&config, Arc::new(Echo)).unwrap();
            let heard = [Memory::new(), Memory::new()];
            let mut clients: Vec<_> = heard
                .iter()
                .map(|memory| asking.client(&config, memory.clone()).unwrap())
                .collect();
            wait_until("all matches", || {
                service.matched() == 2 && clients.iter().all(|client| client.matched() == 1)
            });
            for number in 0..3 {
                clients[0].publish(&[number; 8]).unwrap();
            }
            assert_eq!(heard[0].wait_for(3), [vec![0; 5], vec![1; 5], vec![2; 5]]);
            let counted = || clients[1].account().counters["other_clients_replies"];
            wait_until("the other client's replies", || counted() == 3);
            assert_eq!(clients[1].account().counters["other_clients_reply_bytes"], 15);
            assert_eq!(
                (heard[1].len(), clients[0].account().counters["other_clients_replies"]),
                (0, 0)
            );
        });
    });
}

#[test]
fn shared_memory_is_vouched_for_and_what_leaves_it_says_why() {
    isolated("shared_memory_is_vouched_for_and_what_leaves_it_says_why", || {
        // iceoryx' runtime needs more than the 2 MiB of a libtest thread; a worker opens on its
        // main thread.
        let body = || {
            let shm = profile("shm");
            let options =
                BTreeMap::from([("roudi_pools".to_string(), json!("1K:2000 64K:100 1M:20"))]);
            let _roudi = Daemons::start(WORKER, &CycloneDds, &shm, &options).unwrap();
            let mut session =
                CycloneDds.open(&SessionConfig { options, ..pair::session(&shm, 0) }).unwrap();
            let mut node = session.node("pair").unwrap();
            let config = EndpointConfig { loan: true, ..endpoint(1, "shared", 1 << 20) };
            let memory = Memory::new();
            let subscription = node.subscription(&config, memory.clone()).unwrap();
            let mut publisher = node.publisher(&config).unwrap();
            wait_until("a message", || {
                publisher.publish_loaned(1 << 20, &mut |place| place.fill(9)).unwrap();
                memory.len() > 0
            });
            let evidence = &subscription.account().evidence[0];
            assert_eq!((evidence.path.as_str(), evidence.messages > 0), ("shm", true));
            let large = node.publisher(&endpoint(3, "large", 2 << 20)).err().unwrap();
            assert!(
                large.kind == ErrorKind::Unsupported && large.message.contains("roudi_pools"),
                "{large}"
            );
            let all = EndpointConfig {
                qos: Qos { history: History::KeepAll, ..Qos::default() },
                ..endpoint(2, "all", 64)
            };
            let notes = node.publisher(&all).unwrap().granted().notes;
            assert!(notes.iter().any(|note| note.starts_with("path: keep_all")), "{notes:?}");
            let refused = node.publisher(&EndpointConfig { loan: true, ..all }).err().unwrap();
            assert_eq!(refused.kind, ErrorKind::Unsupported);
        };
        std::thread::scope(|scope| {
            let thread =
                std::thread::Builder::new().stack_size(16 << 20).spawn_scoped(scope, body).unwrap();
            thread.join().map_err(std::panic::resume_unwind).unwrap();
        });
    });
}
