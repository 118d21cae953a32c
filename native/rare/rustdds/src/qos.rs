//! Translates QoS between ROS 2's terms and RustDDS's.

use rmwbench_harness::middleware::{EndpointConfig, Error, SessionConfig};
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};
use rustdds::{policy, QosPolicies, QosPolicyBuilder};

/// The same as in ros2-client: DDS's own default.
const MAX_BLOCKING_MS: i64 = 100;
/// Far more than RustDDS's own 64, beyond which a reader drops messages that it has not yet taken.
const MAX_SAMPLES: i32 = 8192;

pub const OPTIONS: [&str; 2] = ["max_blocking_ms", "max_samples"];

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub max_blocking_ms: i64,
    pub max_samples: i32,
}

impl Limits {
    pub fn from_config(config: &SessionConfig) -> Result<Limits, Error> {
        let limits = Limits {
            max_blocking_ms: config.option("max_blocking_ms", MAX_BLOCKING_MS)?,
            max_samples: config.option("max_samples", MAX_SAMPLES)?,
        };
        if limits.max_blocking_ms < 0 || limits.max_samples < 1 {
            return Err(Error::invalid(
                "options max_blocking_ms and max_samples",
                "expected at least 0 and 1",
            ));
        }
        Ok(limits)
    }
}

/// The QoS that an endpoint requests. Errors: unsupported for what RustDDS lacks, invalid for a
/// history without depth.
pub fn policies(config: &EndpointConfig, limits: &Limits) -> Result<QosPolicies, Error> {
    let object = || format!("endpoint {}", config.endpoint);
    let requested = &config.qos;
    if requested.content_filter.is_some() || requested.instance_key.is_some() {
        return Err(Error::unsupported(
            object(),
            "content filters and instance keys: RustDDS has no filtered topics, and these are keyless",
        ));
    }
    let history = match (requested.history, i32::try_from(requested.depth)) {
        (History::KeepAll, _) => policy::History::KeepAll,
        (History::KeepLast, Ok(depth)) if depth > 0 => policy::History::KeepLast { depth },
        (History::KeepLast, _) => {
            return Err(Error::invalid(
                object(),
                format!("qos depth: expected 1 to {}, found {}", i32::MAX, requested.depth),
            ))
        }
    };
    let builder = QosPolicyBuilder::new().history(history).durability(match requested.durability {
        Durability::Volatile => policy::Durability::Volatile,
        Durability::TransientLocal => policy::Durability::TransientLocal,
    });
    let builder = match requested.reliability {
        Reliability::Reliable => {
            builder.reliable(rustdds::Duration::from_millis(limits.max_blocking_ms))
        }
        Reliability::BestEffort => builder.best_effort(),
    };
    Ok(match requested.history {
        History::KeepLast => builder,
        History::KeepAll => builder.resource_limits(policy::ResourceLimits {
            max_samples: limits.max_samples,
            max_instances: 1,
            max_samples_per_instance: limits.max_samples,
        }),
    }
    .build())
}

/// The QoS in force, read back.
pub fn granted(policies: &QosPolicies) -> Qos {
    let (history, depth) = match policies.history() {
        Some(policy::History::KeepAll) => (History::KeepAll, 0),
        Some(policy::History::KeepLast { depth }) => (History::KeepLast, depth.max(0) as u32),
        None => (History::KeepLast, 1), // DDS's default
    };
    Qos {
        reliability: match policies.reliability() {
            Some(policy::Reliability::Reliable { .. }) => Reliability::Reliable,
            _ => Reliability::BestEffort,
        },
        durability: match policies.durability() {
            Some(policy::Durability::Volatile) | None => Durability::Volatile,
            Some(_) => Durability::TransientLocal,
        },
        history,
        depth,
        content_filter: None,
        instance_key: None,
    }
}
