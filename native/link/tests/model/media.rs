//! The model of airtime against its expected results.

use std::net::Ipv4Addr;

use crate::common::{datagram, to_group, Bench, MS};
use serde_json::{json, Value};

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);

/// Hosts 1 … n on a medium, host 0 on a wire.
fn wifi(stations: usize, medium: Value) -> Bench {
    let mut links = json!({});
    (1..=stations).for_each(|k| {
        links[format!("h{k}")] = json!({"up": {"medium": "wifi"}, "down": {"medium": "wifi"}})
    });
    Bench::new(stations + 1, json!({"links": links, "media": {"wifi": medium}}))
}

#[test]
fn saturated_stations_share_the_airtime() {
    // 54 Mbit/s and 100 µs per frame: 1514 bytes take 324.3 µs; of them 1448 are a TCP segment's
    // payload: 35.7 Mbit/s in all.
    for stations in [1, 2, 4] {
        let mut bench = wifi(
            stations,
            json!({"rate_bps": 54_000_000, "overhead_ns": 100_000, "queue_frames": 50}),
        );
        let seconds = 5;
        for k in 0..seconds * 5000 {
            (1..=stations)
                .for_each(|host| bench.send(host, &datagram(host, 0, 1514), MS + k * 200_000));
        }
        let end_ns = MS + seconds * 1000 * MS;
        bench.until(end_ns);
        let mbps: Vec<f64> = (1..=stations)
            .map(|host| {
                bench.network.links()[&format!("h{host}")].up.delivered as f64 * 1448.0 * 8.0
                    / seconds as f64
                    / 1e6
            })
            .collect();
        let sum: f64 = mbps.iter().sum();
        assert!((sum - 35.71).abs() < 0.1, "{stations}: {mbps:?}");
        assert!(
            mbps.iter().all(|one| (one * stations as f64 / sum - 1.0).abs() < 0.05),
            "{stations}: {mbps:?}"
        );
        let busy_ns = bench.network.media()["wifi"].busy_ns;
        assert!((busy_ns as f64 / (end_ns - MS) as f64 - 1.0).abs() < 0.001);
    }
}

#[test]
fn the_access_point_is_one_station_however_many_hosts_it_sends_to() {
    // Host 1 sends, hosts 2 … 9 receive, all without end: 802.11 gives every station the same
    // chance, so half of the transmissions are host 1's.
    for receivers in [1, 8] {
        let mut bench = wifi(
            receivers + 1,
            json!({"rate_bps": 54_000_000, "overhead_ns": 100_000, "queue_frames": 50}),
        );
        for k in 0..25_000 {
            bench.send(1, &datagram(1, 0, 1514), MS + k * 200_000);
            (2..receivers + 2)
                .for_each(|host| bench.send(0, &datagram(0, host, 1514), MS + k * 200_000));
        }
        bench.until(MS + 5000 * MS);
        let links = bench.network.links();
        let up = links["h1"].up.delivered as f64;
        let down: Vec<f64> = (2..receivers + 2)
            .map(|host| links[&format!("h{host}")].down.delivered as f64)
            .collect();
        let all: f64 = up + down.iter().sum::<f64>();
        assert!((up / all - 0.5).abs() < 0.02, "{receivers} receivers: {up} of {all}");
        assert!(
            down.iter().all(|one| (one / (all - up) * receivers as f64 - 1.0).abs() < 0.1),
            "{down:?}"
        );
    }
}

#[test]
fn unicast_is_repeated_and_multicast_from_the_access_point_is_not() {
    let medium = json!({"rate_bps": 54_000_000, "overhead_ns": 100_000, "basic_rate_bps": 6_000_000, "retries": 7, "phy_loss": 0.2});
    let mut bench = wifi(1, medium);
    for k in 0..10_000 {
        bench.send(0, &datagram(0, 1, 500), MS + k * 20 * MS);
        bench.send(0, &to_group(0, GROUP, 500), MS + k * 20 * MS + 10 * MS);
    }
    bench.until(i64::MAX / 2);
    let records = bench.records();
    let (to_all, to_one): (Vec<_>, Vec<_>) =
        records.iter().partition(|record| record.flags & 2 != 0);
    let lost = to_all.iter().filter(|record| record.verdict == 2).count();
    assert!((1840..=2160).contains(&lost), "{lost}");
    // 0.2⁸ is 2.6 in a million.
    assert_eq!(to_one.iter().filter(|record| record.verdict != 0).count(), 0);
    let attempts = to_one.iter().map(|record| f64::from(record.attempts)).sum::<f64>() / 10_000.0;
    assert!((attempts - 1.25).abs() < 0.025, "{attempts}");
    assert!(to_all.iter().all(|record| record.attempts == 1));
    // Each takes its own time: 4000 bits at 6 Mbit/s, and the overhead.
    let took: Vec<i64> = to_all
        .iter()
        .filter(|record| record.verdict == 0)
        .map(|record| record.due_ns - record.in_ns)
        .collect();
    assert!(took.iter().all(|ns| *ns == 766_667), "{:?}", &took[..3]);
    let first_try = to_one
        .iter()
        .filter(|record| record.attempts == 1)
        .map(|record| record.due_ns - record.in_ns);
    assert!(first_try.into_iter().all(|ns| ns == 174_074));
}

#[test]
fn a_station_gives_up_after_its_retries() {
    let mut bench = wifi(1, json!({"rate_bps": 54_000_000, "retries": 1, "phy_loss": 0.5}));
    (0..10_000).for_each(|k| bench.send(1, &datagram(1, 0, 500), MS + k * 10 * MS));
    bench.until(i64::MAX / 2);
    let given_up = bench.network.media()["wifi"].given_up;
    assert!((2320..=2680).contains(&given_up), "{given_up}"); // a quarter
    assert_eq!(bench.network.links()["h1"].up.given_up, given_up);
    let records = bench.records();
    assert!(records.iter().filter(|record| record.verdict == 9).all(|record| record.attempts == 2));
}

#[test]
fn one_transmission_serves_all_hosts_of_a_group_and_each_may_miss_it() {
    let mut bench = wifi(
        4,
        json!({"rate_bps": 54_000_000, "basic_rate_bps": 6_000_000, "phy_loss": 0.1, "overhead_ns": 50_000}),
    );
    (0..5000).for_each(|k| bench.send(0, &to_group(0, GROUP, 300), MS + k * 10 * MS));
    bench.until(i64::MAX / 2);
    let medium = bench.network.media()["wifi"].clone();
    assert_eq!((medium.attempts, medium.busy_ns), (5000, 5000 * 450_000));
    let records = bench.records();
    assert_eq!(records.len(), 20_000);
    for host in 1..=4 {
        let lost = records.iter().filter(|record| record.to == host && record.verdict == 2).count();
        assert!((410..=590).contains(&lost), "{host}: {lost}");
    }
    // The losses are independent: all four miss the same frame with 0.0001.
    let missed_by_all = (0..5000)
        .filter(|index| records.iter().filter(|r| r.index == *index && r.verdict == 2).count() == 4)
        .count();
    assert!(missed_by_all < 8, "{missed_by_all}");
}

#[test]
fn a_stations_multicast_goes_to_the_access_point_first() {
    // It is repeated on its way up, and then sent once for the other station.
    let mut bench = wifi(2, json!({"rate_bps": 54_000_000, "phy_loss": 0.2}));
    (0..2000).for_each(|k| bench.send(1, &to_group(1, GROUP, 300), MS + k * 10 * MS));
    bench.until(i64::MAX / 2);
    let links = bench.network.links();
    assert_eq!((links["h1"].up.delivered, links["h1"].up.lost), (2000, 0));
    assert_eq!(links["h0"].down.delivered, 2000);
    assert!((325..=475).contains(&links["h2"].down.lost), "{}", links["h2"].down.lost);
}

#[test]
fn queues_on_a_medium_are_limited_per_station() {
    let mut bench = wifi(2, json!({"rate_bps": 1_000_000, "queue_frames": 5}));
    (0..20).for_each(|_| bench.send(1, &datagram(1, 0, 1000), MS));
    (0..3).for_each(|_| bench.send(2, &datagram(2, 0, 1000), MS));
    (0..9).for_each(|_| bench.send(0, &to_group(0, GROUP, 300), MS));
    bench.until(i64::MAX / 2);
    let links = bench.network.links();
    assert_eq!((links["h1"].up.delivered, links["h1"].up.queue_full), (5, 15));
    assert_eq!((links["h2"].up.delivered, links["h2"].up.queue_full), (3, 0));
    assert_eq!((links["h1"].down.delivered, links["h1"].down.queue_full), (5, 4));
}

/// A frame of 1000 bytes takes 1 ms.
fn slow_air(more: Value) -> Value {
    let codel = json!({"target_ns": 20 * MS, "interval_ns": 100 * MS});
    let mut medium = json!({"rate_bps": 8_000_000, "queue_frames": 100_000, "codel": codel});
    more.as_object().unwrap().iter().for_each(|(key, value)| medium[key] = value.clone());
    medium
}

#[test]
fn codel_drops_more_and_more_of_what_a_station_sends_too_fast_and_of_nobody_else() {
    // A frame takes 1 ms; host 1 sends 1.2 times as many as the medium carries, host 2 a tenth of
    // the rest.
    let mut bench = wifi(2, slow_air(json!({})));
    let mut dropped = vec![];
    for second in 0..20 {
        for k in 0..1200 {
            let at_ns = MS + second * 1000 * MS + k * 1000 * MS / 1200;
            bench.send(1, &datagram(1, 0, 1000), at_ns);
            if k % 12 == 0 {
                bench.send(2, &datagram(2, 0, 1000), at_ns);
            }
        }
        bench.until((second + 1) * 1000 * MS);
        dropped.push(bench.network.links()["h1"].up.queue_full);
    }
    let per_second: Vec<u64> = dropped.windows(2).map(|two| two[1] - two[0]).collect();
    // 300 of 1200 are too many; they are not dropped at once.
    assert!(per_second[0] < 150 && per_second[2] > per_second[0], "{per_second:?}");
    assert!(per_second.iter().any(|one| *one > 250), "{per_second:?}");
    assert_eq!(bench.network.links()["h2"].up.queue_full, 0);
}

#[test]
fn codel_of_one_class_is_not_ended_by_another_that_never_waits() {
    let link = json!({"up": {"medium": "wifi"}, "down": {"medium": "wifi"}});
    let settings = json!({
        "links": {"h1": link},
        "media": {"wifi": slow_air(json!({}))},
        "priority": [{"dscp": 46, "class": 0}],
    });
    let mut bench = Bench::new(2, settings);
    let mut urgent = datagram(1, 0, 100);
    urgent[15] = 46 << 2;
    for k in 0..3600 {
        let at_ns = MS + k * 1000 * MS / 1200;
        bench.send(1, &datagram(1, 0, 1000), at_ns);
        if k % 60 == 0 {
            bench.send(1, &urgent, at_ns);
        }
    }
    bench.until(3000 * MS);
    let records = bench.records();
    let full = |class: u8| records.iter().filter(|r| r.verdict == 3 && r.class == class).count();
    assert!(full(1) > 20, "{}", full(1));
    assert_eq!(full(0), 0);
}

#[test]
fn codel_drops_nothing_that_was_on_the_air_before_and_each_drop_is_logged_once() {
    let mut bench = wifi(1, slow_air(json!({"phy_loss": 0.3, "retries": 7})));
    for k in 0..3000 {
        bench.send(1, &datagram(1, 0, 1000), MS + k * MS);
    }
    bench.until(60_000 * MS);
    let dropped = bench.network.links()["h1"].up.queue_full;
    let records = bench.records();
    let full: Vec<_> = records.iter().filter(|record| record.verdict == 3).collect();
    assert!(dropped > 20 && full.len() as u64 == dropped, "{dropped}, {}", full.len());
    assert!(full.iter().all(|record| record.attempts == 0));
}

#[test]
fn codel_counts_the_wait_in_its_own_queue_and_not_the_way_there() {
    let link = json!({"up": {"medium": "wifi"}, "down": {"medium": "wifi"}});
    let links = json!({"h0": {"up": {"delay_ns": 200 * MS}}, "h1": link});
    let settings = json!({"links": links, "media": {"wifi": slow_air(json!({}))}});
    let mut bench = Bench::new(2, settings);
    // Two at a time, so that the first is not the last of its queue.
    for k in 0..1000 {
        (0..2).for_each(|_| bench.send(0, &datagram(0, 1, 1000), MS + k * 5 * MS));
    }
    bench.until(i64::MAX / 2);
    assert_eq!(bench.network.links()["h1"].down.delivered, 2000);
}

#[test]
fn codel_goes_on_while_its_link_changes() {
    let mut bench = wifi(1, slow_air(json!({})));
    for k in 0..3600 {
        let at_ns = MS + k * 1000 * MS / 1200;
        if k % 60 == 0 {
            bench.change(at_ns, 1, json!({"up": {"medium": "wifi", "delay_ns": k % 7}}));
        }
        bench.send(1, &datagram(1, 0, 1000), at_ns);
    }
    bench.until(3000 * MS);
    let dropped = bench.network.links()["h1"].up.queue_full;
    assert!(dropped > 20, "{dropped}");
}

#[test]
fn a_robot_that_leaves_the_medium_sends_what_waits_over_the_wire() {
    let mut bench = wifi(1, json!({"rate_bps": 1_000_000}));
    (0..20).for_each(|_| bench.send(1, &datagram(1, 0, 1250), MS)); // 10 ms each
    bench.change(25 * MS, 1, json!({"up": {"rate_bps": 10_000_000}}));
    bench.until(100 * MS);
    assert_eq!(bench.world.written.len(), 20);
    let dues: Vec<i64> = bench.records().iter().map(|record| record.due_ns).collect();
    // The frame on the air continues under the old spec, and no frame overtakes it.
    assert_eq!(dues[..5], [11 * MS, 21 * MS, 31 * MS, 32 * MS, 33 * MS]);
}

/// Two access points, host 1 on the first one, host 0 on a wire.
fn two_access_points() -> Bench {
    let link = json!({"up": {"medium": "ap1"}, "down": {"medium": "ap1", "delay_ns": 0}});
    let media = json!({"ap1": {"rate_bps": 1_000_000}, "ap2": {"rate_bps": 10_000_000}});
    Bench::new(2, json!({"links": {"h1": link}, "media": media}))
}

#[test]
fn a_host_roams_from_one_access_point_to_another_and_what_waits_stays_behind() {
    let mut bench = two_access_points();
    (0..5).for_each(|_| bench.send(1, &datagram(1, 0, 1250), MS)); // 10 ms each
    (0..5).for_each(|_| bench.send(0, &datagram(0, 1, 1250), MS));
    (0..3).for_each(|_| bench.send(0, &to_group(0, GROUP, 1250), MS));
    bench.change(15 * MS, 1, json!({"roam": "ap2", "gap_ns": 50 * MS}));
    bench.until(40 * MS);
    // One frame was sent, one is on the air and arrives nowhere, all others are gone; in the gap
    // the host is on no medium.
    assert_eq!(bench.world.written.len(), 1);
    bench.send(1, &datagram(1, 0, 1250), 50 * MS);
    bench.send(0, &datagram(0, 1, 1250), 50 * MS);
    bench.until(70 * MS);
    bench.send(1, &datagram(1, 0, 1250), 70 * MS); // 1 ms each
    bench.send(0, &datagram(0, 1, 1250), 80 * MS);
    bench.send(0, &to_group(0, GROUP, 1250), 90 * MS);
    bench.until(200 * MS);
    let links = bench.network.links();
    let (up, down) = (&links["h1"].up, &links["h1"].down);
    assert_eq!((up.frames, up.delivered + up.blackholed), (7, 7));
    assert_eq!((down.frames, down.delivered + down.blackholed), (11, 11));
    assert_eq!(up.delivered + down.delivered, 1 + 3);
    let media = bench.network.media();
    assert_eq!((media["ap2"].attempts, media["ap2"].busy_ns), (3, 3 * MS));
    let done = &bench.network.done;
    assert_eq!(
        (done.len(), done[0].asked_ns, done[0].joined_ns, &done[0].error),
        (1, 15 * MS, Some(70 * MS), &None)
    );
    assert_eq!(bench.network.specs()["h1"].up.medium.as_deref(), Some("ap2"));
    let records = bench.records();
    assert_eq!(records.len(), 18);
    let late: Vec<i64> = records
        .iter()
        .filter(|r| r.verdict == 0 && r.in_ns >= 70 * MS)
        .map(|r| r.due_ns - r.in_ns)
        .collect();
    assert_eq!(late, [MS, MS, MS]);
}

#[test]
fn a_new_spec_on_another_medium_takes_along_what_waits_and_nothing_overtakes() {
    let mut bench = two_access_points();
    (0..4).for_each(|_| bench.send(1, &datagram(1, 0, 1250), MS));
    bench.send(0, &to_group(0, GROUP, 1250), MS);
    let spec = json!({"medium": "ap2"});
    bench.change(15 * MS, 1, json!({"up": spec, "down": spec}));
    bench.until(100 * MS);
    let records = bench.records();
    let up: Vec<(u64, i64)> = records
        .iter()
        .filter(|r| r.from == 1 && r.verdict == 0)
        .map(|r| (r.index, r.due_ns))
        .collect();
    assert_eq!(up.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2, 3], "{records:?}");
    assert!(up.windows(2).all(|pair| pair[0].1 < pair[1].1));
    // The access point's frames for the group do not reach a host that has left it, wherever they
    // were in the queue.
    let to_group: Vec<u8> =
        records.iter().filter(|r| r.flags & 2 != 0).map(|r| r.verdict).collect();
    assert_eq!(to_group, [5]);
    let media = bench.network.media();
    assert!(
        media["ap1"].attempts + media["ap2"].attempts == 5 && media["ap2"].attempts >= 2,
        "{media:?}"
    );
}

#[test]
fn who_roams_twice_is_where_it_went_last_and_who_is_on_no_medium_cannot() {
    let mut bench = two_access_points();
    bench.change(10 * MS, 1, json!({"roam": "ap2", "gap_ns": 50 * MS}));
    bench.change(20 * MS, 1, json!({"roam": "ap1", "gap_ns": 20 * MS}));
    bench.change(30 * MS, 0, json!({"roam": "ap2"}));
    bench.until(40 * MS);
    bench.send(1, &datagram(1, 0, 1250), 45 * MS);
    bench.until(100 * MS);
    assert_eq!(bench.world.written.len(), 1);
    assert_eq!(bench.network.media()["ap1"].attempts, 1);
    let joined: Vec<Option<i64>> = bench.network.done.iter().map(|done| done.joined_ns).collect();
    assert_eq!(joined, [None, Some(40 * MS), None]);
    assert!(bench.network.done[2].error.as_deref().is_some_and(|why| why.contains("no medium")));
    for (change, names) in [
        (json!({"roam": "ap3"}), "medium ap3 does not exist"),
        (json!({"roam": "ap1", "gap_ns": -1}), "gap_ns"),
    ] {
        let change =
            serde_json::from_value(json!({"at_ns": 200 * MS, "link": "h1", "change": change}))
                .unwrap();
        let refused = bench.network.schedule(vec![change], 100 * MS).unwrap_err();
        assert!(refused.contains(names), "{refused}");
    }
}

/// (verdict, direction in which it ended) of each record, in the order of the frames.
fn ends(bench: &mut Bench) -> Vec<(u8, u8)> {
    let mut records = bench.records();
    records.sort_by_key(|record| record.index);
    records.iter().map(|record| (record.verdict, record.ended)).collect()
}

#[test]
fn the_log_says_on_whose_link_a_frame_ended() {
    const GIVEN_UP: u8 = 9;
    const BLACKHOLE: u8 = 5;
    const UNDER_WAY: u8 = 12;
    const UP: u8 = 1;
    const DOWN: u8 = 2;
    // Its attempts were used up on the way up, and on the way down; the wire of host 0 has no
    // effect.
    let mut bench = wifi(1, json!({"rate_bps": 1_000_000, "phy_loss": 1.0, "retries": 1}));
    bench.send(1, &datagram(1, 0, 1250), MS);
    bench.send(0, &datagram(0, 1, 1250), MS);
    bench.until(100 * MS);
    assert_eq!(ends(&mut bench), [(GIVEN_UP, UP), (GIVEN_UP, DOWN)]);
    // A frame that waited when the outage or the roaming began had come before it.
    for change in [json!("blackhole"), json!({"roam": "ap2", "gap_ns": 50 * MS})] {
        let mut bench = two_access_points();
        bench.send(1, &datagram(1, 0, 1250), MS);
        bench.send(0, &datagram(0, 1, 1250), MS);
        bench.change(2 * MS, 1, change);
        bench.send(1, &datagram(1, 0, 1250), 3 * MS);
        bench.until(40 * MS);
        assert_eq!(ends(&mut bench), [(BLACKHOLE, UP), (BLACKHOLE, DOWN), (BLACKHOLE, UP)]);
    }
    // Delivered, and still waiting for the medium in either direction.
    let mut bench = wifi(1, json!({"rate_bps": 1_000_000}));
    bench.send(1, &datagram(1, 0, 1250), MS);
    bench.until(15 * MS);
    bench.send(1, &datagram(1, 0, 1250), 20 * MS);
    bench.send(1, &datagram(1, 0, 1250), 20 * MS);
    bench.send(0, &datagram(0, 1, 1250), 20 * MS);
    bench.send(0, &to_group(0, GROUP, 1250), 20 * MS);
    let under_way = [(UNDER_WAY, UP), (UNDER_WAY, UP), (UNDER_WAY, DOWN), (UNDER_WAY, DOWN)];
    assert_eq!(ends(&mut bench), [&[(0, DOWN)], &under_way[..]].concat());
}

#[test]
fn what_goes_to_a_group_leaves_by_priority_as_everything_does() {
    let link = json!({"up": {"medium": "wifi"}, "down": {"medium": "wifi"}});
    let settings = json!({
        "links": {"h1": link},
        "media": {"wifi": {"rate_bps": 1_000_000, "queue_frames": 3}},
        "priority": [{"dscp": 46, "class": 0}],
    });
    let mut bench = Bench::new(2, settings);
    // The first is on the air; of those that wait, each class has room for three.
    (0..5).for_each(|_| bench.send(0, &to_group(0, GROUP, 1250), MS));
    let mut urgent = to_group(0, GROUP, 1250);
    urgent[15] = 46 << 2;
    bench.send(0, &urgent, MS);
    bench.until(i64::MAX / 2);
    let records = bench.records();
    let mut delivered: Vec<(i64, u64)> =
        records.iter().filter(|r| r.verdict == 0).map(|r| (r.due_ns, r.index)).collect();
    delivered.sort_unstable();
    let order: Vec<u64> = delivered.iter().map(|(_, index)| *index).collect();
    assert_eq!(order, [0, 5, 1, 2, 3]);
    let full: Vec<u64> = records.iter().filter(|r| r.verdict == 4).map(|r| r.index).collect();
    assert_eq!(full, [4]);
}
