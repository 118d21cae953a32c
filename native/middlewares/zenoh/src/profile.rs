//! Profiles are Zenoh configurations (JSON5), with three words that no fixed text can hold: `{unix}` and `{tcp}` stand for an endpoint
//! of this process's own, `"{peers}"` for those of the trial's earlier processes ([`crate::rendezvous`]). A profile without them is
//! taken as it is.

use rmwbench_harness::middleware::{Error, Profile};
use zenoh::Config;

use crate::rendezvous::Rendezvous;

pub fn embedded() -> Vec<Profile> {
    let profile = |name: &str, text: &str, summary: &str| Profile {
        name: name.into(),
        format: "json5".into(),
        text: text.into(),
        summary: summary.into(),
    };
    vec![
        profile(
            "untouched",
            include_str!("../profiles/untouched.json5"),
            "as installed: multicast discovery, TCP, implicit shared memory of 16 MiB",
        ),
        profile("tuned", include_str!("../profiles/tuned.json5"), "Unix sockets, express, implicit shared memory of 24 MiB, no discovery"),
        profile("tcp", include_str!("../profiles/tcp.json5"), "TCP over loopback alone, no shared memory"),
        profile("unixsock", include_str!("../profiles/unixsock.json5"), "Unix sockets alone, no shared memory"),
    ]
}

/// The configuration, and the place among the trial's processes where the profile asks for one.
pub fn parse(profile: &Profile, trial_nonce: u64, domain_id: u32) -> Result<(Config, Option<Rendezvous>), Error> {
    let object = || format!("profile {}", profile.name);
    if profile.format != "json5" && profile.format != "json" && !(profile.format == "none" && profile.text.is_empty()) {
        return Err(Error::invalid(object(), format!("expected format json5, found {}", profile.format)));
    }
    let (text, rendezvous) = if Rendezvous::is_asked_for(&profile.text) {
        let (text, rendezvous) = Rendezvous::join(&profile.text, trial_nonce, domain_id).map_err(|e| Error::failed(object(), e))?;
        (text, Some(rendezvous))
    } else {
        (profile.text.clone(), None)
    };
    let text = if text.is_empty() { "{}" } else { &text };
    let config = Config::from_json5(text).map_err(|e| Error::invalid(object(), e.to_string()))?;
    Ok((config, rendezvous))
}

/// Whether payloads may travel in shared memory.
pub fn has_shared_memory(config: &Config) -> bool {
    config.get_json("transport/shared_memory/enabled").is_ok_and(|v| v == "true")
}

/// Payloads from this size on go to shared memory by themselves; None where that is switched off.
pub fn shared_memory_threshold_bytes(config: &Config) -> Option<u64> {
    let key = |name: &str| config.get_json(&format!("transport/shared_memory/transport_optimization/{name}")).ok();
    let enabled = has_shared_memory(config) && key("enabled")? == "true";
    enabled.then(|| key("message_size_threshold")?.parse().ok()).flatten()
}

/// Whether messages may travel over UDP links, which resend nothing.
pub fn has_udp_links(config: &Config) -> bool {
    ["listen/endpoints", "connect/endpoints"].iter().any(|key| config.get_json(key).is_ok_and(|v| v.contains("\"udp/")))
}
