//! Publishers and subscriptions of serialised messages.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use hiroz::entity::EndpointKind;
use hiroz::msg::{ZDeserializer, ZMessage};
use hiroz::node::ZNode;
use hiroz::pubsub::ZPub;
use hiroz::qos::{QosDurability, QosHistory, QosProfile, QosReliability};
use hiroz::{Builder as _, ZBuf};
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, Delivery, EndpointConfig, Error, Granted, PublishError, PublishMode, Sink, TakenAs,
    Wait, WhenFull,
};
use rmwbench_harness::pump::{self, Registration};
use rmwbench_harness::qos::{Durability, History, Reliability};

use crate::readers::{Bell, Reader, Readers};
use crate::types;

const TYPED: &str =
    "take typed: a deserialiser of hiroz copies each message into memory of the reader's own";
const KEEPS_LAST: &str = "hiroz's own queue, of the history's depth; full, it drops its oldest";
const KEEPS_ALL: &str = "hiroz's own queue, without a limit: it is never full";
const NO_QUEUE: &str = "wait callback has no queue: Zenoh's receiving thread delivers each message";

/// A placeholder for a message type: hiroz requires one, and never sees a message of it.
type Any = ZBuf;

/// Takes a message unchanged, encapsulation header included.
pub struct AsItCame;

impl ZDeserializer for AsItCame {
    type Input<'a> = &'a [u8];
    type Output = Vec<u8>;
    type Error = Infallible;

    fn deserialize(input: &[u8]) -> Result<Vec<u8>, Infallible> {
        Ok(input.to_vec())
    }
}

pub struct HirozPublisher {
    publisher: ZPub<Any, <Any as ZMessage>::Serdes>,
    node: Arc<ZNode>,
    topic: String,
    prefix: Vec<u8>,
    suffix: Vec<u8>,
    granted: Granted,
}

pub struct HirozSubscription {
    /// This is dropped first: no take follows. None if Zenoh's thread delivers.
    queued: Option<Queued>,
    /// hiroz's subscription, of either kind.
    _subscriber: Box<dyn Send>,
    node: Arc<ZNode>,
    topic: String,
    malformed: Arc<AtomicU64>,
    granted: Granted,
}

/// A queue of hiroz that the session's receive loop empties.
struct Queued {
    _registration: Registration<Reader>,
    bell: Arc<Bell>,
    taken: Arc<AtomicU64>,
    waiting: Box<dyn Fn() -> usize + Send>,
}

impl Queued {
    /// The number of messages that were queued, are not queued any more, and were not taken either.
    fn dropped(&self) -> u64 {
        let taken = self.taken.load(Ordering::Relaxed);
        self.bell.rung().saturating_sub(taken + (self.waiting)() as u64)
    }
}

fn ros_name(topic: &str) -> String {
    format!("/{topic}")
}

fn profile(config: &EndpointConfig) -> Result<QosProfile, Error> {
    let object = || format!("endpoint {}", config.endpoint);
    let requested = &config.qos;
    if requested.content_filter.is_some() || requested.instance_key.is_some() {
        return Err(Error::unsupported(
            object(),
            "content filters and instance keys: hiroz has neither",
        ));
    }
    Ok(QosProfile {
        reliability: match requested.reliability {
            Reliability::Reliable => QosReliability::Reliable,
            Reliability::BestEffort => QosReliability::BestEffort,
        },
        durability: match requested.durability {
            Durability::Volatile => QosDurability::Volatile,
            Durability::TransientLocal => QosDurability::TransientLocal,
        },
        history: match (requested.history, NonZeroUsize::new(requested.depth as usize)) {
            (History::KeepAll, _) => QosHistory::KeepAll,
            (History::KeepLast, Some(depth)) => QosHistory::KeepLast(depth),
            (History::KeepLast, None) => {
                return Err(Error::invalid(object(), "qos depth: expected at least 1, found 0"))
            }
        },
        ..QosProfile::default()
    })
}

impl HirozPublisher {
    pub fn create(node: &Arc<ZNode>, config: &EndpointConfig) -> Result<Self, Error> {
        let object = format!("endpoint {}", config.endpoint);
        if config.publish_mode == PublishMode::Sync {
            return Err(Error::unsupported(
                object,
                "publish_mode sync: a put hands the message to the link's sending task",
            ));
        }
        if config.loan {
            return Err(Error::unsupported(
                object,
                "loan: a publisher of hiroz serialises into a buffer of its own making",
            ));
        }
        let topic = ros_name(&config.topic);
        let builder =
            node.create_pub_impl::<Any>(&topic, Some(types::info(&config.message_type, &object)?));
        let publisher =
            builder.with_qos(profile(config)?).build().map_err(|e| Error::failed(object, e))?;
        let congestion = match config.qos.reliability {
            Reliability::Reliable => {
                "congestion control block, where rmw_zenoh drops unless the history is keep_all"
            }
            Reliability::BestEffort => {
                "congestion control drop: a congested link loses messages, and nobody counts them"
            }
        };
        let when_full = Some(match config.qos.reliability {
            Reliability::Reliable => WhenFull::Blocks,
            Reliability::BestEffort => WhenFull::DropsAtWriter,
        });
        let (qos, notes) = (config.qos.clone(), vec![congestion.into()]);
        let granted = Granted {
            qos,
            publish_mode: PublishMode::Async,
            wait: Wait::Block,
            take: None,
            when_full,
            notes,
        };
        Ok(HirozPublisher {
            publisher,
            node: node.clone(),
            topic,
            prefix: config.message_type.cdr_prefix.clone(),
            suffix: config.message_type.cdr_suffix.clone(),
            granted,
        })
    }
}

impl trait_::Publisher for HirozPublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        let message = [&self.prefix[..], payload, &self.suffix].concat();
        self.publisher.publish_serialized(message).map_err(|_| PublishError::Failed)
    }
}

impl trait_::Endpoint for HirozPublisher {
    fn matched(&self) -> u32 {
        self.node.graph().count(EndpointKind::Subscription, &self.topic) as u32
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        Account::default()
    }
}

impl HirozSubscription {
    pub fn create(
        node: &Arc<ZNode>,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        readers: &Readers,
    ) -> Result<Self, Error> {
        let object = format!("endpoint {}", config.endpoint);
        let topic = ros_name(&config.topic);
        let builder =
            node.create_sub_impl::<Any>(&topic, Some(types::info(&config.message_type, &object)?));
        let builder = builder.with_qos(profile(config)?).with_serdes::<AsItCame>();
        let (start, bytes) =
            (config.message_type.cdr_prefix.len(), config.message_type.payload_bytes as usize);
        let malformed = Arc::new(AtomicU64::new(0));
        let counted = malformed.clone();
        let deliver =
            move |message: &[u8], notified_ns: i64| match message.get(start..start + bytes) {
                Some(payload) => sink.deliver(&Delivery::taken(notified_ns, payload, false)),
                None => drop(counted.fetch_add(1, Ordering::Relaxed)),
            };
        let failed = |e: &dyn std::fmt::Display| Error::failed(object.clone(), e);
        let (subscriber, queued, when_full, mut notes): (Box<dyn Send>, _, _, _) = if config.wait
            == Wait::Callback
        {
            let subscriber = builder
                .build_with_callback(move |message: Vec<u8>| deliver(&message, now_ns()))
                .map_err(|e| failed(&e))?;
            (Box::new(subscriber), None, Some(WhenFull::Blocks), vec![NO_QUEUE.to_string()])
        } else {
            let bell = readers.bell();
            let rings = bell.clone();
            let subscriber =
                builder.build_with_notifier(move || rings.ring()).map_err(|e| failed(&e))?;
            let queue =
                subscriber.queue.clone().ok_or_else(|| failed(&"a subscriber without queue"))?;
            let (waiting_queue, taken) = (queue.clone(), Arc::new(AtomicU64::new(0)));
            let count = taken.clone();
            // The same as hiroz's own `recv`, which waits for a single queue.
            let take = move |notified_ns| {
                let Some(sample) = queue.try_recv() else { return false };
                count.fetch_add(1, Ordering::Relaxed);
                let Ok(message) = AsItCame::deserialize(&sample.payload().to_bytes());
                drop(sample);
                deliver(&message, notified_ns);
                true
            };
            let queued = Queued {
                _registration: readers.add(config.wait, bell.clone(), Box::new(take))?,
                bell,
                taken,
                waiting: Box::new(move || waiting_queue.len()),
            };
            let (when_full, of_queue) = match config.qos.history {
                History::KeepLast => (WhenFull::DropsAtReader, KEEPS_LAST),
                History::KeepAll => (WhenFull::NeverFull, KEEPS_ALL),
            };
            (
                Box::new(subscriber),
                Some(queued),
                Some(when_full),
                vec![pump::NOTE.into(), of_queue.into()],
            )
        };
        notes.push(TYPED.into());
        let granted = Granted {
            qos: config.qos.clone(),
            publish_mode: PublishMode::Async,
            wait: config.wait,
            take: Some(TakenAs::Typed),
            when_full,
            notes,
        };
        Ok(HirozSubscription {
            queued,
            _subscriber: subscriber,
            node: node.clone(),
            topic,
            malformed,
            granted,
        })
    }
}

impl trait_::Endpoint for HirozSubscription {
    fn matched(&self) -> u32 {
        self.node.graph().count(EndpointKind::Publisher, &self.topic) as u32
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        Account {
            reader_drops: self.queued.as_ref().map(Queued::dropped),
            counters: [("malformed".to_string(), self.malformed.load(Ordering::Relaxed) as i64)]
                .into(),
            ..Account::default()
        }
    }
}

impl trait_::Subscription for HirozSubscription {}
