//! Shared memory of Cyclone DDS 0.10: what keeps an endpoint from it. Cyclone tells only whether;
//! the reasons are those of its source.

use rmwbench_harness::middleware::EndpointConfig;
use rmwbench_harness::qos::{Durability, History};

/// iceoryx's limits as Debian builds it: what it keeps for a late joiner, and how many messages
/// wait for a reader.
const HISTORY_LIMIT: u32 = 16;
const QUEUE_LIMIT: u32 = 256;

/// Why an endpoint is not in shared memory although it is configured.
pub fn reason(config: &EndpointConfig) -> String {
    let qos = &config.qos;
    if qos.history == History::KeepAll {
        "keep_all: Cyclone DDS 0.10 uses shared memory for keep_last alone".into()
    } else if qos.durability == Durability::TransientLocal && qos.depth > HISTORY_LIMIT {
        format!(
            "transient_local with a depth of {}: iceoryx keeps {HISTORY_LIMIT} for late joiners",
            qos.depth
        )
    } else {
        "Cyclone DDS 0.10 does not use shared memory for this type and QoS".into()
    }
}

/// What shared memory makes of a QoS, where that is not what the network makes of it.
pub fn surprises(config: &EndpointConfig) -> Vec<String> {
    let waiting = config.qos.depth.min(QUEUE_LIMIT);
    let mut surprises = vec![format!(
        "in shared memory the oldest of {waiting} waiting messages is overwritten, reliable or not"
    )];
    if config.qos.durability == Durability::TransientLocal {
        // Its monitor ignores chunks of a writer that discovery has not named yet.
        surprises.push("in shared memory a late joiner gets no history, although Cyclone DDS grants transient_local".into());
    }
    surprises
}
