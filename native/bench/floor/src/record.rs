//! The cost of a record, in clock reads: both are timed in turns of the same length.
//!
//! The promise is the stamps of a record and one clock read more for everything else. For the
//! harness's whole path over a middleware that does nothing, it is two more: the path also writes
//! or checks the payload's header and pattern, and finds the message's place in the bookkeeping.

use std::hint::black_box;
use std::sync::Arc;

use rmwbench_bench::{print, ratio, Limit, Line};
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, Granted, PublishError, PublishMode, Publisher, Sink, Wait,
};
use rmwbench_harness::payload::{Header, Phase, Touch};
use rmwbench_harness::publisher::{Cause, RecordedPublisher, Recorder};
use rmwbench_harness::qos::Qos;
use rmwbench_harness::records::{layout, memfd, Kind, Received, Records, Sent};
use rmwbench_harness::sink::RecordingSink;
use serde_json::json;

const TURNS: usize = 60;
const PER_TURN: u64 = 20_000;
const NONCE: u64 = 1;
/// Ten million records per second and thread.
const PROMISED_NS: f64 = 100.0;

struct Null;

impl Endpoint for Null {
    fn matched(&self) -> u32 {
        1
    }

    fn granted(&self) -> Granted {
        Granted {
            qos: Qos::default(),
            publish_mode: PublishMode::Sync,
            wait: Wait::Block,
            take: None,
            when_full: None,
            notes: Vec::new(),
        }
    }

    fn account(&self) -> Account {
        Account::default()
    }
}

impl Publisher for Null {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        black_box(payload);
        Ok(())
    }
}

type Turn = Box<dyn FnMut(u64)>;

pub fn run() -> Result<(), String> {
    let capacity = TURNS as u64 * PER_TURN;
    let sections: Vec<(Kind, u32, u64)> = [
        (Kind::Sent, 1),
        (Kind::Received, 2),
        (Kind::Sent, 3),
        (Kind::Received, 4),
        (Kind::Sent, 5),
    ]
    .map(|(kind, e)| (kind, e, capacity))
    .to_vec();
    let file = memfd(&layout(NONCE, &sections)).map_err(|e| e.to_string())?;
    let records = Records::map(file).map_err(|e| e.to_string())?;
    // The timed path, and the number of clock reads that it may take; without stamps the promise is
    // a rate.
    let mut paths: Vec<(&str, Option<u32>, Turn)> = vec![
        ("SENT record with its stamps", Some(3 + 1), sent(&records)),
        ("RECEIVED record with its stamps", Some(4 + 1), received(&records)),
        ("whole sending path over a null middleware", Some(3 + 2), sending(&records)),
        ("whole receiving path", Some(2 + 2), receiving(&records)),
        ("SENT record without stamps", None, stored(&records)),
    ];
    let mut ours = vec![Vec::new(); paths.len()];
    let mut clock = Vec::new();
    for turn in 0..TURNS as u64 {
        let first = turn * PER_TURN;
        clock.push(timed(|| {
            (0..PER_TURN).for_each(|_| {
                black_box(now_ns());
            })
        }));
        for ((_, _, path), ours) in paths.iter_mut().zip(&mut ours) {
            ours.push(timed(|| (first..first + PER_TURN).for_each(&mut *path)));
        }
    }
    for ((what, clock_reads, _), ours) in paths.iter().zip(&ours) {
        let line = |name, limit| Line {
            bench: "floor",
            name,
            message_bytes: 64,
            metric: "time",
            unit: "ns",
            limit,
        };
        let mut result = match clock_reads {
            None => line(&format!("{what} / 100 ns"), Limit::AtMost(1.0))
                .of_pairs(ours, &[PROMISED_NS; TURNS]),
            Some(reads) => line(&format!("{what} / clock read"), Limit::AtMost(f64::from(*reads)))
                .of_pairs(ours, &clock),
        };
        result["details"] = json!({"per_second_and_thread": (1e9 / ratio::median(ours)).round()});
        print(&result);
    }
    Ok(())
}

/// The nanoseconds per iteration of one turn.
fn timed(turn: impl FnOnce()) -> f64 {
    let begin_ns = now_ns();
    turn();
    (now_ns() - begin_ns) as f64 / PER_TURN as f64
}

fn sent(records: &Arc<Records>) -> Turn {
    let section = records.section(Kind::Sent, 1).expect("laid out above");
    Box::new(move |seq| {
        let (begun_ns, call_ns, return_ns) = (now_ns(), now_ns(), now_ns());
        section.sent(black_box(&Sent {
            seq,
            intended_ns: begun_ns,
            begun_ns,
            call_ns,
            return_ns,
            bytes: 64,
            ..Sent::default()
        }));
    })
}

fn received(records: &Arc<Records>) -> Turn {
    let section = records.section(Kind::Received, 2).expect("laid out above");
    Box::new(move |seq| {
        let (notified_ns, taken_ns, callback_ns, consumed_ns) =
            (now_ns(), now_ns(), now_ns(), now_ns());
        section.received(black_box(&Received {
            seq,
            notified_ns,
            taken_ns,
            callback_ns,
            consumed_ns,
            bytes: 64,
            ..Received::default()
        }));
    })
}

fn stored(records: &Arc<Records>) -> Turn {
    let section = records.section(Kind::Sent, 5).expect("laid out above");
    Box::new(move |seq| {
        section.sent(black_box(&Sent {
            seq,
            intended_ns: 1,
            begun_ns: 2,
            call_ns: 3,
            return_ns: 4,
            bytes: 64,
            ..Sent::default()
        }))
    })
}

fn sending(records: &Arc<Records>) -> Turn {
    let section = records.section(Kind::Sent, 3);
    let parts = Recorder {
        section,
        endpoint: 3,
        nonce: NONCE,
        payload_bytes: 64,
        touched_bytes: 0,
        loan: false,
    };
    let mut publisher = RecordedPublisher::new(Box::new(Null), parts);
    Box::new(move |seq| {
        let _ = black_box(publisher.send(seq as i64, Phase::Steady, Cause::default()));
    })
}

fn receiving(records: &Arc<Records>) -> Turn {
    let sink = RecordingSink::new(records.section(Kind::Received, 4), NONCE, Touch::All, 1);
    let mut payload = [0; 64];
    Box::new(move |seq| {
        let (size, phase) = (64, Phase::Steady);
        Header {
            writer: 3,
            nonce: NONCE,
            seq,
            intended_ns: 1,
            cause_seq: 0,
            cause_endpoint: 0,
            size,
            phase,
            touched: 0,
        }
        .write(&mut payload);
        sink.deliver(black_box(&Delivery {
            notified_ns: 1,
            taken_ns: 2,
            payload: &payload,
            zero_copy: true,
            lossy: false,
        }));
    })
}
