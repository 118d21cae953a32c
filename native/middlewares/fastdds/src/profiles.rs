//! The embedded profiles; their comments say why each setting is there.

use rmwbench_harness::middleware::Profile;

pub const DISCOVERY_SERVER: &str = "discovery_server";

/// `version` is Fast DDS's: 3.x names discovery servers in another way.
pub fn profiles(version: &str) -> Vec<Profile> {
    let profile = |name: &str, text: &str, summary: &str| Profile {
        name: name.into(),
        format: "xml".into(),
        text: text.into(),
        summary: summary.into(),
    };
    let server = if version.starts_with("2.") {
        include_str!("../profiles/discovery_server.xml")
    } else {
        include_str!("../profiles/discovery_server-3.xml")
    };
    vec![
        profile("untouched", "", "as installed: shared memory (512 KiB segment) beside UDP, heartbeat 3 s"),
        profile(
            "tuned",
            include_str!("../profiles/tuned.xml"),
            "large messages and low latency on one machine: larger segment, faster repair",
        ),
        profile("shm", include_str!("../profiles/shm.xml"), "shared memory alone: messages up to 8 MiB in one piece"),
        profile(
            "data_sharing",
            include_str!("../profiles/data_sharing.xml"),
            "zero copy between processes of one machine: plain types, loans, the reader reads in the writer's history",
        ),
        profile(DISCOVERY_SERVER, server, "as installed, but found through a discovery server of the host, which is started as a daemon"),
    ]
}
