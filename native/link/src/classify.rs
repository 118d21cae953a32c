//! Classifies a frame by its bytes when it enters the switch, and finds out whether its sender has
//! sent the same data before.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use crate::datagrams::Datagrams;
use crate::frame::{Class, Facts, Flow};
use crate::headers::{be16, be32, Headers, Ip, ARP, TCP, UDP};
use crate::memory::Recent;
use crate::priority::{self, Rule};
use crate::rtps::{self, Piece};

const IGMP: u8 = 2;
const ICMP6: u8 = 58;
/// Zenoh's scouting (zenoh's default configuration, `scouting/multicast/address`).
const ZENOH_SCOUTING: u16 = 7446;
/// Ports of names, leases and time: an operating system sends to them by itself.
const HOUSEKEEPING: [u16; 7] = [53, 67, 68, 123, 1900, 5353, 5355];
/// How many pieces of samples, and how many TCP connections or scouts, are remembered.
const MOST_PIECES: usize = 1 << 17;
const MOST_SENDERS: usize = 8192;

type Socket = (IpAddr, u16);

pub struct Classifier {
    rules: Vec<Rule>,
    /// The pieces of samples with their destinations, as hashes: a collision of two is rarer than
    /// any event that is counted here.
    pieces: Recent<u64, ()>,
    datagrams: Datagrams,
    /// TCP: the sequence number after the last byte that a sender has sent.
    flows: Recent<(Socket, Socket), u32>,
    scouts: Recent<Socket, ()>,
}

impl Classifier {
    pub fn new(rules: Vec<Rule>) -> Classifier {
        let (flows, scouts) = (Recent::new(MOST_SENDERS), Recent::new(MOST_SENDERS));
        Classifier {
            rules,
            pieces: Recent::new(MOST_PIECES),
            datagrams: Datagrams::default(),
            flows,
            scouts,
        }
    }

    pub fn look(&mut self, frame: &[u8], headers: &Headers<'_>) -> Facts {
        let multicast = frame.first().is_some_and(|first| first & 1 != 0);
        let priority = priority::class(&self.rules, headers);
        let facts = Facts { multicast, priority, ..Facts::default() };
        let Some(ip) = headers.ip else {
            return Facts {
                class: if headers.ether_type == ARP { Class::Resolution } else { Class::Other },
                ..facts
            };
        };
        let facts = Facts { flow: Some(flow(&ip, headers.payload)), ..facts };
        let Some(piece) = ip.piece else { return self.transport(&ip, headers.payload, facts) };
        let key = (ip.source, ip.destination, ip.protocol, piece.id);
        if piece.offset == 0 {
            let facts = Facts { fragment: true, ..self.transport(&ip, headers.payload, facts) };
            if let (UDP, Some(port), Some(content)) =
                (ip.protocol, be16(headers.payload, 2), headers.payload.get(8..))
            {
                self.datagrams.begin(key, facts, (ip.destination, port), content);
            }
            return facts;
        }
        // A later piece gets the class of the first, its priority too, or they would overtake each
        // other.
        let pieces = &mut self.pieces;
        let facts_of_first =
            self.datagrams.go_on(key, piece.offset, piece.last, headers.payload, |piece, to| {
                sent(pieces, piece, to, multicast)
            });
        facts_of_first.unwrap_or(Facts { fragment: true, ..facts })
    }

    fn transport(&mut self, ip: &Ip, body: &[u8], facts: Facts) -> Facts {
        match ip.protocol {
            UDP => self.udp(ip, body, facts),
            TCP => self.tcp(ip, body, facts),
            IGMP => Facts { class: Class::Resolution, ..facts },
            // Group membership is 130 to 132 and 143, neighbour and router discovery 133 to 137.
            ICMP6 if matches!(body.first(), Some(130..=137 | 143)) => {
                Facts { class: Class::Resolution, ..facts }
            }
            _ => facts,
        }
    }

    fn udp(&mut self, ip: &Ip, body: &[u8], facts: Facts) -> Facts {
        let (Some(source), Some(destination), Some(content)) =
            (be16(body, 0), be16(body, 2), body.get(8..))
        else {
            return facts;
        };
        let (from, to) = ((ip.source, source), (ip.destination, destination));
        if let Some(message) = rtps::read(content) {
            // Not `any`, because each piece has to be noted.
            let note = |before: bool, piece: &Piece| {
                sent(&mut self.pieces, *piece, to, facts.multicast) || before
            };
            let retransmission = message.pieces.iter().fold(false, note);
            return Facts {
                class: message.class,
                payload_bytes: message.payload_bytes,
                retransmission,
                ..facts
            };
        }
        if destination == ZENOH_SCOUTING {
            self.scouts.put(from, ());
            return Facts { class: Class::Discovery, ..facts };
        }
        // The answer to a scout goes to the scout's own port.
        if source == ZENOH_SCOUTING || self.scouts.get(to).is_some() {
            return Facts { class: Class::Discovery, ..facts };
        }
        if HOUSEKEEPING.contains(&destination) || HOUSEKEEPING.contains(&source) {
            return facts;
        }
        Facts { class: Class::Data, payload_bytes: content.len() as u32, ..facts }
    }

    fn tcp(&mut self, ip: &Ip, body: &[u8], facts: Facts) -> Facts {
        let (Some(source), Some(destination), Some(sequence)) =
            (be16(body, 0), be16(body, 2), be32(body, 4))
        else {
            return facts;
        };
        let (Some(offset), Some(flags)) = (body.get(12), body.get(13)) else { return facts };
        let payload_bytes = body.len().saturating_sub(usize::from(offset >> 4) * 4) as u32;
        let flow = ((ip.source, source), (ip.destination, destination));
        let before = self.flows.get(flow);
        let opens = flags & 0x02 != 0;
        let behind = sequence.wrapping_add(payload_bytes).wrapping_add(u32::from(opens));
        // A new connection on old ports begins at another number; a repeated SYN does not.
        let again = |next: u32| {
            if opens {
                next == behind
            } else {
                payload_bytes > 0 && (sequence.wrapping_sub(next) as i32) < 0
            }
        };
        let retransmission = before.is_some_and(again);
        let next = match before {
            Some(next) if !opens && (behind.wrapping_sub(next) as i32) < 0 => next,
            _ => behind,
        };
        self.flows.put(flow, next);
        let class = if payload_bytes > 0 { Class::Data } else { Class::Acknowledgement };
        Facts { class, payload_bytes, retransmission, ..facts }
    }
}

/// The flow of a frame. A later piece of a datagram has no ports; it gets the flow of its first
/// piece if that is known.
fn flow(ip: &Ip, body: &[u8]) -> Flow {
    let begins = ip.piece.is_none_or(|piece| piece.offset == 0);
    let ports = if begins && matches!(ip.protocol, UDP | TCP) {
        be16(body, 0).zip(be16(body, 2))
    } else {
        None
    };
    Flow { protocol: ip.protocol, source: ip.source, destination: ip.destination, ports }
}

/// Notes that a piece of a sample goes to this receiver; returns whether it went there before. A
/// piece that went by multicast reached this receiver too; one that was sent only to others is new
/// here.
fn sent(pieces: &mut Recent<u64, ()>, piece: Piece, to: Socket, multicast: bool) -> bool {
    let to = (!multicast).then_some(to);
    // A sample that was sent whole may be sent again in fragments (Cyclone DDS repeats so), and the
    // other way round.
    let other = Piece { fragment: u32::from(piece.fragment == 0), ..piece };
    let before = [key(piece, None), key(other, None), key(other, to)]
        .into_iter()
        .any(|key| pieces.get(key).is_some());
    pieces.replace(key(piece, to), ()) || before
}

/// The hash of a piece and its destination; None: it goes by multicast, to every host.
fn key(piece: Piece, to: Option<Socket>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (piece, to).hash(&mut hasher);
    hasher.finish()
}
