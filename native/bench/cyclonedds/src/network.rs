//! The worker's tuned profile, with all other participants excluded.

use rmwbench_cyclonedds::CycloneDds;
use rmwbench_harness::middleware::{Middleware, Profile, SessionConfig};

/// Two domains of one process with one id on the network, so that messages between them go over
/// UDP.
pub const WRITING: u32 = 0;
pub const READING: u32 = 1;

/// The tuned profile with a tag of this process; with `external_domain` every domain of the process
/// has that id on the network.
pub fn profile(external_domain: Option<u32>) -> Profile {
    let tuned =
        CycloneDds.describe().profiles.into_iter().find(|p| p.name == "tuned").expect("embedded");
    let external = external_domain
        .map_or(String::new(), |id| format!("<ExternalDomainId>{id}</ExternalDomainId>"));
    let discovery =
        format!("<Discovery><Tag>bench{}</Tag>{external}</Discovery>", std::process::id());
    let text = tuned.text.replacen("<General>", &format!("{discovery}<General>"), 1);
    assert!(text.contains(&discovery), "the tuned profile has no General element");
    Profile { text, ..tuned }
}

pub fn session(domain_id: u32, nonce: u64) -> SessionConfig {
    SessionConfig {
        profile: profile(Some(99)),
        options: Default::default(),
        modes: Default::default(),
        domain_id,
        trial_nonce: nonce,
    }
}
