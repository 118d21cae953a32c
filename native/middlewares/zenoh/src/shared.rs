//! The data that the endpoints of a session share.

use rmwbench_harness::middleware::{EndpointConfig, Error};
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};
use zenoh::key_expr::KeyExpr;

use crate::graph::Graph;
use crate::locked;
use crate::modes::{Modes, Transport};
use crate::queue::Queues;
use crate::rendezvous::Rendezvous;

/// The data that endpoints need from their session.
pub struct Shared {
    pub session: zenoh::Session,
    pub graph: Graph,
    pub shared_memory: bool,
    pub udp_links: bool,
    pub shared_memory_threshold_bytes: Option<u64>,
    /// The size of the pool that Zenoh makes for itself.
    pub pool_bytes: Option<u64>,
    /// The length of a queue for `keep_all`: Zenoh's own default for a channel is 256.
    pub keep_all_depth: usize,
    /// How many messages the pool of a loaning publisher holds; None: depth + 8.
    pub loan_slots: Option<usize>,
    /// The size from which payloads of publishers that have a provider use its shared memory, also
    /// without loans; None: no publisher has one.
    pub provider_from_bytes: Option<u64>,
    /// Whether lost messages are requested again; None: if they are reliable and transient_local,
    /// as in rmw_zenoh.
    pub recovery: Option<bool>,
    /// Whether congestion may drop a message that is reliable with history keep_last, as in
    /// rmw_zenoh.
    pub drops_reliable_keep_last: bool,
    pub request_timeout_ms: u64,
    pub modes: Modes,
    pub domain_id: u32,
    pub queues: Queues,
    /// This is last: the endpoint is removed from the list after the session has closed.
    pub _rendezvous: Option<Rendezvous>,
}

impl Shared {
    /// Whether a reader here may be lent messages of this size, as far as the session's own
    /// settings show: messages of publishers that loan are lent, too. Each message's record says
    /// whether it was.
    pub fn lends(&self, payload_bytes: u32) -> bool {
        let bytes = u64::from(payload_bytes);
        let has_a_link = self.modes.transport != Some(Transport::IntraProcess);
        let converts = |threshold| {
            bytes >= threshold && has_a_link && self.pool_that_may_not_be_locked().is_none()
        };
        self.shared_memory
            && (self.provides(payload_bytes)
                || self.shared_memory_threshold_bytes.is_some_and(converts))
    }

    /// Whether each publisher of messages of this size has a provider of its own.
    pub fn provides(&self, payload_bytes: u32) -> bool {
        self.provider_from_bytes.is_some_and(|from| u64::from(payload_bytes) >= from)
    }

    /// The size of Zenoh's own pool and the limit that this process may lock, if that is smaller:
    /// Zenoh then works without the pool.
    pub fn pool_that_may_not_be_locked(&self) -> Option<(u64, u64)> {
        self.pool_bytes.zip(locked::limit_bytes()).filter(|(pool, limit)| pool > limit)
    }

    /// How many messages a history holds.
    pub fn depth(&self, qos: &Qos) -> usize {
        match qos.history {
            History::KeepLast => qos.depth as usize,
            History::KeepAll => self.keep_all_depth,
        }
    }

    pub fn recovers(&self, qos: &Qos) -> bool {
        let reliable = qos.reliability == Reliability::Reliable;
        reliable && self.recovery.unwrap_or(qos.durability == Durability::TransientLocal)
    }

    pub fn refuse_reliable_over_udp(&self, config: &EndpointConfig) -> Result<(), Error> {
        if config.qos.reliability == Reliability::Reliable && self.udp_links {
            let reason = "reliable: the session has UDP links, and Zenoh resends nothing over them";
            return Err(Error::unsupported(format!("endpoint {}", config.endpoint), reason));
        }
        Ok(())
    }

    pub fn key(&self, topic: &str) -> Result<KeyExpr<'static>, Error> {
        let key = KeyExpr::try_from(format!("rmwbench/{}/{topic}", self.domain_id))
            .map_err(|e| Error::invalid(format!("topic {topic}"), e.to_string()))?;
        if key.is_wild() {
            return Err(Error::invalid(
                format!("topic {topic}"),
                "expected a name without * and $",
            ));
        }
        Ok(key)
    }
}
