//! How many 64-byte messages per second one schedule sends while their writer and their reader
//! record each of them.
//!
//! It uses the real schedule, recorder, floor and sink, in one process with two threads, as two
//! workers would have. At each rate the line states how many messages were sent, and whether every
//! one was recorded twice.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::Arc;

use rmwbench_bench::{print, ratio, Limit, Line};
use rmwbench_floor::Floor;
use rmwbench_harness::clock::{now_ns, sleep_until};
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    EndpointConfig, Middleware, Profile, PublishMode, SessionConfig, Take, Wait,
};
use rmwbench_harness::payload::Touch;
use rmwbench_harness::protocol::{Arrival, Event, Schedule, Start};
use rmwbench_harness::publisher::{PublisherSlot, RecordedPublisher, Recorder};
use rmwbench_harness::qos::Qos;
use rmwbench_harness::records::{layout, memfd, Kind, Records};
use rmwbench_harness::schedule::{self, Interrupt, Scheduled};
use rmwbench_harness::sink::RecordingSink;
use serde_json::{json, Value};

const NONCE: u64 = 1;
const WINDOW_NS: i64 = 500_000_000;
const PERIODS_NS: [i64; 5] = [4000, 2000, 1000, 500, 250];
const PROMISED_PER_SECOND: f64 = 500_000.0;
/// The fewest runs for an interval.
const RUNS: usize = 8;

pub fn run(times: usize) -> Result<(), String> {
    for wait in [Wait::Block, Wait::Poll] {
        PERIODS_NS.iter().try_for_each(|&period_ns| at_rate(period_ns, wait, times))?;
    }
    Ok(())
}

fn at_rate(period_ns: i64, wait: Wait, times: usize) -> Result<(), String> {
    let requested = 1e9 / period_ns as f64;
    // If the requested rate is not above the promise, nothing can exceed the promise: one run shows
    // that the schedule keeps pace.
    let exceeds = requested > PROMISED_PER_SECOND;
    let (mut rates, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..if exceeds { RUNS * times } else { 1 } {
        let (rate, details) = once(period_ns, wait)?;
        rates.push(rate);
        runs.push(details);
    }
    let waits = if wait == Wait::Poll { "spinning" } else { "waiting" };
    let line = Line {
        bench: "floor",
        name: &format!("open loop, {requested:.0} messages/s asked, reader {waits} / 500 000"),
        message_bytes: 64,
        metric: "recorded_rate",
        unit: "messages/s",
        limit: if exceeds { Limit::AtLeast(1.0) } else { Limit::None },
    };
    let mut line = line.of_pairs(&rates, &vec![PROMISED_PER_SECOND; rates.len()]);
    line["details"] = json!({"asked_per_second": requested, "wait": wait, "median_per_second": ratio::median(&rates), "runs": runs});
    print(&line);
    Ok(())
}

/// The messages per second that both sides recorded, and the counts behind it.
fn once(period_ns: i64, wait: Wait) -> Result<(f64, Value), String> {
    let capacity = (WINDOW_NS / period_ns) as u64 + 1;
    let file = memfd(&layout(NONCE, &[(Kind::Sent, 1, capacity), (Kind::Received, 2, capacity)]))
        .map_err(|e| e.to_string())?;
    let records =
        Records::map(file.try_clone().map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
    let profile = Profile {
        name: "untouched".into(),
        format: "none".into(),
        text: String::new(),
        summary: String::new(),
    };
    let domain_id = std::process::id();
    let text = |e: rmwbench_harness::middleware::Error| e.to_string();
    let mut session = Floor
        .open(&SessionConfig {
            profile,
            options: BTreeMap::new(),
            modes: Default::default(),
            domain_id,
            trial_nonce: NONCE,
        })
        .map_err(text)?;
    let config = EndpointConfig {
        endpoint: 1,
        topic: "open_loop".into(),
        message_type: MessageType::bytes(64),
        reply_type: None,
        qos: Qos { depth: 1000, ..Qos::default() },
        loan: false,
        publish_mode: PublishMode::Default,
        wait,
        take: Take::Typed,
    };
    let mut node = session.node("node").map_err(text)?;
    let sink =
        Arc::new(RecordingSink::new(records.section(Kind::Received, 2), NONCE, Touch::All, 1));
    let subscription = node.subscription(&config, sink.clone()).map_err(text)?;
    let publisher = node.publisher(&config).map_err(text)?;
    let give_up_ns = now_ns() + 10_000_000_000;
    while (publisher.matched() == 0 || subscription.matched() == 0) && now_ns() < give_up_ns {
        sleep_until(now_ns() + 1_000_000);
    }
    let parts = Recorder {
        section: records.section(Kind::Sent, 1),
        endpoint: 1,
        nonce: NONCE,
        payload_bytes: 64,
        touched_bytes: 0,
        loan: false,
    };
    let slot = PublisherSlot::new(1, RecordedPublisher::new(publisher, parts));
    let at_ns = now_ns() + 20_000_000;
    let start = Start {
        at_ns,
        steady_ns: at_ns,
        end_ns: at_ns + WINDOW_NS,
        grace_ns: 0,
        endpoints: None,
        schedule: Schedule::Own,
    };
    let scheduled =
        Scheduled { slot: slot.clone(), arrival: Arrival::Periodic { period_ns, phase_ns: 0 } };
    let (report, reported) = std::sync::mpsc::channel();
    // A thread of its own, because it changes its thread's timer slack.
    let schedule = std::thread::spawn(move || {
        schedule::run(
            vec![scheduled],
            &start,
            &Interrupt::new().expect("a timer can be made"),
            &|event| report.send(event).expect("somebody listens"),
        );
    });
    schedule.join().map_err(|_| "the schedule panicked")?;
    let Ok(Event::Finished { sent, failed, never_sent, time_ns, .. }) = reported.recv() else {
        return Err("the schedule did not report".into());
    };
    while sent > 0 && !sink.has_seen(1, sent - 1) && now_ns() < give_up_ns {
        sleep_until(now_ns() + 1_000_000);
    }
    drop(subscription);
    let publisher = slot.publisher.lock().expect("the schedule ran").take();
    let blocked = publisher.map(|p| p.publisher().account().counters["blocked"]);
    drop(node);
    drop(session);
    let _ = std::fs::remove_dir_all(format!("/tmp/rmwbench-floor.{domain_id}"));
    let (sent_records, received_records) = (claimed(&file, 0), claimed(&file, 1));
    let details = json!({
        "sent": sent, "failed": failed, "never_sent": never_sent, "blocked_calls": blocked,
        "sent_records": sent_records, "received_records": received_records,
    });
    Ok((sent_records.min(received_records) as f64 * 1e9 / (time_ns - at_ns) as f64, details))
}

/// The number of records in a section, as the orchestrator would read it.
fn claimed(file: impl AsFd, section: u64) -> u64 {
    let mut bytes = [0; 8];
    rustix::io::pread(file, &mut bytes, 64 * (1 + section) + 24)
        .map(|_| u64::from_le_bytes(bytes))
        .unwrap_or(0)
}
