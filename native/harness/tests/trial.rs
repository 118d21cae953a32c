//! The worker's side of a trial, driven command by command over a middleware that does only what a
//! test orders.

mod play;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use play::*;
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::control::Control;
use rmwbench_harness::middleware::Delivery;
use rmwbench_harness::payload::{Header, Phase};
use rmwbench_harness::protocol::parse_request;
use rmwbench_harness::records::{layout, memfd, Kind, Records};
use rmwbench_harness::trial::Trial;
use serde_json::json;

#[test]
fn a_stopped_publisher_finishes_although_another_is_due_before_it() {
    let mut play = play();
    play.ok(create("n", vec![publisher(1, periodic(5)), publisher(2, periodic(4_000))]));
    play.ok(start(1, 10_000, 0));
    thread::sleep(Duration::from_millis(50));
    play.ok(json!({"cmd": "stop", "endpoints": [2]}));
    assert!(
        play.finished(2, Duration::from_millis(800)).is_some(),
        "no `finished` 0.8 s after the stop"
    );
}

#[test]
fn destroying_a_sleeping_publisher_does_not_wait_for_its_next_message() {
    let mut play = play();
    play.ok(create("n", vec![publisher(1, periodic(5)), publisher(2, periodic(4_000))]));
    play.ok(start(1, 10_000, 0));
    thread::sleep(Duration::from_millis(50));
    let id = play.post(json!({"cmd": "destroy", "endpoints": [2]}));
    assert!(
        play.answer(id, Duration::from_millis(800)).is_some(),
        "the control thread is stuck in destroy"
    );
}

#[test]
fn a_blocked_publisher_does_not_block_the_control_thread() {
    let mut play = play();
    play.ok(create("n", vec![publisher(1, periodic(5))]));
    play.stage.blocked.store(true, Ordering::Relaxed);
    play.ok(start(1, 10_000, 0));
    thread::sleep(Duration::from_millis(50));
    play.post(json!({"cmd": "destroy", "endpoints": [1]}));
    let id = play.post(json!({"cmd": "collect"}));
    let answered = play.answer(id, Duration::from_millis(800)).is_some();
    play.stage.blocked.store(false, Ordering::Relaxed);
    assert!(answered, "collect is not answered while a publisher that is being destroyed blocks");
}

#[test]
fn the_end_of_a_blocked_relay_does_not_block_the_control_thread() {
    let mut play = play();
    play.ok(create(
        "n",
        vec![endpoint(2, "subscription", "t"), publisher(3, json!({"kind": "relay", "from": 2}))],
    ));
    play.ok(start(1, 50, 0));
    play.stage.blocked.store(true, Ordering::Relaxed);
    let stage = play.stage.clone();
    let callback = thread::spawn(move || stage.deliver(2, 1, 0));
    thread::sleep(Duration::from_millis(200));
    let id = play.post(json!({"cmd": "collect"}));
    let answered = play.answer(id, Duration::from_millis(500)).is_some();
    play.stage.blocked.store(false, Ordering::Relaxed);
    callback.join().unwrap();
    assert!(answered, "collect is not answered while a relay publishes");
}

#[test]
fn messages_due_before_a_stop_and_not_sent_are_never_sent() {
    let mut play = play();
    play.ok(create("n", vec![publisher(1, periodic(1))]));
    play.stage.slow.store(true, Ordering::Relaxed); // 20 ms a message: 19 of 20 fall behind
    play.ok(start(1, 10_000, 0));
    thread::sleep(Duration::from_millis(200));
    play.ok(json!({"cmd": "stop", "endpoints": [1]}));
    play.stage.slow.store(false, Ordering::Relaxed);
    let end = play.finished(1, Duration::from_secs(2)).unwrap();
    assert!(
        end["scheduled"].as_u64().unwrap() >= 150,
        "200 messages were due before the stop: {end}"
    );
}

#[test]
fn messages_due_before_a_publisher_leaves_and_not_sent_are_never_sent() {
    // The leaver is kept from sending by its own call, by its sibling's, or by both.
    for (leaver, schedule) in [(1, "own"), (1, "shared"), (2, "shared"), (2, "own")] {
        let mut play = play();
        play.ok(create("n", vec![publisher(1, periodic(5)), publisher(2, periodic(5))]));
        let begun = now_ns();
        play.ok(scheduled(start(1, 10_000, 0), schedule));
        play.stage.blocked.store(true, Ordering::Relaxed);
        while !play.stage.waiting.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(100));
        play.post(json!({"cmd": "destroy", "endpoints": [leaver]}));
        play.ok(json!({"cmd": "collect"})); // answered after the publisher has left
        let left = now_ns();
        play.stage.blocked.store(false, Ordering::Relaxed);
        let end = play.finished(leaver, Duration::from_secs(2)).unwrap();
        let never_sent = end["never_sent"].as_i64().unwrap();
        assert!(never_sent >= 18, "a hundred milliseconds were due: {end}");
        let due = end["scheduled"].as_i64().unwrap();
        assert!(due <= (left - begun) / (5 * MS) + 1, "only what was due before it left: {end}");
    }
}

#[test]
fn a_held_publish_call_holds_others_up_only_where_they_share_its_thread() {
    for schedule in ["", "own", "shared"] {
        let mut play = play();
        play.ok(create("n", vec![publisher(1, periodic(5)), publisher(2, periodic(5))]));
        *play.stage.blocked_alone.lock().unwrap() = Some("endpoint 1".into());
        play.stage.blocked.store(true, Ordering::Relaxed);
        let command = start(1, 10_000, 0);
        let answer =
            play.ok(if schedule.is_empty() { command } else { scheduled(command, schedule) });
        let schedule = if schedule.is_empty() { "own" } else { schedule };
        assert_eq!(answer, json!({"schedule": schedule}), "what is done is told");
        while !play.stage.waiting.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        let before = play.claimed(Kind::Sent, 2);
        let mut patience = if schedule == "own" { 5_000 } else { 200 };
        while play.claimed(Kind::Sent, 2) < before + 10 && patience > 0 {
            thread::sleep(Duration::from_millis(1));
            patience -= 1;
        }
        let sent = play.claimed(Kind::Sent, 2) - before;
        play.stage.blocked.store(false, Ordering::Relaxed);
        match schedule {
            "own" => assert_eq!(sent, 10, "its sibling's call is nothing to it"),
            _ => assert_eq!(sent, 0, "one thread sends for both"),
        }
    }
}

#[test]
fn match_waits_for_a_publisher_whose_schedule_runs() {
    let mut play = play();
    play.stage.matched.store(false, Ordering::Relaxed);
    play.ok(create("n", vec![publisher(1, periodic(5))]));
    play.ok(start(1, 10_000, 0));
    thread::sleep(Duration::from_millis(50));
    let reply = play.ask(json!({"cmd": "match", "timeout_ns": 200 * MS}));
    assert!(reply.get("error").is_some(), "no peer, yet {reply}");
}

#[test]
fn a_create_that_fails_leaves_nothing_behind() {
    let mut play = play();
    let reply = play
        .ask(create("n", vec![publisher(1, periodic(5)), endpoint(2, "subscription", "refused")]));
    assert!(reply.get("error").is_some());
    assert_eq!(
        *play.stage.dropped.lock().unwrap(),
        ["endpoint 1", "node n"],
        "endpoints are dropped before their node"
    );
    play.ok(create("n", vec![publisher(1, periodic(5)), endpoint(2, "subscription", "t")]));
}

#[test]
fn frames_without_a_ring_or_read_by_nobody_are_refused_and_not_replaced_by_a_pattern() {
    let mut play = play();
    let mut camera = publisher(1, periodic(5));
    camera["frames"] = json!("gstreamer");
    camera["touch"] = json!("all");
    let reply = play.ask(create("n", vec![camera.clone()]));
    assert_eq!(reply["error"]["kind"], "invalid", "{reply}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("no ring was given"), "{reply}");
    camera["touch"] = json!("header");
    let reply = play.ask(create("n", vec![camera]));
    assert!(reply["error"]["message"].as_str().unwrap().contains("touch `all`"), "{reply}");
    play.ok(create("n", vec![publisher(1, periodic(5))]));
}

#[test]
fn a_relay_that_a_second_create_adds_forwards_or_is_refused() {
    let mut play = play();
    play.ok(create(
        "n",
        vec![endpoint(2, "subscription", "t"), publisher(3, json!({"kind": "relay", "from": 2}))],
    ));
    if play.ask(create("m", vec![publisher(4, json!({"kind": "relay", "from": 2}))]))["error"]
        ["kind"]
        == "invalid"
    {
        return;
    }
    play.ok(start(0, 100, 0));
    play.stage.deliver(2, 1, 0);
    let end = play.finished(4, Duration::from_secs(2)).unwrap();
    assert_eq!(end["sent"], 1, "{end}");
}

/// The refusal comes before the reader is created: no thread that takes acknowledgements may
/// deliver to such a relay.
#[test]
fn a_middleware_is_told_which_readers_publish_on_and_may_wait() {
    let mut play = play();
    let mut careless = publisher(4, json!({"kind": "relay", "from": 5}));
    careless["qos"]["reliability"] = json!("best_effort");
    let readers = [2, 5, 6].map(|number| endpoint(number, "subscription", "t"));
    let mut relay = publisher(3, json!({"kind": "relay", "from": 2}));
    let forgetful = publisher(7, json!({"kind": "relay", "from": 6}));
    for endpoint in [&mut relay, &mut careless] {
        endpoint["qos"]["history"] = json!("keep_all");
    }
    play.ok(create("n", [readers.to_vec(), vec![relay, careless, forgetful]].concat()));
    let sinks = play.stage.sinks.lock().unwrap();
    assert_eq!([2, 5, 6].map(|number| sinks[&number].publish_may_wait()), [true, false, false]);
}

/// One place refuses it, so that no worker can accept it silently; and a publisher takes nothing.
#[test]
fn take_raw_is_refused_where_it_is_not_described() {
    let mut play = play();
    let mut reader = endpoint(2, "subscription", "t");
    reader["take"] = json!("raw");
    let reply = play.ask(create("n", vec![reader.clone()]));
    assert_eq!(reply["error"]["kind"], "unsupported", "{reply}");
    assert!(reply["error"]["message"].as_str().unwrap().starts_with("take raw: "), "{reply}");
    let mut writer = publisher(1, periodic(5));
    writer["take"] = json!("raw");
    assert_eq!(play.ask(create("n", vec![writer]))["error"]["kind"], "invalid");
    reader["take"] = json!("typed");
    play.ok(create("n", vec![reader]));
}

#[test]
fn a_relay_sends_nothing_after_it_reported_its_end() {
    let mut play = play();
    play.ok(create(
        "n",
        vec![endpoint(2, "subscription", "t"), publisher(3, json!({"kind": "relay", "from": 2}))],
    ));
    play.ok(start(0, 50, 0));
    play.stage.deliver(2, 1, 0);
    let end = play.finished(3, Duration::from_secs(2)).unwrap();
    assert_eq!(end["last_seq"], 0);
    play.stage.deliver(2, 1, 1);
    assert_eq!(
        play.claimed(Kind::Sent, 3),
        1,
        "a record after `finished`, which said that 1 was sent"
    );
}

#[test]
fn a_destroyed_relay_reports_its_end() {
    let mut play = play();
    play.ok(create(
        "n",
        vec![endpoint(2, "subscription", "t"), publisher(3, json!({"kind": "relay", "from": 2}))],
    ));
    play.ok(start(0, 5_000, 0));
    play.ok(json!({"cmd": "destroy", "endpoints": [3]}));
    assert!(
        play.finished(3, Duration::from_millis(500)).is_some(),
        "no `finished` for a destroyed relay"
    );
}

#[test]
fn a_destroyed_publisher_keeps_its_account() {
    let mut play = play();
    play.ok(create("n", vec![publisher(1, periodic(5))]));
    play.ok(start(0, 50, 0));
    play.finished(1, Duration::from_secs(2)).unwrap();
    play.ok(json!({"cmd": "destroy", "nodes": ["n"]}));
    let collected = play.ok(json!({"cmd": "collect"}));
    assert!(collected["endpoints"].get("1").is_some(), "{}", collected["endpoints"]);
}

#[test]
fn collect_gives_all_snapshots_each_time() {
    let mut play = play();
    play.ok(create("n", vec![publisher(1, periodic(5))]));
    play.ok(start(0, 50, 0));
    thread::sleep(Duration::from_millis(100));
    play.ok(json!({"cmd": "collect"}));
    let usage = play.ok(json!({"cmd": "collect"}))["usage"].clone();
    let names: Vec<&str> =
        usage.as_array().unwrap().iter().map(|u| u["at"].as_str().unwrap()).collect();
    assert!(names.contains(&"steady_begin") && names.contains(&"steady_end"), "{names:?}");
}

#[test]
fn saturation_waits_for_its_start_although_another_publisher_is_stopped() {
    let mut play = play();
    play.ok(create(
        "n",
        vec![publisher(1, json!({"kind": "saturation", "limit": 10})), publisher(2, periodic(5))],
    ));
    play.ok(start(500, 1_000, 0));
    play.ok(json!({"cmd": "stop", "endpoints": [2]}));
    assert!(
        play.finished(1, Duration::from_millis(300)).is_none(),
        "all messages were sent before the start"
    );
}

#[test]
fn saturation_that_is_stopped_before_its_start_sends_nothing() {
    let mut play = play();
    play.ok(create("n", vec![publisher(1, json!({"kind": "saturation", "limit": 10}))]));
    let start = start(400, 1_000, 0);
    let stop_ns = start["at_ns"].as_i64().unwrap() - 200 * MS;
    play.ok(start);
    play.ok(json!({"cmd": "stop", "endpoints": [1], "at_ns": stop_ns}));
    let end = play.finished(1, Duration::from_secs(2)).unwrap();
    assert_eq!(end["scheduled"], 0, "it sent between the stop and its start: {end}");
}

#[test]
fn nonsense_is_refused_before_anything_runs() {
    let bad = [
        publisher(1, json!({"kind": "periodic", "period_ns": 0})),
        publisher(1, json!({"kind": "periodic", "period_ns": -5})),
        publisher(1, json!({"kind": "burst", "period_ns": 1000, "count": 0})),
        publisher(1, json!({"kind": "poisson", "rate_hz": 0, "seed": 1})),
        publisher(1, json!({"kind": "trace", "offsets_ns": [5, 1]})),
        publisher(0, periodic(5)),
    ];
    let mut accepted = Vec::new();
    for spec in bad {
        let reply = play().ask(create("n", vec![spec.clone()]));
        if reply["error"]["kind"] != "invalid" {
            accepted.push(format!("endpoint {} {}", spec["endpoint"], spec["arrival"]));
        }
    }
    assert!(accepted.is_empty(), "accepted: {accepted:#?}");
}

#[test]
fn a_number_names_one_endpoint_of_the_trial() {
    let mut play = play();
    play.ok(create("n", vec![publisher(1, periodic(5))]));
    play.ok(json!({"cmd": "destroy", "nodes": ["n"]}));
    let reply = play.ask(create("n", vec![publisher(1, periodic(5))]));
    assert_eq!(
        reply["error"]["kind"], "invalid",
        "sequence numbers would begin again at 0: {reply}"
    );
}

#[test]
fn starting_twice_by_name_is_refused() {
    let mut play = play();
    play.ok(create("n", vec![publisher(1, periodic(5))]));
    play.ok(start(0, 30, 0));
    play.finished(1, Duration::from_secs(2)).unwrap();
    let mut again = start(0, 30, 0);
    again["endpoints"] = json!([1]);
    let reply = play.ask(again);
    assert!(reply.get("error").is_some(), "`{{}}` promises a `finished` that never comes: {reply}");
}

#[test]
fn finished_means_that_collect_has_the_account() {
    let mut missing = 0;
    for _ in 0..200 {
        let mut play = play();
        play.ok(create("n", vec![publisher(1, periodic(1))]));
        play.ok(start(0, 2, 0));
        play.finished(1, Duration::from_secs(2)).unwrap();
        let collected = play.ok(json!({"cmd": "collect"}));
        missing += usize::from(collected["endpoints"].get("1").is_none());
    }
    assert_eq!(missing, 0, "collect right after `finished` lacks the publisher");
}

#[test]
fn a_collect_that_is_read_before_the_timer_has_the_snapshots() {
    let middleware = Scripted(Arc::new(Stage::default()));
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let control = Control::new(OwnedFd::from(ours)).unwrap();
    let records = Records::map(memfd(&layout(NONCE, &[])).unwrap()).unwrap();
    let mut trial = Trial::new(&middleware, records, control.reporter());
    let mut line = start(0, 1, 0);
    line["id"] = json!(1);
    trial.accept(parse_request(&line.to_string()).ok().unwrap());
    thread::sleep(Duration::from_millis(5));
    trial.accept(parse_request(r#"{"id": 2, "cmd": "collect"}"#).ok().unwrap());
    let lines = serde_json::to_string(&trial.advance()).unwrap();
    assert!(lines.contains("steady_begin") && lines.contains("steady_end"), "{lines}");
}

#[test]
fn a_drain_waits_longer_once_it_shows_how_slow_the_stream_is() {
    let mut play = play();
    play.ok(create("n", vec![endpoint(2, "subscription", "t")]));
    let command = json!({
        "cmd": "drain", "expect": {"2": {"1": 9}}, "timeout_ns": 5_000 * MS,
        "quiet_ns": 100 * MS, "quiet_latencies": 3,
    });
    let stage = play.stage.clone();
    let slow = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        let taken_ns = now_ns();
        stage.deliver_intended(2, 1, 0, taken_ns - 200 * MS);
        taken_ns
    });
    let drained = play.ok(command);
    let silent_ns = drained["time_ns"].as_i64().unwrap() - slow.join().unwrap();
    assert!(silent_ns >= 600 * MS, "it ended {} ms after a message of 200 ms", silent_ns / MS);
}

#[test]
fn probes_are_counted_by_who_sends_and_who_hears_them() {
    let mut play = play();
    play.ok(create(
        "n",
        vec![
            publisher(1, periodic(5)),
            publisher(3, periodic(5)),
            endpoint(2, "subscription", "t"),
        ],
    ));
    assert_eq!(play.ok(json!({"cmd": "probe"}))["sent"], json!({"1": 1, "3": 1}));
    let again = play.ok(json!({"cmd": "probe", "endpoints": [1]}));
    assert_eq!(again["sent"], json!({"1": 2}), "the others send no further probe");
    let settle = |quiet_ms: i64| {
        json!({
            "cmd": "settle", "expect": {"2": {"1": 3}}, "timeout_ns": 5_000 * MS,
            "quiet_ns": quiet_ms * MS,
        })
    };
    let stage = play.stage.clone();
    stage.deliver_probe(2, 1, 0);
    stage.deliver_probe(2, 1, 2);
    stage.deliver_probe(2, 1, 2); // this is a copy
    stage.deliver(2, 1, 1); // a message is no probe
    let quiet = play.ok(settle(50));
    assert_eq!((&quiet["complete"], &quiet["quiet"]), (&json!(false), &json!(true)));
    assert_eq!(quiet["heard"], json!({"2": {"1": {"count": 2, "seen": 3}}}));
    let late = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        stage.deliver_probe(2, 1, 1);
    });
    let settled = play.ok(settle(4_000));
    late.join().unwrap();
    assert_eq!(settled["heard"], json!({"2": {"1": {"count": 3, "seen": 3}}}));
    assert_eq!((&settled["complete"], &settled["quiet"]), (&json!(true), &json!(false)));
}

#[test]
fn a_message_taken_before_the_drain_ended_is_not_late() {
    let mut play = play();
    play.ok(create("n", vec![endpoint(2, "subscription", "t")]));
    let taken_ns = now_ns();
    play.ok(json!({"cmd": "drain", "expect": {"2": {"1": 0}}, "timeout_ns": 0}));
    let sink = play.stage.sinks.lock().unwrap()[&2].clone();
    let mut payload = vec![0; 64];
    Header {
        writer: 1,
        nonce: NONCE,
        seq: 0,
        intended_ns: 1,
        cause_seq: 0,
        cause_endpoint: 0,
        size: 64,
        phase: Phase::Steady,
        touched: 0,
    }
    .write(&mut payload);
    sink.deliver(&Delivery {
        notified_ns: taken_ns,
        taken_ns,
        payload: &payload,
        zero_copy: false,
        lossy: false,
    });
    let mut entry = [0; 64];
    rustix::io::pread(&play.records, &mut entry, 64 + 64 * 3).unwrap();
    let mut slot = [0; 64];
    rustix::io::pread(
        &play.records,
        &mut slot,
        u64::from_le_bytes(entry[8..16].try_into().unwrap()),
    )
    .unwrap();
    assert_eq!(
        u32::from_le_bytes(slot[60..].try_into().unwrap()),
        2,
        "flags of a message whose reading outlasted the drain"
    );
}
