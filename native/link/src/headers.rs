//! The Ethernet, IPv4 and IPv6 headers of a frame, as far as a switch needs them. If a header is
//! cut short or unusual, its fields are missing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub struct Headers<'a> {
    pub ether_type: u16,
    pub ip: Option<Ip>,
    /// The bytes after the IP headers (after Ethernet's, without IP), without Ethernet's padding.
    pub payload: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub protocol: u8,
    pub dscp: u8,
    /// The place in the datagram, if this is a fragment.
    pub piece: Option<Piece>,
}

/// A fragment of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub id: u32,
    /// The number of the datagram's bytes before it.
    pub offset: usize,
    pub last: bool,
}

pub const ETHERNET_BYTES: usize = 14;
pub const ARP: u16 = 0x0806;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;

pub fn parse(frame: &[u8]) -> Headers<'_> {
    let mut at = ETHERNET_BYTES;
    let mut ether_type = be16(frame, 12).unwrap_or(0);
    if ether_type == VLAN {
        ether_type = be16(frame, 16).unwrap_or(0);
        at = 18;
    }
    let body = frame.get(at..).unwrap_or(&[]);
    let packet = match ether_type {
        IPV4 => ipv4(body),
        IPV6 => ipv6(body),
        _ => None,
    };
    match packet {
        Some((ip, payload)) => Headers { ether_type, ip: Some(ip), payload },
        None => Headers { ether_type, ip: None, payload: body },
    }
}

fn ipv4(body: &[u8]) -> Option<(Ip, &[u8])> {
    let header = usize::from(body.first()? & 0x0f) * 4;
    let total = usize::from(be16(body, 2)?);
    let offset = be16(body, 6)?;
    let address = |at: usize| {
        Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(body.get(at..at + 4)?).ok()?)))
    };
    let (more, place) = (offset & 0x2000 != 0, offset & 0x1fff);
    let piece = (more || place > 0).then_some(Piece {
        id: u32::from(be16(body, 4)?),
        offset: usize::from(place) * 8,
        last: !more,
    });
    let ip = Ip {
        source: address(12)?,
        destination: address(16)?,
        protocol: *body.get(9)?,
        dscp: body.get(1)? >> 2,
        piece,
    };
    Some((ip, body.get(header.max(20)..total.min(body.len()))?))
}

fn ipv6(body: &[u8]) -> Option<(Ip, &[u8])> {
    let address = |at: usize| {
        Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(body.get(at..at + 16)?).ok()?)))
    };
    let end = (40 + usize::from(be16(body, 4)?)).min(body.len());
    let dscp = ((be16(body, 0)? >> 6) & 0x3f) as u8;
    let (mut next, mut at, mut piece) = (*body.get(6)?, 40, None);
    // Extension headers: hop-by-hop, routing, destination options, fragment (RFC 8200 §4).
    loop {
        let length = match next {
            0 | 43 | 60 => (usize::from(*body.get(at + 1)?) + 1) * 8,
            44 => {
                let place = be16(body, at + 2)?;
                let id = u32::from_be_bytes(body.get(at + 4..at + 8)?.try_into().ok()?);
                piece = Some(Piece { id, offset: usize::from(place & !7), last: place & 1 == 0 });
                8
            }
            _ => break,
        };
        next = *body.get(at)?;
        at += length;
    }
    Some((
        Ip { source: address(8)?, destination: address(24)?, protocol: next, dscp, piece },
        body.get(at..end)?,
    ))
}

pub fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
