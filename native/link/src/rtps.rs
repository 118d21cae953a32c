//! RTPS messages (OMG DDSI-RTPS 2.5 §8.3, §9.4), as far as accounting needs them: the kinds of
//! their submessages, the bytes of payload, and the samples. An encrypted submessage shows no kind
//! and is `other`.

use crate::frame::Class;
use crate::headers::be32;

/// A piece of a sample as a writer sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    pub writer: [u8; 16],
    pub sequence_number: u64,
    /// The number of the fragment; 0 for a whole sample.
    pub fragment: u32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    pub class: Class,
    /// The bytes of serialised data from user writers, with its encapsulation header.
    pub payload_bytes: u32,
    pub pieces: Vec<Piece>,
}

const HEADER_BYTES: usize = 20;
const PAD: u8 = 0x01;
const ACKNACK: u8 = 0x06;
const HEARTBEAT: u8 = 0x07;
const GAP: u8 = 0x08;
const INFO_TS: u8 = 0x09;
const NACK_FRAG: u8 = 0x12;
const HEARTBEAT_FRAG: u8 = 0x13;
const DATA: u8 = 0x15;
const DATA_FRAG: u8 = 0x16;
/// One submessage cannot hold more fragments than this and still fit into a datagram.
const MOST_FRAGMENTS: u16 = 1024;

/// Reads a message; None for a payload that is not RTPS. A message that ends early (the rest is in
/// other IP fragments) is read as far as it goes.
pub fn read(message: &[u8]) -> Option<Message> {
    if message.len() < HEADER_BYTES || !message.starts_with(b"RTPS") {
        return None;
    }
    let mut facts = Message::default();
    let (mut builtin_data, mut user_control, mut builtin_control) = (false, false, false);
    let mut user_data = false;
    let mut at = HEADER_BYTES;
    while let (Some(&kind), Some(&flags)) = (message.get(at), message.get(at + 1)) {
        let order = Order { little: flags & 1 != 0 };
        let Some(length) = order.u16(message, at + 2) else { break };
        let body_at = at + 4;
        // Length 0 means up to the end of the message, except in a submessage that may be empty.
        let end = if length == 0 && kind != PAD && kind != INFO_TS {
            message.len()
        } else {
            (body_at + usize::from(length)).min(message.len())
        };
        let body = message.get(body_at..end).unwrap_or(&[]);
        let entity = |at: usize| be32(body, at).map(|id| id & 0xc0 == 0xc0);
        match kind {
            DATA | DATA_FRAG => match entity(8) {
                Some(true) => builtin_data = true,
                Some(false) => {
                    user_data = true;
                    data(kind, flags, order, message, body, &mut facts);
                }
                None => {}
            },
            ACKNACK | HEARTBEAT | GAP | NACK_FRAG | HEARTBEAT_FRAG => match entity(4) {
                Some(true) => builtin_control = true,
                Some(false) => user_control = true,
                None => {}
            },
            _ => {}
        }
        at = end;
        if end == body_at && length == 0 && kind != PAD && kind != INFO_TS {
            break;
        }
    }
    facts.class = match () {
        () if user_data => Class::Data,
        () if builtin_data => Class::Discovery,
        () if user_control => Class::Acknowledgement,
        () if builtin_control => Class::Discovery,
        () => Class::Other,
    };
    Some(facts)
}

/// The fields: extraFlags u16, octetsToInlineQos u16, reader, writer, sequence number; DATA_FRAG
/// also has the first fragment, the number of fragments, their size, and the sample's size.
fn data(kind: u8, flags: u8, order: Order, message: &[u8], body: &[u8], facts: &mut Message) {
    let (Some(to_qos), Some(high), Some(low)) =
        (order.u16(body, 2), order.u32(body, 12), order.u32(body, 16))
    else {
        return;
    };
    let mut writer = [0; 16];
    writer[..12].copy_from_slice(&message[8..20]);
    writer[12..].copy_from_slice(&body[8..12]);
    let sequence_number = u64::from(high) << 32 | u64::from(low);
    let (fragments, has_payload) = if kind == DATA_FRAG {
        let (Some(first), Some(count)) = (order.u32(body, 20), order.u16(body, 24)) else { return };
        let last = first.saturating_add(u32::from(count.min(MOST_FRAGMENTS)));
        (first..last, true)
    } else {
        (0..1, flags & 0x0c != 0)
    };
    facts.pieces.extend(fragments.map(|fragment| Piece { writer, sequence_number, fragment }));
    let mut at = 4 + usize::from(to_qos);
    if flags & 0x02 != 0 {
        at = behind_parameters(order, body, at);
    }
    if has_payload {
        facts.payload_bytes += body.len().saturating_sub(at) as u32;
    }
}

/// Skips the inline QoS: parameters of id, length, value, up to the sentinel.
fn behind_parameters(order: Order, body: &[u8], mut at: usize) -> usize {
    while let (Some(id), Some(length)) = (order.u16(body, at), order.u16(body, at + 2)) {
        if id == 1 {
            return at + 4;
        }
        at += 4 + usize::from(length);
    }
    body.len()
}

#[derive(Clone, Copy)]
struct Order {
    little: bool,
}

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let raw: [u8; 2] = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(if self.little { u16::from_le_bytes(raw) } else { u16::from_be_bytes(raw) })
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let raw: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if self.little { u32::from_le_bytes(raw) } else { u32::from_be_bytes(raw) })
    }
}
