//! The modes as a second fragment of Cyclone's own XML, after the profile's: Cyclone accepts
//! several, and later ones override earlier ones.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rmwbench_cyclone::domain::{self, Domains};
use rmwbench_cyclone::sockets::Socket;
use rmwbench_harness::middleware::{Error, SessionConfig};
use rmwbench_iceoryx::roudi;

use crate::security;

/// The modes for the description.
pub const MODES: [(&str, &str); 9] = [
    ("transport", "udp|shm"),
    ("batching", "no: with its WriteBatch, Cyclone DDS 0.10 keeps messages until a datagram is full or the application flushes"),
    ("congestion", "no: a reliable writer waits at its high-water mark, a best-effort one never does; that is QoS"),
    ("shm_pool_bytes", "N"),
    ("discovery", "multicast|peers"),
    ("threads", "no: Cyclone DDS has a receive thread per socket and no setting for their number"),
    ("executor", "no: this is the DDS itself, without an executor"),
    ("security", "true|false"),
    ("compression", "no: Cyclone DDS compresses nothing"),
];

/// The settings with which a session opens.
pub struct Settings {
    /// Fragments of XML, separated in the form that Cyclone takes.
    text: String,
    shared_memory: bool,
    /// The size of RouDi's largest chunks; iceoryx ends a process that requests a larger one.
    pub largest_chunk: u64,
}

impl domain::Settings for Settings {
    fn domains() -> &'static Domains<Settings> {
        static OPEN: Domains<Settings> = Mutex::new(BTreeMap::new());
        &OPEN
    }

    fn from_config(config: &SessionConfig) -> Result<Settings, Error> {
        let profile = &config.profile;
        let mut shared_memory = enables_shared_memory(&profile.text);
        let (mut domain, mut general) = (String::new(), String::new());
        match config.mode::<String>("transport")?.as_deref() {
            None => {}
            Some("udp") => shared_memory = false,
            Some("shm") => shared_memory = true,
            Some(other) => {
                let reason = match other {
                    "tcp" => "Cyclone DDS 0.10 has TCP in place of UDP, without discovery by multicast; not mapped in this worker",
                    _ => "Cyclone DDS 0.10 has UDP and, through iceoryx, shared memory; threads of one process share a domain anyway",
                };
                return Err(Error::unsupported("mode transport", format!("{other}: {reason}")));
            }
        }
        if config.modes.contains_key("transport") {
            domain += &format!("<SharedMemory><Enable>{shared_memory}</Enable><LogLevel>warn</LogLevel></SharedMemory>");
        }
        match config.mode::<String>("discovery")?.as_deref() {
            None => {}
            Some("multicast") => general += "<AllowMulticast>true</AllowMulticast>",
            Some("peers") => {
                general += "<AllowMulticast>false</AllowMulticast>";
                domain += "<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>100</MaxAutoParticipantIndex>\
                           <Peers><Peer Address=\"localhost\"/></Peers></Discovery>";
            }
            Some(other) => {
                let message = format!("{other}: Cyclone DDS has no discovery server");
                return Err(Error::unsupported("mode discovery", message));
            }
        }
        if config.mode::<bool>("security")? == Some(true) {
            if shared_memory {
                let message = "with shared memory Cyclone DDS 0.10 passes secured topics by UDP; ask for transport udp";
                return Err(Error::unsupported("mode security", message));
            }
            domain += &security::fragment(config)?;
        }
        config.only_modes(&["transport", "discovery", "security", roudi::MODE])?;
        if config.modes.contains_key(roudi::MODE) && !shared_memory {
            let message = "it sizes shared memory, which this profile does not configure: ask for transport shm";
            return Err(Error::unsupported(format!("mode {}", roudi::MODE), message));
        }
        if !general.is_empty() {
            domain += &format!("<General>{general}</General>");
        }
        let mut text = profile.text.trim().to_string();
        if !domain.is_empty() {
            text += &format!(",<CycloneDDS><Domain Id=\"any\">{domain}</Domain></CycloneDDS>");
        }
        let largest_chunk = roudi::configuration(config)?
            .and_then(|roudi| roudi::largest(&roudi.text))
            .unwrap_or_default();
        Ok(Settings { text, shared_memory, largest_chunk })
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn shared_memory(&self) -> bool {
        self.shared_memory
    }

    fn begin(&mut self, config: &SessionConfig) -> Result<(), Error> {
        if !self.shared_memory || roudi::is_running() {
            return Ok(());
        }
        let message = "shared memory needs a RouDi, and none serves this host: an arm starts one with the option daemons: roudi";
        Err(match config.modes.contains_key("transport") {
            true => Error::unsupported("mode transport", message),
            false => Error::failed(format!("profile {}", config.profile.name), message),
        })
    }

    fn after_creation(&self, _: &SessionConfig, _: &[Socket]) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}

/// Whether the text enables shared memory, for which a RouDi must run.
fn enables_shared_memory(text: &str) -> bool {
    let text = without_comments(text).to_ascii_lowercase();
    let mut elements = text
        .split("<sharedmemory>")
        .skip(1)
        .map(|rest| rest.split("</sharedmemory>").next().unwrap_or(""));
    elements.any(|element| {
        let value = element.split_once("<enable>").and_then(|(_, rest)| rest.split('<').next());
        matches!(value.map(str::trim), Some("true" | "1"))
    })
}

fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, rest)| rest);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use rmwbench_conformance::pair;
    use rmwbench_cyclone::domain::Settings as _;
    use rmwbench_harness::middleware::ErrorKind;
    use serde_json::{json, Value};

    use super::*;

    fn settings_with(text: &str, modes: &[(&str, Value)]) -> Result<Settings, Error> {
        Settings::from_config(&pair::session_with_modes(&pair::profile("xml", text), modes))
    }

    #[test]
    fn shared_memory_is_known_from_profile_and_mode() {
        let shm = include_str!("../profiles/shm.xml");
        assert!(settings_with(shm, &[]).unwrap().shared_memory);
        assert!(
            !settings_with(
                "<!-- <SharedMemory><Enable>true</Enable></SharedMemory> --><CycloneDDS/>",
                &[]
            )
            .unwrap()
            .shared_memory
        );
        let off = settings_with(shm, &[("transport", json!("udp"))]).unwrap();
        assert!(!off.shared_memory && off.text.ends_with(",<CycloneDDS><Domain Id=\"any\"><SharedMemory><Enable>false</Enable><LogLevel>warn</LogLevel></SharedMemory></Domain></CycloneDDS>"), "{}", off.text);
        assert!(
            settings_with("<CycloneDDS/>", &[("transport", json!("shm"))]).unwrap().shared_memory
        );
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_reason() {
        for (name, level, kind) in [
            ("transport", json!("tcp"), ErrorKind::Unsupported),
            ("discovery", json!("server"), ErrorKind::Unsupported),
            ("shm_pool_bytes", json!(1 << 30), ErrorKind::Unsupported),
        ] {
            let error = settings_with("<CycloneDDS/>", &[(name, level)]).err().unwrap();
            assert_eq!(
                (error.kind, error.object),
                (kind, format!("mode {name}")),
                "{}",
                error.message
            );
        }
        let both = [("transport", json!("shm")), ("security", json!(true))];
        assert_eq!(settings_with("<CycloneDDS/>", &both).err().unwrap().object, "mode security");
        assert!(
            settings_with("<CycloneDDS/>", &[]).unwrap().text == "<CycloneDDS/>",
            "no mode, no second fragment"
        );
    }
}
