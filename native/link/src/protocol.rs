//! The lines between the orchestrator and the switch (docs/formats/link.md).

use std::collections::{BTreeMap, HashSet};
use std::os::fd::RawFd;

use rmwbench_harness::tool;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::change::Change;
use crate::multicast::Multicast;
use crate::network::PortPlan;
use crate::priority::Rule;
use crate::spec::{LinkSpec, MediumSpec};

pub const PROTOCOL: u32 = 1;
pub const TOOL: &str = "link";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Far below what the log can hold: port numbers of 16 bits, of which 65535 stands for no port.
const MOST_PORTS: usize = 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case")]
pub enum Command {
    Open(Open),
    Schedule {
        changes: Vec<Change>,
        /// The times at which the periods of `Document::periods` begin, ascending; absent:
        /// unchanged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edges_ns: Vec<i64>,
    },
    Mark {},
    Collect {},
    Exit {},
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    pub seed: u64,
    pub ports: Vec<Port>,
    #[serde(default)]
    pub links: BTreeMap<String, LinkSpec>,
    #[serde(default)]
    pub media: BTreeMap<String, MediumSpec>,
    #[serde(default)]
    pub multicast: Multicast,
    #[serde(default)]
    pub priority: Vec<Rule>,
    #[serde(default)]
    pub quantum_ns: i64,
    #[serde(default)]
    pub spin_ns: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Port {
    pub name: String,
    pub fd: RawFd,
    pub mac: String,
    /// Ports with the same network name form one network; ports without a name form another. No
    /// frame passes between networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
}

impl Port {
    /// Call it only after `Open::problem` returned None.
    pub fn planned(self) -> PortPlan {
        PortPlan {
            mac: mac_address(&self.mac).expect("checked"),
            name: self.name,
            network: self.network,
        }
    }
}

const LONGEST_WAITING_NS: i64 = 10_000_000;

impl Open {
    /// What is wrong with the values; None if nothing is.
    pub fn problem(&self) -> Option<String> {
        if self.ports.is_empty() || self.ports.len() > MOST_PORTS {
            return Some(format!("ports: expected 1 to {MOST_PORTS}, found {}", self.ports.len()));
        }
        let (mut names, mut macs, mut fds) = (HashSet::new(), HashSet::new(), HashSet::new());
        for Port { name, mac, fd, .. } in &self.ports {
            let Some(address) = mac_address(mac) else {
                return Some(format!(
                    "port {name}: expected a MAC address like 02:4d:00:00:00:01, found {mac}"
                ));
            };
            if !names.insert(name) || !macs.insert(address) || !fds.insert(fd) {
                return Some(format!("port {name}: its name, its MAC address {mac} or its descriptor {fd} is used twice"));
            }
        }
        if let Some(unknown) = self.links.keys().find(|link| !names.contains(link)) {
            return Some(format!("links: {unknown} is not a port"));
        }
        for (name, medium) in &self.media {
            if let Some(problem) = medium.problem() {
                return Some(format!("media.{name}: {problem}"));
            }
        }
        for (name, link) in &self.links {
            for (way, spec) in [("up", &link.up), ("down", &link.down)] {
                if let Some(problem) = spec.problem(&self.media) {
                    return Some(format!("links.{name}.{way}: {problem}"));
                }
            }
        }
        if let Some(problem) = self.priority.iter().find_map(Rule::problem) {
            return Some(format!("priority: {problem}"));
        }
        let times = [("quantum_ns", self.quantum_ns), ("spin_ns", self.spin_ns)];
        let wrong = times.into_iter().find(|(_, ns)| !(0..=LONGEST_WAITING_NS).contains(ns));
        wrong.map(|(name, ns)| format!("{name}: expected 0 to {LONGEST_WAITING_NS}, found {ns}"))
    }
}

pub fn mac_address(text: &str) -> Option<[u8; 6]> {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|part| u8::from_str_radix(part, 16).ok().filter(|_| part.len() == 2))
        .collect::<Option<_>>()?;
    bytes.try_into().ok()
}

pub fn hello(tool: &str) -> Value {
    tool::hello(tool, PROTOCOL, VERSION)
}

pub const COMMANDS: [&str; 5] = ["open", "schedule", "mark", "collect", "exit"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_change_is_invalid_and_what_is_wrong_is_named() {
        for (change, names) in [
            (r#""melt""#, "unknown variant `melt`"),
            (r#"{"up": {"delya_ns": 1}}"#, "unknown field `delya_ns`"),
            (r#"{"roam": "wifi", "gap_ms": 1}"#, "unknown field `gap_ms`"),
            (
                r#"{"up": {"police": {"packets_per_s": 9, "burst_packets": 5, "protocol": "icmp"}}}"#,
                "unknown variant `icmp`, expected `udp` or `tcp`",
            ),
        ] {
            let line = format!(
                r#"{{"id": 1, "cmd": "schedule", "changes": [{{"at_ns": 1, "link": "a", "change": {change}}}]}}"#
            );
            let error = &tool::parse::<Command>(&line, &COMMANDS).unwrap_err().unwrap()["error"];
            assert_eq!(error["kind"], "invalid");
            assert!(error["message"].as_str().unwrap().contains(names), "{change}: {error}");
        }
    }

    #[test]
    fn a_plan_that_contradicts_itself_is_refused_with_the_place() {
        let plan = |text: &str| serde_json::from_str::<Open>(text).unwrap().problem();
        let ports = r#""seed": 1, "ports": [{"name": "a", "fd": 6, "mac": "02:4d:00:00:00:01"}]"#;
        assert_eq!(plan(&format!("{{{ports}}}")), None);
        let problem_of = |more: &str| plan(&format!("{{{ports}, {more}}}")).unwrap();
        assert!(problem_of(r#""links": {"b": {}}"#).contains("b is not a port"));
        assert!(problem_of(r#""links": {"a": {"up": {"medium": "wifi"}}}"#)
            .contains("links.a.up: medium wifi"));
        assert!(
            problem_of(r#""media": {"wifi": {"rate_bps": 0}}"#).contains("media.wifi: rate_bps")
        );
        assert!(problem_of(r#""priority": [{"class": 0}]"#).contains("priority"));
        assert!(problem_of(r#""quantum_ns": -1"#).contains("quantum_ns"));
        assert!(plan(r#"{"seed": 1, "ports": []}"#).unwrap().contains("ports"));
        let twice = r#"{"name": "a", "fd": 6, "mac": "02:4d:00:00:00:01"}, {"name": "b", "fd": 7, "mac": "02:4D:00:00:00:01"}"#;
        assert!(plan(&format!(r#"{{"seed": 1, "ports": [{twice}]}}"#)).unwrap().contains("twice"));
        assert!(mac_address("2:4d:0:0:0:1").is_none());
    }
}
