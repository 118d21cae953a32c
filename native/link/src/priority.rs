//! The class in which a frame waits: that of the first rule that matches, or the default.

use serde::{Deserialize, Serialize};

use crate::headers::{be16, Headers, TCP, UDP};
use crate::queue::CLASSES;

/// The class of frames that match no rule.
pub const DEFAULT: u8 = 1;

/// A frame matches if it matches all given fields; a port may be that of either end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_port: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_port: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    #[serde(default)]
    pub class: u8,
}

impl Rule {
    pub fn problem(&self) -> Option<String> {
        if usize::from(self.class) >= CLASSES {
            return Some(format!("class: expected 0 to {}, found {}", CLASSES - 1, self.class));
        }
        let none = self.udp_port.is_none() && self.tcp_port.is_none() && self.dscp.is_none();
        none.then(|| "expected at least one of udp_port, tcp_port and dscp".into())
    }

    fn fits(&self, headers: &Headers<'_>) -> bool {
        let Some(ip) = &headers.ip else { return false };
        let has_port = |protocol: u8, port: u16| {
            let ports = [be16(headers.payload, 0), be16(headers.payload, 2)];
            ip.protocol == protocol
                && ip.piece.is_none_or(|piece| piece.offset == 0)
                && ports.contains(&Some(port))
        };
        self.udp_port.is_none_or(|port| has_port(UDP, port))
            && self.tcp_port.is_none_or(|port| has_port(TCP, port))
            && self.dscp.is_none_or(|dscp| ip.dscp == dscp)
    }
}

pub fn class(rules: &[Rule], headers: &Headers<'_>) -> u8 {
    rules.iter().find(|rule| rule.fits(headers)).map_or(DEFAULT, |rule| rule.class)
}
