//! Counts by period agree with the log of frames, if that has room for all.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use rmwbench_link::frame::Verdict;
use serde_json::json;

use crate::common::{datagram, to_group, Bench, MS};

#[test]
fn counts_by_period_are_what_the_log_says() {
    let mut bench = Bench::new(
        3,
        json!({"links": {
            "h0": {"up": {"loss": {"kind": "bernoulli", "p": 0.2}, "rate_bps": 8_000_000}},
            "h1": {"down": {"loss": {"kind": "bernoulli", "p": 0.3}, "delay_ns": 5 * MS}},
        }}),
    );
    let edges_ns = [100 * MS, 300 * MS];
    bench.network.totals.set_edges(edges_ns.to_vec());
    for k in 0..400 {
        bench.send(0, &datagram(0, 1, 500), k * MS);
        bench.send(1, &to_group(1, Ipv4Addr::new(239, 1, 2, 3), 200), k * MS + MS / 2);
    }
    bench.until(1_000 * MS);
    let periods = bench.network.periods();
    let period = |at_ns: i64| edges_ns.iter().filter(|edge_ns| **edge_ns <= at_ns).count();
    let records = bench.records();

    let (mut entered, mut ended) = (BTreeMap::new(), BTreeMap::new());
    let mut seen = BTreeSet::new();
    for r in &records {
        if seen.insert(r.index) {
            let of: &mut (u64, u64) =
                entered.entry((period(r.in_ns), format!("h{}", r.from))).or_default();
            *of = (of.0 + 1, of.1 + u64::from(r.frame_bytes));
        }
        let (port, way) = if r.ended == 1 { (r.from, "up") } else { (r.to, "down") };
        let verdict = Verdict::NAMES[usize::from(r.verdict)];
        *ended.entry((period(r.in_ns), format!("h{port}"), way, verdict)).or_insert(0) += 1;
    }
    let mut sums = BTreeMap::new();
    for one in &periods.entered {
        let of: &mut (u64, u64) = sums.entry((one.period, one.link.clone())).or_default();
        *of = (of.0 + one.counters.frames, of.1 + one.counters.bytes);
    }
    assert_eq!(sums, entered);
    let mut sums = BTreeMap::new();
    for one in &periods.ended {
        let key = (one.period, one.link.clone(), one.way.as_str(), one.verdict.as_str());
        *sums.entry(key).or_insert(0) += one.frames;
    }
    assert_eq!(sums, ended);

    // At 8 Mbit/s such a frame takes half a millisecond: each leaves h0 before the next comes.
    let of = |link: &str, way: &str| {
        let one = periods.crossed.iter().find(|c| (c.period, &*c.link, &*c.way) == (1, link, way));
        one.map(|c| (c.sent_bytes, c.carried_bytes)).unwrap()
    };
    let sent: Vec<_> = records.iter().filter(|r| r.from == 0 && period(r.in_ns) == 1).collect();
    let bytes = |lost: bool| {
        let kept = sent.iter().filter(|r| lost || r.verdict != 1);
        kept.map(|r| u64::from(r.frame_bytes)).sum::<u64>()
    };
    assert_eq!(of("h0", "up"), (bytes(true), bytes(false)));
    let (sent, carried) = of("h1", "down");
    assert!(0 < carried && carried < sent, "what is lost took its time");
}
