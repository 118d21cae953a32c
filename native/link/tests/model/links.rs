//! Every effect of a link, in virtual time: fixed seeds, statistical bounds of four standard errors
//! and more.

use crate::common::{datagram, datagram_at, Bench, Record, MS, US};
use serde_json::{json, Value};

/// Sends `count` frames of `bytes` from host 0 to host 1, one every `every_ns`, over these links;
/// returns the records in order of entry.
fn sent(up: Value, count: i64, bytes: usize, every_ns: i64) -> Vec<Record> {
    let mut bench = Bench::new(2, json!({"links": {"h0": {"up": up}}}));
    (0..count).for_each(|k| bench.send(0, &datagram(0, 1, bytes), MS + k * every_ns));
    bench.until(i64::MAX / 2);
    let mut records = bench.records();
    records.sort_by_key(|record| (record.index, record.flags));
    records
}

fn with(records: &[Record], verdict: u8) -> Vec<u64> {
    records.iter().filter(|record| record.verdict == verdict).map(|record| record.index).collect()
}

fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt())
}

#[test]
fn a_link_that_does_nothing_delivers_at_once() {
    let records = sent(json!({}), 1000, 100, 10 * US);
    assert!(records.iter().all(|r| r.verdict == 0
        && r.due_ns == r.in_ns
        && r.out_ns == r.due_ns
        && (r.from, r.to) == (0, 1)));
    assert_eq!(records.len(), 1000);
}

#[test]
fn loss_is_counted_and_other_effects_do_not_move_it() {
    let loss = json!({"kind": "bernoulli", "p": 0.1});
    let plain = sent(json!({"loss": loss}), 10_000, 200, 100 * US);
    let lost = with(&plain, 1);
    assert!((880..=1120).contains(&lost.len()), "{}", lost.len());
    assert_eq!(lost.len() + with(&plain, 0).len(), 10_000);
    for more in [
        json!({"jitter": {"kind": "correlated", "sd_ns": MS, "correlation_ns": 10 * MS}, "delay_ns": 5 * MS}),
        json!({"jitter": {"kind": "independent", "sd_ns": MS}, "delay_ns": 5 * MS}),
        json!({"reorder": {"p": 0.1, "by_ns": MS}, "corrupt": 0.3}),
        json!({"rate_bps": 20_000_000, "queue_frames": 100_000}),
        json!({"exempt_arp": false, "mtu_bytes": 1500}),
    ] {
        let mut spec = more.clone();
        spec["loss"] = loss.clone();
        assert_eq!(with(&sent(spec, 10_000, 200, 100 * US), 1), lost, "{more}");
    }
    // And the other way: loss does not change the delays of frames that arrive.
    let jitter = json!({"jitter": {"kind": "correlated", "sd_ns": MS, "correlation_ns": 10 * MS}, "delay_ns": 9 * MS});
    let whole = sent(jitter.clone(), 2000, 200, MS);
    let mut thinned = jitter;
    thinned["loss"] = loss;
    // (With order, a frame may wait for one before it: this compares frames that do not.)
    let same = sent(thinned, 2000, 200, MS)
        .iter()
        .filter(|r| r.verdict == 0 && r.due_ns == whole[r.index as usize].due_ns)
        .count();
    assert!(same > 1750, "{same}");
}

#[test]
fn a_full_queue_takes_the_frames_that_it_would_have_taken_and_moves_no_draw() {
    let loss = json!({"kind": "bernoulli", "p": 0.3});
    let free = with(&sent(json!({"loss": loss}), 5000, 1000, 10 * US), 1);
    let tight = sent(
        json!({"loss": loss, "rate_bps": 100_000_000, "queue_frames": 20}),
        5000,
        1000,
        10 * US,
    );
    let (lost, full) = (with(&tight, 1), with(&tight, 3));
    assert!(full.len() > 3000);
    let expected: Vec<u64> =
        free.iter().copied().filter(|index| full.binary_search(index).is_err()).collect();
    assert_eq!(lost, expected);
}

#[test]
fn the_rate_is_exact_however_late_the_engine_wakes() {
    let run = |late: bool| {
        let mut bench = Bench::new(
            2,
            json!({"links": {"h0": {"up": {"rate_bps": 54_000_000, "queue_frames": 5000}}}}),
        );
        for k in 0..1000 {
            bench.send(0, &datagram(0, 1, 1514), MS + k * US);
        }
        // One engine wakes every 10 µs, the other once in 7 ms.
        let step_ns = if late { 7 * MS } else { 10 * US };
        (1..=300 * MS / step_ns).for_each(|k| bench.until(3 * MS + k * step_ns));
        bench.records()
    };
    let (punctual, late) = (run(false), run(true));
    let dues = |records: &[Record]| records.iter().map(|record| record.due_ns).collect::<Vec<_>>();
    assert_eq!(dues(&punctual), dues(&late));
    assert!(late.iter().any(|record| record.out_ns - record.due_ns > MS));
    // 1514 bytes at 54 Mbit/s: 224 296.3 ns.
    let dues = dues(&punctual);
    assert_eq!(dues[0], MS + 224_296);
    let per_frame = (dues[999] - dues[0]) as f64 / 999.0;
    assert!((per_frame - 224_296.3).abs() < 1.0, "{per_frame}");
    assert_eq!(dues.len(), 1000);
}

#[test]
fn queues_have_three_limits_and_the_first_one_drops() {
    // 100 frames of 1250 bytes at once; 1250 bytes at 10 Mbit/s take 1 ms.
    let accepted = |limit: Value| {
        let mut spec = json!({"rate_bps": 10_000_000});
        limit.as_object().unwrap().iter().for_each(|(key, value)| spec[key] = value.clone());
        let records = sent(spec, 100, 1250, 0);
        assert_eq!(with(&records, 0).len() + with(&records, 3).len(), 100);
        with(&records, 0).len()
    };
    assert_eq!(accepted(json!({"queue_frames": 10})), 10);
    assert_eq!(accepted(json!({"queue_bytes": 12_499})), 9);
    assert_eq!(accepted(json!({"queue_bytes": 12_500})), 10);
    assert_eq!(accepted(json!({"queue_ns": 15 * MS})), 15);
    assert_eq!(
        accepted(json!({"queue_ns": 15 * MS, "queue_frames": 5, "queue_bytes": 1 << 20})),
        5
    );
    // A limit below one frame does not stop frames for ever.
    assert_eq!(accepted(json!({"queue_ns": 1})), 1);
    assert_eq!(accepted(json!({})), 100);
    assert_eq!(with(&sent(json!({"rate_bps": 10_000_000}), 1500, 100, 0), 0).len(), 1000);
}

#[test]
fn correlated_jitter_keeps_mean_spread_and_order() {
    let spec = json!({"delay_ns": 10 * MS, "jitter": {"kind": "correlated", "sd_ns": 2 * MS, "correlation_ns": 100 * MS}});
    let records = sent(spec, 50_000, 100, MS);
    let delays: Vec<f64> =
        records.iter().map(|record| (record.due_ns - record.in_ns) as f64 / MS as f64).collect();
    // 50 s hold about 250 independent values: the mean's standard error is 2/√250.
    let (mean, sd) = mean_and_sd(&delays);
    assert!((mean - 10.0).abs() < 0.55 && (sd - 2.0).abs() < 0.35, "{mean} {sd}");
    assert!(records.windows(2).all(|pair| pair[0].due_ns <= pair[1].due_ns));
}

#[test]
fn independent_jitter_is_normal_and_overtakes() {
    let records = sent(
        json!({"delay_ns": 10 * MS, "jitter": {"kind": "independent", "sd_ns": 2 * MS}}),
        20_000,
        100,
        MS,
    );
    let delays: Vec<f64> =
        records.iter().map(|record| (record.due_ns - record.in_ns) as f64 / MS as f64).collect();
    let (mean, sd) = mean_and_sd(&delays);
    assert!((mean - 10.0).abs() < 0.06 && (sd - 2.0).abs() < 0.05, "{mean} {sd}");
    // Two neighbours 1 ms apart swap if their difference, N(0, 2√2 ms), is above 1 ms: 36.2 %.
    let swapped =
        records.windows(2).filter(|pair| pair[0].due_ns > pair[1].due_ns).count() as f64 / 20_000.0;
    assert!((swapped - 0.362).abs() < 0.015, "{swapped}");
    let early = sent(
        json!({"delay_ns": MS, "jitter": {"kind": "independent", "sd_ns": 2 * MS}}),
        1000,
        100,
        MS,
    );
    assert!(early.iter().all(|record| record.due_ns >= record.in_ns));
}

#[test]
fn reordering_duplication_and_corruption_come_as_often_as_asked_for() {
    let records =
        sent(json!({"delay_ns": MS, "reorder": {"p": 0.05, "by_ns": 5 * MS}}), 20_000, 100, MS);
    let late = records.iter().filter(|record| record.due_ns - record.in_ns == 6 * MS).count();
    assert!((875..=1125).contains(&late), "{late}");
    assert!(records
        .iter()
        .all(|record| matches!(record.due_ns - record.in_ns, 1_000_000 | 6_000_000)));

    let twice = sent(json!({"duplicate": 0.05}), 20_000, 100, MS);
    let copies = twice.iter().filter(|record| record.flags & 4 != 0).count();
    assert!((875..=1125).contains(&copies), "{copies}");
    assert_eq!(twice.len(), 20_000 + copies);

    let mut bench = Bench::new(2, json!({"links": {"h0": {"up": {"corrupt": 0.05}}}}));
    let frame = datagram(0, 1, 300);
    (0..20_000).for_each(|k| bench.send(0, &frame, MS + k));
    let counted = bench.network.links()["h0"].up.corrupted;
    let flipped: Vec<Vec<usize>> = bench
        .world
        .written
        .iter()
        .map(|(_, got)| differing_bits(&frame, got))
        .filter(|bits| !bits.is_empty())
        .collect();
    assert!(
        (875..=1125).contains(&flipped.len()) && counted as usize == flipped.len(),
        "{}",
        flipped.len()
    );
    assert!(flipped.iter().all(|bits| bits.len() == 1 && bits[0] >= 14 * 8));
    // The flips are all over the payload: 286 bytes, about 3.5 flips each.
    let places: std::collections::HashSet<usize> = flipped.iter().map(|bits| bits[0] / 8).collect();
    assert!(places.len() > 240, "{}", places.len());
    assert_eq!(
        bench.records().iter().filter(|record| record.flags & 8 != 0).count(),
        flipped.len()
    );
}

fn differing_bits(a: &[u8], b: &[u8]) -> Vec<usize> {
    assert_eq!(a.len(), b.len());
    (0..a.len() * 8).filter(|bit| (a[bit / 8] ^ b[bit / 8]) >> (bit % 8) & 1 == 1).collect()
}

#[test]
fn frames_above_the_mtu_are_dropped() {
    let fits = sent(json!({"mtu_bytes": 1400}), 10, 1414, MS);
    let too_large = sent(json!({"mtu_bytes": 1400}), 10, 1415, MS);
    assert_eq!((with(&fits, 0).len(), with(&too_large, 7).len()), (10, 10));
}

#[test]
fn the_same_seed_gives_the_same_fates_and_another_gives_others() {
    let spec = json!({"loss": {"kind": "gilbert_elliott", "p": 0.05, "r": 0.3}, "delay_ns": 5 * MS, "duplicate": 0.1, "corrupt": 0.1,
        "jitter": {"kind": "independent", "sd_ns": MS}, "reorder": {"p": 0.1, "by_ns": MS}});
    let run = |seed: u64| {
        let mut bench = Bench::new(
            2,
            json!({"seed": seed, "links": {"h0": {"up": spec}, "h1": {"down": spec}}}),
        );
        (0..2000).for_each(|k| bench.send(0, &datagram(0, 1, 200), MS + k * MS));
        bench.until(i64::MAX / 2);
        (bench.records(), bench.world.written)
    };
    assert!(run(1) == run(1));
    assert!(run(1).0 != run(2).0);
    // Up and down with the same spec do not have the same stream.
    let records = run(1).0;
    assert!(with(&records, 1).len() > 100 && with(&records, 2).len() > 100);
}

#[test]
fn priority_goes_first_and_is_not_kept_out() {
    let priority = json!([{"udp_port": 7412, "class": 0}]);
    let spec = json!({"rate_bps": 10_000_000, "queue_frames": 50});
    let mut bench = Bench::new(2, json!({"links": {"h0": {"up": spec}}, "priority": priority}));
    // 200 large frames at once (a flood), then one small urgent one every 3 ms.
    (0..200).for_each(|_| bench.send(0, &datagram_at(0, 1, 9000, 1250), MS));
    (0..10).for_each(|k| bench.send(0, &datagram_at(0, 1, 7412, 125), 2 * MS + k * 3 * MS));
    bench.until(i64::MAX / 2);
    let records = bench.records();
    let urgent: Vec<&Record> = records.iter().filter(|record| record.frame_bytes == 125).collect();
    // At worst one large frame is being sent: 1 ms, and its own 0.1 ms.
    assert!(
        urgent.len() == 10
            && urgent
                .iter()
                .all(|record| record.verdict == 0 && record.due_ns - record.in_ns <= 1_100_000)
    );
    assert_eq!(records.iter().filter(|record| record.verdict == 3).count(), 150);
    // It is the same by DSCP; the first rule that matches decides.
    let priority = json!([{"dscp": 46, "udp_port": 1, "class": 7}, {"dscp": 46, "class": 0}]);
    let mut bench = Bench::new(
        2,
        json!({"links": {"h0": {"up": {"rate_bps": 10_000_000}}}, "priority": priority}),
    );
    (0..20).for_each(|_| bench.send(0, &datagram(0, 1, 1250), MS));
    let mut marked = datagram(0, 1, 125);
    marked[15] = 46 << 2;
    bench.send(0, &marked, 2 * MS);
    bench.until(i64::MAX / 2);
    let found = bench.records().into_iter().find(|record| record.frame_bytes == 125).unwrap();
    assert!(found.due_ns - found.in_ns <= 1_100_000);
}

#[test]
fn traces_give_rate_delay_and_loss() {
    let rows = json!([
        [0, 10_000_000, MS, null],
        [100 * MS, 1_000_000, null, 1.0],
        [200 * MS, null, 9 * MS, 0.0]
    ]);
    let spec = json!({"rate_bps": 100_000_000, "delay_ns": 2 * MS, "trace": {"rows": rows}});
    let records = sent(spec, 299, 1250, MS); // 1 ms at 10 Mbit/s
    let of = |index: usize| (records[index].verdict, records[index].due_ns - records[index].in_ns);
    assert_eq!(of(0), (0, 2 * MS));
    assert_eq!(of(50), (0, 2 * MS));
    assert_eq!(of(105).0, 1);
    assert_eq!(of(280), (0, 9 * MS + 100_000));
    // Mahimahi: one frame of 1514 bytes per 2 ms.
    let times: Vec<i64> = (1..=50).map(|k| k * 2 * MS).collect();
    let records = sent(json!({"trace": {"opportunities_ns": times}}), 500, 1514, 100 * US);
    let dues: Vec<i64> = records.iter().map(|record| record.due_ns).collect();
    assert_eq!((dues[0], dues[499]), (2 * MS, 1000 * MS));
}

#[test]
fn outages_swallow_what_comes_and_what_waits() {
    let mut bench = Bench::new(
        2,
        json!({"links": {"h0": {"up": {"rate_bps": 10_000_000}}, "h1": {"down": {"delay_ns": 4 * MS}}}}),
    );
    bench.change(5 * MS, 0, json!("blackhole"));
    bench.change(20 * MS, 0, json!("up"));
    // 1 ms each: frames that were sent before 5 ms arrive, even if they are still propagating then.
    (0..10).for_each(|_| bench.send(0, &datagram(0, 1, 1250), MS));
    bench.until(12 * MS);
    bench.send(0, &datagram(0, 1, 1250), 15 * MS);
    bench.send(1, &datagram(1, 0, 100), 16 * MS);
    bench.send(0, &datagram(0, 1, 1250), 21 * MS);
    bench.change(30 * MS, 1, json!("carrier_loss"));
    bench.until(26 * MS);
    bench.send(0, &datagram(0, 1, 1250), 27 * MS); // on its way when the carrier goes
    bench.send(0, &datagram(0, 1, 1250), 31 * MS);
    bench.send(1, &datagram(1, 0, 100), 32 * MS);
    bench.change(40 * MS, 1, json!("up"));
    bench.send(0, &datagram(0, 1, 1250), 41 * MS);
    bench.until(60 * MS);
    assert_eq!(bench.world.carriers, [(1, false), (1, true)]);
    let counters = bench.network.links();
    assert_eq!((counters["h0"].up.blackholed, counters["h0"].down.blackholed), (8, 1));
    assert_eq!((counters["h1"].up.no_carrier, counters["h1"].down.no_carrier), (1, 2));
    let records = bench.records();
    assert_eq!(
        [with(&records, 0).len(), with(&records, 5).len(), with(&records, 6).len()],
        [5, 9, 3]
    );
    let done: Vec<i64> = bench.network.done.iter().map(|done| done.asked_ns).collect();
    assert_eq!(done, [5 * MS, 20 * MS, 30 * MS, 40 * MS]);
}

#[test]
fn an_outage_and_a_frame_that_is_too_large_move_no_draw() {
    let run = |outage: bool| {
        let spec = json!({"loss": {"kind": "bernoulli", "p": 0.3}, "mtu_bytes": 1400});
        let mut bench = Bench::new(2, json!({"links": {"h0": {"up": spec}}}));
        if outage {
            bench.change(300 * MS, 0, json!("blackhole"));
            bench.change(500 * MS, 0, json!("up"));
        }
        let size = |k: i64| if outage && k % 100 == 7 { 1500 } else { 200 };
        (0..1000).for_each(|k| bench.send(0, &datagram(0, 1, size(k)), MS + k * MS));
        bench.until(i64::MAX / 2);
        bench.records()
    };
    let (free, cut) = (run(false), run(true));
    let ended = [with(&cut, 5), with(&cut, 7)].concat();
    assert!(ended.len() > 200);
    let expected: Vec<u64> =
        with(&free, 1).iter().copied().filter(|index| !ended.contains(index)).collect();
    assert_eq!(with(&cut, 1), expected);
}

#[test]
fn a_new_spec_takes_over_and_nothing_overtakes() {
    let mut bench = Bench::new(2, json!({"links": {"h0": {"up": {"delay_ns": 50 * MS}}}}));
    bench.change(100 * MS, 0, json!({"up": {"delay_ns": 0}}));
    (0..150).for_each(|k| bench.send(0, &datagram(0, 1, 100), MS + k * MS));
    bench.until(i64::MAX / 2);
    let records = bench.records();
    assert!(records
        .windows(2)
        .all(|pair| pair[0].due_ns <= pair[1].due_ns && pair[0].index < pair[1].index));
    assert_eq!((records[99].due_ns, records[149].due_ns - records[149].in_ns), (149 * MS, 0));
    // A dead link becomes alive, and frames that waited are sent.
    let rows = json!([[0, 0, null, null]]);
    let mut bench =
        Bench::new(2, json!({"links": {"h0": {"up": {"trace": {"rows": rows, "repeat": false}}}}}));
    (0..10).for_each(|_| bench.send(0, &datagram(0, 1, 1250), MS));
    bench.until(99 * MS);
    assert!(bench.world.written.is_empty());
    bench.change(100 * MS, 0, json!({"up": {"rate_bps": 10_000_000}}));
    bench.until(105 * MS);
    assert_eq!(bench.world.written.len(), 5);
    // Frames that wait are still sent when there is no rate any more.
    bench.change(106 * MS, 0, json!({"up": {}}));
    bench.until(108 * MS);
    assert_eq!(bench.world.written.len(), 10);
    // With a spec for the whole direction, settings that were requested before and are not in it
    // have no effect.
    assert_eq!(bench.network.specs()["h0"].up, Default::default());
}

#[test]
fn a_restart_begins_traces_and_losses_in_time_anew() {
    let outages = |restart_ms: i64| {
        let loss = json!({"kind": "gilbert_elliott_time", "good_ns": 20 * MS, "bad_ns": 10 * MS});
        let trace =
            json!({"rows": [[0, null, 7 * MS, null], [100 * MS, null, 0, null]], "repeat": false});
        let mut bench =
            Bench::new(2, json!({"links": {"h0": {"up": {"loss": loss, "trace": trace}}}}));
        bench.change(restart_ms * MS, 0, json!("restart"));
        (0..restart_ms / 3).for_each(|k| bench.send(0, &datagram(0, 1, 100), MS + k * 3 * MS));
        (0..400).for_each(|k| bench.send(0, &datagram(0, 1, 100), restart_ms * MS + k * MS));
        bench.until(i64::MAX / 2);
        let mut records = bench.records();
        records.retain(|record| record.in_ns >= restart_ms * MS);
        records.sort_by_key(|record| record.index);
        records
            .iter()
            .map(|record| (record.verdict, (record.due_ns - record.in_ns).max(0)))
            .collect::<Vec<_>>()
    };
    let one = outages(1000);
    assert_eq!(one, outages(1790));
    let delayed = |part: &[(u8, i64)]| {
        part.iter().filter(|(verdict, ns)| *verdict == 0 && *ns == 7 * MS).count()
    };
    let lost = one.iter().filter(|(verdict, _)| *verdict == 1).count();
    assert!(lost > 20 && lost < 300, "{lost}");
    assert!(delayed(&one[..100]) > 20 && delayed(&one[100..]) == 0, "{one:?}");
}

#[test]
fn changes_that_cannot_be_are_refused_together() {
    let mut bench = Bench::new(2, json!({}));
    let change = |at_ns: i64, link: &str, what: Value| {
        serde_json::from_value(json!({"at_ns": at_ns, "link": link, "change": what})).unwrap()
    };
    let up = || json!("up");
    for (changes, names) in [
        (vec![change(10, "h0", up()), change(-5, "h0", up())], "has passed"),
        (vec![change(10, "h0", up()), change(10, "h7", up())], "there is no link h7"),
        (vec![change(10, "h0", json!({"up": {"medium": "wifi"}}))], "h0.up: medium wifi"),
    ] {
        let error = bench.network.schedule(changes, 0).unwrap_err();
        assert!(error.contains(names), "{error}");
    }
    assert_eq!(bench.network.next_ns(), None);
}

#[test]
fn what_is_under_way_at_the_end_is_in_the_log() {
    let spec = json!({"rate_bps": 10_000_000, "delay_ns": 5 * MS});
    let mut bench = Bench::new(2, json!({"links": {"h0": {"up": spec}}}));
    (0..10).for_each(|_| bench.send(0, &datagram(0, 1, 1250), MS));
    bench.until(8 * MS);
    let records = bench.records();
    assert_eq!((with(&records, 0), with(&records, 12)), (vec![0, 1], vec![2, 3, 4, 5, 6, 7, 8, 9]));
    // They continue: only the log has ended.
    bench.until(20 * MS);
    assert_eq!(bench.world.written.len(), 10);
}

#[test]
fn a_refusing_device_is_counted() {
    let mut bench = Bench::new(2, json!({}));
    bench.world.refuse = true;
    bench.send(0, &datagram(0, 1, 100), MS);
    assert_eq!(bench.network.devices()["h1"].refused_while_down, 1);
    let records = bench.records();
    assert_eq!((with(&records, 11), records[0].due_ns, records[0].out_ns), (vec![0], MS, 0));
}
