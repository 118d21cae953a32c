//! Clients, services and modes on the worker's side of a trial, driven as in `trial.rs`.

mod play;

use std::sync::atomic::Ordering;
use std::time::Duration;

use play::*;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::records::Kind;
use serde_json::{json, Value};

/// A grace time so long that each message is sent, however late the machine runs its thread.
const GRACE_MS: i64 = 500;

fn service_endpoint(number: u32, kind: &str) -> Value {
    let (request, reply) = MessageType::service_bytes(64, 100);
    let mut spec = endpoint(number, kind, "sum");
    (spec["type"], spec["reply_type"]) = (json!(request), json!(reply));
    spec
}

fn client(number: u32, ms: i64) -> Value {
    let mut spec = service_endpoint(number, "client");
    spec["arrival"] = periodic(ms);
    spec
}

fn service(number: u32) -> Value {
    service_endpoint(number, "service")
}

#[test]
fn a_request_and_its_reply_are_two_messages_joined_by_cause() {
    let mut play = play();
    play.ok(create("n", vec![client(1, 5), service(2)]));
    let matched = play.ok(json!({"cmd": "match", "timeout_ns": 100 * MS}));
    assert_eq!(matched["endpoints"].as_object().unwrap().len(), 2, "each endpoint once: {matched}");
    play.ok(json!({"cmd": "probe"}));
    for (reader, writer) in [(1, 2), (2, 1)] {
        let first = |line: &Value| {
            line["event"] == "first_message"
                && line["endpoint"] == reader
                && line["writer"] == writer
        };
        assert!(
            play.find(first, Duration::from_secs(1)).is_some(),
            "no first message of {writer} at {reader}"
        );
    }
    assert_eq!(
        (1..3).map(|e| play.claimed(Kind::Sent, e) + play.claimed(Kind::Received, e)).sum::<u64>(),
        0,
        "probes leave no record"
    );
    play.ok(start(1, 50, GRACE_MS));
    let (client_account, answered) = (
        play.finished(1, Duration::from_secs(2)).unwrap(),
        play.finished(2, Duration::from_secs(2)).unwrap(),
    );
    assert_eq!(
        (&client_account["sent"], &client_account["last_seq"]),
        (&json!(10), &json!(9)),
        "{client_account}"
    );
    assert_eq!(
        (&answered["scheduled"], &answered["sent"], &answered["last_seq"]),
        (&json!(10), &json!(10), &json!(9)),
        "{answered}"
    );
    let drained = play.ok(
        json!({"cmd": "drain", "expect": {"1": {"1": 9}, "2": {"1": 9}}, "timeout_ns": 100 * MS}),
    );
    assert_eq!(drained["complete"], true);
    for endpoint in [1, 2] {
        assert_eq!(
            (play.claimed(Kind::Sent, endpoint), play.claimed(Kind::Received, endpoint)),
            (10, 10),
            "endpoint {endpoint}"
        );
    }
    let collected = play.ok(json!({"cmd": "collect"}))["endpoints"].clone();
    for endpoint in ["1", "2"] {
        assert_eq!(collected[endpoint]["publish_failures"], 0, "{collected}");
    }
    play.ok(json!({"cmd": "destroy", "endpoints": [2], "nodes": ["n"]}));
    assert_eq!(
        play.ok(json!({"cmd": "collect"}))["endpoints"].as_object().unwrap().len(),
        2,
        "destroyed endpoints keep their accounts"
    );
}

#[test]
fn a_clients_drain_waits_for_each_answer_and_takes_no_copy_for_one() {
    let mut play = play();
    play.stage.replies.lock().unwrap().extend([(2, 0), (3, 2), (9, 3)]);
    play.ok(create("n", vec![client(1, 5), service(2)]));
    play.ok(start(1, 50, GRACE_MS));
    play.finished(1, Duration::from_secs(2)).unwrap();
    let drain =
        |last: u64| json!({"cmd": "drain", "expect": {"1": {"1": last}}, "timeout_ns": 30 * MS});
    assert_eq!(play.ok(drain(1))["complete"], true);
    assert_eq!(
        play.claimed(Kind::Received, 1),
        12,
        "9 answers, one of them doubled and one tripled"
    );
    play.stage.replies.lock().unwrap().clear();
    let mut one_lost = play::play();
    one_lost.stage.replies.lock().unwrap().extend([(2, 0), (3, 4)]);
    one_lost.ok(create("n", vec![client(1, 5), service(2)]));
    one_lost.ok(start(1, 20, GRACE_MS));
    one_lost.finished(1, Duration::from_secs(2)).unwrap();
    assert_eq!(one_lost.ok(drain(3))["complete"], false, "request 2 was never answered");
}

#[test]
fn two_services_that_both_answer_do_not_make_up_for_a_request_without_answer() {
    let mut play = play();
    play.stage.replies.lock().unwrap().extend([(1, 0)]);
    play.ok(create("n", vec![client(1, 5), service(2), service(3)]));
    play.ok(start(1, 20, GRACE_MS));
    play.finished(1, Duration::from_secs(2)).unwrap();
    assert_eq!(play.claimed(Kind::Received, 1), 6);
    let drained =
        play.ok(json!({"cmd": "drain", "expect": {"1": {"1": 3}}, "timeout_ns": 30 * MS}));
    assert_eq!(drained["complete"], false);
}

#[test]
fn a_service_answers_nothing_after_it_reported_its_end() {
    let mut play = play();
    play.ok(create("n", vec![client(1, 5), service(2)]));
    play.ok(start(1, 10_000, 0));
    std::thread::sleep(Duration::from_millis(30));
    play.ok(json!({"cmd": "stop", "endpoints": [2]}));
    let end = play.finished(2, Duration::from_secs(2)).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(end["scheduled"], play.claimed(Kind::Sent, 2), "a reply after `finished`: {end}");
    assert!(
        play.claimed(Kind::Received, 2) > play.claimed(Kind::Sent, 2),
        "requests are still recorded"
    );
    play.ok(json!({"cmd": "destroy", "endpoints": [2]}));
}

#[test]
fn a_blocked_reply_does_not_block_the_control_thread() {
    let mut play = play();
    play.ok(create("n", vec![client(1, 5), service(2)]));
    play.stage.blocked.store(true, Ordering::Relaxed);
    play.ok(start(1, 10_000, 0));
    while !play.stage.waiting.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = play.post(json!({"cmd": "destroy", "endpoints": [2]}));
    let answered = play.ask(json!({"cmd": "collect"})).get("ok").is_some();
    assert!(
        play.answer(id, Duration::from_millis(50)).is_none(),
        "the service went while it was answering"
    );
    play.stage.blocked.store(false, Ordering::Relaxed);
    assert!(answered && play.answer(id, Duration::from_secs(2)).is_some());
    assert!(
        play.finished(2, Duration::from_millis(500)).is_some(),
        "no `finished` for a destroyed service"
    );
}

#[test]
fn what_does_not_fit_a_kind_is_refused_by_name() {
    let mut play = play();
    let mut refused = |spec: Value, kind: &str, words: &str| {
        let reply = play.ask(create("n", vec![spec]));
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(reply["error"]["kind"] == kind && message.contains(words), "{reply}");
    };
    let changed = |mut spec: Value, field: &str, value: Value| {
        spec[field] = value;
        spec
    };
    let (_, small) = MessageType::service_bytes(64, 63);
    refused(service_endpoint(1, "client"), "invalid", "a client needs an arrival");
    refused(
        changed(client(1, 5), "reply_type", Value::Null),
        "invalid",
        "a client needs a reply_type",
    );
    refused(
        changed(service(1), "reply_type", Value::Null),
        "invalid",
        "a service needs a reply_type",
    );
    refused(
        changed(publisher(1, periodic(5)), "reply_type", json!(small)),
        "invalid",
        "a publisher has no reply_type",
    );
    refused(changed(service(1), "reply_type", json!(small)), "invalid", "found 63");
    refused(changed(service(1), "loan", json!(true)), "unsupported", "by copy");
    play.ok(create("n", vec![service(1)]));
}

#[test]
fn modes_are_refused_in_one_place_or_reach_the_middleware_whose_configuration_is_told() {
    let mut play = unopened();
    let mut refused = |modes: Value, kind: &str, words: &str| {
        let error = play.ask(open(modes))["error"].clone();
        assert!(
            error["kind"] == kind && error["message"].as_str().unwrap().contains(words),
            "{error}"
        );
        error["object"].as_str().unwrap().to_string()
    };
    assert_eq!(
        refused(json!({"security": true}), "unsupported", "it has no secrets"),
        "mode security"
    );
    refused(json!({"batching": true}), "unsupported", "not mapped");
    refused(json!({"speed": 9}), "invalid", "no such mode");
    refused(json!({"transport": "unix"}), "unsupported", "its own words");
    // It opens with a level that it does not describe: the harness refuses the level.
    refused(json!({"transport": "shm"}), "unsupported", "udp|tcp");
    let opened = play.ok(open(json!({"transport": "tcp"})));
    assert_eq!(opened["configuration"], json!({"format": "toml", "text": "transport = 'tcp'"}));
}
