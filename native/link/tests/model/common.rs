//! A network in virtual time: frames go in at set times, records come out. There is no device and
//! no clock.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::FileExt;

use rmwbench_link::log::{Log, RECORD_BYTES};
use rmwbench_link::network::{Network, Outside, Plan, Refused};
use rmwbench_link::protocol::{mac_address, Open, Port};
use serde_json::{json, Value};

pub const US: i64 = 1_000;
pub const MS: i64 = 1_000_000;

pub struct Bench {
    pub network: Network,
    pub world: World,
    log: File,
}

#[derive(Default)]
pub struct World {
    pub now_ns: i64,
    pub written: Vec<(usize, Vec<u8>)>,
    pub carriers: Vec<(usize, bool)>,
    pub refuse: bool,
}

impl Outside for World {
    fn now_ns(&self) -> i64 {
        self.now_ns
    }

    fn write(&mut self, port: usize, frame: &[u8]) -> Result<(), Refused> {
        if self.refuse {
            return Err(Refused::Down);
        }
        self.written.push((port, frame.to_vec()));
        Ok(())
    }

    fn carrier(&mut self, port: usize, on: bool) -> Result<(), String> {
        self.carriers.push((port, on));
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub index: u64,
    pub in_ns: i64,
    pub due_ns: i64,
    pub out_ns: i64,
    pub frame_bytes: u32,
    pub payload_bytes: u32,
    pub from: u16,
    pub to: u16,
    pub verdict: u8,
    pub class: u8,
    pub flags: u8,
    /// The direction in which it ended: 1 up, 2 down.
    pub ended: u8,
    pub attempts: u8,
}

impl Bench {
    /// Hosts 0, 1, … named `h0`, `h1`, …; `settings` are fields of `open`.
    pub fn new(hosts: usize, settings: Value) -> Bench {
        let ports: Vec<Value> = (0..hosts)
            .map(|k| json!({"name": format!("h{k}"), "fd": 100 + k, "mac": mac_text(k)}))
            .collect();
        let mut open = json!({"seed": 1, "ports": ports});
        settings.as_object().unwrap().iter().for_each(|(key, value)| open[key] = value.clone());
        let open: Open = serde_json::from_value(open).unwrap();
        assert_eq!(open.problem(), None);
        let log =
            File::from(rustix::fs::memfd_create("log", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
        log.set_len(RECORD_BYTES as u64 * 60_000).unwrap();
        let plan = Plan {
            seed: open.seed,
            ports: open.ports.into_iter().map(Port::planned).collect(),
            links: open.links,
            media: open.media,
            multicast: open.multicast,
            priority: open.priority,
        };
        Bench {
            network: Network::new(plan, Log::map(&log).unwrap(), 0),
            world: World::default(),
            log,
        }
    }

    pub fn send(&mut self, host: usize, frame: &[u8], at_ns: i64) {
        self.world.now_ns = at_ns;
        self.network.arrive(host, frame, at_ns, &mut self.world);
    }

    pub fn until(&mut self, at_ns: i64) {
        self.world.now_ns = at_ns;
        self.network.advance(at_ns, &mut self.world);
    }

    pub fn change(&mut self, at_ns: i64, host: usize, what: Value) {
        let change = serde_json::from_value(
            json!({"at_ns": at_ns, "link": format!("h{host}"), "change": what}),
        )
        .unwrap();
        self.network.schedule(vec![change], self.world.now_ns).unwrap();
    }

    /// Ends the log and reads it, in the order of writing.
    pub fn records(&mut self) -> Vec<Record> {
        let (count, unlogged) = self.network.close_log();
        assert_eq!(unlogged, 0);
        let mut raw = vec![0; count * RECORD_BYTES];
        self.log.read_exact_at(&mut raw, 0).unwrap();
        raw.chunks_exact(RECORD_BYTES).map(record).collect()
    }
}

fn record(raw: &[u8]) -> Record {
    let (u64_at, u32_at, u16_at) = (
        |at: usize| u64::from_le_bytes(raw[at..at + 8].try_into().unwrap()),
        |at: usize| u32::from_le_bytes(raw[at..at + 4].try_into().unwrap()),
        |at: usize| u16::from_le_bytes(raw[at..at + 2].try_into().unwrap()),
    );
    Record {
        index: u64_at(0),
        in_ns: u64_at(8) as i64,
        due_ns: u64_at(16) as i64,
        out_ns: u64_at(24) as i64,
        frame_bytes: u32_at(32),
        payload_bytes: u32_at(36),
        from: u16_at(40),
        to: u16_at(42),
        verdict: raw[44],
        class: raw[45],
        flags: raw[46] & 0x1f,
        ended: raw[46] >> 5,
        attempts: raw[47],
    }
}

pub fn mac_text(host: usize) -> String {
    format!("02:4d:00:00:00:{:02x}", host + 1)
}

pub fn mac(host: usize) -> [u8; 6] {
    mac_address(&mac_text(host)).unwrap()
}

pub fn ethernet(to: [u8; 6], from: usize, ether_type: u16, body: &[u8]) -> Vec<u8> {
    [&to[..], &mac(from), &ether_type.to_be_bytes(), body].concat()
}

pub fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, host as u8 + 1)
}

/// An IPv4 packet; `place`: flags and fragment offset.
pub fn ipv4(
    from: Ipv4Addr,
    to: Ipv4Addr,
    protocol: u8,
    id: u16,
    place: u16,
    tos: u8,
    body: &[u8],
) -> Vec<u8> {
    let mut packet = vec![0x45, tos];
    packet.extend((20 + body.len() as u16).to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend(place.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend(body);
    packet
}

pub fn ipv6(from: Ipv6Addr, to: Ipv6Addr, next: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((body.len() as u16).to_be_bytes());
    packet.extend([next, 1]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend(body);
    packet
}

pub fn udp_body(source: u16, destination: u16, content: &[u8]) -> Vec<u8> {
    let mut body = source.to_be_bytes().to_vec();
    body.extend(destination.to_be_bytes());
    body.extend((8 + content.len() as u16).to_be_bytes());
    body.extend([0, 0]);
    body.extend(content);
    body
}

/// The Ethernet address of a group.
pub fn group_mac(group: IpAddr) -> [u8; 6] {
    match group {
        IpAddr::V4(group) => {
            let [_, b, c, d] = group.octets();
            [1, 0, 0x5e, b & 0x7f, c, d]
        }
        IpAddr::V6(group) => {
            let [.., a, b, c, d] = group.octets();
            [0x33, 0x33, a, b, c, d]
        }
    }
}

/// A whole frame of `bytes` with a UDP datagram from one host to another.
pub fn datagram(from: usize, to: usize, bytes: usize) -> Vec<u8> {
    datagram_at(from, to, 9000, bytes)
}

pub fn datagram_at(from: usize, to: usize, port: u16, bytes: usize) -> Vec<u8> {
    let body = udp_body(8000, port, &vec![7; bytes - 42]);
    ethernet(mac(to), from, 0x0800, &ipv4(address(from), address(to), 17, 1, 0, 0, &body))
}

pub fn to_group(from: usize, group: Ipv4Addr, bytes: usize) -> Vec<u8> {
    let body = udp_body(8000, 9000, &vec![7; bytes - 42]);
    ethernet(group_mac(group.into()), from, 0x0800, &ipv4(address(from), group, 17, 1, 0, 0, &body))
}
