//! One frame on its way through the switch.

use std::net::IpAddr;
use std::rc::Rc;

use crate::effects::Fate;

/// The result of classifying the frame when it entered.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    pub class: Class,
    /// The bytes of the middleware's data in this frame.
    pub payload_bytes: u32,
    pub retransmission: bool,
    pub fragment: bool,
    pub multicast: bool,
    /// The priority class: a lower number leaves first.
    pub priority: u8,
    /// None if the frame is not IP.
    pub flow: Option<Flow>,
}

/// The sender and the receiver: frames with the same protocol, addresses and ports are one flow,
/// including the fragments of its datagrams. It is kept whole and not as a hash: a frame that meets
/// no policer costs no hashing, and two flows are never confused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    pub protocol: u8,
    pub source: IpAddr,
    pub destination: IpAddr,
    /// The source and destination port. None for a protocol without ports, or for a fragment whose
    /// datagram is not known.
    pub ports: Option<(u16, u16)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    #[default]
    Other = 0,
    Data = 1,
    Acknowledgement = 2,
    Discovery = 3,
    Resolution = 4,
}

impl Class {
    pub const NAMES: [&'static str; 5] =
        ["other", "data", "acknowledgement", "discovery", "resolution"];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    Delivered = 0,
    LostUp = 1,
    LostDown = 2,
    QueueFullUp = 3,
    QueueFullDown = 4,
    Blackhole = 5,
    NoCarrier = 6,
    TooLarge = 7,
    MulticastUnwanted = 8,
    GivenUp = 9,
    NoDestination = 10,
    Refused = 11,
    UnderWay = 12,
    PolicedUp = 13,
    PolicedDown = 14,
}

impl Verdict {
    pub const NAMES: [&'static str; 15] = [
        "delivered",
        "lost_up",
        "lost_down",
        "queue_full_up",
        "queue_full_down",
        "blackhole",
        "no_carrier",
        "too_large",
        "multicast_unwanted",
        "given_up",
        "no_destination",
        "refused",
        "under_way",
        "policed_up",
        "policed_down",
    ];
}

/// The value of `to` of a frame that has not reached a destination.
pub const NOWHERE: u16 = u16::MAX;

#[derive(Clone, Debug)]
pub struct Frame {
    pub bytes: Rc<[u8]>,
    pub index: u64,
    pub in_ns: i64,
    pub from: u16,
    pub to: u16,
    pub facts: Facts,
    pub duplicate: bool,
    pub corrupted: bool,
    pub attempts: u8,
    /// When it began to wait in its present direction.
    pub queued_ns: i64,
    /// The draws for it in its present direction.
    pub fate: Fate,
}

impl Frame {
    pub fn flags(&self) -> u8 {
        let Facts { retransmission, multicast, fragment, .. } = self.facts;
        [retransmission, multicast, self.duplicate, self.corrupted, fragment]
            .iter()
            .rev()
            .fold(0, |flags, set| flags << 1 | u8::from(*set))
    }
}
