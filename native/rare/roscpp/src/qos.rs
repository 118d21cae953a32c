//! Translates QoS from ROS 2's terms to the settings of a ROS 1 topic: a queue's size, latching,
//! and a hint about the transport.

use rmwbench_harness::middleware::{EndpointConfig, Error, Granted, PublishMode, WhenFull};
use rmwbench_harness::qos::{Durability, History, Reliability};

use crate::settings::Settings;

/// roscpp's value for a queue without a limit.
const WITHOUT_LIMIT: u32 = 0;

pub struct Topic {
    pub queue_size: u32,
    pub latch: bool,
    pub granted: Granted,
}

/// Errors: unsupported for what ROS 1 lacks, invalid for a history without depth.
pub fn topic(config: &EndpointConfig, settings: &Settings) -> Result<Topic, Error> {
    let qos = &config.qos;
    let object = || format!("endpoint {}", config.endpoint);
    if qos.content_filter.is_some() || qos.instance_key.is_some() {
        return Err(Error::unsupported(object(), "content filter, instance key: ROS 1 has none"));
    }
    if config.publish_mode == PublishMode::Sync {
        return Err(Error::unsupported(
            object(),
            "publish mode sync: publish queues, roscpp's own thread writes to the sockets",
        ));
    }
    if settings.udp && qos.reliability == Reliability::Reliable {
        return Err(Error::unsupported(
            object(),
            "reliable over UDPROS: what it loses is not repeated; ask for best_effort",
        ));
    }
    let mut notes = Vec::new();
    let queue_size = match qos.history {
        History::KeepAll => WITHOUT_LIMIT,
        History::KeepLast if qos.depth == 0 => {
            return Err(Error::invalid(object(), "depth 0: expected 1 or more"))
        }
        History::KeepLast => qos.depth,
    };
    notes.push(match queue_size {
        WITHOUT_LIMIT => "queues without a limit on either side".into(),
        size => format!("queues of {size} on either side, which drop the oldest; the kernel's socket buffers come between them"),
    });
    let latch = qos.durability == Durability::TransientLocal;
    if latch {
        notes.push("latched: a late joiner gets the last message alone".into());
    }
    if qos.reliability == Reliability::BestEffort {
        notes.push(
            if settings.udp { "UDPROS" } else { "best_effort is TCPROS, which is reliable" }.into(),
        );
    }
    let when_full = Some(match queue_size {
        WITHOUT_LIMIT => WhenFull::NeverFull,
        _ => WhenFull::OverwritesAtWriter,
    });
    let granted = Granted {
        qos: qos.clone(),
        publish_mode: PublishMode::Async,
        wait: config.wait,
        take: None,
        when_full,
        notes,
    };
    Ok(Topic { queue_size, latch, granted })
}
