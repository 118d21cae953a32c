//! Shared memory through PSMX and a RouDi, each test in namespaces of its own, seen from both
//! sides.
//!
//! Two Cyclone domains of the test's process have one id on the network (`ExternalDomainId`):
//! between endpoints of one domain Cyclone never uses PSMX. The conformance suite tests processes
//! of their own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cyclors::*;
use rmwbench_conformance::pair::{self, until_heard, wait_until, Memory};
use rmwbench_conformance::Daemons;
use rmwbench_cyclonedds::CycloneDds;
use rmwbench_harness::middleware::*;
use rmwbench_harness::qos::{Durability, History};
use serde_json::{json, Value};

const WORKER: &str = env!("CARGO_BIN_EXE_rmwbench-cyclonedds");
/// iceoryx' runtime needs more than the 2 MiB of a libtest thread; a worker opens on its main
/// thread.
const STACK_BYTES: usize = 16 << 20;

fn isolated(test: &str, body: impl FnOnce() + Send) {
    rmwbench_conformance::isolated(test, || {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, body)
                .unwrap();
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        });
    });
}

fn shm() -> Profile {
    CycloneDds.describe().profiles.into_iter().find(|p| p.name == "shm").unwrap()
}

fn map(options: &[(&str, Value)]) -> BTreeMap<String, Value> {
    options.iter().map(|(key, value)| (key.to_string(), value.clone())).collect()
}

fn roudi(options: &[(&str, Value)]) -> Daemons {
    Daemons::start(WORKER, &CycloneDds, &shm(), &map(options)).unwrap()
}

fn open(side: u32, options: &[(&str, Value)]) -> Result<Box<dyn Session>, Error> {
    let mut profile = shm();
    profile.text = profile.text.replace(
        "</General>",
        "</General><Discovery><ExternalDomainId>9</ExternalDomainId></Discovery>",
    );
    CycloneDds.open(&SessionConfig { options: map(options), ..pair::session(&profile, side) })
}

/// Two sides of one network, each with a node.
struct Pair {
    talker: Box<dyn Node>,
    listener: Box<dyn Node>,
    _sessions: [Box<dyn Session>; 2],
    /// It ends after the sessions.
    roudi: Option<Daemons>,
}

fn pair_with(options: &[(&str, Value)]) -> Pair {
    let roudi = roudi(options);
    let (mut writing, mut reading) = (open(0, options).unwrap(), open(1, options).unwrap());
    let (talker, listener) = (writing.node("talker").unwrap(), reading.node("listener").unwrap());
    Pair { talker, listener, _sessions: [writing, reading], roudi: Some(roudi) }
}

fn endpoint(topic: &str, bytes: u32) -> EndpointConfig {
    pair::endpoint(1, topic, bytes)
}

fn shared(subscription: &dyn Subscription) -> u64 {
    let evidence = subscription.account().evidence;
    assert_eq!((evidence.len(), evidence[0].path.as_str()), (1, "shm"));
    evidence[0].messages
}

fn lo_bytes() -> u64 {
    let table = std::fs::read_to_string("/proc/net/dev").unwrap();
    let line = table.lines().find_map(|line| line.trim().strip_prefix("lo:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn path_notes(endpoint: &dyn Endpoint) -> Vec<String> {
    endpoint.granted().notes.into_iter().filter(|note| note.starts_with("path: ")).collect()
}

#[test]
fn messages_are_read_where_they_were_written_and_no_interface_sees_them() {
    isolated("messages_are_read_where_they_were_written_and_no_interface_sees_them", || {
        let mut pair = pair_with(&[]);
        for loan in [false, true] {
            let mut config = endpoint(&format!("large{loan}"), 1 << 20);
            config.loan = loan;
            config.message_type.cdr_suffix = vec![0xEE; 3];
            let heard = Memory::new();
            let subscription = pair.listener.subscription(&config, heard.clone()).unwrap();
            let mut publisher = pair.talker.publisher(&config).unwrap();
            let mut payload = vec![7_u8; 1 << 20];
            until_heard(&mut *publisher, &heard, &payload);
            std::thread::sleep(Duration::from_millis(50));
            let (before, lo_before) = (heard.len(), lo_bytes());
            for k in 0..20_u8 {
                payload[(1 << 20) - 1] = k;
                match loan {
                    true => publisher
                        .publish_loaned(1 << 20, &mut |place| place.copy_from_slice(&payload))
                        .unwrap(),
                    false => publisher.publish(&payload).unwrap(),
                }
                assert_eq!(heard.wait_for(before + 1 + usize::from(k)).last(), Some(&payload));
            }
            let lo = lo_bytes() - lo_before;
            assert!(lo < 1 << 20, "20 MiB were published, {lo} bytes went over lo");
            assert_eq!(shared(&*subscription), heard.len() as u64);
            assert_eq!(path_notes(&*publisher), [""; 0]);
            assert_eq!(publisher.account().counters.get("loan_refused"), Some(&0));
            assert_eq!(publisher.publish_loaned(5, &mut |_| ()), Err(PublishError::Failed));
        }
    });
}

#[test]
fn a_blob_topic_goes_around_shared_memory_and_says_so() {
    isolated("a_blob_topic_goes_around_shared_memory_and_says_so", || {
        let mut pair = pair_with(&[("topic", json!("blob"))]);
        let config = endpoint("blob", 100_000);
        let heard = Memory::new();
        let subscription = pair.listener.subscription(&config, heard.clone()).unwrap();
        let mut publisher = pair.talker.publisher(&config).unwrap();
        let before = lo_bytes();
        until_heard(&mut *publisher, &heard, &[7; 100_000]);
        assert!(lo_bytes() - before > 100_000);
        assert_eq!(shared(&*subscription), 0);
        for notes in [path_notes(&*publisher), path_notes(&*subscription)] {
            assert!(
                notes.len() == 1 && notes[0].contains("blob topics never use PSMX"),
                "{notes:?}"
            );
        }
        let error = pair.talker.publisher(&EndpointConfig { loan: true, ..config }).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Unsupported);
        assert!(error.message.contains("blob topics never use PSMX"), "{error}");
    });
}

/// A described writer and a blob reader, each with its PSMX: the message goes over the network, and
/// nothing crashes (see `Parents::qos`).
#[test]
fn a_described_writer_reaches_a_blob_reader() {
    isolated("a_described_writer_reaches_a_blob_reader", || {
        let _roudi = roudi(&[]);
        let (mut writing, mut reading) =
            (open(0, &[]).unwrap(), open(1, &[("topic", json!("blob"))]).unwrap());
        let (mut talker, mut listener) =
            (writing.node("talker").unwrap(), reading.node("listener").unwrap());
        let heard = Memory::new();
        let subscription = listener.subscription(&endpoint("mixed", 5_000), heard.clone()).unwrap();
        let mut publisher = talker.publisher(&endpoint("mixed", 5_000)).unwrap();
        until_heard(&mut *publisher, &heard, &[9; 5_000]);
        assert_eq!(heard.last(), Some(vec![9; 5_000]));
        assert_eq!(shared(&*subscription), 0);
    });
}

/// DDS matches by name alone: a sample that is shorter or longer than the reader's type is cut to
/// the shorter of both.
#[test]
fn a_sample_of_another_size_is_neither_read_beyond_its_end_nor_stretched() {
    isolated("a_sample_of_another_size_is_neither_read_beyond_its_end_nor_stretched", || {
        let mut pair = pair_with(&[]);
        let mut publisher = pair.talker.publisher(&endpoint("sizes", 100)).unwrap();
        let mut all_prefix = endpoint("sizes", 8);
        all_prefix.message_type.cdr_prefix.resize(500, 0);
        let heard = [Memory::new(), Memory::new(), Memory::new()];
        let _longer =
            pair.listener.subscription(&endpoint("sizes", 200), heard[0].clone()).unwrap();
        let _shorter = pair.listener.subscription(&endpoint("sizes", 7), heard[1].clone()).unwrap();
        let malformed = pair.listener.subscription(&all_prefix, heard[2].clone()).unwrap();
        wait_until("all three", || {
            publisher.publish(&[3; 100]).unwrap();
            heard[0].len() > 0
                && heard[1].len() > 0
                && malformed.account().counters["malformed"] > 0
        });
        assert_eq!(
            (heard[0].last().unwrap(), heard[1].last().unwrap()),
            (vec![3; 100], vec![3; 7])
        );
        assert_eq!(heard[2].len(), 0);
        assert!(shared(&*malformed) > 0);
    });
}

#[test]
fn a_history_that_iceoryx_cannot_keep_goes_over_the_network_and_says_so() {
    isolated("a_history_that_iceoryx_cannot_keep_goes_over_the_network_and_says_so", || {
        let mut pair = pair_with(&[]);
        let mut config = endpoint("latched", 100);
        (config.qos.durability, config.qos.depth) = (Durability::TransientLocal, 20);
        let mut publisher = pair.talker.publisher(&config).unwrap();
        (0..30_u8).for_each(|k| publisher.publish(&[k; 100]).unwrap());
        let heard = Memory::new();
        let subscription = pair.listener.subscription(&config, heard.clone()).unwrap();
        assert_eq!(heard.wait_for(20), (10..30_u8).map(|k| vec![k; 100]).collect::<Vec<_>>());
        assert_eq!(shared(&*subscription), 0);
        let notes = path_notes(&*publisher);
        assert!(
            notes.len() == 1 && notes[0].contains("transient_local with a depth of 20"),
            "{notes:?}"
        );
    });
}

/// The library's fault that `psmx::surprises` warns of: PSMX accepts transient_local up to a depth
/// of 16, but a late joiner gets no history. When this test fails, the library was repaired and the
/// warning can be removed.
#[test]
fn reproducer_a_late_joiner_gets_no_history_over_psmx() {
    isolated("reproducer_a_late_joiner_gets_no_history_over_psmx", || {
        let mut pair = pair_with(&[]);
        let mut config = endpoint("latched", 100);
        (config.qos.durability, config.qos.depth) = (Durability::TransientLocal, 10);
        let mut publisher = pair.talker.publisher(&config).unwrap();
        (0..10_u8).for_each(|k| publisher.publish(&[k; 100]).unwrap());
        let heard = Memory::new();
        let subscription = pair.listener.subscription(&config, heard.clone()).unwrap();
        assert!(
            subscription.granted().notes.iter().any(|n| n.contains("late joiner gets no history")),
            "{:?}",
            subscription.granted()
        );
        until_heard(&mut *publisher, &heard, &[99; 100]);
        assert_eq!(shared(&*subscription), heard.len() as u64);
        assert!(heard.wait_for(0).iter().all(|message| message == &[99; 100]), "history arrived");
    });
}

/// Cyclone DDS 0.10 does not use shared memory for keep-all, this release does, and loses messages
/// that a reader cannot hold: the second fault of which `psmx::surprises` warns. When all messages
/// arrive in this test, the library was repaired.
#[test]
fn reproducer_keep_all_stays_in_shared_memory_and_loses_what_a_slow_reader_cannot_hold() {
    isolated(
        "reproducer_keep_all_stays_in_shared_memory_and_loses_what_a_slow_reader_cannot_hold",
        || {
            let mut pair = pair_with(&[]);
            let mut config = endpoint("all", 100);
            config.qos.history = History::KeepAll;
            let heard = Memory::new();
            let subscription = pair.listener.subscription(&config, heard.clone()).unwrap();
            let mut publisher = pair.talker.publisher(&config).unwrap();
            assert!(
                subscription.granted().notes.iter().any(|n| n.contains("loses what comes beyond")),
                "{:?}",
                subscription.granted()
            );
            let when_full = (publisher.granted().when_full, subscription.granted().when_full);
            assert_eq!(when_full, (None, Some(WhenFull::DropsAtReader)));
            until_heard(&mut *publisher, &heard, &[0; 100]);
            wait_until("silence", || {
                let before = heard.len();
                std::thread::sleep(Duration::from_millis(50));
                heard.len() == before
            });
            let before = heard.len();
            heard.close_gate();
            (0..1_000_u32).for_each(|_| publisher.publish(&[1; 100]).unwrap());
            heard.open_gate();
            wait_until("the end", || {
                publisher.publish(&[2; 100]).unwrap();
                heard.last() == Some(vec![2; 100])
            });
            let messages = heard.wait_for(0);
            let arrived = messages[before..].iter().filter(|m| m[0] == 1).count();
            assert!((200..1_000).contains(&arrived), "{arrived} of 1000");
            assert_eq!(subscription.account().reader_drops, None, "Cyclone counts none of them");
            wait_until("what was counted to be heard", || {
                shared(&*subscription) == heard.len() as u64
            });
        },
    );
}

#[test]
fn an_empty_pool_refuses_loans_and_is_told() {
    isolated("an_empty_pool_refuses_loans_and_is_told", || {
        let mut pair = pair_with(&[("roudi_pools", json!("1K:64 64K:4"))]);
        let config = endpoint("pool", 60_000);
        let heard = Memory::new();
        let _subscription = pair.listener.subscription(&config, heard.clone()).unwrap();
        let mut publisher = pair.talker.publisher(&config).unwrap();
        until_heard(&mut *publisher, &heard, &[0; 60_000]);
        heard.close_gate();
        let mut refused = 0;
        wait_until("a refused loan", || match publisher.publish(&[1; 60_000]) {
            Ok(()) => false,
            Err(error) => {
                assert_eq!(error, PublishError::Full);
                refused += 1;
                true
            }
        });
        assert_eq!(publisher.account().counters.get("loan_refused"), Some(&refused));
        heard.open_gate();
        wait_until("a loan", || publisher.publish(&[2; 60_000]).is_ok());
        wait_until("the message", || heard.last() == Some(vec![2; 60_000]));
    });
}

#[test]
fn without_a_roudi_the_profile_is_refused_at_once() {
    isolated("without_a_roudi_the_profile_is_refused_at_once", || {
        let began = Instant::now();
        let error = open(0, &[]).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Failed);
        assert!(error.message.contains("no RouDi serves this host"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(20), "iceoryx waits for a minute");
        let bad = open(0, &[("roudi_pools", json!("1M"))]).err().unwrap();
        assert_eq!((bad.kind, bad.object.as_str()), (ErrorKind::Invalid, "option roudi_pools"));
        let bad = open(0, &[("topic", json!("typed"))]).err().unwrap();
        assert_eq!((bad.kind, bad.object.as_str()), (ErrorKind::Invalid, "option topic"));
    });
}

#[test]
fn a_roudi_is_alone_in_its_host_leaves_nothing_and_follows_a_killed_one() {
    isolated("a_roudi_is_alone_in_its_host_leaves_nothing_and_follows_a_killed_one", || {
        let left = || {
            let files = ["/dev/shm", "/tmp"]
                .map(|directory| std::fs::read_dir(directory).unwrap().flatten());
            files
                .into_iter()
                .flatten()
                .map(|file| file.file_name().into_string().unwrap())
                .collect::<Vec<_>>()
        };
        let first = roudi(&[]);
        assert!(left().len() >= 3, "{:?}", left());
        let second = Daemons::start(WORKER, &CycloneDds, &shm(), &map(&[])).err().unwrap();
        assert!(second.contains("another RouDi serves this host already"), "{second}");
        drop(first);
        assert_eq!(left(), [""; 0]);
        roudi(&[]).kill().unwrap();
        assert_ne!(left(), [""; 0]);
        drop(roudi(&[]));
        assert_eq!(left(), [""; 0]);
    });
}

/// Connected endpoints work on without RouDi: it makes memory and connections, messages do not pass
/// through it. New endpoints are refused, even when the next RouDi serves.
#[test]
fn a_roudi_that_dies_leaves_what_is_connected_and_connects_nothing_more() {
    isolated("a_roudi_that_dies_leaves_what_is_connected_and_connects_nothing_more", || {
        let mut pair = pair_with(&[]);
        let config = endpoint("orphan", 1 << 16);
        let heard = Memory::new();
        let subscription = pair.listener.subscription(&config, heard.clone()).unwrap();
        let mut publisher = pair.talker.publisher(&config).unwrap();
        until_heard(&mut *publisher, &heard, &[0; 1 << 16]);
        pair.roudi.take().unwrap().kill().unwrap();
        for another in [false, true] {
            if another {
                pair.roudi = Some(roudi(&[]));
            }
            for k in 0..200_u8 {
                let before = heard.len();
                publisher.publish(&[k; 1 << 16]).unwrap();
                assert_eq!(heard.wait_for(before + 1).last(), Some(&vec![k; 1 << 16]));
            }
            assert_eq!(shared(&*subscription), heard.len() as u64);
            let error =
                pair.listener.subscription(&endpoint("new", 100), Memory::new()).err().unwrap();
            assert!(
                error.kind == ErrorKind::Failed && error.message.contains("its RouDi has died"),
                "{error}"
            );
        }
    });
}

/// Not a test: the process of the next test, which iceoryx ends.
#[test]
#[ignore]
fn child_that_makes_a_reader_after_its_roudi_died() {
    let roudi_of_old = roudi(&[]);
    let _session = open(0, &[]).unwrap();
    roudi_of_old.kill().unwrap();
    let _another = std::env::var_os("RMWBENCH_ANOTHER_ROUDI").map(|_| roudi(&[]));
    let ops = [
        dds_stream_opcode_DDS_OP_ADR
            | dds_stream_typecode_primary_DDS_OP_TYPE_ARR
            | dds_stream_typecode_subtype_DDS_OP_SUBTYPE_1BY,
        0,
        100,
        dds_stream_opcode_DDS_OP_RTS,
    ];
    // SAFETY: the C API as in its manual; a structure of 100 octets.
    unsafe {
        let mut octets: dds_topic_descriptor = std::mem::zeroed();
        (octets.m_size, octets.m_align, octets.m_flagset) = (100, 1, DDS_TOPIC_FIXED_SIZE);
        (octets.m_typename, octets.m_meta) = (c"Octets".as_ptr(), c"".as_ptr());
        (octets.m_nops, octets.m_ops) = (ops.len() as u32, ops.as_ptr());
        let participant = dds_create_participant(0, std::ptr::null(), std::ptr::null());
        let topic = dds_create_topic(
            participant,
            &octets,
            c"octets".as_ptr(),
            std::ptr::null(),
            std::ptr::null(),
        );
        assert!(topic > 0);
        dds_create_reader(participant, topic, std::ptr::null(), std::ptr::null());
    }
}

/// The library's fault because of which the worker refuses. When this test fails, the library was
/// repaired and `Domain::check_roudi` can be removed.
#[test]
fn reproducer_an_endpoint_after_its_roudi_died_ends_the_process() {
    isolated("reproducer_an_endpoint_after_its_roudi_died_ends_the_process", || {
        for another in [false, true] {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "child_that_makes_a_reader_after_its_roudi_died", "--ignored"]);
            child.env("RUST_MIN_STACK", STACK_BYTES.to_string());
            if another {
                child.env("RMWBENCH_ANOTHER_ROUDI", "1");
            }
            let status = child
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status()
                .unwrap();
            assert_eq!(
                std::os::unix::process::ExitStatusExt::signal(&status),
                Some(6),
                "{status}, another RouDi: {another}"
            );
        }
    });
}
