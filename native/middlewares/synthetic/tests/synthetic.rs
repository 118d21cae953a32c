//! The synthetic middleware does exactly what its settings state: every injected event is found in
//! the results, and no other.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmwbench_conformance::isolated;
use rmwbench_harness::clock::{now_ns, process_cpu_ns};
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    Delivery, EndpointConfig, Middleware, Profile, PublishMode, Publisher, Session, SessionConfig,
    Sink, Subscription, Take, Wait,
};
use rmwbench_harness::payload::{fill, verify, Header, Phase, HEADER_BYTES};
use rmwbench_harness::qos::Qos;
use rmwbench_synthetic::{Settings, Synthetic, Truth, TruthStream};
use serde_json::{json, Value};

const WRITER: u32 = 7;
const NONCE: u64 = 99;

/// The facts that a reader has about one delivery.
#[derive(Clone, Debug)]
struct Seen {
    /// None: the header is damaged.
    seq: Option<u64>,
    taken_ns: i64,
    whole: bool,
}

#[derive(Default)]
struct Inbox(Mutex<Vec<Seen>>);

impl Sink for Inbox {
    fn deliver(&self, d: &Delivery<'_>) {
        let header = Header::read(d.payload).ok();
        let whole = header.is_some_and(|h| {
            verify(&d.payload[HEADER_BYTES..HEADER_BYTES + h.touched as usize], h.writer, h.seq)
        });
        self.0.lock().unwrap().push(Seen {
            seq: header.map(|h| h.seq),
            taken_ns: d.taken_ns,
            whole,
        });
    }
}

impl Inbox {
    fn deliveries(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }
}

/// One writer and one reader on the same session; its fields are in the order in which they must
/// end.
struct Bench {
    publisher: Box<dyn Publisher>,
    subscription: Box<dyn Subscription>,
    inbox: Arc<Inbox>,
    bytes: usize,
    settings: Settings,
    calls: Vec<i64>,
    _session: Box<dyn Session>,
    domain: u32,
}

impl Bench {
    fn new(settings: Value, bytes: usize) -> Bench {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let domain = std::process::id().wrapping_mul(64) + NEXT.fetch_add(1, Ordering::Relaxed);
        let profile = Profile {
            name: "test".into(),
            format: "json".into(),
            text: settings.to_string(),
            summary: String::new(),
        };
        let config = SessionConfig {
            profile,
            options: BTreeMap::new(),
            modes: Default::default(),
            domain_id: domain,
            trial_nonce: NONCE,
        };
        let mut session = Synthetic.open(&config).unwrap_or_else(|e| panic!("{e}"));
        let endpoint = EndpointConfig {
            endpoint: WRITER,
            topic: "truth".into(),
            message_type: MessageType::bytes(bytes as u32),
            reply_type: None,
            qos: Qos::default(),
            loan: false,
            publish_mode: PublishMode::Default,
            wait: Wait::Block,
            take: Take::Typed,
        };
        let inbox = Arc::new(Inbox::default());
        let mut node = session.node("node").unwrap();
        let publisher = node.publisher(&endpoint).unwrap();
        let subscription = node.subscription(&endpoint, inbox.clone()).unwrap();
        let settings = Settings::from_map(settings.as_object().unwrap().clone()).unwrap();
        let bench = Bench {
            publisher,
            subscription,
            inbox,
            bytes,
            settings,
            calls: Vec::new(),
            _session: session,
            domain,
        };
        bench
            .until("match", || bench.publisher.matched() == 1 && bench.subscription.matched() == 1);
        bench
    }

    fn until(&self, what: &str, condition: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(20);
        while !condition() {
            assert!(Instant::now() < end, "not reached: {what}; {:?}", self.subscription.account());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn send(&mut self, phase: Phase) {
        let mut payload = vec![0; self.bytes];
        let seq = self.calls.len() as u64;
        let touched = (self.bytes - HEADER_BYTES) as u32;
        let size = self.bytes as u32;
        Header {
            writer: WRITER,
            nonce: NONCE,
            seq,
            intended_ns: 0,
            cause_seq: 0,
            cause_endpoint: 0,
            size,
            phase,
            touched,
        }
        .write(&mut payload);
        fill(&mut payload[HEADER_BYTES..], WRITER, seq);
        self.calls.push(now_ns());
        self.publisher.publish(&payload).unwrap();
    }

    fn send_many(&mut self, count: u64, gap: Duration) {
        for _ in 0..count {
            self.send(Phase::Steady);
            if gap > Duration::ZERO {
                std::thread::sleep(gap);
            }
        }
    }

    fn truths(&self) -> Vec<Truth> {
        let mut stream = TruthStream::new(&self.settings, NONCE, WRITER);
        (0..self.calls.len() as u64).map(|seq| stream.at(seq)).collect()
    }

    fn wait_for_all(&self) {
        let expected: usize = self
            .truths()
            .iter()
            .filter(|t| !t.lost)
            .map(|t| if t.duplicated { 2 } else { 1 })
            .sum();
        self.until("all deliveries", || self.inbox.deliveries().len() >= expected);
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(self.inbox.deliveries().len(), expected, "more arrived than was sent");
    }

    fn counter(&self, name: &str) -> i64 {
        self.subscription.account().counters[name]
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ =
            std::fs::remove_dir_all(format!("/tmp/rmwbench-floor.{}", self.domain ^ 0x5353_0000));
    }
}

#[test]
fn losses_duplicates_and_corruptions_are_exactly_the_predicted_ones() {
    isolated("losses_duplicates_and_corruptions_are_exactly_the_predicted_ones", || {
        for (settings, gap) in [
            (
                json!({"loss": {"kind": "burst", "p": 0.02, "r": 0.25}, "duplicate": 0.05, "corrupt": 0.03}),
                Duration::ZERO,
            ),
            (
                json!({"loss": {"kind": "bernoulli", "p": 0.1}, "duplicate": 0.1, "corrupt": 0.1, "transport": "tcp", "seed": 5}),
                Duration::ZERO,
            ),
            (
                json!({"loss": {"kind": "bernoulli", "p": 0.1}, "duplicate": 0.05, "corrupt": 0.05, "latency": {"kind": "exponential", "mean_ns": 200_000}}),
                Duration::from_micros(20),
            ),
        ] {
            let mut bench = Bench::new(settings.clone(), 300);
            bench.send_many(3000, gap);
            bench.wait_for_all();
            let truths = bench.truths();
            let mut expected: Vec<(u64, bool)> = Vec::new();
            for t in truths.iter().filter(|t| !t.lost) {
                (0..if t.duplicated { 2 } else { 1 })
                    .for_each(|_| expected.push((t.seq, t.corrupt.is_none())));
            }
            let outcomes: Vec<(u64, bool)> =
                bench.inbox.deliveries().iter().map(|s| (s.seq.unwrap(), s.whole)).collect();
            assert_eq!(outcomes, expected, "{settings}: in order, as predicted");
            for (name, hit) in [
                ("steady_injected_lost", truths.iter().filter(|t| t.lost).count()),
                ("steady_injected_duplicated", truths.iter().filter(|t| t.duplicated).count()),
                (
                    "steady_injected_corrupted",
                    truths.iter().filter(|t| t.corrupt.is_some()).count(),
                ),
            ] {
                assert!(hit > 0, "{settings}: {name} was not provoked");
                assert_eq!(bench.counter(name), hit as i64, "{settings}: {name}");
            }
            assert_eq!(bench.subscription.account().reader_drops, Some(0));
            assert_eq!(bench.counter("warmup_injected_lost"), 0);
        }
    });
}

#[test]
fn no_message_is_early_and_the_excess_is_the_counted_lateness() {
    isolated("no_message_is_early_and_the_excess_is_the_counted_lateness", || {
        let mut bench = Bench::new(
            json!({"latency": {"kind": "lognormal", "median_ns": 2_000_000, "sigma": 0.5}, "fifo": false}),
            64,
        );
        bench.send_many(200, Duration::from_micros(500));
        bench.wait_for_all();
        let truths = bench.truths();
        let lateness_max = bench.counter("lateness_max_ns");
        let mut excess: Vec<i64> = Vec::new();
        for delivery in bench.inbox.deliveries() {
            let seq = delivery.seq.unwrap() as usize;
            // The test's stamp is taken before the call, hence earlier than the middleware's own by
            // at most that much.
            excess.push(delivery.taken_ns - bench.calls[seq] - truths[seq].latency_ns.unwrap());
        }
        assert!(excess.iter().all(|&ns| ns >= 0), "a message came early: {excess:?}");
        excess.sort_unstable();
        // The median is the timer's own lateness; this machine may be busy, so only gross errors
        // fail.
        assert!(excess[100] < 2_000_000, "median lateness {} ns", excess[100]);
        assert!(lateness_max >= 0 && bench.counter("lateness_sum_ns") >= 0);
        assert_eq!(
            bench.counter("steady_injected_latency_sum_ns"),
            truths.iter().map(|t| t.latency_ns.unwrap()).sum::<i64>()
        );
    });
}

#[test]
fn fifo_keeps_the_order_and_without_it_messages_overtake() {
    isolated("fifo_keeps_the_order_and_without_it_messages_overtake", || {
        for fifo in [true, false] {
            let mut bench = Bench::new(
                json!({"latency": {"kind": "uniform", "min_ns": 0, "max_ns": 3_000_000}, "fifo": fifo}),
                64,
            );
            bench.send_many(200, Duration::from_micros(50));
            bench.wait_for_all();
            let order: Vec<u64> = bench.inbox.deliveries().iter().map(|s| s.seq.unwrap()).collect();
            assert_eq!(order.windows(2).all(|w| w[0] < w[1]), fifo);
        }
    });
}

#[test]
fn reordered_messages_are_overtaken_and_the_others_keep_their_order() {
    isolated("reordered_messages_are_overtaken_and_the_others_keep_their_order", || {
        let mut bench = Bench::new(json!({"reorder": {"p": 0.1, "by_ns": 20_000_000}}), 64);
        bench.send_many(200, Duration::from_micros(200));
        bench.wait_for_all();
        let truths = bench.truths();
        let order: Vec<u64> = bench.inbox.deliveries().iter().map(|s| s.seq.unwrap()).collect();
        let in_order: Vec<u64> =
            order.iter().copied().filter(|&seq| !truths[seq as usize].reordered).collect();
        assert!(in_order.windows(2).all(|w| w[0] < w[1]));
        let first = truths.iter().find(|t| t.reordered && t.seq < 100).expect("p is 0.1").seq;
        let place = |seq| order.iter().position(|&s| s == seq).unwrap();
        assert!(
            (first + 1..first + 10).any(|seq| place(seq) < place(first)),
            "{first} was not overtaken: {order:?}"
        );
    });
}

#[test]
fn probes_and_warmup_are_told_apart() {
    isolated("probes_and_warmup_are_told_apart", || {
        let mut bench = Bench::new(json!({"loss": {"kind": "bernoulli", "p": 1.0}}), 64);
        bench.send(Phase::Probe);
        bench.until("probe", || bench.inbox.deliveries().len() == 1);
        bench.send(Phase::Warmup);
        bench.send(Phase::Steady);
        bench.send(Phase::Steady);
        bench.until("losses", || bench.counter("steady_injected_lost") == 2);
        assert_eq!(bench.counter("warmup_injected_lost"), 1);
        assert_eq!(bench.inbox.deliveries().len(), 1);
    });
}

#[test]
fn a_damaged_header_is_what_a_small_message_suffers() {
    isolated("a_damaged_header_is_what_a_small_message_suffers", || {
        let mut bench = Bench::new(json!({"corrupt": 1.0}), 64);
        bench.send_many(50, Duration::ZERO);
        bench.until("delivery", || bench.inbox.deliveries().len() == 50);
        assert!(bench.inbox.deliveries().iter().all(|s| s.seq.is_none()));
    });
}

#[test]
fn publish_blocks_and_cpu_burns_as_told() {
    isolated("publish_blocks_and_cpu_burns_as_told", || {
        let mut bench = Bench::new(
            json!({"publish_block_ns": 2_000_000, "cpu_burn_ns": {"publisher": 300_000, "reader": 500_000}, "spin_ns": 0}),
            64,
        );
        let before = process_cpu_ns();
        let start = now_ns();
        bench.send_many(50, Duration::ZERO);
        assert!(now_ns() - start >= 50 * 2_000_000);
        bench.wait_for_all();
        let burnt = process_cpu_ns() - before;
        assert!(burnt >= 50 * 800_000, "burnt {burnt} ns");
    });
}

#[test]
fn memory_grows_by_what_was_told_for_each_message() {
    isolated("memory_grows_by_what_was_told_for_each_message", || {
        let mut bench = Bench::new(json!({"memory_growth_bytes": {"reader": 1_000_000}}), 64);
        let resident = || {
            let pages: u64 = std::fs::read_to_string("/proc/self/statm")
                .unwrap()
                .split(' ')
                .nth(1)
                .unwrap()
                .parse()
                .unwrap();
            pages * 4096
        };
        let before = resident();
        bench.send_many(100, Duration::ZERO);
        bench.wait_for_all();
        let grown = resident() - before;
        assert!((95_000_000..200_000_000).contains(&grown), "grew by {grown}");
    });
}

#[test]
fn nothing_is_delivered_after_the_end_even_if_held() {
    isolated("nothing_is_delivered_after_the_end_even_if_held", || {
        let mut bench = Bench::new(json!({"latency": {"kind": "constant", "ns": 50_000_000}}), 64);
        bench.send_many(20, Duration::ZERO);
        let inbox = bench.inbox.clone();
        drop(bench);
        std::thread::sleep(Duration::from_millis(80));
        assert_eq!(inbox.deliveries().len(), 0);
    });
}

#[test]
fn a_lying_path_is_claimed_and_the_truth_elsewhere() {
    isolated("a_lying_path_is_claimed_and_the_truth_elsewhere", || {
        let mut bench = Bench::new(json!({"lying_path": "udp"}), 64);
        bench.send(Phase::Steady);
        bench.wait_for_all();
        assert_eq!(bench.subscription.account().evidence[0].path, "udp");
        let honest = Bench::new(json!({}), 64);
        assert_eq!(honest.subscription.account().evidence[0].path, "shm");
    });
}

#[test]
fn payloads_without_a_header_pass_too() {
    isolated("payloads_without_a_header_pass_too", || {
        for bytes in [0, 1, 63] {
            let mut bench = Bench::new(json!({"transport": "unix"}), bytes);
            bench.publisher.publish(&vec![5; bytes]).unwrap();
            bench.until("delivery", || bench.inbox.deliveries().len() == 1);
        }
    });
}
