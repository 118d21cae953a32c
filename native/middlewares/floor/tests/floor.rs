//! The floor through the traits, with real traffic: the properties of every transport, and those of
//! the ring alone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmwbench_conformance::isolated;
use rmwbench_floor::Floor;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    Delivery, EndpointConfig, Error, ErrorKind, Middleware, Node, Profile, PublishError,
    PublishMode, Publisher, Session, SessionConfig, Sink, Subscription, Take, Wait,
};
use rmwbench_harness::qos::{History, Qos, Reliability};
use serde_json::{json, Value};

const PATIENCE: Duration = Duration::from_secs(20);
const TRANSPORTS: [&str; 4] = ["shm_ring", "tcp", "unix", "udp"];

/// A domain of its own for each test; its directory is removed when the test ends.
struct Domain(u32);

impl Domain {
    fn new() -> Domain {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Domain(std::process::id().wrapping_mul(64) + NEXT.fetch_add(1, Ordering::Relaxed))
    }

    fn session(&self, options: Value) -> Box<dyn Session> {
        self.try_session(options).unwrap_or_else(|e| panic!("{e}"))
    }

    fn try_session(&self, options: Value) -> Result<Box<dyn Session>, Error> {
        let profile = Profile {
            name: "untouched".into(),
            format: "none".into(),
            text: String::new(),
            summary: String::new(),
        };
        let options: BTreeMap<String, Value> = serde_json::from_value(options).unwrap();
        Floor.open(&SessionConfig {
            profile,
            options,
            modes: Default::default(),
            domain_id: self.0,
            trial_nonce: 1,
        })
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(format!("/tmp/rmwbench-floor.{}", self.0));
    }
}

#[derive(Clone)]
struct Spec {
    topic: String,
    bytes: u32,
    qos: Qos,
    wait: Wait,
}

impl Spec {
    fn new(topic: &str, bytes: u32) -> Spec {
        Spec { topic: topic.into(), bytes, qos: Qos::default(), wait: Wait::Block }
    }

    fn best_effort(mut self) -> Spec {
        self.qos.reliability = Reliability::BestEffort;
        self
    }

    fn depth(mut self, depth: u32) -> Spec {
        self.qos.depth = depth;
        self
    }

    fn wait(mut self, wait: Wait) -> Spec {
        self.wait = wait;
        self
    }

    fn config(&self) -> EndpointConfig {
        EndpointConfig {
            endpoint: 1,
            topic: self.topic.clone(),
            message_type: MessageType::bytes(self.bytes),
            reply_type: None,
            qos: self.qos.clone(),
            loan: false,
            publish_mode: PublishMode::Default,
            wait: self.wait,
            take: Take::Typed,
        }
    }

    fn publisher(&self, session: &mut dyn Session) -> Box<dyn Publisher> {
        session.node("talker").unwrap().publisher(&self.config()).unwrap_or_else(|e| panic!("{e}"))
    }

    fn subscription(
        &self,
        session: &mut dyn Session,
        sink: Arc<dyn Sink>,
    ) -> Box<dyn Subscription> {
        session
            .node("listener")
            .unwrap()
            .subscription(&self.config(), sink)
            .unwrap_or_else(|e| panic!("{e}"))
    }
}

/// Keeps the messages that it gets, and is slow or stuck if a test orders it.
#[derive(Default)]
struct Inbox {
    messages: Mutex<Vec<Vec<u8>>>,
    delay_ns: AtomicU64,
    stuck: AtomicBool,
}

impl Sink for Inbox {
    fn deliver(&self, d: &Delivery<'_>) {
        assert!(d.notified_ns > 0 && d.taken_ns >= d.notified_ns);
        while self.stuck.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        match self.delay_ns.load(Ordering::Relaxed) {
            0 => {}
            ns => std::thread::sleep(Duration::from_nanos(ns)),
        }
        self.messages.lock().unwrap().push(d.payload.to_vec());
    }
}

impl Inbox {
    fn len(&self) -> usize {
        self.messages.lock().unwrap().len()
    }

    fn numbers(&self) -> Vec<u64> {
        self.messages.lock().unwrap().iter().map(|m| number(m)).collect()
    }
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "not reached within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_micros(500));
    }
}

fn numbered(n: u64, bytes: usize) -> Vec<u8> {
    let mut payload: Vec<u8> =
        (0..bytes).map(|i| (i as u64 * 31 + n * 7 + (i as u64 >> 8)) as u8).collect();
    let head = bytes.min(8);
    payload[..head].copy_from_slice(&n.to_le_bytes()[..head]);
    payload
}

fn number(payload: &[u8]) -> u64 {
    u64::from_le_bytes(payload[..8].try_into().unwrap())
}

fn reliable_where_possible(spec: Spec, transport: &str) -> Spec {
    if transport == "udp" {
        spec.best_effort().depth(1000)
    } else {
        spec
    }
}

#[test]
fn every_size_arrives_whole_and_in_order_on_every_transport() {
    isolated("every_size_arrives_whole_and_in_order_on_every_transport", || {
        for transport in TRANSPORTS {
            for wait in [Wait::Block, Wait::Poll] {
                let domain = Domain::new();
                let (mut a, mut b) = (
                    domain.session(json!({"transport": transport})),
                    domain.session(json!({"transport": transport})),
                );
                for bytes in [0, 1, 63, 64, 4095, 65_507, 1 << 20] {
                    let spec = reliable_where_possible(
                        Spec::new(&format!("t{bytes}"), bytes).wait(wait),
                        transport,
                    );
                    let inbox = Arc::new(Inbox::default());
                    let subscription = spec.subscription(&mut *a, inbox.clone());
                    let mut publisher = spec.publisher(&mut *b);
                    until("match", || publisher.matched() == 1 && subscription.matched() == 1);
                    let count = if bytes > 65_000 { 5 } else { 50 };
                    for n in 0..count {
                        publisher.publish(&numbered(n, bytes as usize)).unwrap();
                        if transport == "udp" {
                            until("udp delivery", || inbox.len() as u64 > n); // no flow control: one at a time
                        }
                    }
                    until("delivery", || inbox.len() as u64 == count);
                    for (n, message) in inbox.messages.lock().unwrap().iter().enumerate() {
                        assert!(
                            *message == numbered(n as u64, bytes as usize),
                            "{transport} {wait:?} {bytes} bytes, message {n}"
                        );
                    }
                    let dropped = subscription.account();
                    assert_eq!(
                        dropped
                            .reader_drops
                            .or(dropped.counters.get("datagrams_dropped").map(|n| *n as u64)),
                        Some(0)
                    );
                    assert_eq!(subscription.account().evidence[0].messages, count);
                    assert!(
                        publisher.publish(&vec![0; bytes as usize + 1]).is_err()
                            || transport != "shm_ring"
                    );
                }
            }
        }
    });
}

#[test]
fn thirty_two_mebibytes_arrive_on_every_transport() {
    isolated("thirty_two_mebibytes_arrive_on_every_transport", || {
        for transport in TRANSPORTS {
            let domain = Domain::new();
            let mut session = domain.session(json!({"transport": transport}));
            let spec = reliable_where_possible(Spec::new("large", 32 << 20).depth(2), transport);
            let inbox = Arc::new(Inbox::default());
            let subscription = spec.subscription(&mut *session, inbox.clone());
            let mut publisher = spec.publisher(&mut *session);
            until("match", || publisher.matched() == 1 && subscription.matched() == 1);
            let payload = numbered(3, 32 << 20);
            // Datagrams may be lost: the buffer is smaller than the message and the reader has one
            // of two busy cores.
            let attempts = if transport == "udp" { 20 } else { 1 };
            for _ in 0..attempts {
                publisher.publish(&payload).unwrap();
                std::thread::sleep(Duration::from_millis(if transport == "udp" { 50 } else { 0 }));
                if inbox.len() > 0 {
                    break;
                }
            }
            if transport != "udp" {
                until("delivery", || inbox.len() == 1);
            }
            assert!(inbox.messages.lock().unwrap().iter().all(|m| *m == payload), "{transport}");
        }
    });
}

#[test]
fn a_loan_equals_a_copy_and_reads_in_place_only_when_asked() {
    isolated("a_loan_equals_a_copy_and_reads_in_place_only_when_asked", || {
        struct Paths(Mutex<Vec<(bool, Vec<u8>)>>);
        impl Sink for Paths {
            fn deliver(&self, d: &Delivery<'_>) {
                self.0.lock().unwrap().push((d.zero_copy, d.payload.to_vec()));
            }
        }
        for (zero_copy, inline_bytes) in [(true, 0), (false, 0), (false, 300)] {
            let domain = Domain::new();
            let mut session = domain.session(
                json!({"zero_copy": zero_copy || inline_bytes > 0, "inline_bytes": inline_bytes}),
            );
            let spec = Spec::new("loan", 299);
            let paths = Arc::new(Paths(Mutex::default()));
            let subscription = spec.subscription(&mut *session, paths.clone());
            let mut publisher = spec.publisher(&mut *session);
            until("match", || publisher.matched() == 1 && subscription.matched() == 1);
            publisher.publish(&numbered(7, 299)).unwrap();
            publisher
                .publish_loaned(299, &mut |slot| slot.copy_from_slice(&numbered(7, 299)))
                .unwrap();
            until("delivery", || paths.0.lock().unwrap().len() == 2);
            let paths = paths.0.lock().unwrap();
            assert_eq!(paths[0], paths[1]);
            assert_eq!(paths[0], (zero_copy, numbered(7, 299)));
        }
    });
}

#[test]
fn best_effort_forgets_the_oldest_and_counts_every_drop() {
    isolated("best_effort_forgets_the_oldest_and_counts_every_drop", || {
        for slots in [
            json!({}),
            json!({"slots": 1}),
            json!({"inline_bytes": 0}),
            json!({"inline_bytes": 0, "slots": 1}),
            json!({"inline_bytes": 0, "slots": 2}),
            json!({"inline_bytes": 0, "slots": 2, "zero_copy": false}),
        ] {
            let domain = Domain::new();
            let mut session = domain.session(slots.clone());
            let depth = slots.get("slots").map_or(5, |s| s.as_u64().unwrap() as u32);
            let spec = Spec::new("overrun", 64).best_effort().depth(depth);
            let inbox = Arc::new(Inbox::default());
            inbox.delay_ns.store(200_000, Ordering::Relaxed);
            let subscription = spec.subscription(&mut *session, inbox.clone());
            let mut publisher = spec.publisher(&mut *session);
            until("match", || publisher.matched() == 1 && subscription.matched() == 1);
            const SENT: u64 = 20_000;
            for n in 0..SENT {
                publisher.publish(&numbered(n, 64)).unwrap();
            }
            let ledger = || inbox.len() as u64 + subscription.account().reader_drops.unwrap();
            until("the ledger closes", || ledger() == SENT);
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(ledger(), SENT, "{slots}");
            let numbers = inbox.numbers();
            assert!(numbers.windows(2).all(|w| w[0] < w[1]), "{slots}: order");
            assert!(
                subscription.account().reader_drops.unwrap() > 0,
                "{slots}: no overrun was provoked"
            );
            if slots.get("slots").is_none() {
                assert_eq!(
                    &numbers[numbers.len() - 5..],
                    &[SENT - 5, SENT - 4, SENT - 3, SENT - 2, SENT - 1]
                );
            }
        }
    });
}

/// A small message is in the reader's queue, which is as long as was granted; a large one is in the
/// publisher's slots, which are too few for such a reader: the reader is refused, and no queue is
/// shortened.
#[test]
fn a_reader_deeper_than_its_publisher_has_the_depth_that_it_was_granted_or_none() {
    isolated(
        "a_reader_deeper_than_its_publisher_has_the_depth_that_it_was_granted_or_none",
        || {
            let domain = Domain::new();
            let mut session = domain.session(json!({}));
            let ends = |session: &mut dyn Session, bytes| {
                let spec = Spec::new(&format!("deep_{bytes}"), bytes).best_effort();
                let inbox = Arc::new(Inbox::default());
                inbox.delay_ns.store(1_000_000, Ordering::Relaxed);
                let reader = spec.clone().depth(1000).subscription(session, inbox.clone());
                assert_eq!(reader.granted().qos.depth, 1000);
                (spec.depth(10).publisher(session), reader, inbox)
            };
            let (mut writer, reader, inbox) = ends(&mut *session, 64);
            until("match", || writer.matched() == 1 && reader.matched() == 1);
            (0..300).for_each(|n| writer.publish(&numbered(n, 64)).unwrap());
            until("all of them", || inbox.len() == 300);
            assert_eq!(reader.account().reader_drops, Some(0));
            let (writer, reader, _inbox) = ends(&mut *session, 1000);
            until("refusal", || writer.account().counters["refused_peers"] == 1);
            assert_eq!(reader.matched(), 0);
        },
    );
}

#[test]
fn reliable_blocks_the_publisher_and_loses_nothing() {
    isolated("reliable_blocks_the_publisher_and_loses_nothing", || {
        for (transport, options) in [
            ("shm_ring", json!({})),
            ("shm_ring", json!({"slots": 1})),
            ("shm_ring", json!({"inline_bytes": 1000, "slots": 1})),
            ("shm_ring", json!({"inline_bytes": 1000})),
            ("shm_ring", json!({"slots": 2, "zero_copy": false})),
            ("tcp", json!({"transport": "tcp", "socket_buffer_bytes": 8192})),
            ("unix", json!({"transport": "unix", "socket_buffer_bytes": 8192})),
        ] {
            let domain = Domain::new();
            let mut session = domain.session(options.clone());
            let mut spec = Spec::new("overrun", 1000).depth(3);
            for history in [History::KeepLast, History::KeepAll] {
                spec.qos.history = history;
                spec.topic = format!("overrun_{history:?}");
                let inbox = Arc::new(Inbox::default());
                inbox.delay_ns.store(50_000, Ordering::Relaxed);
                let subscription = spec.subscription(&mut *session, inbox.clone());
                let mut publisher = spec.publisher(&mut *session);
                until("match", || publisher.matched() == 1 && subscription.matched() == 1);
                for n in 0..2000 {
                    publisher.publish(&numbered(n, 1000)).unwrap();
                }
                until("delivery", || inbox.len() == 2000);
                assert_eq!(inbox.numbers(), (0..2000).collect::<Vec<_>>(), "{transport} {options}");
                assert!(
                    publisher.account().counters["blocked"] > 0,
                    "{transport} {options} {history:?}: never blocked"
                );
                assert_eq!(subscription.account().reader_drops, Some(0));
            }
        }
    });
}

#[test]
fn a_stuck_reader_costs_a_timeout_and_not_a_message() {
    isolated("a_stuck_reader_costs_a_timeout_and_not_a_message", || {
        for transport in ["shm_ring", "tcp", "unix"] {
            let domain = Domain::new();
            let mut session =
                domain.session(json!({"transport": transport, "publish_timeout_ns": 300_000_000}));
            let spec = Spec::new("stuck", 100_000).depth(4);
            let inboxes = [Arc::new(Inbox::default()), Arc::new(Inbox::default())];
            let subscriptions =
                inboxes.each_ref().map(|inbox| spec.subscription(&mut *session, inbox.clone()));
            let mut publisher = spec.publisher(&mut *session);
            until("match", || {
                publisher.matched() == 2 && subscriptions.iter().all(|s| s.matched() == 1)
            });
            inboxes[1].stuck.store(true, Ordering::SeqCst);
            let mut sent = 0;
            // A stream's buffers hold an unknown number of messages. The ring holds its depth, and
            // one more if the waiting thread had taken the first message of both readers before it
            // got stuck in one.
            let unstick = inboxes[1].clone();
            let helper = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(1500));
                unstick.stuck.store(false, Ordering::SeqCst);
            });
            let failure = loop {
                match publisher.publish(&numbered(sent, 100_000)) {
                    Ok(()) => sent += 1,
                    Err(e) => break Some(e),
                }
                if sent > 1000 {
                    break None;
                }
            };
            helper.join().unwrap();
            if transport == "shm_ring" {
                assert_eq!(failure, Some(PublishError::Timeout));
                assert!((4..=5).contains(&sent), "sent {sent}");
            }
            until("delivery", || inboxes.iter().all(|i| i.len() as u64 >= sent));
            std::thread::sleep(Duration::from_millis(20));
            assert!(
                inboxes.iter().all(|i| i.numbers() == (0..sent).collect::<Vec<_>>()),
                "{transport}"
            );
        }
    });
}

#[test]
fn one_waiting_thread_serves_two_writers_and_three_readers() {
    isolated("one_waiting_thread_serves_two_writers_and_three_readers", || {
        for transport in ["shm_ring", "tcp", "unix"] {
            for wait in [Wait::Block, Wait::Poll] {
                let domain = Domain::new();
                let (mut a, mut b) = (
                    domain.session(json!({"transport": transport})),
                    domain.session(json!({"transport": transport})),
                );
                let spec = Spec::new("many/to many", 200).wait(wait);
                let mut publishers = [spec.publisher(&mut *a), spec.publisher(&mut *b)];
                let inboxes: [Arc<Inbox>; 3] = Default::default();
                let subscriptions =
                    inboxes.each_ref().map(|i| spec.subscription(&mut *b, i.clone()));
                until("match", || {
                    publishers.iter().all(|p| p.matched() == 3)
                        && subscriptions.iter().all(|s| s.matched() == 2)
                });
                for n in 0..500 {
                    publishers[(n % 2) as usize].publish(&numbered(n, 200)).unwrap();
                }
                until("delivery", || inboxes.iter().all(|i| i.len() == 500));
                for inbox in &inboxes {
                    let numbers = inbox.numbers();
                    for parity in 0..2 {
                        let of_one: Vec<u64> =
                            numbers.iter().copied().filter(|n| n % 2 == parity).collect();
                        assert_eq!(
                            of_one,
                            (0..250).map(|n| 2 * n + parity).collect::<Vec<_>>(),
                            "{transport} {wait:?}"
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn readers_join_and_leave_while_messages_flow() {
    isolated("readers_join_and_leave_while_messages_flow", || {
        for transport in ["shm_ring", "tcp", "unix"] {
            let domain = Domain::new();
            let mut session = domain.session(json!({"transport": transport}));
            let spec = Spec::new("come_and_go", 64);
            let mut publisher = spec.publisher(&mut *session);
            let stop = Arc::new(AtomicBool::new(false));
            let peers = Arc::new(AtomicU32::new(0));
            let sender = {
                let (stop, peers) = (stop.clone(), peers.clone());
                std::thread::spawn(move || {
                    let mut n = 0;
                    while !stop.load(Ordering::Relaxed) {
                        publisher.publish(&numbered(n, 64)).unwrap();
                        peers.store(publisher.matched(), Ordering::Relaxed);
                        n += 1;
                        if n % 20 == 0 {
                            std::thread::sleep(Duration::from_micros(50));
                        }
                    }
                    publisher
                })
            };
            // More joins than a pool has places for readers: places must be returned.
            for round in 0..80 {
                let inbox = Arc::new(Inbox::default());
                let subscription = spec.subscription(&mut *session, inbox.clone());
                until("messages", || inbox.len() > 2);
                drop(subscription);
                let after = inbox.len();
                let numbers = inbox.numbers();
                assert!(
                    numbers.windows(2).all(|w| w[0] + 1 == w[1]),
                    "{transport}: a gap in the middle"
                );
                assert!(round == 0 || numbers[0] > 0, "{transport}: a late joiner got the past");
                std::thread::sleep(Duration::from_millis(1));
                assert_eq!(inbox.len(), after, "{transport}: delivery after the end");
            }
            until("all have left", || peers.load(Ordering::Relaxed) == 0);
            stop.store(true, Ordering::Relaxed);
            let publisher = sender.join().unwrap();
            assert_eq!(publisher.matched(), 0, "{transport}");
        }
    });
}

#[test]
fn a_relay_chain_of_three_delivers() {
    isolated("a_relay_chain_of_three_delivers", || {
        struct Relay(Mutex<Box<dyn Publisher>>);
        impl Sink for Relay {
            fn deliver(&self, d: &Delivery<'_>) {
                self.0.lock().unwrap().publish(d.payload).unwrap();
            }
        }
        for transport in ["shm_ring", "tcp", "unix"] {
            let domain = Domain::new();
            let mut session = domain.session(json!({"transport": transport}));
            let hop = |n: u32| Spec::new(&format!("hop{n}"), 128);
            let mut first = hop(0).publisher(&mut *session);
            let inbox = Arc::new(Inbox::default());
            let mut chain = Vec::new();
            for n in 0..3 {
                let relay = Relay(Mutex::new(hop(n + 1).publisher(&mut *session)));
                chain.push(hop(n).subscription(&mut *session, Arc::new(relay)));
            }
            chain.push(hop(3).subscription(&mut *session, inbox.clone()));
            until("match", || first.matched() == 1 && chain.iter().all(|s| s.matched() == 1));
            std::thread::sleep(Duration::from_millis(20)); // the relays' own publishers match too
            for n in 0..100 {
                first.publish(&numbered(n, 128)).unwrap();
                until("the chain", || inbox.len() as u64 > n);
            }
            // A backlog longer than every queue: the one thread of all hops must not wait for
            // itself.
            for n in 100..5000 {
                first.publish(&numbered(n, 128)).unwrap();
            }
            until("the backlog", || inbox.len() == 5000);
            assert_eq!(inbox.numbers(), (0..5000).collect::<Vec<_>>(), "{transport}");
        }
    });
}

#[test]
fn many_nodes_need_no_more_threads() {
    isolated("many_nodes_need_no_more_threads", || {
        let domain = Domain::new();
        let mut session = domain.session(json!({}));
        let before = std::fs::read_dir("/proc/self/task").unwrap().count();
        let mut nodes: Vec<Box<dyn Node>> = Vec::new();
        let mut endpoints = Vec::new();
        for n in 0..200 {
            let mut node = session.node(&format!("node{n}")).unwrap();
            let spec = Spec::new(&format!("topic{n}"), 64);
            let inbox = Arc::new(Inbox::default());
            endpoints.push((
                node.publisher(&spec.config()).unwrap(),
                node.subscription(&spec.config(), inbox.clone()).unwrap(),
                inbox,
            ));
            nodes.push(node);
        }
        until("match", || endpoints.iter().all(|(p, s, _)| p.matched() == 1 && s.matched() == 1));
        for (publisher, _, _) in &mut endpoints {
            publisher.publish(&numbered(1, 64)).unwrap();
        }
        until("delivery", || endpoints.iter().all(|(_, _, inbox)| inbox.len() == 1));
        // Other tests of this process start threads too: 200 would show, a few do not.
        assert!(std::fs::read_dir("/proc/self/task").unwrap().count() < before + 100);
    });
}

#[test]
fn unlike_peers_do_not_match_and_say_so() {
    isolated("unlike_peers_do_not_match_and_say_so", || {
        let domain = Domain::new();
        let mut session = domain.session(json!({}));
        let inbox = Arc::new(Inbox::default());
        let reliable = Spec::new("unlike", 64);
        let subscription = reliable.subscription(&mut *session, inbox.clone());
        let best_effort = reliable.clone().best_effort().publisher(&mut *session);
        let other_type = Spec::new("unlike", 65).publisher(&mut *session);
        let mut equal = reliable.publisher(&mut *session);
        until("refusals", || {
            [&best_effort, &other_type].iter().all(|p| p.account().counters["refused_peers"] == 1)
        });
        until("match", || equal.matched() == 1);
        assert_eq!(
            (best_effort.matched(), other_type.matched(), subscription.matched()),
            (0, 0, 1)
        );
        // A reliable publisher also serves a best-effort subscription.
        let relaxed = Arc::new(Inbox::default());
        let _best_effort_reader =
            reliable.clone().best_effort().subscription(&mut *session, relaxed.clone());
        until("match", || equal.matched() == 2);
        equal.publish(&numbered(1, 64)).unwrap();
        until("delivery", || inbox.len() == 1 && relaxed.len() == 1);
    });
}

#[test]
fn what_cannot_be_done_is_refused_with_a_reason() {
    isolated("what_cannot_be_done_is_refused_with_a_reason", || {
        let domain = Domain::new();
        let kind = |options: Value| domain.try_session(options).err().map(|e| e.kind);
        assert_eq!(kind(json!({"transport": "carrier_pigeon"})), Some(ErrorKind::Invalid));
        assert_eq!(kind(json!({"slot": 3})), Some(ErrorKind::Invalid));
        assert_eq!(kind(json!({"slots": 0})), Some(ErrorKind::Invalid));
        assert_eq!(kind(json!({"transport": "tcp", "slots": 3})), Some(ErrorKind::Invalid));
        assert_eq!(kind(json!({"socket_buffer_bytes": 65536})), Some(ErrorKind::Invalid));
        let mut udp = domain.session(json!({"transport": "udp"}));
        let refused = |session: &mut dyn Session, change: &dyn Fn(&mut EndpointConfig)| {
            let mut config = Spec::new("refused", 64).config();
            change(&mut config);
            session.node("n").unwrap().publisher(&config).err().map(|e| e.kind)
        };
        assert_eq!(refused(&mut *udp, &|_| {}), Some(ErrorKind::Unsupported), "reliable udp");
        let mut ring = domain.session(json!({}));
        assert_eq!(refused(&mut *ring, &|_| {}), None);
        assert_eq!(
            refused(&mut *ring, &|c| c.qos.durability =
                rmwbench_harness::qos::Durability::TransientLocal),
            Some(ErrorKind::Unsupported)
        );
        assert_eq!(
            refused(&mut *ring, &|c| c.publish_mode = PublishMode::Async),
            Some(ErrorKind::Unsupported)
        );
        assert_eq!(refused(&mut *ring, &|c| c.wait = Wait::Callback), Some(ErrorKind::Unsupported));
        assert_eq!(
            refused(&mut *ring, &|c| c.qos.content_filter = Some("x > 1".into())),
            Some(ErrorKind::Unsupported)
        );
        assert_eq!(refused(&mut *ring, &|c| c.qos.depth = 0), Some(ErrorKind::Invalid));
        let mut few = domain.session(json!({"slots": 2}));
        assert_eq!(
            refused(&mut *few, &|c| c.qos.reliability = Reliability::BestEffort),
            Some(ErrorKind::Invalid),
            "depth 10 in 2 slots"
        );
        assert_eq!(refused(&mut *few, &|_| {}), None, "a reliable channel only blocks sooner");
        let mut unix = domain.session(json!({"transport": "unix"}));
        assert_eq!(refused(&mut *unix, &|c| c.loan = true), Some(ErrorKind::Unsupported));
    });
}

#[test]
fn the_description_answers_every_capability() {
    isolated("the_description_answers_every_capability", || {
        let description = Floor.describe();
        assert_eq!(
            description.capabilities.len(),
            rmwbench_harness::middleware::CAPABILITIES.len()
        );
        assert!(description
            .capabilities
            .values()
            .all(|a| a == "yes" || a.starts_with("no: ") || a.starts_with("partly: ")));
    });
}
