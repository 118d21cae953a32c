//! Properties of RustDDS alone, on the traits; the conformance suite tests what every middleware
//! must do.

use std::sync::Arc;
use std::time::Duration;

use rmwbench_conformance::isolated;
use rmwbench_conformance::pair::*;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{Durability, History, Reliability};
use rmwbench_rustdds::RustDds;
use serde_json::{json, Value};

fn with(options: &[(&str, Value)], modes: &[(&str, Value)]) -> SessionConfig {
    let own =
        |pairs: &[(&str, Value)]| pairs.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    SessionConfig {
        options: own(options),
        modes: own(modes),
        ..session(&RustDds.describe().profiles[0], 0)
    }
}

fn matched(writer: &dyn Endpoint, reader: &dyn Endpoint) {
    wait_until("a match", || writer.matched() == 1 && reader.matched() == 1);
}

#[test]
fn the_features_are_told_and_are_the_defaults() {
    rmwbench_conformance::features::check(&RustDds, "rmwbench-rustdds", "rustdds", &[]);
}

#[test]
fn a_match_that_many_make_at_once_is_counted_whole() {
    isolated("a_match_that_many_make_at_once_is_counted_whole", || {
        let (mut there, mut here) =
            (RustDds.open(&with(&[], &[])).unwrap(), RustDds.open(&with(&[], &[])).unwrap());
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let memories: Vec<_> = (0..20).map(|_| Memory::new()).collect();
        let readers: Vec<_> = memories
            .iter()
            .enumerate()
            .map(|(i, m)| far.subscription(&endpoint(i as u32 + 2, "t", 1), m.clone()).unwrap())
            .collect();
        let mut writer = near.publisher(&endpoint(1, "t", 1)).unwrap();
        wait_until("twenty matches", || {
            writer.matched() == 20 && readers.iter().all(|r| r.matched() == 1)
        });
        // Discovered is not yet matched: as in a trial, messages are repeated until every reader
        // has received one.
        wait_until("twenty readers", || {
            writer.publish(&byte(7)).unwrap();
            std::thread::sleep(Duration::from_millis(10));
            memories.iter().all(|m| m.last() == Some(byte(7)))
        });
        drop(readers);
        wait_until("the readers to be forgotten", || writer.matched() == 0);
    });
}

struct Echo;

impl Handler for Echo {
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
        reply.send(request.payload).unwrap();
    }
}

#[test]
fn each_client_keeps_its_replies_and_counts_the_others() {
    isolated("each_client_keeps_its_replies_and_counts_the_others", || {
        for (domain_id, services) in ["header", "identity"].into_iter().enumerate() {
            let config = SessionConfig {
                domain_id: domain_id as u32,
                ..with(&[("services", json!(services))], &[])
            };
            let (mut there, mut here) =
                (RustDds.open(&config).unwrap(), RustDds.open(&config).unwrap());
            let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
            let (request, reply) = MessageType::service_bytes(8, 8);
            let end = |number| {
                let qos = with_qos(
                    endpoint(number, "echo", 8),
                    Reliability::Reliable,
                    History::KeepLast,
                    100,
                );
                EndpointConfig {
                    message_type: request.clone(),
                    reply_type: Some(reply.clone()),
                    ..qos
                }
            };
            let service = far.service(&end(9), Arc::new(Echo)).unwrap();
            let memories = [Memory::new(), Memory::new()];
            let mut clients: Vec<_> = (0..2)
                .map(|i| near.client(&end(i + 1), memories[i as usize].clone()).unwrap())
                .collect();
            wait_until("a match", || {
                service.matched() == 2 && clients.iter().all(|c| c.matched() == 1)
            });
            let message = |client: usize, n: usize| [[client as u8; 4], [n as u8; 4]].concat();
            for n in 0..20 {
                clients
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, client)| client.publish(&message(i, n)).unwrap());
            }
            for (i, memory) in memories.iter().enumerate() {
                assert_eq!(
                    memory.wait_for(20),
                    (0..20).map(|n| message(i, n)).collect::<Vec<_>>(),
                    "{services}"
                );
                let counters = || clients[i].account().counters;
                wait_until("the other client's replies", || {
                    counters()["other_clients_replies"] == 20
                });
                assert!(counters()["other_clients_reply_bytes"] >= 20 * 12, "{:?}", counters());
            }
        }
    });
}

#[test]
fn what_cannot_be_granted_is_refused_in_words() {
    isolated("what_cannot_be_granted_is_refused_in_words", || {
        for (mode, level) in [("transport", "tcp"), ("discovery", "peers"), ("discovery", "server")]
        {
            let error = RustDds.open(&with(&[], &[(mode, json!(level))])).map(drop).unwrap_err();
            assert_eq!(
                (error.kind, error.object),
                (ErrorKind::Unsupported, format!("mode {mode}"))
            );
        }
        assert_eq!(
            RustDds.open(&with(&[("services", json!("magic"))], &[])).map(drop).unwrap_err().kind,
            ErrorKind::Invalid
        );
        let mut config = with(&[], &[("congestion", json!("drop"))]);
        let mut session = RustDds.open(&config).unwrap();
        let mut node = session.node("n").unwrap();
        let kind = |result: Result<Box<dyn Publisher>, Error>| result.map(drop).unwrap_err().kind;
        assert_eq!(
            kind(node.publisher(&endpoint(1, "t", 8))),
            ErrorKind::Unsupported,
            "a reliable writer always waits"
        );
        let best_effort =
            with_qos(endpoint(1, "t", 8), Reliability::BestEffort, History::KeepLast, 5);
        assert!(node.publisher(&best_effort).is_ok());
        let callback = EndpointConfig { wait: Wait::Callback, ..best_effort.clone() };
        assert_eq!(
            node.subscription(&callback, Memory::new()).map(drop).unwrap_err().kind,
            ErrorKind::Unsupported
        );
        assert_eq!(
            kind(node.publisher(&EndpointConfig { loan: true, ..best_effort })),
            ErrorKind::Unsupported
        );
        config.profile.text = "<dds/>".into();
        assert_eq!(RustDds.open(&config).map(drop).unwrap_err().kind, ErrorKind::Invalid);
    });
}

#[test]
fn qos_that_does_not_fit_is_counted_and_not_matched() {
    isolated("qos_that_does_not_fit_is_counted_and_not_matched", || {
        let (mut there, mut here) =
            (RustDds.open(&with(&[], &[])).unwrap(), RustDds.open(&with(&[], &[])).unwrap());
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let mut late = endpoint(1, "t", 8);
        late.qos.durability = Durability::TransientLocal;
        let reader = far.subscription(&late, Memory::new()).unwrap();
        let writer = near.publisher(&endpoint(2, "t", 8)).unwrap();
        let counted =
            |endpoint: &dyn Endpoint| endpoint.account().counters["incompatible_qos"] >= 1;
        wait_until("both to know", || counted(&*writer) && counted(&*reader));
        assert_eq!((writer.matched(), reader.matched()), (0, 0));
    });
}

/// RustDDS's cache of a topic keeps 64 messages and more, whatever a reader's depth: a reader that
/// took from it one by one would have room for all of these.
#[test]
fn a_slow_reader_has_the_room_of_its_depth() {
    isolated("a_slow_reader_has_the_room_of_its_depth", || {
        // Each write waits until all earlier messages have been received.
        let one_by_one =
            with(&[("max_samples", json!(1)), ("max_blocking_ms", json!(30_000))], &[]);
        let (mut there, mut here) =
            (RustDds.open(&with(&[], &[])).unwrap(), RustDds.open(&one_by_one).unwrap());
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let memory = Memory::new();
        let last = with_qos(endpoint(1, "t", 1), Reliability::Reliable, History::KeepLast, 3);
        let _reader = far.subscription(&last, memory.clone()).unwrap();
        let all = with_qos(endpoint(2, "t", 1), Reliability::Reliable, History::KeepAll, 0);
        let mut writer = near.publisher(&all).unwrap();
        until_heard(&mut *writer, &memory, &byte(255));
        overrun(&mut *writer, &memory, 40);
        memory.open_gate();
        wait_until("the last message", || memory.last() == Some(byte(40)));
        let kept: Vec<_> =
            memory.wait_for(0).into_iter().filter(|m| (1..=40).contains(&m[0])).collect();
        // The last message may have been on its way when the reader looked.
        assert!(kept == [37, 38, 39, 40].map(byte) || kept == [38, 39, 40].map(byte), "{kept:?}");
    });
}

/// A writer of RustDDS 0.15.1 sends 8192 messages ahead of acknowledgements, whatever its depth: a
/// writer that must never wait writes a thousand in a row.
#[test]
fn a_writers_depth_does_not_bound_what_it_sends_ahead() {
    isolated("a_writers_depth_does_not_bound_what_it_sends_ahead", || {
        let never_wait = with(&[("max_blocking_ms", json!(0))], &[]);
        let (mut there, mut here) =
            (RustDds.open(&with(&[], &[])).unwrap(), RustDds.open(&never_wait).unwrap());
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let last = |number| {
            with_qos(endpoint(number, "t", 1), Reliability::Reliable, History::KeepLast, 1)
        };
        let memory = Memory::new();
        let _reader = far.subscription(&last(1), memory.clone()).unwrap();
        let mut writer = near.publisher(&last(2)).unwrap();
        until_heard(&mut *writer, &memory, &byte(0));
        (0..1000).for_each(|_| writer.publish(&byte(1)).expect("RustDDS is repaired?"));
        wait_until("the last message", || {
            writer.publish(&byte(2)).unwrap();
            std::thread::sleep(Duration::from_millis(5));
            memory.last() == Some(byte(2))
        });
    });
}

/// The number of UDP datagrams in this network namespace so far: those received, and those for
/// which a socket had no room.
fn datagrams() -> [u64; 2] {
    let snmp = std::fs::read_to_string("/proc/net/snmp").unwrap();
    let udp = snmp.lines().filter(|line| line.starts_with("Udp:")).nth(1).unwrap();
    let columns: Vec<&str> = udp.split_whitespace().collect();
    [1, 5].map(|column| columns[column].parse().unwrap())
}

/// A fault of RustDDS 0.15.1: while a reader has a part of a message, it answers each heartbeat
/// with an acknowledgement that requests nothing, and the writer answers that with a heartbeat at
/// once. The missing fragments come 8 at a time meanwhile.
#[test]
fn a_message_beyond_the_sockets_buffer_is_repaired_slowly_and_in_a_storm() {
    isolated("a_message_beyond_the_sockets_buffer_is_repaired_slowly_and_in_a_storm", || {
        let took = |domain_id, buffer: u64, overflows: bool| {
            let config =
                SessionConfig { domain_id, ..with(&[("socket_buffer_bytes", json!(buffer))], &[]) };
            let (mut there, mut here) =
                (RustDds.open(&config).unwrap(), RustDds.open(&config).unwrap());
            let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
            let memory = Memory::new();
            let bytes = 1 << 19;
            let reader = far.subscription(&endpoint(1, "t", bytes), memory.clone()).unwrap();
            let mut writer = near.publisher(&endpoint(2, "t", bytes)).unwrap();
            matched(&*writer, &*reader);
            // A reader that keeps up with the burst never fills its socket's buffer: repeat until
            // the buffer is full.
            for number in 1..=100 {
                let (began, before) = (std::time::Instant::now(), datagrams());
                writer.publish(&vec![7; bytes as usize]).unwrap();
                assert!(memory.wait_for(number).last() == Some(&vec![7; bytes as usize]));
                let (took, after) = (began.elapsed(), datagrams());
                if overflows == (after[1] > before[1]) {
                    return (took, after[0] - before[0]);
                }
            }
            panic!("in 100 messages the buffer of {buffer} bytes overflowed: expected {overflows}");
        };
        let (enough, short) = (took(0, 8 << 20, false), took(1, 128 << 10, true));
        println!("512 KiB (time, datagrams): {enough:?} with socket buffers of 8 MiB, {short:?} with 128 KiB");
        assert!(
            short.0 > 4 * enough.0 && short.1 > 20 * enough.1,
            "RustDDS is repaired? {enough:?} and {short:?}"
        );
    });
}

/// A fault of RustDDS 0.15.1: a writer trims its history every 6 s. The late joiner's own depth
/// does not hide it: it has room for all.
#[test]
fn a_late_joiner_gets_more_than_the_depth() {
    isolated("a_late_joiner_gets_more_than_the_depth", || {
        let (mut there, mut here) =
            (RustDds.open(&with(&[], &[])).unwrap(), RustDds.open(&with(&[], &[])).unwrap());
        let (mut far, mut near) = (there.node("far").unwrap(), here.node("near").unwrap());
        let kept = |c, depth| {
            let mut config = with_qos(c, Reliability::Reliable, History::KeepLast, depth);
            config.qos.durability = Durability::TransientLocal;
            config
        };
        let mut writer = near.publisher(&kept(endpoint(1, "t", 1), 2)).unwrap();
        (0..10).for_each(|n| writer.publish(&byte(n)).unwrap());
        let memory = Memory::new();
        let _reader = far.subscription(&kept(endpoint(2, "t", 1), 10), memory.clone()).unwrap();
        assert_eq!(
            memory.wait_for(10),
            (0..10).map(byte).collect::<Vec<_>>(),
            "RustDDS is repaired: expect the last two"
        );
    });
}
