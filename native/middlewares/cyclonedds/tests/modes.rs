//! Each mode, in namespaces of its own: the settings in force after it was granted, seen from
//! outside of Cyclone.

mod network;

use std::time::Duration;

use rmwbench_conformance::pair::{self, until_heard, wait_until, Memory};
use rmwbench_conformance::{isolated, Daemons};
use rmwbench_cyclonedds::CycloneDds;
use rmwbench_harness::middleware::*;
use rmwbench_harness::payload::{Header, Phase};
use rmwbench_harness::qos::History;
use serde_json::{json, Value};

use network::{endpoint, error_of, Network};

const WORKER: &str = env!("CARGO_BIN_EXE_rmwbench-cyclonedds");

type Modes<'a> = &'a [(&'a str, Value)];

/// Two sides of one network with the same modes, each with a node.
struct Pair {
    talker: Box<dyn Node>,
    listener: Box<dyn Node>,
    sessions: [Box<dyn Session>; 2],
}

impl Pair {
    fn open(modes: Modes) -> Pair {
        let network = Network::new();
        let mut sessions = [0, 1].map(|side| network.open_with(side, modes, &[]).unwrap());
        let [talker, listener] = [0, 1].map(|side| sessions[side].node("node").unwrap());
        Pair { talker, listener, sessions }
    }

    fn endpoints(
        &mut self,
        config: &EndpointConfig,
    ) -> (Box<dyn Publisher>, Box<dyn Subscription>, std::sync::Arc<Memory>) {
        let heard = Memory::new();
        let subscription = self.listener.subscription(config, heard.clone()).unwrap();
        let mut publisher = self.talker.publisher(config).unwrap();
        wait_until("the match", || publisher.matched() == 1 && subscription.matched() == 1);
        until_heard(&mut *publisher, &heard, &vec![0; config.message_type.payload_bytes as usize]);
        std::thread::sleep(Duration::from_millis(100)); // for repetitions and answers
        (publisher, subscription, heard)
    }

    fn configuration(&self) -> String {
        let configuration = self.sessions[0].configuration().unwrap();
        assert_eq!(configuration.format, "xml");
        configuration.text
    }
}

fn refusal(modes: Modes) -> Error {
    let error = error_of(Network::new().open_with(0, modes, &[]));
    assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
    error
}

fn lo(column: usize) -> u64 {
    let table = std::fs::read_to_string("/proc/net/dev").unwrap();
    let line = table.lines().find_map(|line| line.trim().strip_prefix("lo:")).unwrap();
    line.split_whitespace().nth(column).unwrap().parse().unwrap()
}

fn lo_packets() -> u64 {
    lo(1)
}

/// Whether 239.255.0.1 is joined, to which Cyclone's discovery is sent.
fn discovery_group_joined() -> bool {
    std::fs::read_to_string("/proc/self/net/igmp").unwrap().contains("0100FFEF")
}

fn udp_sockets() -> usize {
    std::fs::read_to_string("/proc/self/net/udp").unwrap().lines().count() - 1
}

#[test]
fn peers_find_each_other_without_any_multicast() {
    isolated("peers_find_each_other_without_any_multicast", || {
        let mut pair = Pair::open(&[("discovery", json!("peers"))]);
        assert!(!discovery_group_joined());
        assert!(
            pair.configuration().contains("<Peer Address=\"127.0.0.1\"/>"),
            "{}",
            pair.configuration()
        );
        pair.endpoints(&endpoint("peers", 100));
        assert!(!discovery_group_joined());
    });
}

#[test]
fn participants_that_alone_are_announced_by_multicast_find_each_other() {
    isolated("participants_that_alone_are_announced_by_multicast_find_each_other", || {
        let mut pair = Pair::open(&[("discovery", json!("spdp"))]);
        assert!(discovery_group_joined());
        pair.endpoints(&endpoint("spdp", 100));
    });
}

#[test]
fn multicast_joins_its_group_or_is_refused() {
    isolated("multicast_joins_its_group_or_is_refused", || {
        let mut pair = Pair::open(&[("discovery", json!("multicast"))]);
        assert!(discovery_group_joined());
        pair.endpoints(&endpoint("multicast", 100));
        drop(pair);
        let without = r#"<General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces></General>"#;
        let modes = [("discovery".to_string(), json!("multicast"))].into();
        let error =
            error_of(CycloneDds.open(&SessionConfig { modes, ..network::session(77, without) }));
        assert_eq!(
            (error.kind, error.object.as_str()),
            (ErrorKind::Unsupported, "mode discovery"),
            "{error}"
        );
    });
}

#[test]
fn threads_receive_alone_or_one_for_each_socket() {
    isolated("threads_receive_alone_or_one_for_each_socket", || {
        let network = Network::new();
        network.open_with(0, &[("threads", json!(1))], &[]).unwrap();
        network.open_with(0, &[("threads", json!(3))], &[]).unwrap();
        let error = error_of(network.open_with(0, &[("threads", json!(2))], &[]));
        assert!(
            error.kind == ErrorKind::Unsupported
                && error.message.contains("made 3 receive threads"),
            "{error}"
        );
        // Without multicast there is no socket for it.
        network.open_with(0, &[("threads", json!(2)), ("discovery", json!("peers"))], &[]).unwrap();
    });
}

#[test]
fn batching_packs_messages_and_lets_none_wait_for_long() {
    isolated("batching_packs_messages_and_lets_none_wait_for_long", || {
        const MESSAGES: u64 = 200;
        let packets = |batching: bool| {
            let mut pair =
                Pair::open(&[("batching", json!(batching)), ("discovery", json!("peers"))]);
            let mut config = endpoint("batched", 100);
            config.qos.history = History::KeepAll;
            let (mut publisher, _subscription, heard) = pair.endpoints(&config);
            assert_eq!(
                publisher.granted().notes.iter().any(|n| n.starts_with("batching: ")),
                batching
            );
            let before = (heard.len(), lo_packets());
            (0..MESSAGES).for_each(|_| publisher.publish(&[1; 100]).unwrap());
            heard.wait_for(before.0 + MESSAGES as usize);
            let packets = lo_packets() - before.1;
            // A single message is sent soon, by the flush and not by a heartbeat.
            publisher.publish(&[2; 100]).unwrap();
            wait_until("the last message", || heard.last() == Some(vec![2; 100]));
            packets
        };
        let (packed, single) = (packets(true), packets(false));
        assert!(
            single >= MESSAGES && packed < MESSAGES / 2,
            "{packed} packets with batching, {single} without"
        );
    });
}

#[test]
fn intra_process_has_no_socket_and_says_how_messages_went() {
    isolated("intra_process_has_no_socket_and_says_how_messages_went", || {
        let before = udp_sockets();
        let network = Network::new();
        let mut session =
            network.open_with(0, &[("transport", json!("intra_process"))], &[]).unwrap();
        let mut node = session.node("node").unwrap();
        for bytes in [100, 1 << 20] {
            let config = endpoint(&format!("near{bytes}"), bytes);
            let heard = Memory::new();
            let subscription = node.subscription(&config, heard.clone()).unwrap();
            let mut publisher = node.publisher(&config).unwrap();
            wait_until("the match", || publisher.matched() == 1 && subscription.matched() == 1);
            for k in 0..10 {
                publisher.publish(&vec![k; bytes as usize]).unwrap();
                assert_eq!(heard.wait_for(usize::from(k) + 1).len(), usize::from(k) + 1);
            }
            let evidence = subscription.account().evidence;
            assert_eq!(
                (evidence.len(), evidence[0].path.as_str(), evidence[0].messages),
                (1, "intra_process", 10)
            );
        }
        assert_eq!(udp_sockets(), before);
        assert_eq!(
            refusal(&[("transport", json!("intra_process")), ("discovery", json!("peers"))]).object,
            "mode discovery"
        );
    });
}

#[test]
fn what_crosses_the_network_is_not_evidence_of_one_process() {
    isolated("what_crosses_the_network_is_not_evidence_of_one_process", || {
        let mut pair = Pair::open(&[("transport", json!("udp"))]);
        let (_publisher, subscription, heard) = pair.endpoints(&endpoint("far", 100));
        assert!(
            heard.len() > 0 && subscription.account().evidence.is_empty(),
            "{:?}",
            subscription.account()
        );
    });
}

/// The mode adds shared memory to a profile without it, and removes it from a profile with it.
#[test]
fn shared_memory_comes_and_goes_with_the_mode() {
    isolated("shared_memory_comes_and_goes_with_the_mode", || {
        let profile = |name: &str| {
            CycloneDds.describe().profiles.into_iter().find(|p| p.name == name).unwrap()
        };
        let open = |profile: &Profile, modes: Modes| {
            let modes =
                modes.iter().map(|(name, level)| (name.to_string(), level.clone())).collect();
            CycloneDds.open(&SessionConfig { modes, ..pair::session(profile, 3) })
        };
        // No RouDi runs: shared memory cannot open, and UDP does not need one.
        let error = error_of(open(&profile("untouched"), &[("transport", json!("shm"))]));
        assert!(error.message.contains("no RouDi serves this host"), "{error}");
        let mut without = open(&profile("shm"), &[("transport", json!("udp"))]).unwrap();
        let config = EndpointConfig { loan: true, ..endpoint("loan", 100) };
        let error = error_of(without.node("node").unwrap().publisher(&config));
        assert_eq!(error.kind, ErrorKind::Unsupported);
        drop(without);
        let error = error_of(open(&profile("tuned"), &[("shm_pool_bytes", json!(100_000_000))]));
        assert_eq!(
            (error.kind, error.object.as_str()),
            (ErrorKind::Unsupported, "mode shm_pool_bytes"),
            "{error}"
        );

        let modes = [("shm_pool_bytes".to_string(), json!(50 << 20))];
        let _roudi = Daemons::start_with_modes(
            WORKER,
            &CycloneDds,
            &profile("shm"),
            &Default::default(),
            &modes.clone().into(),
        )
        .unwrap();
        let segment = std::fs::read_dir("/dev/shm")
            .unwrap()
            .flatten()
            .map(|f| f.metadata().unwrap().len())
            .max()
            .unwrap();
        assert!((40 << 20..60 << 20).contains(&segment), "{segment} bytes in the largest segment");
        let levels = [
            &[("transport", json!("shm"))],
            &modes.each_ref().map(|(name, level)| (name.as_str(), level.clone()))[..],
        ]
        .concat();
        for name in ["untouched", "tuned", "shm"] {
            // iceoryx' runtime needs more stack than a thread of libtest has.
            std::thread::scope(|scope| {
                let run = || {
                    let mut session = open(&profile(name), &levels).unwrap();
                    let publisher = session.node("node").unwrap().publisher(&config).unwrap();
                    let notes = publisher.granted().notes;
                    assert!(!notes.iter().any(|n| n.starts_with("path: ")), "{name}: {notes:?}");
                    assert!(
                        notes.iter().any(|n| n.contains("2 × 8389632 bytes")),
                        "{name}: {notes:?}"
                    );
                };
                std::thread::Builder::new()
                    .stack_size(16 << 20)
                    .spawn_scoped(scope, run)
                    .unwrap()
                    .join()
                    .unwrap();
            });
        }
    });
}

fn numbered(seq: u64, bytes: u32, phase: Phase) -> Vec<u8> {
    let mut payload = vec![0; bytes as usize];
    let (cause_seq, cause_endpoint, touched) = (0, 0, 0);
    Header {
        writer: 1,
        nonce: 1,
        seq,
        intended_ns: 1,
        cause_seq,
        cause_endpoint,
        size: bytes,
        phase,
        touched,
    }
    .write(&mut payload);
    payload
}

#[test]
fn a_content_filter_takes_its_share_at_the_reader() {
    isolated("a_content_filter_takes_its_share_at_the_reader", || {
        for near in [false, true] {
            let modes: Modes = if near { &[("transport", json!("intra_process"))] } else { &[] };
            let network = Network::new();
            let mut sessions = [0, 1].map(|side| network.open_with(side, modes, &[]).unwrap());
            let (mut talker, mut listener) =
                (sessions[0].node("a").unwrap(), sessions[usize::from(!near)].node("b").unwrap());
            let mut config = endpoint("filtered", 200);
            config.qos.history = History::KeepAll;
            let mut publisher = talker.publisher(&config).unwrap();
            let readers: Vec<_> = [0, 25, 100]
                .map(|percent| {
                    let mut config = config.clone();
                    config.qos.content_filter = Some(format!("percent < {percent}"));
                    let heard = Memory::new();
                    (percent, listener.subscription(&config, heard.clone()).unwrap(), heard)
                })
                .into();
            wait_until("all matches", || {
                publisher.matched() == 3
                    && readers.iter().all(|(_, reader, _)| reader.matched() == 1)
            });
            // The barrier's probe reaches every reader, whatever its filter.
            publisher.publish(&numbered(0, 200, Phase::Probe)).unwrap();
            (0..400).for_each(|seq| publisher.publish(&numbered(seq, 200, Phase::Steady)).unwrap());
            for (percent, reader, heard) in &readers {
                let counter = |name: &str| reader.account().counters[name];
                wait_until("all to be judged", || counter("reader_filter_evaluated") == 401);
                let expected = |seq: u64| {
                    ((u64::from((seq as u32).wrapping_mul(2_654_435_761)) * 100) >> 32) < *percent
                };
                let seqs: Vec<u64> = (0..400).filter(|&seq| expected(seq)).collect();
                assert_eq!(counter("reader_filter_refused"), 400 - seqs.len() as i64);
                let got: Vec<u64> = heard.wait_for(1 + seqs.len())[1..]
                    .iter()
                    .map(|m| Header::read(m).unwrap().seq)
                    .collect();
                assert_eq!(got, seqs, "percent < {percent}");
                let granted = reader.granted();
                assert_eq!(granted.qos.content_filter, Some(format!("percent < {percent}")));
                assert!(
                    granted.notes.iter().any(|n| n.contains("the reader filters")),
                    "{:?}",
                    granted.notes
                );
            }
        }
    });
}

#[test]
fn a_full_history_blocks_a_writer_as_long_as_it_may() {
    isolated("a_full_history_blocks_a_writer_as_long_as_it_may", || {
        let network = Network::new();
        let options = [("max_blocking_ms", json!(200)), ("max_samples", json!(4))];
        let mut sessions = [0, 1].map(|side| network.open_with(side, &[], &options).unwrap());
        let (mut talker, mut listener) =
            (sessions[0].node("a").unwrap(), sessions[1].node("b").unwrap());
        let mut config = endpoint("full", 50_000);
        config.qos.history = History::KeepAll;
        let heard = Memory::new();
        let _subscription = listener.subscription(&config, heard.clone()).unwrap();
        let mut publisher = talker.publisher(&config).unwrap();
        wait_until("the match", || publisher.matched() == 1);
        until_heard(&mut *publisher, &heard, &[0; 50_000]);
        heard.close_gate();
        let mut accepted = 0;
        let began = loop {
            let began = std::time::Instant::now();
            match publisher.publish(&[1; 50_000]) {
                Ok(()) => accepted += 1,
                Err(error) => {
                    assert_eq!(error, PublishError::Timeout);
                    break began;
                }
            }
            assert!(accepted < 1_000, "the writer never waits");
        };
        assert!(began.elapsed() >= Duration::from_millis(190), "{:?}", began.elapsed());
        assert_eq!(publisher.account().counters["write_failed: Timeout"], 1);
        heard.open_gate();
        wait_until("all that was accepted", || {
            heard.wait_for(0).iter().filter(|m| m[0] == 1).count() == accepted
        });
    });
}

#[test]
fn pools_and_bounds_that_make_no_sense_are_invalid() {
    let network = Network::new();
    for (option, value) in [
        ("max_samples", json!(0)),
        ("max_blocking_ms", json!(-1)),
        ("batch_flush_us", json!("often")),
    ] {
        let error = error_of(network.open_with(0, &[], &[(option, value)]));
        assert_eq!((error.kind, error.object), (ErrorKind::Invalid, format!("option {option}")));
    }
}
