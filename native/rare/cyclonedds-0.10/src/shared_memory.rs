//! Shared memory of Cyclone DDS 0.10: why an endpoint does not use it. Cyclone reports only whether
//! it does; the reasons are those in its source.

use rmwbench_harness::middleware::EndpointConfig;
use rmwbench_harness::qos::{Durability, History};

/// iceoryx's limits as Debian builds it: how many messages it keeps for a late joiner, and how many
/// may wait for a reader.
const HISTORY_LIMIT: u32 = 16;
const QUEUE_LIMIT: u32 = 256;

/// Why an endpoint does not use shared memory although it is configured.
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

/// How a QoS behaves differently in shared memory than over the network.
pub fn surprises(config: &EndpointConfig) -> Vec<String> {
    let waiting = config.qos.depth.min(QUEUE_LIMIT);
    let mut surprises = vec![format!(
        "in shared memory the oldest of {waiting} waiting messages is overwritten, reliable or not"
    )];
    if config.qos.durability == Durability::TransientLocal {
        // Its monitor ignores chunks of a writer that discovery has not yet reported.
        surprises.push("in shared memory a late joiner gets no history, although Cyclone DDS grants transient_local".into());
    }
    surprises
}
