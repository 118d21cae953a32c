//! The portable modes as Cyclone's configuration: a second document after the profile's, whose
//! settings replace those of the first.
//!
//! Two modes are set in other ways: batching is a QoS of each writer ([`crate::batch`]), pools are
//! RouDi's ([`crate::roudi`]).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::{modes, Error, ErrorKind, SessionConfig};
use rmwbench_harness::shared_host;
use serde::Deserialize;

use crate::xml;

const NAMED_WITHIN: Duration = Duration::from_millis(500);
/// If no further thread appears within this time, all threads are named.
const SETTLED: Duration = Duration::from_millis(50);

const NO_TCP: &str = "tcp: the crate cyclors builds Cyclone DDS without its DDS-over-TCP (ENABLE_TCP, a proof of concept, is off)";
const NO_UNIX: &str = "unix: Cyclone DDS has no transport over Unix sockets";
const NO_SERVER: &str =
    "server: Cyclone DDS has no discovery server; peers can be listed (discovery: peers)";
const NO_CONGESTION: &str =
    "no: in Cyclone DDS reliability and history alone decide between waiting and dropping";
const NO_EXECUTOR: &str =
    "no: executors are rclcpp's; here `wait` says how a subscription learns of data";
const NO_SECURITY: &str =
    "true: the crate cyclors builds Cyclone DDS static and without DDS Security, whose plug-ins are loaded at run time";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Udp,
    Tcp,
    Unix,
    Shm,
    IntraProcess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Discovery {
    Multicast,
    Spdp,
    Peers,
    Server,
}

/// The requested modes, as far as a session needs them; None: as in the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    pub transport: Option<Transport>,
    pub batching: Option<bool>,
    discovery: Option<Discovery>,
    threads: Option<u32>,
}

/// The modes for the description.
pub fn described() -> BTreeMap<String, String> {
    modes(&[
        ("transport", "udp|shm|intra_process"),
        ("batching", "true|false"),
        ("congestion", NO_CONGESTION),
        ("shm_pool_bytes", "N"),
        ("discovery", "multicast|spdp|peers"),
        ("threads", "1|2|3"),
        ("executor", NO_EXECUTOR),
        ("security", "false"),
        ("compression", "no: Cyclone DDS compresses nothing"),
    ])
}

fn unsupported(mode: &str, why: impl Into<String>) -> Error {
    Error::unsupported(format!("mode {mode}"), why)
}

impl Modes {
    /// The modes that `config` requests. Errors: levels that Cyclone, or this build of it, does not
    /// have.
    pub fn from_config(config: &SessionConfig) -> Result<Modes, Error> {
        let modes = Modes {
            transport: config.mode("transport")?,
            batching: config.mode("batching")?,
            discovery: config.mode("discovery")?,
            threads: config.mode("threads")?,
        };
        match modes.transport {
            Some(Transport::Tcp) => return Err(unsupported("transport", NO_TCP)),
            Some(Transport::Unix) => return Err(unsupported("transport", NO_UNIX)),
            _ => (),
        }
        if modes.discovery == Some(Discovery::Server) {
            return Err(unsupported("discovery", NO_SERVER));
        }
        if config.mode("security")? == Some(true) {
            return Err(unsupported("security", NO_SECURITY));
        }
        if let Some(threads) = modes.threads.filter(|n| !(1..=3).contains(n)) {
            let why =
                format!("{threads}: Cyclone DDS receives with one thread, or with one for each of its sockets (2 or 3), no other number");
            return Err(unsupported("threads", why));
        }
        if modes.transport == Some(Transport::IntraProcess) {
            for (name, is_set) in
                [("discovery", modes.discovery.is_some()), ("threads", modes.threads.is_some())]
            {
                if is_set {
                    return Err(unsupported(
                        name,
                        "without meaning for transport intra_process, which has no socket",
                    ));
                }
            }
        }
        Ok(modes)
    }

    /// The configuration in force: `profile` without the settings that the modes replace, and the
    /// document of the modes. Without modes it is `profile`.
    pub fn apply(&self, profile: &str) -> Result<String, Error> {
        let invalid =
            |message| Error { kind: ErrorKind::Invalid, object: "profile".into(), message };
        let mut text = profile.to_owned();
        // The exchange of the profile stays if the transport is not set, or is shared memory.
        if matches!(self.transport, Some(Transport::Udp | Transport::IntraProcess)) {
            text = xml::without(&xml::without_comments(&text), "PubSubMessageExchange")
                .map_err(invalid)?;
        }
        if self.transport == Some(Transport::IntraProcess) {
            // No interface is needed then, and Cyclone would fail to find those that are named.
            text = xml::without(&text, "Interfaces").map_err(invalid)?;
        }
        if self.discovery.is_some() {
            text = xml::without(&xml::without_comments(&text), "Peers").map_err(invalid)?;
        }
        // Cyclone would append to a list of interfaces instead of replacing it.
        let kept = shared_host::name().is_some() && self.transport != Some(Transport::IntraProcess);
        if kept {
            text = xml::without_comments(&text);
            for element in ["NetworkInterfaceAddress", "NetworkInterface"] {
                text = xml::without(&text, element).map_err(invalid)?;
            }
        }
        let document = self.document(&text, kept);
        Ok(if document.is_empty() { text } else { format!("{},\n{document}", text.trim_end()) })
    }

    /// The settings that replace those of `profile`; empty if there are none. `loopback`: adds lo
    /// as the only interface.
    fn document(&self, profile: &str, loopback: bool) -> String {
        let (mut general, mut internal, mut discovery) =
            (String::new(), String::new(), String::new());
        if loopback {
            general.push_str(
                "<Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/></Interfaces>",
            );
        }
        match self.transport {
            Some(Transport::Udp) => general.push_str("<Transport>udp</Transport>"),
            // This level is not in Cyclone's manual, but in its list of transports: it has no
            // socket at all, and endpoints of one domain still match.
            Some(Transport::IntraProcess) => general.push_str("<Transport>none</Transport>"),
            Some(Transport::Shm) if !exchanges_over_iceoryx(profile) => general
                .push_str("<Interfaces><PubSubMessageExchange type=\"iox\" priority=\"1000000\" config=\"LOG_LEVEL=WARN;\"/></Interfaces>"),
            _ => (),
        }
        match self.discovery {
            Some(Discovery::Multicast) => general.push_str("<AllowMulticast>true</AllowMulticast>"),
            Some(Discovery::Spdp) => general.push_str("<AllowMulticast>spdp</AllowMulticast>"),
            Some(Discovery::Peers) => {
                general.push_str("<AllowMulticast>false</AllowMulticast>");
                let peers: String = addresses()
                    .iter()
                    .map(|address| format!("<Peer Address=\"{address}\"/>"))
                    .collect();
                discovery.push_str(&format!(
                    "<ParticipantIndex>auto</ParticipantIndex><Peers>{peers}</Peers>"
                ));
            }
            _ => (),
        }
        if let Some(threads) = self.threads {
            internal.push_str(&format!(
                "<MultipleReceiveThreads>{}</MultipleReceiveThreads>",
                threads > 1
            ));
        }
        let groups = [("General", general), ("Internal", internal), ("Discovery", discovery)];
        let groups: String = groups
            .iter()
            .filter(|(_, body)| !body.is_empty())
            .map(|(name, body)| format!("<{name}>{body}</{name}>"))
            .collect();
        if groups.is_empty() {
            return groups;
        }
        format!("<CycloneDDS xmlns=\"https://cdds.io/config\"><Domain Id=\"any\">{groups}</Domain></CycloneDDS>")
    }

    /// Refuses settings that Cyclone did not grant: a level that is not in force would be measured
    /// under a wrong name.
    ///
    /// `receive_threads` counts the receive threads: they set their names themselves, soon after
    /// their start.
    pub fn check_granted(
        &self,
        receive_threads: impl Fn() -> usize,
        joined_groups: bool,
    ) -> Result<(), Error> {
        let by_multicast = match self.discovery {
            Some(Discovery::Multicast) => Some("multicast"),
            Some(Discovery::Spdp) => Some("spdp"),
            _ => None,
        };
        if let Some(level) = by_multicast.filter(|_| !joined_groups) {
            return Err(unsupported(
                "discovery",
                format!("{level}: the interface that Cyclone DDS picked here does no multicast"),
            ));
        }
        let Some(expected) = self.threads.map(|n| n as usize) else { return Ok(()) };
        let (begun, mut threads, mut since) = (Instant::now(), receive_threads(), Instant::now());
        // Threads set their names one after the other: two named threads may be two of three.
        while begun.elapsed() < NAMED_WITHIN && (threads < expected || since.elapsed() < SETTLED) {
            std::thread::sleep(Duration::from_millis(1));
            let now = receive_threads();
            if now != threads {
                (threads, since) = (now, Instant::now());
            }
        }
        match threads {
            threads if threads == expected => Ok(()),
            threads => {
                let why = format!("{expected}: Cyclone DDS made {threads} receive threads for the sockets that it has here");
                Err(unsupported("threads", why))
            }
        }
    }
}

/// Whether the text configures the exchange over iceoryx, which needs a RouDi.
pub fn exchanges_over_iceoryx(text: &str) -> bool {
    xml::tags(&xml::without_comments(text), "PubSubMessageExchange").iter().any(|tag| {
        let compact: String = tag
            .chars()
            .filter(|c| !c.is_whitespace())
            .map(|c| if c == '\'' { '"' } else { c })
            .collect();
        ["type", "name"].iter().any(|key| compact.contains(&format!("{key}=\"iox\"")))
    })
}

/// The addresses of participants: this host's loopback, or all hosts of a trial over several.
fn addresses() -> Vec<String> {
    let named = |variable| {
        std::env::var(variable)
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    let mut addresses = [named("RMWBENCH_ADDRESS"), named("RMWBENCH_PEERS")].concat();
    addresses.sort();
    addresses.dedup();
    if addresses.is_empty() {
        addresses.push("127.0.0.1".into());
    }
    addresses
}

#[cfg(test)]
mod tests {
    use rmwbench_conformance::pair;
    use serde_json::{json, Value};

    use super::*;

    const SHM: &str = include_str!("../profiles/shm.xml");
    const UNTOUCHED: &str = include_str!("../profiles/untouched.xml");

    fn modes_with(modes: &[(&str, Value)]) -> Result<Modes, Error> {
        Modes::from_config(&pair::session_with_modes(&pair::profile("xml", ""), modes))
    }

    fn applied(mode: &str, level: Value, profile: &str) -> String {
        modes_with(&[(mode, level)]).unwrap().apply(profile).unwrap()
    }

    #[test]
    fn without_modes_a_profile_stays_as_it_is() {
        for profile in [SHM, UNTOUCHED, "<!-- only this -->"] {
            assert_eq!(modes_with(&[]).unwrap().apply(profile).unwrap(), profile);
        }
    }

    #[test]
    fn what_a_mode_replaces_goes_and_comes_once() {
        assert!(exchanges_over_iceoryx(SHM) && !exchanges_over_iceoryx(UNTOUCHED));
        assert!(!exchanges_over_iceoryx(&applied("transport", json!("udp"), SHM)));
        assert_eq!(applied("transport", json!("shm"), SHM), SHM);
        assert!(exchanges_over_iceoryx(&applied("transport", json!("shm"), UNTOUCHED)));
        let own = "<CycloneDDS><Domain><Discovery><Peers><Peer Address='10.0.0.1'/></Peers></Discovery></Domain></CycloneDDS>";
        let peers = applied("discovery", json!("peers"), own);
        assert!(peers.contains("127.0.0.1") && !peers.contains("10.0.0.1"), "{peers}");
        assert!(!applied("discovery", json!("multicast"), own).contains("Peer"));
        let spdp = applied("discovery", json!("spdp"), own);
        assert!(spdp.contains("<AllowMulticast>spdp<") && !spdp.contains("Peer"), "{spdp}");
    }

    #[test]
    fn what_cyclone_has_not_is_unsupported_with_the_reason() {
        for (mode, level, words) in [
            ("transport", json!("tcp"), "ENABLE_TCP"),
            ("transport", json!("unix"), "Unix sockets"),
            ("discovery", json!("server"), "no discovery server"),
            ("security", json!(true), "without DDS Security"),
            ("threads", json!(4), "no other number"),
        ] {
            let error = modes_with(&[(mode, level)]).unwrap_err();
            assert_eq!(
                (error.kind, error.object.as_str()),
                (ErrorKind::Unsupported, format!("mode {mode}").as_str())
            );
            assert!(error.message.contains(words), "{error}");
        }
        assert!(modes_with(&[("security", json!(false))]).is_ok());
        let error = modes_with(&[("transport", json!("intra_process")), ("threads", json!(1))])
            .unwrap_err();
        assert_eq!(error.object, "mode threads");
    }

    #[test]
    fn a_level_that_is_not_in_force_is_refused() {
        let threads = modes_with(&[("threads", json!(3))]).unwrap();
        assert!(threads.check_granted(|| 3, false).is_ok());
        for level in ["multicast", "spdp"] {
            let modes = modes_with(&[("discovery", json!(level))]).unwrap();
            assert!(modes.check_granted(|| 1, true).is_ok());
            let error = modes.check_granted(|| 1, false).unwrap_err();
            assert!(error.message.starts_with(&format!("{level}: ")), "{error}");
        }
        assert!(threads
            .check_granted(|| 2, false)
            .unwrap_err()
            .message
            .contains("made 2 receive threads"));
    }

    #[test]
    fn the_exchange_is_found_where_it_is_configured() {
        for text in [
            "<PubSubMessageExchange priority='1' type = 'iox'/>",
            "<PubSubMessageExchange name=\"iox\"/>",
        ] {
            assert!(exchanges_over_iceoryx(text), "{text}");
        }
        for text in [
            include_str!("../profiles/tuned.xml"),
            "<!-- <PubSubMessageExchange type=\"iox\"/> -->",
            "<PubSubMessageExchange type=\"cdds\"/>",
        ] {
            assert!(!exchanges_over_iceoryx(text), "{text}");
        }
    }

    #[test]
    fn every_mode_is_described() {
        let described = described();
        assert!(described.values().all(|answer| !answer.contains("not mapped")), "{described:?}");
    }
}
