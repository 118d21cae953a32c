//! Publishers and subscriptions of serialised messages.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use hiroz::entity::EndpointKind;
use hiroz::msg::{ZDeserializer, ZMessage};
use hiroz::node::ZNode;
use hiroz::pubsub::{ZPub, ZSub};
use hiroz::qos::{QosDurability, QosHistory, QosProfile, QosReliability};
use hiroz::{Builder as _, ZBuf};
use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, Delivery, EndpointConfig, Error, Granted, PublishError, PublishMode, Sink, TakenAs,
    Wait, WhenFull,
};
use rmwbench_harness::qos::{Durability, History, Reliability};

use crate::queues::{Deliver, Queue, Queues};
use crate::types;

/// What stands in for a message type: hiroz wants one, and never sees a message of it.
type Any = ZBuf;

/// Takes a message as it came, encapsulation header included.
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
    /// Dropped before the queue closes.
    subscriber: Option<ZSub<Any, (), AsItCame>>,
    queue: Option<Arc<Queue>>,
    _queues: Option<Arc<Queues>>,
    node: Arc<ZNode>,
    topic: String,
    malformed: Arc<AtomicU64>,
    granted: Granted,
}

fn ros_name(topic: &str) -> String {
    format!("/{topic}")
}

fn profile(config: &EndpointConfig) -> Result<QosProfile, Error> {
    let object = || format!("endpoint {}", config.endpoint);
    let asked = &config.qos;
    if asked.content_filter.is_some() || asked.instance_key.is_some() {
        return Err(Error::unsupported(
            object(),
            "content filters and instance keys: hiroz has neither",
        ));
    }
    Ok(QosProfile {
        reliability: match asked.reliability {
            Reliability::Reliable => QosReliability::Reliable,
            Reliability::BestEffort => QosReliability::BestEffort,
        },
        durability: match asked.durability {
            Durability::Volatile => QosDurability::Volatile,
            Durability::TransientLocal => QosDurability::TransientLocal,
        },
        history: match (asked.history, NonZeroUsize::new(asked.depth as usize)) {
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
        queues: &dyn Fn() -> std::io::Result<Arc<Queues>>,
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
                None => drop(counted.fetch_add(1, Ordering::Relaxed) + 1),
            };
        let failed = |e: &dyn std::fmt::Display| Error::failed(object.clone(), e);
        let mut notes =
            vec!["each message is copied once, as hiroz's deserialisers do".to_string()];
        let (subscriber, queue, kept) = match config.wait {
            Wait::Poll => {
                return Err(Error::unsupported(
                    object,
                    "wait poll: a callback of hiroz is given messages",
                ))
            }
            Wait::Callback => {
                notes.push(
                    "wait callback has no queue: Zenoh's receiving thread delivers each message"
                        .into(),
                );
                (
                    builder
                        .build_with_callback(move |message: Vec<u8>| deliver(&message, now_ns()))
                        .map_err(|e| failed(&e))?,
                    None,
                    None,
                )
            }
            Wait::Block => {
                let queues = queues().map_err(|e| failed(&e))?;
                let depth =
                    (config.qos.history == History::KeepLast).then_some(config.qos.depth as usize);
                notes.push("a queue behind hiroz's callback, of the history's depth; full, it drops its oldest".into());
                let queue = queues.queue(depth, Box::new(deliver) as Deliver);
                let into = queue.clone();
                let subscriber = builder
                    .build_with_callback(move |message: Vec<u8>| into.put(message))
                    .map_err(|e| failed(&e))?;
                (subscriber, Some(queue), Some(queues))
            }
        };
        let when_full = match (config.wait, config.qos.history) {
            (Wait::Callback, _) => Some(WhenFull::Blocks),
            (_, History::KeepLast) => Some(WhenFull::DropsAtReader),
            (_, History::KeepAll) => None, // a queue without a limit
        };
        let (qos, take) = (config.qos.clone(), Some(TakenAs::Typed));
        let granted = Granted {
            qos,
            publish_mode: PublishMode::Async,
            wait: config.wait,
            take,
            when_full,
            notes,
        };
        Ok(HirozSubscription {
            subscriber: Some(subscriber),
            queue,
            _queues: kept,
            node: node.clone(),
            topic,
            malformed,
            granted,
        })
    }
}

impl Drop for HirozSubscription {
    fn drop(&mut self) {
        if let Some(queue) = &self.queue {
            queue.close();
        }
        self.subscriber.take();
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
            reader_drops: self.queue.as_ref().map(|queue| queue.dropped()),
            counters: [("malformed".to_string(), self.malformed.load(Ordering::Relaxed) as i64)]
                .into(),
            ..Account::default()
        }
    }
}

impl trait_::Subscription for HirozSubscription {}
