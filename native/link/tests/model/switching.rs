//! Which hosts get a frame.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::common::{
    address, datagram, ethernet, group_mac, ipv4, ipv6, to_group, udp_body, Bench, MS,
};
use serde_json::json;

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 2);

fn arrivals(bench: &mut Bench) -> Vec<usize> {
    let mut ports: Vec<usize> = bench.world.written.drain(..).map(|(port, _)| port).collect();
    ports.sort_unstable();
    ports
}

fn igmp(from: usize, to: Ipv4Addr, body: &[u8]) -> Vec<u8> {
    ethernet(group_mac(to.into()), from, 0x0800, &ipv4(address(from), to, 2, 1, 0, 0, body))
}

/// IGMPv3: one record of a kind for a group, with sources.
fn report3(from: usize, kind: u8, group: Ipv4Addr, sources: &[Ipv4Addr]) -> Vec<u8> {
    let mut body = vec![0x22, 0, 0, 0, 0, 0, 0, 1, kind, 0, 0, sources.len() as u8];
    body.extend(group.octets());
    sources.iter().for_each(|source| body.extend(source.octets()));
    igmp(from, Ipv4Addr::new(224, 0, 0, 22), &body)
}

fn local(host: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, host as u16 + 1)
}

/// An ICMPv6 message after a hop-by-hop header, as in MLD.
fn mld(from: usize, to: Ipv6Addr, body: &[u8]) -> Vec<u8> {
    let with_options = [&[58, 0, 5, 2, 0, 0, 1, 0], body].concat();
    ethernet(group_mac(to.into()), from, 0x86dd, &ipv6(local(from), to, 0, &with_options))
}

fn to_group6(from: usize, group: Ipv6Addr) -> Vec<u8> {
    ethernet(
        group_mac(group.into()),
        from,
        0x86dd,
        &ipv6(local(from), group, 17, &udp_body(1, 2, &[7; 50])),
    )
}

#[test]
fn unicast_goes_to_its_host_alone_and_strangers_get_nothing() {
    let mut bench = Bench::new(3, json!({}));
    bench.send(0, &datagram(0, 2, 100), MS);
    assert_eq!(arrivals(&mut bench), [2]);
    bench.send(0, &datagram(0, 7, 100), 2 * MS);
    bench.send(0, &datagram(0, 0, 100), 3 * MS);
    bench.send(0, &[1, 2, 3], 4 * MS);
    assert_eq!(bench.network.links()["h0"].up.no_destination, 2);
    let records = bench.records();
    assert_eq!(
        records.iter().map(|record| (record.verdict, record.to)).collect::<Vec<_>>()[..2],
        [(0, 2), (10, 65535)]
    );
}

#[test]
fn no_frame_goes_from_one_network_to_another() {
    let port = |k: usize, network: Option<&str>| json!({"name": format!("h{k}"), "fd": 100 + k, "mac": format!("02:4d:00:00:00:{:02x}", k + 1), "network": network});
    let networks = [None, None, Some("wlan0"), Some("wlan0")];
    let ports: Vec<_> =
        networks.into_iter().enumerate().map(|(k, network)| port(k, network)).collect();
    let mut bench = Bench::new(4, json!({"ports": ports}));
    bench.send(0, &to_group(0, GROUP, 100), MS);
    assert_eq!(arrivals(&mut bench), [1]);
    bench.send(2, &to_group(2, GROUP, 100), 2 * MS);
    assert_eq!(arrivals(&mut bench), [3]);
    bench.send(2, &datagram(2, 3, 100), 3 * MS);
    assert_eq!(arrivals(&mut bench), [3]);
    bench.send(2, &datagram(2, 1, 100), 4 * MS);
    assert!(arrivals(&mut bench).is_empty());
    assert_eq!(bench.network.links()["h2"].up.no_destination, 1);
}

#[test]
fn flooding_reaches_everybody_else() {
    let mut bench = Bench::new(4, json!({}));
    bench.send(1, &to_group(1, GROUP, 100), MS);
    assert_eq!(arrivals(&mut bench), [0, 2, 3]);
    let records = bench.records();
    assert!(
        records.iter().all(|record| record.index == 0 && record.flags == 2) && records.len() == 3
    );
}

#[test]
fn a_snooping_switch_delivers_where_a_report_asked() {
    let mut bench = Bench::new(4, json!({"multicast": "snoop"}));
    let mut at_ns = 0;
    let mut reached = |bench: &mut Bench, frame: &[u8]| {
        at_ns += MS;
        bench.send(0, frame, at_ns);
        arrivals(bench)
    };
    let data = |group| to_group(0, group, 100);
    assert!(reached(&mut bench, &data(GROUP)).is_empty());
    bench.send(1, &report3(1, 4, GROUP, &[]), MS); // to "exclude nothing": a join
    let v2 = [&[0x16, 0, 0, 0][..], &GROUP.octets()].concat();
    bench.send(2, &igmp(2, GROUP, &v2), MS);
    bench.send(3, &report3(3, 5, OTHER, &[address(0)]), MS); // one source only: also a join
    arrivals(&mut bench);
    assert_eq!(reached(&mut bench, &data(GROUP)), [1, 2]);
    assert_eq!(reached(&mut bench, &data(OTHER)), [3]);
    // Leaves of both versions.
    bench.send(1, &report3(1, 3, GROUP, &[]), 3 * MS);
    let leave = [&[0x17, 0, 0, 0][..], &GROUP.octets()].concat();
    bench.send(2, &igmp(2, Ipv4Addr::new(224, 0, 0, 2), &leave), 3 * MS);
    arrivals(&mut bench);
    let before = bench.network.links()["h1"].down.unwanted;
    assert!(reached(&mut bench, &data(GROUP)).is_empty());
    assert_eq!(bench.network.links()["h1"].down.unwanted, before + 1);
    // Groups that no host ever joins.
    assert_eq!(reached(&mut bench, &data(Ipv4Addr::new(224, 0, 0, 251))), [1, 2, 3]);
    assert_eq!(reached(&mut bench, &ethernet([0xff; 6], 0, 0x0806, &[0; 28])), [1, 2, 3]);
    assert_eq!(
        reached(&mut bench, &ethernet([1, 0x80, 0xc2, 0, 0, 0xe], 0, 0x88cc, &[0; 28])),
        [1, 2, 3]
    );
    let records = bench.records();
    // Three datagrams and the report of version 2, which goes to the group itself.
    assert_eq!(records.iter().filter(|record| record.verdict == 8 && record.to == 3).count(), 4);
}

#[test]
fn groups_of_ipv6_are_snooped_too() {
    let mut bench = Bench::new(3, json!({"multicast": "snoop"}));
    let group = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 0x1234);
    bench.send(0, &to_group6(0, group), MS);
    assert!(arrivals(&mut bench).is_empty());
    // MLDv2, with a record of another group before.
    let mut body = vec![143, 0, 0, 0, 0, 0, 0, 2, 4, 0, 0, 0];
    body.extend(Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 9).octets());
    body.extend([4, 0, 0, 0]);
    body.extend(group.octets());
    bench.send(1, &mld(1, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16), &body), 2 * MS);
    // MLDv1.
    let body = [&[131, 0, 0, 0, 0, 0, 0, 0][..], &group.octets()].concat();
    bench.send(2, &mld(2, group, &body), 3 * MS);
    arrivals(&mut bench);
    bench.send(0, &to_group6(0, group), 4 * MS);
    assert_eq!(arrivals(&mut bench), [1, 2]);
    let done = [&[132, 0, 0, 0, 0, 0, 0, 0][..], &group.octets()].concat();
    bench.send(2, &mld(2, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2), &done), 5 * MS);
    arrivals(&mut bench);
    bench.send(0, &to_group6(0, group), 6 * MS);
    assert_eq!(arrivals(&mut bench), [1]);
    bench.send(0, &to_group6(0, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x99)), 7 * MS);
    assert_eq!(arrivals(&mut bench), [1, 2]);
}

#[test]
fn a_network_without_multicast_still_resolves_addresses() {
    let mut bench = Bench::new(3, json!({"multicast": "drop"}));
    bench.send(0, &to_group(0, GROUP, 100), MS);
    bench.send(0, &to_group(0, Ipv4Addr::new(224, 0, 0, 251), 100), MS);
    assert!(arrivals(&mut bench).is_empty());
    bench.send(0, &ethernet([0xff; 6], 0, 0x0806, &[0; 28]), MS);
    let solicited: IpAddr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 2).into();
    let IpAddr::V6(to) = solicited else { unreachable!() };
    bench.send(
        0,
        &ethernet(
            group_mac(solicited),
            0,
            0x86dd,
            &ipv6(local(0), to, 58, &[135, 0, 0, 0, 0, 0, 0, 0]),
        ),
        MS,
    );
    assert_eq!(arrivals(&mut bench), [1, 1, 2, 2]);
    assert_eq!(bench.network.links()["h0"].up.unwanted, 2);
}

#[test]
fn resolution_is_exempt_and_moves_no_draw() {
    let run = |with_arp: bool, exempt: bool| {
        let spec = json!({"loss": {"kind": "bernoulli", "p": 0.5}, "rate_bps": 1_000_000, "delay_ns": MS, "queue_frames": 10_000, "exempt_arp": exempt});
        let mut bench = Bench::new(2, json!({"links": {"h0": {"up": spec}}}));
        for k in 0..500 {
            if with_arp {
                bench.send(0, &ethernet([0xff; 6], 0, 0x0806, &[0; 28]), MS + k * MS);
            }
            bench.send(0, &datagram(0, 1, 100), MS + k * MS);
        }
        bench.until(i64::MAX / 2);
        bench.records()
    };
    let fates = |records: &[crate::common::Record]| {
        records.iter().filter(|r| r.class == 1).map(|r| r.verdict).collect::<Vec<_>>()
    };
    let mixed = run(true, true);
    let arp: Vec<_> = mixed.iter().filter(|record| record.class == 4).collect();
    assert!(
        arp.len() == 500
            && arp.iter().all(|record| record.verdict == 0 && record.due_ns == record.in_ns)
    );
    assert_eq!(fates(&mixed), fates(&run(false, true)));
    let lost =
        run(true, false).iter().filter(|record| record.class == 4 && record.verdict == 1).count();
    assert!((200..=300).contains(&lost), "{lost}");
}
