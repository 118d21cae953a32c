//! Publishing: `put`, which takes over the buffer into which the message was written
//! ([`crate::outgoing`]); or a buffer of a shared-memory provider.
//!
//! Reliable means congestion control `block`: Zenoh drops nothing on the way to the link, and the
//! put waits. rmw_zenoh blocks only for keep_all, and congestion may drop its reliable keep_last
//! messages; its profile does the same (option `reliable_keep_last`). Best effort means `drop`,
//! which Zenoh does silently: neither Zenoh nor this worker can count the messages that a congested
//! link lost.

use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, EndpointConfig, Error, Granted, PublishError, PublishMode, Wait, WhenFull,
};
use rmwbench_harness::qos::{Durability, History, Reliability};
use zenoh::bytes::ZBytes;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::shm::{
    GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder, ZShmMut,
};
use zenoh::Wait as _;
use zenoh_ext::{
    AdvancedPublisher, AdvancedPublisherBuilderExt as _, CacheConfig, MissDetectionConfig,
};

use crate::graph::Side;
use crate::locked;
use crate::outgoing::{self, sending, Outgoing};
use crate::shared::Shared;

/// How long a loan of a publisher that blocks waits for readers to return a buffer; Zenoh's own
/// `BlockOn` would wait for ever for a reader that is stuck.
const LOAN_WAIT: Duration = Duration::from_millis(1000);
const IN_ITS_OWN_SESSION: &str =
    "publish mode async: within its own session a put calls the subscriptions itself";
/// Small messages do not need an exact size: a busy reader may hold more of them.
const LEAST_POOL_BYTES: usize = 256 << 10;
/// How often a publisher sends the number of its last message, if it sent any; the same as in
/// rmw_zenoh.
const HEARTBEAT: Duration = Duration::from_millis(500);

pub struct ZenohPublisher {
    /// This is first: the graph forgets a publisher before the publisher is gone.
    _token: LivelinessToken,
    writer: Writer,
    outgoing: Outgoing,
    /// Whether a message that is published by copy is copied into a buffer of the provider.
    copies_into_provider: bool,
    provider: Option<ShmProvider<PosixShmProviderBackend>>,
    topic: String,
    granted: Granted,
    shared: Arc<Shared>,
}

enum Writer {
    Plain(Publisher<'static>),
    /// A publisher that keeps its last messages for late joiners, or for readers that missed one.
    Advanced(AdvancedPublisher<'static>),
}

impl Writer {
    #[inline]
    fn put(&self, payload: impl Into<ZBytes>) -> Result<(), PublishError> {
        let put = sending(|| match self {
            Writer::Plain(publisher) => publisher.put(payload).wait(),
            Writer::Advanced(publisher) => publisher.put(payload).wait(),
        });
        put.map_err(|_| PublishError::Failed)
    }
}

impl ZenohPublisher {
    pub fn create(
        node: &str,
        config: &EndpointConfig,
        shared: &Arc<Shared>,
    ) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        let failed = |e: zenoh::Error| Error::failed(object(), e);
        if config.publish_mode == PublishMode::Sync {
            return Err(Error::unsupported(
                object(),
                "publish_mode sync: a put hands the message to the link's sending task",
            ));
        }
        shared.refuse_reliable_over_udp(config)?;
        if config.loan && !shared.shared_memory {
            return Err(Error::unsupported(
                object(),
                "loan: this profile has shared memory disabled",
            ));
        }
        let reliable = config.qos.reliability == Reliability::Reliable;
        let may_drop = !reliable
            || (shared.drops_reliable_keep_last && config.qos.history == History::KeepLast);
        let default = if may_drop { CongestionControl::Drop } else { CongestionControl::Block };
        let congestion = shared.modes.congestion.unwrap_or(default);
        let declare = || -> Result<_, Error> {
            let publisher = shared
                .session
                .declare_publisher(shared.key(&config.topic)?)
                .congestion_control(congestion);
            Ok(publisher.reliability(if reliable {
                zenoh::qos::Reliability::Reliable
            } else {
                zenoh::qos::Reliability::BestEffort
            }))
        };
        let publisher = declare()?.wait().map_err(failed)?;
        let mut granted = granted(&publisher, config, congestion);
        if reliable && granted.qos.reliability != Reliability::Reliable {
            return Err(Error::unsupported(
                object(),
                "reliable: the profile overwrites it with best_effort or congestion control drop",
            ));
        }
        granted.notes.extend(not_in_shared_memory(config, shared));
        let history = config.qos.durability == Durability::TransientLocal;
        let writer = if history || shared.recovers(&config.qos) {
            drop(publisher); // it showed the effect of the profile's settings
            let depth = shared.depth(&config.qos);
            let miss_detection = match shared.recovers(&config.qos) {
                true => MissDetectionConfig::default().sporadic_heartbeat(HEARTBEAT),
                false => MissDetectionConfig::default(), // only numbers its messages
            };
            let advanced = declare()?
                .cache(CacheConfig::default().max_samples(depth))
                .sample_miss_detection(miss_detection);
            granted
                .notes
                .push(format!("zenoh-ext keeps the last {depth} messages to give them again"));
            Writer::Advanced(
                if history { advanced.publisher_detection() } else { advanced }
                    .wait()
                    .map_err(failed)?,
            )
        } else {
            Writer::Plain(publisher)
        };
        let copies_into_provider = shared.provides(config.message_type.payload_bytes);
        let provider = match config.loan || copies_into_provider {
            true => Some(provider(config, shared)?),
            false => None,
        };
        if !config.loan && !copies_into_provider {
            granted.notes.push(outgoing::NOTE.into());
        }
        if provider.is_some() {
            granted.notes.push(match granted.when_full {
                Some(WhenFull::Blocks) => format!(
                    "a publish call waits for a buffer of its pool, at most {} ms, and then fails",
                    LOAN_WAIT.as_millis()
                ),
                _ => "a publish call for which its pool has no buffer fails at once".into(),
            });
        }
        let token = shared.graph.announce(Side::Publisher, node, config.endpoint, &config.topic)?;
        Ok(ZenohPublisher {
            _token: token,
            writer,
            outgoing: Outgoing::default(),
            copies_into_provider,
            provider,
            topic: config.topic.clone(),
            granted,
            shared: shared.clone(),
        })
    }

    /// A buffer of the provider; a publisher that blocks waits for one.
    fn buffer(&self, bytes: usize) -> Result<ZShmMut, PublishError> {
        let provider = self.provider.as_ref().ok_or(PublishError::Unsupported)?;
        let patience = match self.granted.when_full {
            Some(WhenFull::Blocks) => LOAN_WAIT,
            _ => Duration::ZERO,
        };
        let mut waiting_since = None;
        loop {
            match provider.alloc(bytes).with_policy::<GarbageCollect>().wait() {
                Ok(buffer) => return Ok(buffer),
                Err(_) if waiting_since.get_or_insert_with(Instant::now).elapsed() < patience => {
                    sleep(Duration::from_millis(1))
                }
                Err(_) => return Err(PublishError::Full),
            }
        }
    }
}

/// Errors: unsupported if this process may not lock the pool, which is a limit of the machine and
/// not a failure of Zenoh.
fn provider(
    config: &EndpointConfig,
    shared: &Shared,
) -> Result<ShmProvider<PosixShmProviderBackend>, Error> {
    let bytes = shared.modes.shm_pool_bytes.unwrap_or_else(|| pool_bytes(config, shared));
    let object = || format!("endpoint {}", config.endpoint);
    ShmProviderBuilder::default_backend(bytes).wait().map_err(|why| match locked::refuses(bytes) {
        Some(limit) => Error::unsupported(object(), format!(
            "Zenoh locks its pool of shared memory, here of {bytes} bytes, and this process may lock {limit} in all; as root: ulimit -l unlimited"
        )),
        None => Error::failed(object(), why),
    })
}

/// The size of a pool for the messages that this publisher may have on their way: its own history,
/// its readers' queues and some more.
fn pool_bytes(config: &EndpointConfig, shared: &Shared) -> usize {
    let depth = shared.depth(&config.qos);
    let kept =
        if config.qos.durability == Durability::TransientLocal || shared.recovers(&config.qos) {
            depth
        } else {
            0
        };
    let slots = shared.loan_slots.unwrap_or(depth + 8) + kept;
    // The allocator adds a header to each chunk and one to the pool.
    let slot = (config.message_type.payload_bytes as usize).max(64) + 128;
    (slots * slot + 4096).max(LEAST_POOL_BYTES)
}

/// Why this publisher's messages will not travel in shared memory, if that is known beforehand.
fn not_in_shared_memory(config: &EndpointConfig, shared: &Shared) -> Option<String> {
    let bytes = u64::from(config.message_type.payload_bytes);
    match shared.provider_from_bytes.or(shared.shared_memory_threshold_bytes) {
        _ if !shared.shared_memory => Some("path: the profile switches shared memory off".into()),
        _ if config.loan && bytes > 0 => None,
        _ if shared.provides(config.message_type.payload_bytes) => None,
        None => Some("path: without loans nothing goes to shared memory, because the profile switches its transport_optimization off, for puts at least".into()),
        Some(threshold) if bytes < threshold => Some(format!(
            "path: {bytes} bytes are below the shared-memory threshold of {threshold} bytes (transport/shared_memory/transport_optimization/message_size_threshold)"
        )),
        Some(_) => Some(match shared.pool_that_may_not_be_locked() {
            Some((pool, limit)) => format!(
                "path: Zenoh's pool of {pool} bytes is more than this process may lock ({limit} bytes, ulimit -l): it goes without, through the link"
            ),
            None => "path: Zenoh makes its pool in the background, from the first such message on, and nothing here waits for it: what comes before goes through the link".into(),
        }),
    }
}

fn granted(
    publisher: &Publisher<'_>,
    config: &EndpointConfig,
    asked_congestion: CongestionControl,
) -> Granted {
    let congestion = publisher.congestion_control();
    // A setting that the profile's text overwrites silently is not granted; one that its name or a
    // mode requests is.
    let as_asked =
        (congestion == CongestionControl::Drop) == (asked_congestion == CongestionControl::Drop);
    let blocks = congestion != CongestionControl::Drop;
    let reliable =
        publisher.reliability() == zenoh::qos::Reliability::Reliable && (blocks || as_asked);
    let note = match (blocks, reliable) {
        (true, _) => {
            "congestion control block: a put waits for the link (Zenoh closes a link that is stuck for 5 s, unless configured otherwise)"
        }
        (false, true) => {
            "congestion control drop, though reliable: as asked by the arm, a congested link loses messages, and Zenoh counts none of them"
        }
        (false, false) => "congestion control drop: a congested link loses messages, and Zenoh counts none of them",
    };
    let mut qos = config.qos.clone();
    qos.reliability = if reliable { Reliability::Reliable } else { Reliability::BestEffort };
    let mut notes = vec![note.to_string(), IN_ITS_OWN_SESSION.into()];
    if qos.durability == Durability::Volatile {
        notes
            .push("the publisher keeps no history: depth is a matter of the reader's queue".into());
    }
    let when_full = Some(if blocks { WhenFull::Blocks } else { WhenFull::DropsAtWriter });
    Granted {
        qos,
        publish_mode: PublishMode::Async,
        wait: Wait::Block,
        take: None,
        when_full,
        notes,
    }
}

impl trait_::Publisher for ZenohPublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        if self.copies_into_provider && !payload.is_empty() {
            let mut buffer = self.buffer(payload.len())?;
            buffer.copy_from_slice(payload);
            return self.writer.put(buffer);
        }
        let payload = self.outgoing.payload(payload);
        self.writer.put(payload)
    }

    /// None with a provider: its users who publish by copy have their own memory, from which they
    /// fill its buffer.
    fn message(&mut self, bytes: usize) -> Option<NonNull<[u8]>> {
        match self.copies_into_provider {
            true => None,
            false => self.outgoing.message(bytes),
        }
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        if self.provider.is_none() {
            return Err(PublishError::Unsupported);
        }
        if bytes == 0 {
            return self.writer.put(&[][..]); // the provider has no empty buffers
        }
        let mut buffer = self.buffer(bytes)?;
        fill(&mut buffer);
        self.writer.put(buffer)
    }
}

impl trait_::Endpoint for ZenohPublisher {
    fn matched(&self) -> u32 {
        self.shared.graph.count(Side::Subscription, &self.topic).total()
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    /// Zenoh's publisher knows neither drops nor the path; its readers do.
    fn account(&self) -> Account {
        Account::default()
    }
}
