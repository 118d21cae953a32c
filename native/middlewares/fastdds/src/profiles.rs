//! The embedded profiles; their comments say why each setting is there.

use rmwbench_harness::middleware::Profile;

pub const DISCOVERY_SERVER: &str = "discovery_server";
pub const SHM: &str = "shm";

/// What 3.0 renamed in Fast DDS's XML; it refuses a profile with the old name.
const RENAMED: [(&str, &str); 3] = [
    ("heartbeatPeriod", "heartbeat_period"),
    ("heartbeatResponseDelay", "heartbeat_response_delay"),
    ("nackResponseDelay", "nack_response_delay"),
];

/// `version` is Fast DDS's: 3.x names some settings, and discovery servers, in another way.
pub fn profiles(version: &str) -> Vec<Profile> {
    let before_3 = version.starts_with("2.");
    let profile = |name: &str, text: &str, summary: &str| Profile {
        name: name.into(),
        format: "xml".into(),
        text: if before_3 {
            text.into()
        } else {
            RENAMED.iter().fold(text.into(), |text: String, (old, new)| text.replace(old, new))
        },
        summary: summary.into(),
    };
    let server = if before_3 {
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
        profile(SHM, include_str!("../profiles/shm.xml"), "shared memory alone: messages up to 8 MiB in one piece"),
        profile(
            "data_sharing",
            include_str!("../profiles/data_sharing.xml"),
            "zero copy between processes of one machine: plain types, loans, the reader reads in the writer's history",
        ),
        profile(DISCOVERY_SERVER, server, "as installed, but found through a discovery server of the host, which is started as a daemon"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_gets_its_own_words() {
        let has = |version: &str, word: &str| {
            profiles(version).iter().any(|profile| profile.text.contains(word))
        };
        for (old, new) in RENAMED {
            assert!(
                has("2.9.1", old)
                    && !has("2.9.1", new)
                    && has("3.6.2.0", new)
                    && !has("3.6.2.0", old),
                "{old}"
            );
        }
        assert!(has("2.14.6", "RemoteServer") && !has("3.0.0", "RemoteServer"));
    }
}
