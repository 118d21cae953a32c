//! What a frame carries: hand-made bytes in the form that the middlewares send.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::common::{address, ethernet, group_mac, ipv4, ipv6, mac, udp_body};
use rmwbench_link::classify::Classifier;
use rmwbench_link::frame::{Class, Facts};
use rmwbench_link::headers;

const PREFIX: [u8; 12] = [1, 0x10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const USER_WRITER: [u8; 4] = [0, 0, 0x12, 0x03];
const SPDP_WRITER: [u8; 4] = [0, 1, 0, 0xc2];
const SEDP_WRITER: [u8; 4] = [0, 0, 3, 0xc2];
const SEDP_READER: [u8; 4] = [0, 0, 3, 0xc7];
const NOBODY: [u8; 4] = [0; 4];
const SPDP_GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

struct Wire(Classifier);

impl Wire {
    fn new() -> Wire {
        Wire(Classifier::new(vec![]))
    }

    fn see(&mut self, frame: &[u8]) -> Facts {
        self.0.look(frame, &headers::parse(frame))
    }

    fn udp(&mut self, ports: (u16, u16), content: &[u8]) -> Facts {
        let body = udp_body(ports.0, ports.1, content);
        self.see(&ethernet(
            mac(1),
            0,
            0x0800,
            &ipv4(address(0), address(1), 17, 1, 0x4000, 0, &body),
        ))
    }

    fn multicast(&mut self, group: Ipv4Addr, ports: (u16, u16), content: &[u8]) -> Facts {
        let body = udp_body(ports.0, ports.1, content);
        self.see(&ethernet(
            group_mac(group.into()),
            0,
            0x0800,
            &ipv4(address(0), group, 17, 1, 0x4000, 0, &body),
        ))
    }

    fn tcp(&mut self, sequence: u32, flags: u8, payload: usize) -> Facts {
        let mut body = [
            &40_000_u16.to_be_bytes()[..],
            &7447_u16.to_be_bytes(),
            &sequence.to_be_bytes(),
            &[0; 4],
        ]
        .concat();
        body.extend([0x80, flags, 0xff, 0xff, 0, 0, 0, 0]); // a header of 32 bytes
        body.extend([1; 12]);
        body.extend(vec![7; payload]);
        // It is padded to Ethernet's minimum, as a device may do.
        let mut frame =
            ethernet(mac(1), 0, 0x0800, &ipv4(address(0), address(1), 6, 1, 0x4000, 0, &body));
        frame.resize(frame.len().max(70), 0);
        self.see(&frame)
    }
}

fn submessage(kind: u8, flags: u8, little: bool, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u16;
    let length = if little { length.to_le_bytes() } else { length.to_be_bytes() };
    [&[kind, flags | u8::from(little)][..], &length, body].concat()
}

fn rtps(submessages: &[Vec<u8>]) -> Vec<u8> {
    [&b"RTPS\x02\x05\x01\x0f"[..], &PREFIX, &submessages.concat()].concat()
}

fn info_ts() -> Vec<u8> {
    submessage(0x09, 0, true, &[0; 8])
}

fn number(value: u64, little: bool) -> Vec<u8> {
    let (high, low) = ((value >> 32) as u32, value as u32);
    if little {
        [high.to_le_bytes(), low.to_le_bytes()].concat()
    } else {
        [high.to_be_bytes(), low.to_be_bytes()].concat()
    }
}

/// DATA with a payload; with inline QoS of 12 bytes if `qos`.
fn data(writer: [u8; 4], sequence: u64, payload: usize, little: bool, qos: bool) -> Vec<u8> {
    let short = |value: u16| if little { value.to_le_bytes() } else { value.to_be_bytes() };
    let mut body = [&[0, 0][..], &short(16), &NOBODY, &writer, &number(sequence, little)].concat();
    if qos {
        body.extend([short(0x70), short(4)].concat());
        body.extend([9; 4]);
        body.extend([short(1), short(0)].concat());
    }
    body.extend(vec![7; payload]);
    submessage(0x15, if qos { 0x06 } else { 0x04 }, little, &body)
}

fn data_frag(sequence: u64, first: u32, count: u16, payload: usize) -> Vec<u8> {
    let mut body = [
        &[0, 0, 28, 0][..],
        &NOBODY,
        &USER_WRITER,
        &number(sequence, true),
        &first.to_le_bytes(),
        &count.to_le_bytes(),
    ]
    .concat();
    body.extend(1024_u16.to_le_bytes());
    body.extend(100_000_u32.to_le_bytes());
    body.extend(vec![7; payload]);
    submessage(0x16, 0, true, &body)
}

fn heartbeat(writer: [u8; 4]) -> Vec<u8> {
    submessage(
        0x07,
        0,
        true,
        &[&NOBODY[..], &writer, &number(1, true), &number(9, true), &[1, 0, 0, 0]].concat(),
    )
}

fn acknack(reader: [u8; 4], writer: [u8; 4]) -> Vec<u8> {
    submessage(
        0x06,
        0,
        true,
        &[&reader[..], &writer, &number(9, true), &[0, 0, 0, 0], &[1, 0, 0, 0]].concat(),
    )
}

#[test]
fn rtps_data_counts_its_serialised_payload() {
    let mut wire = Wire::new();
    for (k, (little, qos)) in
        [(true, false), (true, true), (false, false), (false, true)].into_iter().enumerate()
    {
        let found = wire.udp(
            (7411, 7413),
            &rtps(&[
                info_ts(),
                data(USER_WRITER, k as u64 + 1, 500, little, qos),
                heartbeat(USER_WRITER),
            ]),
        );
        assert_eq!(
            (found.class, found.payload_bytes, found.retransmission, found.multicast),
            (Class::Data, 500, false, false),
            "{little} {qos}"
        );
    }
    // Two samples in one message; a length of 0 reaches to the end; without a payload there is
    // none.
    let found = wire.udp(
        (7411, 7413),
        &rtps(&[data(USER_WRITER, 10, 40, true, false), data(USER_WRITER, 11, 60, true, false)]),
    );
    assert_eq!(found.payload_bytes, 100);
    let mut last = data(USER_WRITER, 12, 70, true, false);
    last[2..4].fill(0);
    assert_eq!(wire.udp((7411, 7413), &rtps(&[info_ts(), last])).payload_bytes, 70);
    let mut dispose = data(USER_WRITER, 13, 0, true, true);
    dispose[1] = 0x03;
    let found = wire.udp((7411, 7413), &rtps(&[dispose]));
    assert_eq!((found.class, found.payload_bytes), (Class::Data, 0));
}

#[test]
fn rtps_control_and_discovery_are_told_apart() {
    let mut wire = Wire::new();
    let mut class = |submessages: &[Vec<u8>]| wire.udp((7411, 7410), &rtps(submessages)).class;
    assert_eq!(class(&[heartbeat(USER_WRITER)]), Class::Acknowledgement);
    assert_eq!(
        class(&[submessage(0x0e, 0, true, &PREFIX), acknack([0, 0, 0x12, 4], USER_WRITER)]),
        Class::Acknowledgement
    );
    assert_eq!(
        class(&[submessage(0x08, 0, true, &[&NOBODY[..], &USER_WRITER, &[0; 20]].concat())]),
        Class::Acknowledgement
    );
    assert_eq!(
        class(&[submessage(0x12, 0, true, &[&NOBODY[..], &USER_WRITER, &[0; 24]].concat())]),
        Class::Acknowledgement
    );
    assert_eq!(class(&[heartbeat(SEDP_WRITER)]), Class::Discovery);
    assert_eq!(class(&[acknack(SEDP_READER, SEDP_WRITER)]), Class::Discovery);
    assert_eq!(class(&[info_ts(), data(SEDP_WRITER, 1, 300, true, false)]), Class::Discovery);
    assert_eq!(
        class(&[acknack(SEDP_READER, SEDP_WRITER), acknack([0, 0, 0x12, 4], USER_WRITER)]),
        Class::Acknowledgement
    );
    assert_eq!(
        class(&[submessage(0x33, 0, true, &[0; 24]), submessage(0x30, 0, true, &[0; 200])]),
        Class::Other
    );
    let spdp = wire.multicast(
        SPDP_GROUP,
        (7410, 7400),
        &rtps(&[info_ts(), data(SPDP_WRITER, 1, 400, true, false)]),
    );
    assert_eq!((spdp.class, spdp.payload_bytes, spdp.multicast), (Class::Discovery, 0, true));
}

#[test]
fn rtps_retransmissions_are_known_per_piece_and_receiver() {
    let mut wire = Wire::new();
    let message = |sequence| rtps(&[info_ts(), data(USER_WRITER, sequence, 100, true, false)]);
    let mut again = |port: u16, message: &[u8]| wire.udp((7411, port), message).retransmission;
    assert!(!again(7413, &message(1)) && !again(7413, &message(2)));
    // The same sample for another participant of the host is no retransmission.
    assert!(!again(7415, &message(1)));
    assert!(again(7413, &message(1)) && again(7415, &message(1)) && !again(7415, &message(2)));
    // Fragments one by one, also if several were sent together.
    let fragments = |first, count| rtps(&[data_frag(9, first, count, 1000)]);
    assert!(
        !again(7413, &fragments(1, 1))
            && !again(7413, &fragments(2, 3))
            && !again(7413, &fragments(5, 1))
    );
    assert!(
        again(7413, &fragments(3, 1))
            && again(7413, &fragments(5, 2))
            && again(7413, &fragments(6, 1))
            && !again(7413, &fragments(7, 1))
    );
    // A sample that was sent whole is repeated in fragments, and the other way round.
    assert!(!again(7413, &message(30)) && again(7413, &rtps(&[data_frag(30, 4, 1, 1000)])));
    assert!(!again(7413, &rtps(&[data_frag(31, 1, 2, 1000)])) && again(7413, &message(31)));
    // Multicast reached all participants: sent again to one of them, it is a retransmission.
    assert!(!wire.multicast(SPDP_GROUP, (7411, 7401), &message(20)).retransmission);
    assert!(wire.udp((7411, 7417), &message(20)).retransmission);
    assert!(wire.multicast(SPDP_GROUP, (7411, 7401), &message(20)).retransmission);
}

#[test]
fn ip_fragments_are_what_their_first_was() {
    let mut wire = Wire::new();
    let message = rtps(&[info_ts(), data(USER_WRITER, 1, 4000, true, false)]);
    let body = udp_body(7411, 7413, &message);
    let mut piece = |id: u16, from: usize, to: usize, more: bool| {
        let place = (from / 8) as u16 | if more { 0x2000 } else { 0 };
        wire.see(&ethernet(
            mac(1),
            0,
            0x0800,
            &ipv4(address(0), address(1), 17, id, place, 0, &body[from..to]),
        ))
    };
    let overhead = body.len() - 4000;
    let found =
        [piece(5, 0, 1480, true), piece(5, 1480, 2960, true), piece(5, 2960, body.len(), false)];
    assert!(found
        .iter()
        .all(|facts| facts.class == Class::Data && facts.fragment && !facts.retransmission));
    assert_eq!(found.iter().map(|facts| facts.payload_bytes as usize).sum::<usize>(), 4000);
    assert_eq!(found[0].payload_bytes as usize, 1480 - overhead);
    // The whole datagram again, with another identification: all of its pieces are retransmissions.
    assert!(piece(6, 0, 1480, true).retransmission && piece(6, 1480, 2960, true).retransmission);
    // A sample in fragments, all in one datagram; later some of them alone, as Cyclone DDS repeats
    // requested ones.
    let all: Vec<Vec<u8>> =
        (1..=5).map(|first| data_frag(50, first, 1, 900)).chain([heartbeat(USER_WRITER)]).collect();
    let body = udp_body(7411, 7413, &rtps(&all));
    let mut wire = Wire::new();
    let ranges = [(0, 1480), (1480, 2960), (2960, 4440), (4440, body.len())];
    let mut payload = 0;
    for (from, to) in ranges {
        let place = (from / 8) as u16 | if to < body.len() { 0x2000 } else { 0 };
        let found = wire.see(&ethernet(
            mac(1),
            0,
            0x0800,
            &ipv4(address(0), address(1), 17, 9, place, 0, &body[from..to]),
        ));
        assert!(found.class == Class::Data && found.fragment && !found.retransmission, "{from}");
        payload += found.payload_bytes;
    }
    assert_eq!(payload, 5 * 900); // the heartbeat after them is not payload
    assert!((1..=5).all(|first| wire
        .udp((7411, 7413), &rtps(&[data_frag(50, first, 1, 900)]))
        .retransmission));
    assert!(!wire.udp((7411, 7413), &rtps(&[data_frag(50, 6, 1, 900)])).retransmission);
}

#[test]
fn a_fragment_whose_first_was_never_seen_is_just_that() {
    let mut wire = Wire::new();
    let body = vec![7; 3000];
    let mut piece = |id: u16, from: usize, to: usize, more: bool| {
        let place = (from / 8) as u16 | if more { 0x2000 } else { 0 };
        wire.see(&ethernet(
            mac(1),
            0,
            0x0800,
            &ipv4(address(0), address(1), 17, id, place, 0, &body[from..to]),
        ))
    };
    assert_eq!(piece(7, 1480, 2960, true), Facts { fragment: true, ..piece(8, 1480, 2960, true) });
    assert_eq!(piece(7, 1480, 2960, true).class, Class::Other);
}

#[test]
fn fragments_of_ipv6_too() {
    let mut wire = Wire::new();
    let from: Ipv6Addr = "fe80::1".parse().unwrap();
    let to: Ipv6Addr = "fe80::2".parse().unwrap();
    let body = udp_body(7411, 7413, &rtps(&[data(USER_WRITER, 1, 3000, true, false)]));
    let mut piece = |range: std::ops::Range<usize>, more: u8| {
        let place = (range.start as u16) | u16::from(more);
        let header = [&[17, 0][..], &place.to_be_bytes(), &[0, 0, 0, 9]].concat();
        wire.see(&ethernet(
            mac(1),
            0,
            0x86dd,
            &ipv6(from, to, 44, &[&header, &body[range]].concat()),
        ))
    };
    let found = [piece(0..1448, 1), piece(1448..2896, 1), piece(2896..body.len(), 0)];
    assert!(found.iter().all(|facts| facts.class == Class::Data && facts.fragment));
    assert_eq!(found.iter().map(|facts| facts.payload_bytes).sum::<u32>(), 3000);
}

#[test]
fn tcp_segments_are_data_or_acknowledgements_and_repeats_are_seen() {
    let mut wire = Wire::new();
    let (syn, ack) = (0x02, 0x10);
    assert_eq!(wire.tcp(u32::MAX - 10, syn, 0).class, Class::Acknowledgement);
    assert!(wire.tcp(u32::MAX - 10, syn, 0).retransmission);
    // Across the end of the sequence numbers.
    let first = wire.tcp(u32::MAX - 9, ack, 1000);
    assert_eq!(
        (first.class, first.payload_bytes, first.retransmission),
        (Class::Data, 1000, false)
    );
    assert!(!wire.tcp(990, ack, 500).retransmission);
    let pure = wire.tcp(1490, ack, 0);
    assert_eq!(
        (pure.class, pure.payload_bytes, pure.retransmission),
        (Class::Acknowledgement, 0, false)
    );
    assert!(
        wire.tcp(990, ack, 500).retransmission && wire.tcp(u32::MAX - 9, ack, 1000).retransmission
    );
    assert!(!wire.tcp(1490, ack, 10).retransmission);
    // A new connection on the same ports begins anew.
    assert!(!wire.tcp(77, syn, 0).retransmission);
    assert!(!wire.tcp(78, ack, 10).retransmission);
}

#[test]
fn zenoh_scouting_is_discovery_with_its_answers() {
    let mut wire = Wire::new();
    let scout = wire.multicast(Ipv4Addr::new(224, 0, 0, 224), (45_000, 7446), &[0x01, 0x09, 0x0f]);
    assert_eq!((scout.class, scout.multicast), (Class::Discovery, true));
    // The answer, from the other host's ephemeral port to the scout's.
    let hello = ethernet(
        mac(0),
        1,
        0x0800,
        &ipv4(address(1), address(0), 17, 1, 0, 0, &udp_body(51_000, 45_000, &[0x62, 0x09, 0x0f])),
    );
    assert_eq!(wire.see(&hello).class, Class::Discovery);
    let other = wire.udp((45_001, 51_000), &[0x62, 0x09, 0x0f]);
    assert_eq!((other.class, other.payload_bytes), (Class::Data, 3));
}

#[test]
fn what_the_system_says_by_itself_is_no_data() {
    let mut wire = Wire::new();
    let class = |wire: &mut Wire, frame: &[u8]| wire.see(frame).class;
    assert_eq!(class(&mut wire, &ethernet([0xff; 6], 0, 0x0806, &[0; 28])), Class::Resolution);
    let router: IpAddr = "ff02::2".parse().unwrap();
    let IpAddr::V6(to) = router else { unreachable!() };
    let solicitation = ipv6("fe80::1".parse().unwrap(), to, 58, &[133, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        class(&mut wire, &ethernet(group_mac(router), 0, 0x86dd, &solicitation)),
        Class::Resolution
    );
    let igmp =
        ipv4(address(0), Ipv4Addr::new(224, 0, 0, 22), 2, 1, 0, 0, &[0x22, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        class(&mut wire, &ethernet([1, 0, 0x5e, 0, 0, 22], 0, 0x0800, &igmp)),
        Class::Resolution
    );
    let ping = ipv4(address(0), address(1), 1, 1, 0, 0, &[8, 0, 0, 0, 0, 1, 0, 1]);
    assert_eq!(class(&mut wire, &ethernet(mac(1), 0, 0x0800, &ping)), Class::Other);
    assert_eq!(
        wire.multicast(Ipv4Addr::new(224, 0, 0, 251), (5353, 5353), &[0; 40]).class,
        Class::Other
    );
    assert_eq!(wire.udp((8000, 9000), &[0; 40]).class, Class::Data);
    // After a VLAN tag.
    let body = ipv4(address(0), address(1), 17, 1, 0, 0, &udp_body(1, 9000, &[0; 40]));
    let tagged = ethernet(mac(1), 0, 0x8100, &[&[0, 5, 8, 0][..], &body].concat());
    assert_eq!(wire.see(&tagged).payload_bytes, 40);
}

#[test]
fn anything_at_all_is_survived() {
    use rand::{Rng, RngCore, SeedableRng};
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    let mut wire = Wire::new();
    let samples = [
        ethernet(
            mac(1),
            0,
            0x0800,
            &ipv4(
                address(0),
                address(1),
                17,
                1,
                0,
                0,
                &udp_body(
                    1,
                    2,
                    &rtps(&[
                        info_ts(),
                        data(USER_WRITER, 1, 90, true, true),
                        data_frag(2, 1, 3, 50),
                    ]),
                ),
            ),
        ),
        ethernet(
            mac(1),
            0,
            0x86dd,
            &ipv6(
                "fe80::1".parse().unwrap(),
                "fe80::2".parse().unwrap(),
                44,
                &[17, 0, 0, 1, 0, 0, 0, 9, 1, 2, 3, 4],
            ),
        ),
        ethernet(
            mac(1),
            0,
            0x0800,
            &ipv4(
                address(0),
                Ipv4Addr::new(224, 0, 0, 22),
                2,
                1,
                0,
                0,
                &[0x22, 0, 0, 0, 0, 0, 0, 9, 4, 0, 0, 9, 1, 2, 3, 4],
            ),
        ),
    ];
    let mut memberships = rmwbench_link::multicast::Memberships::default();
    for turn in 0..60_000 {
        let mut frame = samples[turn % samples.len()].clone();
        for _ in 0..random.random_range(0..6) {
            let at = random.random_range(0..frame.len());
            frame[at] = random.next_u32() as u8;
        }
        frame.truncate(random.random_range(0..=frame.len()));
        wire.see(&frame);
        memberships.learn(0, &headers::parse(&frame));
    }
}
