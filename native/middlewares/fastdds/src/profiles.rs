//! The embedded profiles; their comments give the reason for each setting.

use rmwbench_harness::middleware::Profile;

pub const DISCOVERY_SERVER: &str = "discovery_server";
pub const SHM: &str = "shm";

/// The elements that 3.0 renamed in Fast DDS's XML; it refuses a profile with an old name.
const RENAMED: [(&str, &str); 3] = [
    ("heartbeatPeriod", "heartbeat_period"),
    ("heartbeatResponseDelay", "heartbeat_response_delay"),
    ("nackResponseDelay", "nack_response_delay"),
];

/// The largest message of the profile `shm`. A submessage's length has 16 bits: 2.9.1, 3.3.0 and
/// 3.6.2 omit the length of a longer submessage, 3.1.2 delivers the message truncated.
const ONE_PIECE: &str = "<maxMessageSize>8454144</maxMessageSize>";

/// Whether this version delivers a message longer than 64 KiB in one piece; 3.2 was not tried.
pub fn has_long_pieces(version: &str) -> bool {
    !["3.0.", "3.1.", "3.2."].iter().any(|series| version.starts_with(series))
}

/// `version` is that of Fast DDS: 3.x has other names for some settings, and for discovery servers.
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
    let shm = include_str!("../profiles/shm.xml");
    let shm = if has_long_pieces(version) {
        profile(
            SHM,
            shm,
            "shared memory alone, as the manual advises for one machine: messages up to 8 MiB whole",
        )
    } else {
        let in_fragments =
            shm.replace(ONE_PIECE, "<!-- As installed: this version truncates longer pieces. -->");
        profile(SHM, &in_fragments, "shared memory alone: messages in pieces of 64 KiB")
    };
    vec![
        profile("untouched", "", "as installed: shared memory (512 KiB segment) beside UDP, heartbeat 3 s"),
        profile(
            "tuned",
            include_str!("../profiles/tuned.xml"),
            "large messages on one machine, other hosts in reach: larger segment, faster repair",
        ),
        shm,
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
        assert!(["2.9.1", "3.3.0", "3.6.2.0"].iter().all(|version| has(version, ONE_PIECE)));
        assert!(!has("3.1.2", ONE_PIECE) && has("3.1.2", "port_queue_capacity"));
        assert!(has("2.14.6", "RemoteServer") && !has("3.0.0", "RemoteServer"));
    }
}
