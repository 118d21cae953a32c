//! Services of the synthetic middleware: every request and every reply has the fate that its truth
//! states, so the pipeline's "answered once, twice or never" can be compared with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::payload::{fill, Header, Phase, HEADER_BYTES};
use rmwbench_harness::qos::Qos;
use rmwbench_synthetic::{truth, Settings, Synthetic};
use serde_json::{json, Value};

const NONCE: u64 = 77;
const SERVICE: u32 = 9;
const REQUESTS: u64 = 400;
const BYTES: usize = 100;

fn payload(writer: u32, seq: u64, cause: (u32, u64)) -> Vec<u8> {
    let mut payload = vec![0; BYTES];
    let (touched, size) = ((BYTES - HEADER_BYTES) as u32, BYTES as u32);
    let (cause_endpoint, cause_seq) = cause;
    Header {
        writer,
        nonce: NONCE,
        seq,
        intended_ns: 0,
        cause_seq,
        cause_endpoint,
        size,
        phase: Phase::Steady,
        touched,
    }
    .write(&mut payload);
    fill(&mut payload[HEADER_BYTES..], writer, seq);
    payload
}

/// Answers as the harness does; the place of a request in the list is the sequence number of its
/// reply.
#[derive(Default)]
struct Adder(Mutex<Vec<(u32, u64)>>);

impl Handler for Adder {
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply) {
        let header = Header::read(request.payload).unwrap();
        let seq = {
            let mut handled = self.0.lock().unwrap();
            handled.push((header.writer, header.seq));
            handled.len() as u64 - 1
        };
        reply.send(&payload(SERVICE, seq, (header.writer, header.seq))).unwrap();
    }
}

/// The replies received: sequence number → how often.
#[derive(Default)]
struct Heard(Mutex<BTreeMap<u64, usize>>);

impl Sink for Heard {
    fn deliver(&self, delivery: &Delivery<'_>) {
        *self.0.lock().unwrap().entry(Header::read(delivery.payload).unwrap().seq).or_default() +=
            1;
    }
}

fn endpoint(endpoint: u32) -> EndpointConfig {
    let (message_type, reply_type) = MessageType::service_bytes(BYTES as u32, BYTES as u32);
    EndpointConfig {
        endpoint,
        topic: "sum".into(),
        message_type,
        reply_type: Some(reply_type),
        qos: Qos::default(),
        loan: false,
        publish_mode: PublishMode::Default,
        wait: Wait::Block,
        take: Take::Typed,
    }
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "not reached: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Two clients send requests; compares the replies that each received with the truth.
fn play(settings: Value, domain_id: u32) {
    let profile = Profile {
        name: "test".into(),
        format: "json".into(),
        text: settings.to_string(),
        summary: String::new(),
    };
    let config = SessionConfig {
        profile,
        options: BTreeMap::new(),
        modes: BTreeMap::new(),
        domain_id,
        trial_nonce: NONCE,
    };
    let mut session = Synthetic.open(&config).unwrap();
    let mut node = session.node("node").unwrap();
    let (adder, heard) =
        (Arc::new(Adder::default()), [Arc::new(Heard::default()), Arc::new(Heard::default())]);
    let mut clients =
        [0, 1].map(|place| node.client(&endpoint(place as u32 + 1), heard[place].clone()).unwrap());
    let service = node.service(&endpoint(SERVICE), adder.clone()).unwrap();
    until("match", || clients.iter().all(|c| c.matched() == 1) && service.matched() == 2);
    for seq in 0..REQUESTS {
        for (place, client) in clients.iter_mut().enumerate() {
            client.publish(&payload(place as u32 + 1, seq, (0, 0))).unwrap();
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    let settings = Settings::from_map(settings.as_object().unwrap().clone()).unwrap();
    let times =
        |settings: &Settings, writer: u32, seq: u64| match truth(settings, NONCE, writer, seq) {
            t if t.lost => 0,
            t if t.duplicated => 2,
            _ => 1,
        };
    let mut requests = BTreeMap::new();
    for (client, seq) in (1..3).flat_map(|client| (0..REQUESTS).map(move |seq| (client, seq))) {
        let times: usize = times(&settings, client, seq);
        requests.extend((times > 0).then_some(((client, seq), times)));
    }
    let expected: usize = requests.values().sum();
    until("all requests", || adder.0.lock().unwrap().len() >= expected);
    std::thread::sleep(Duration::from_millis(20));
    let handled = adder.0.lock().unwrap().clone();
    let mut found = BTreeMap::new();
    handled.iter().for_each(|request| *found.entry(*request).or_default() += 1);
    assert_eq!(found, requests);
    for (place, client) in clients.iter().enumerate() {
        let own = |reply: &u64| handled[*reply as usize].0 == place as u32 + 1;
        let replies = (0..handled.len() as u64)
            .filter(own)
            .map(|reply| (reply, times(&settings.of_replies(), SERVICE, reply)));
        let expected: BTreeMap<u64, usize> = replies.filter(|(_, times)| *times > 0).collect();
        until("all replies", || {
            heard[place].0.lock().unwrap().values().sum::<usize>() >= expected.values().sum()
        });
        assert_eq!(*heard[place].0.lock().unwrap(), expected);
        let counters = client.account().counters;
        let others =
            handled.iter().filter(|(writer, _)| *writer != place as u32 + 1).count() as i64;
        assert_eq!(
            (counters["other_clients_replies"], counters["other_clients_reply_bytes"]),
            (others, others * BYTES as i64)
        );
    }
    drop((clients, service, node, session));
    let _ = std::fs::remove_dir_all(format!("/tmp/rmwbench-floor.{}", domain_id ^ 0x5353_0000));
}

fn domain(test: u32) -> u32 {
    std::process::id().wrapping_mul(64) + 32 + test
}

#[test]
fn lost_requests_lost_replies_and_doubled_replies_are_the_predicted_ones() {
    let losses = json!({"loss": {"kind": "bernoulli", "p": 0.1}, "duplicate": 0.05,
        "reply_loss": {"kind": "burst", "p": 0.05, "r": 0.3}, "reply_duplicate": 0.2});
    play(losses, domain(0));
}

#[test]
fn held_back_requests_and_replies_are_answered_all() {
    let laws = json!({"latency": {"kind": "uniform", "min_ns": 0, "max_ns": 2_000_000}, "fifo": false, "transport": "unix",
        "reply_latency": {"kind": "constant", "ns": 300_000}});
    play(laws, domain(1));
}
