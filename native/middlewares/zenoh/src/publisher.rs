//! Publishing: `put`, which copies a slice because it must own its payload; or a buffer of a shared-memory provider.
//!
//! Reliable means congestion control `block`: Zenoh drops nothing on the way to the link, and the put waits. (rmw_zenoh blocks for
//! keep_all alone and lets reliable keep_last messages be dropped on congestion; here a message asked to be reliable is.)
//! Best effort means `drop`, which Zenoh does silently: neither it nor we can count what a congested link lost.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{Account, EndpointConfig, Error, Granted, PublishError, PublishMode, Wait};
use rmwbench_harness::qos::{History, Qos, Reliability};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::shm::{GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder};
use zenoh::Wait as _;

use crate::graph::Side;
use crate::session::Shared;

/// How long a loan waits for readers to give a buffer back; Zenoh's own `BlockOn` would wait for ever on one that is stuck.
const LOAN_WAIT: Duration = Duration::from_millis(1000);

pub struct ZenohPublisher {
    /// First: the graph forgets a publisher before it is gone.
    _token: LivelinessToken,
    publisher: Publisher<'static>,
    provider: Option<ShmProvider<PosixShmProviderBackend>>,
    topic: String,
    granted: Granted,
    shared: Arc<Shared>,
}

impl ZenohPublisher {
    pub fn create(node: &str, config: &EndpointConfig, shared: &Arc<Shared>) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        let failed = |e: zenoh::Error| Error::failed(object(), e);
        if config.publish_mode == PublishMode::Sync {
            return Err(Error::unsupported(object(), "publish_mode sync: a put hands the message to the link's sending task"));
        }
        let reliable = config.qos.reliability == Reliability::Reliable;
        if reliable && shared.udp_links {
            return Err(Error::unsupported(object(), "reliable: this profile has UDP links, and Zenoh resends nothing over them"));
        }
        if config.loan && !shared.shared_memory {
            return Err(Error::unsupported(object(), "loan: this profile has shared memory disabled"));
        }
        let publisher = shared
            .session
            .declare_publisher(shared.key(&config.topic)?)
            .congestion_control(if reliable { CongestionControl::Block } else { CongestionControl::Drop })
            .reliability(if reliable { zenoh::qos::Reliability::Reliable } else { zenoh::qos::Reliability::BestEffort })
            .wait()
            .map_err(failed)?;
        let mut granted = granted(&publisher, &config.qos);
        granted.notes.extend(not_in_shared_memory(config, shared));
        if reliable && granted.qos.reliability != Reliability::Reliable {
            return Err(Error::unsupported(object(), "reliable: the profile overwrites it with best_effort or congestion control drop"));
        }
        let provider = match config.loan {
            true => Some(provider(config, shared).map_err(failed)?),
            false => None,
        };
        let token = shared.graph.announce(Side::Publisher, node, config.endpoint, &config.topic)?;
        Ok(ZenohPublisher { _token: token, publisher, provider, topic: config.topic.clone(), granted, shared: shared.clone() })
    }
}

/// A pool for what this publisher may have on its way: its readers' queues and some more.
fn provider(config: &EndpointConfig, shared: &Shared) -> zenoh::Result<ShmProvider<PosixShmProviderBackend>> {
    let depth = match config.qos.history {
        History::KeepLast => config.qos.depth as usize,
        History::KeepAll => shared.keep_all_depth,
    };
    let slots = shared.loan_slots.unwrap_or(depth + 8);
    // The allocator adds a header to each chunk and one to the pool.
    let slot = (config.message_type.payload_bytes as usize).max(64) + 128;
    ShmProviderBuilder::default_backend(slots * slot + 4096).wait()
}

/// Why this publisher's messages will not travel in shared memory, where that is known beforehand.
fn not_in_shared_memory(config: &EndpointConfig, shared: &Shared) -> Option<String> {
    let bytes = u64::from(config.message_type.payload_bytes);
    match shared.shared_memory_threshold_bytes {
        _ if !shared.shared_memory => Some("path: the profile switches shared memory off".into()),
        _ if config.loan => None,
        None => Some("path: without loans nothing goes to shared memory, because the profile switches its transport_optimization off".into()),
        Some(threshold) if bytes < threshold => Some(format!(
            "path: {bytes} bytes are below the shared-memory threshold of {threshold} bytes (transport/shared_memory/transport_optimization/message_size_threshold)"
        )),
        Some(_) => None,
    }
}

fn granted(publisher: &Publisher<'_>, asked: &Qos) -> Granted {
    let blocks = publisher.congestion_control() != CongestionControl::Drop;
    let reliable = publisher.reliability() == zenoh::qos::Reliability::Reliable && blocks;
    let congestion = if blocks {
        "congestion control block: a put waits for the link (Zenoh closes a link that is stuck for 5 s, unless configured otherwise)"
    } else {
        "congestion control drop: a congested link loses messages, and Zenoh counts none of them"
    };
    Granted {
        qos: Qos { reliability: if reliable { Reliability::Reliable } else { Reliability::BestEffort }, ..asked.clone() },
        publish_mode: PublishMode::Async,
        wait: Wait::Block,
        notes: vec![congestion.into(), "the publisher keeps no history: depth is a matter of the reader's queue".into()],
    }
}

impl trait_::Publisher for ZenohPublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.publisher.put(payload).wait().map_err(|_| PublishError::Failed)
    }

    fn publish_loaned(&mut self, bytes: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<(), PublishError> {
        let provider = self.provider.as_ref().ok_or(PublishError::Unsupported)?;
        if bytes == 0 {
            return self.publish(&[]); // the provider has no empty buffers
        }
        let mut waiting_since = None;
        let mut buffer = loop {
            match provider.alloc(bytes).with_policy::<GarbageCollect>().wait() {
                Ok(buffer) => break buffer,
                Err(_) if waiting_since.get_or_insert_with(Instant::now).elapsed() < LOAN_WAIT => sleep(Duration::from_millis(1)),
                Err(_) => return Err(PublishError::Full),
            }
        };
        fill(&mut buffer);
        self.publisher.put(buffer).wait().map_err(|_| PublishError::Failed)
    }
}

impl trait_::Endpoint for ZenohPublisher {
    fn matched(&self) -> u32 {
        let count = self.shared.graph.count(Side::Subscription, &self.topic);
        count.local + count.remote
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    /// Zenoh's publisher knows neither drops nor the path; its readers do.
    fn account(&self) -> Account {
        Account::default()
    }
}
