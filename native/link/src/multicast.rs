//! Decides to which hosts a multicast frame goes. A snooping switch learns from the reports of IGMP
//! (RFC 1112, 2236, 3376) and MLD (RFC 2710, 3810), and floods frames to groups that no host ever
//! joins: link-scope groups, and groups that are not IP (RFC 4541).
//!
//! A report counts from the moment it enters the switch, even if it is lost on its link: there is
//! no querier here that would ask again.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::headers::{be16, Headers};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Multicast {
    #[default]
    Flood,
    Snoop,
    Drop,
}

const IGMP: u8 = 2;
const ICMP6: u8 = 58;
/// The most memberships of a host: one that joins more groups is broken or hostile, and gets no
/// further groups.
const MOST_MEMBERSHIPS: usize = 1 << 16;

#[derive(Default)]
pub struct Memberships(HashSet<(u16, IpAddr)>);

impl Memberships {
    pub fn wants(&self, port: u16, group: IpAddr) -> bool {
        self.0.contains(&(port, group))
    }

    /// Reads a report or a leave in this frame.
    pub fn learn(&mut self, port: u16, headers: &Headers<'_>) {
        let Some(ip) = &headers.ip else { return };
        let body = headers.payload;
        match (ip.protocol, body.first()) {
            (IGMP, Some(0x12 | 0x16)) => {
                ipv4(body, 4).into_iter().for_each(|group| self.join(port, group))
            }
            (IGMP, Some(0x17)) => {
                ipv4(body, 4).into_iter().for_each(|group| self.leave(port, group))
            }
            (IGMP, Some(0x22)) => self.records(port, body, 8, 4, ipv4),
            (ICMP6, Some(131)) => {
                ipv6(body, 8).into_iter().for_each(|group| self.join(port, group))
            }
            (ICMP6, Some(132)) => {
                ipv6(body, 8).into_iter().for_each(|group| self.leave(port, group))
            }
            (ICMP6, Some(143)) => self.records(port, body, 8, 16, ipv6),
            _ => {}
        }
    }

    /// IGMPv3 and MLDv2: each record has a type, the length of auxiliary data in words, the number
    /// of sources, the group, and the sources.
    fn records(
        &mut self,
        port: u16,
        body: &[u8],
        mut at: usize,
        width: usize,
        address: fn(&[u8], usize) -> Option<IpAddr>,
    ) {
        for _ in 0..be16(body, 6).unwrap_or(0) {
            let (Some(kind), Some(auxiliary), Some(sources)) =
                (body.get(at), body.get(at + 1), be16(body, at + 2))
            else {
                return;
            };
            let Some(group) = address(body, at + 4) else { return };
            match (kind, sources) {
                // "Include these sources only", with no source, is a leave. Sources are not
                // distinguished.
                (1 | 3, 0) => self.leave(port, group),
                (1..=5, _) => self.join(port, group),
                _ => {}
            }
            at += 4 + width + usize::from(sources) * width + usize::from(*auxiliary) * 4;
        }
    }

    fn join(&mut self, port: u16, group: IpAddr) {
        if self.0.len() < MOST_MEMBERSHIPS {
            self.0.insert((port, group));
        }
    }

    fn leave(&mut self, port: u16, group: IpAddr) {
        self.0.remove(&(port, group));
    }
}

/// The group for which a snooping switch keeps members; None if it floods the frame.
pub fn snooped(headers: &Headers<'_>) -> Option<IpAddr> {
    let group = headers.ip.as_ref()?.destination;
    let is_snooped = match group {
        IpAddr::V4(group) => group.is_multicast() && group.octets()[..3] != [224, 0, 0],
        IpAddr::V6(group) => group.is_multicast() && group.octets()[1] & 0x0f > 2,
    };
    is_snooped.then_some(group)
}

fn ipv4(body: &[u8], at: usize) -> Option<IpAddr> {
    Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(body.get(at..at + 4)?).ok()?)))
}

fn ipv6(body: &[u8], at: usize) -> Option<IpAddr> {
    Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(body.get(at..at + 16)?).ok()?)))
}
