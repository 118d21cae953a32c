//! The policer in virtual time: exact counts.

use crate::common::{address, datagram, datagram_at, ethernet, ipv4, mac, udp_body, Bench, MS};
use serde_json::{json, Value};

const POLICED_UP: u8 = 13;
const S: i64 = 1000 * MS;

fn policed(way: &str, police: Value) -> Bench {
    Bench::new(2, json!({"links": {"h0": {way: {"police": police}}}}))
}

/// (delivered, policed) so far; the bench continues.
fn counts(bench: &Bench) -> (u64, u64) {
    let up = &bench.network.links()["h0"].up;
    (up.delivered, up.policed)
}

fn segment(from: usize, to: usize, bytes: usize) -> Vec<u8> {
    let mut body = vec![0; bytes - 34];
    body[..4].copy_from_slice(&[0x1f, 0x40, 0x23, 0x28]);
    (body[12], body[13]) = (5 << 4, 0x10);
    ethernet(mac(to), from, 0x0800, &ipv4(address(from), address(to), 6, 1, 0, 0, &body))
}

#[test]
fn a_full_bucket_passes_at_once_and_then_the_rate() {
    // 8 Mbit/s are a frame of 1000 bytes each ms; the bucket holds ten.
    let mut bench = policed("up", json!({"rate_bps": 8_000_000, "burst_bytes": 10_000}));
    (0..25).for_each(|_| bench.send(0, &datagram(0, 1, 1000), MS));
    assert_eq!(counts(&bench), (10, 15));
    // One ns too early, then in time; a dropped frame took no tokens.
    bench.send(0, &datagram(0, 1, 1000), 2 * MS - 1);
    assert_eq!(counts(&bench), (10, 16));
    bench.send(0, &datagram(0, 1, 1000), 2 * MS);
    assert_eq!(counts(&bench), (11, 16));
    // Twice the rate for ten seconds: every second one, exactly.
    (1..=20_000).for_each(|k| bench.send(0, &datagram(0, 1, 1000), 2 * MS + k * MS / 2));
    assert_eq!(counts(&bench), (11 + 10_000, 16 + 10_000));
    // After a pause the bucket is full, and no more than that.
    (0..25).for_each(|_| bench.send(0, &datagram(0, 1, 1000), 100 * S));
    assert_eq!(counts(&bench), (10_021, 10_031));
    let records = bench.records();
    assert_eq!(records.iter().filter(|record| record.verdict == POLICED_UP).count(), 10_031);
    assert!(
        records
            .iter()
            .filter(|record| record.verdict == 0)
            .all(|record| record.due_ns == record.in_ns),
        "a policer delays nothing"
    );
}

#[test]
fn a_rate_that_divides_no_nanosecond_is_kept_over_an_hour() {
    // 3 packets per second are one each 333 333 333.3 ns; sent 10 times per second for an hour.
    let mut bench = policed("up", json!({"packets_per_s": 3, "burst_packets": 2}));
    (1..=36_000).for_each(|k| bench.send(0, &datagram(0, 1, 60), k * 100 * MS));
    // The two of the full bucket, and three in each of the 3599.9 seconds from the first on: 10
    // 801.7.
    assert_eq!(counts(&bench), (10_801, 36_000 - 10_801));
}

#[test]
fn packets_count_whatever_their_size_and_each_flow_has_a_bucket_of_its_own() {
    let mut bench = policed("up", json!({"packets_per_s": 100, "burst_packets": 5}));
    for size in [60, 1514, 60, 1514, 60, 1514, 60] {
        bench.send(0, &datagram_at(0, 1, 9000, size), MS);
    }
    assert_eq!(counts(&bench), (5, 2));
    // Another destination port is another flow.
    (0..7).for_each(|_| bench.send(0, &datagram_at(0, 1, 9001, 60), MS));
    assert_eq!(counts(&bench), (10, 4));
}

#[test]
fn tcp_passes_a_policer_of_udp_and_udp_one_of_tcp() {
    for (protocol, udp, tcp) in [(Some("udp"), 2, 50), (Some("tcp"), 50, 2), (None, 2, 2)] {
        let mut police = json!({"packets_per_s": 1, "burst_packets": 2});
        if let Some(name) = protocol {
            police["protocol"] = json!(name);
        }
        let mut bench = policed("up", police);
        (0..50).for_each(|_| bench.send(0, &datagram(0, 1, 1000), MS));
        assert_eq!(counts(&bench).0, udp, "{protocol:?}");
        (0..50).for_each(|_| bench.send(0, &segment(0, 1, 1000), MS));
        assert_eq!(counts(&bench).0, udp + tcp, "{protocol:?}");
    }
}

#[test]
fn fragments_are_of_the_flow_of_their_datagram() {
    let mut bench = policed("up", json!({"packets_per_s": 1, "burst_packets": 4}));
    let whole = udp_body(8000, 9000, &[7; 4432]);
    let piece = |id: u16, k: usize| {
        let more = if k < 2 { 0x2000 } else { 0 };
        let place = more | (k * 1480 / 8) as u16;
        ethernet(
            mac(1),
            0,
            0x0800,
            &ipv4(
                address(0),
                address(1),
                17,
                id,
                place,
                0,
                &whole[k * 1480..((k + 1) * 1480).min(whole.len())],
            ),
        )
    };
    // Two datagrams of three pieces each: the first is complete, the second has only its first
    // piece.
    for id in [1, 2] {
        (0..3).for_each(|k| bench.send(0, &piece(id, k), MS));
    }
    assert_eq!(counts(&bench), (4, 2));
    // Datagrams to another port are not affected.
    bench.send(0, &datagram_at(0, 1, 9001, 60), MS);
    assert_eq!(counts(&bench), (5, 2));
}

#[test]
fn what_is_not_ip_passes_and_loss_meets_the_same_frames_with_and_without() {
    let mut bench = policed("up", json!({"packets_per_s": 1, "burst_packets": 1}));
    (0..20).for_each(|_| bench.send(0, &ethernet(mac(1), 0, 0x0806, &[0; 46]), MS));
    (0..20).for_each(|_| bench.send(0, &ethernet(mac(1), 0, 0x88cc, &[0; 46]), MS));
    assert_eq!(counts(&bench), (40, 0));

    let lost = |police: Option<Value>| {
        let mut up = json!({"loss": {"kind": "bernoulli", "p": 0.3}});
        police.into_iter().for_each(|police| up["police"] = police);
        let mut bench = Bench::new(2, json!({"links": {"h0": {"up": up}}}));
        (0..2000).for_each(|k| bench.send(0, &datagram(0, 1, 1000), MS + k * MS));
        let mut records = bench.records();
        records.sort_by_key(|record| record.index);
        records
    };
    let (free, tight) = (lost(None), lost(Some(json!({"packets_per_s": 500, "burst_packets": 1}))));
    let policed = tight.iter().filter(|record| record.verdict == POLICED_UP).count();
    assert_eq!(policed, 1000);
    assert!(free
        .iter()
        .zip(&tight)
        .all(|(free, tight)| tight.verdict == POLICED_UP || tight.verdict == free.verdict));
}

#[test]
fn a_new_spec_brings_a_new_limit_and_the_same_one_goes_on() {
    let police = json!({"packets_per_s": 1, "burst_packets": 2});
    let mut bench = policed("up", police.clone());
    (0..5).for_each(|_| bench.send(0, &datagram(0, 1, 60), MS));
    assert_eq!(counts(&bench), (2, 3));
    bench.change(2 * MS, 0, json!({"up": {"police": police, "delay_ns": 1}}));
    bench.until(3 * MS);
    (0..5).for_each(|_| bench.send(0, &datagram(0, 1, 60), 4 * MS));
    assert_eq!(bench.network.links()["h0"].up.policed, 8);
    bench.change(5 * MS, 0, json!({"up": {"police": {"packets_per_s": 1, "burst_packets": 4}}}));
    bench.until(6 * MS);
    (0..5).for_each(|_| bench.send(0, &datagram(0, 1, 60), 7 * MS));
    assert_eq!(bench.network.links()["h0"].up.policed, 9);
    bench.change(8 * MS, 0, json!({"up": {}}));
    bench.until(9 * MS);
    (0..50).for_each(|_| bench.send(0, &datagram(0, 1, 60), 10 * MS));
    assert_eq!(bench.network.links()["h0"].up.policed, 9);
}
