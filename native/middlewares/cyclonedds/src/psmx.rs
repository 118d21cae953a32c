//! Cyclone's shared-memory exchange (PSMX): why an endpoint does not use it, and how it behaves
//! differently.
//!
//! Cyclone reports only whether it is used (`dds_is_shared_memory_available`); the reasons are
//! those in the source of its iceoryx plug-in.

use rmwbench_harness::middleware::EndpointConfig;
use rmwbench_harness::qos::{Durability, History};

use crate::topic::Kind;

const BLOB: &str = "blob topics never use PSMX: their serialiser cannot make a message from shared memory (topic: descriptor can)";
/// How many samples iceoryx keeps for a late joiner, and how many of them a reader may hold,
/// including samples in Cyclone's cache (`IOX_MAX_PUBLISHER_HISTORY` and
/// `IOX_MAX_CHUNKS_HELD_PER_SUBSCRIBER_SIMULTANEOUSLY` of the bundled build).
const HISTORY_LIMIT: u32 = 16;
pub const HELD_LIMIT: u32 = 256;

/// Why an endpoint does not use a PSMX that is configured.
pub fn reason(kind: Kind, config: &EndpointConfig) -> String {
    let qos = &config.qos;
    match kind {
        Kind::Blob => BLOB.into(),
        Kind::Descriptor if keeps_too_much(config) => {
            format!("PSMX is not used for transient_local with a depth of {}: iceoryx keeps {HISTORY_LIMIT} for late joiners", qos.depth)
        }
        Kind::Descriptor => {
            "PSMX is not used: Cyclone DDS does not support it for this type and QoS".into()
        }
    }
}

fn keeps_too_much(config: &EndpointConfig) -> bool {
    let qos = &config.qos;
    qos.durability == Durability::TransientLocal
        && qos.history == History::KeepLast
        && qos.depth > HISTORY_LIMIT
}

/// How a QoS that the exchange accepts behaves differently there than over the network.
pub fn surprises(config: &EndpointConfig) -> Vec<String> {
    let qos = &config.qos;
    let mut notes = Vec::new();
    if qos.history == History::KeepAll || qos.depth > HELD_LIMIT {
        notes.push(format!("over PSMX a reader holds at most {HELD_LIMIT} messages and loses what comes beyond, reliable or not"));
    }
    if qos.durability == Durability::TransientLocal {
        notes.push(
            "over PSMX a late joiner gets no history, although Cyclone DDS grants transient_local"
                .into(),
        );
    }
    notes
}
