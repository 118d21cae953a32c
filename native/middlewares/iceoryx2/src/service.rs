//! A topic is a publish-subscribe service and an event service of the same name.
//!
//! The first participant of a service fixes its settings; iceoryx2 refuses a later one that
//! requests more, but not one that requests less. Every setting is therefore a function of the
//! endpoint's QoS and the profile alone, and is an attribute of the service that all participants
//! must have in common, so that their order does not matter.

use std::thread::sleep;
use std::time::{Duration, Instant};

use iceoryx2::prelude::*;
use iceoryx2::service::builder::event::{EventCreateError, EventOpenError, EventOpenOrCreateError};
use iceoryx2::service::builder::publish_subscribe::{
    PublishSubscribeCreateError, PublishSubscribeOpenError, PublishSubscribeOpenOrCreateError,
};
use iceoryx2::service::port_factory::{event, publish_subscribe};
use rmwbench_harness::middleware::{EndpointConfig, Error, WhenFull};
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};
use serde::Deserialize;

pub type PubSub = publish_subscribe::PortFactory<ipc::Service, [u8], ()>;
pub type Events = event::PortFactory<ipc::Service>;

/// How long an opening is retried: two processes that start together may find a service that the
/// other is creating or removing.
const RETRY_FOR: Duration = Duration::from_secs(5);

/// The behaviour of a full queue of a reliable topic with history keep_last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReliableKeepLast {
    /// It drops its oldest message, which is ROS 2's meaning of keep last; iceoryx2 does so as
    /// installed, and rmw_iceoryx2 does not change it.
    Overflow,
    /// It makes the publisher wait.
    Block,
}

/// A QoS in iceoryx2's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether a full queue drops its oldest message.
    pub safe_overflow: bool,
    /// How many messages per publisher a subscription can hold.
    pub depth: usize,
    /// The strategy of queues that do not overflow.
    pub backpressure: BackpressureStrategy,
    /// How many messages a publisher keeps for late joiners.
    pub history: usize,
}

impl Settings {
    pub fn of(
        config: &EndpointConfig,
        keep_all_depth: usize,
        reliable_keep_last: ReliableKeepLast,
    ) -> Result<Settings, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        let qos = &config.qos;
        if qos.content_filter.is_some() || qos.instance_key.is_some() {
            return Err(Error::unsupported(
                object(),
                "content filters and instance keys: iceoryx2 has neither",
            ));
        }
        if qos.history == History::KeepLast && qos.depth == 0 {
            return Err(Error::invalid(object(), "qos depth: expected at least 1, found 0"));
        }
        let depth = match qos.history {
            History::KeepAll => keep_all_depth,
            History::KeepLast => qos.depth as usize,
        };
        let overflows = qos.reliability == Reliability::BestEffort
            || reliable_keep_last == ReliableKeepLast::Overflow;
        Ok(Settings {
            history: if qos.durability == Durability::TransientLocal { depth } else { 0 },
            depth,
            safe_overflow: qos.history == History::KeepLast && overflows,
            backpressure: match qos.reliability {
                Reliability::Reliable => BackpressureStrategy::RetryUntilDelivered,
                Reliability::BestEffort => BackpressureStrategy::DiscardData,
            },
        })
    }
}

impl Settings {
    /// Whether a publish call waits if a queue is full.
    pub fn blocks(&self) -> bool {
        self.when_full() == WhenFull::Blocks
    }

    /// The settings that all endpoints of a topic have in common, as text.
    fn in_common(&self) -> String {
        let reliability = match self.backpressure {
            BackpressureStrategy::RetryUntilDelivered => "reliable",
            BackpressureStrategy::DiscardData => "best_effort",
        };
        let full = if self.safe_overflow { "overflowing" } else { "filling up" };
        format!("{reliability}, {full}, depth {}, history {}", self.depth, self.history)
    }

    /// The effect of a reader's full queue at either end: the queue is the reader's, and the
    /// publisher writes into it.
    pub fn when_full(&self) -> WhenFull {
        match (self.safe_overflow, self.backpressure) {
            (true, _) => WhenFull::DropsAtReader,
            (false, BackpressureStrategy::RetryUntilDelivered) => WhenFull::Blocks,
            (false, BackpressureStrategy::DiscardData) => WhenFull::DropsAtWriter,
        }
    }
}

/// The QoS in force, read back from the service; fields that iceoryx2 does not have are those of
/// `requested`.
pub fn granted_qos(service: &PubSub, requested: &Qos) -> Qos {
    Qos {
        history: if service.static_config().has_safe_overflow() {
            History::KeepLast
        } else {
            requested.history
        },
        depth: service.static_config().subscriber_max_buffer_size() as u32,
        durability: if service.static_config().history_size() > 0 {
            Durability::TransientLocal
        } else {
            Durability::Volatile
        },
        ..requested.clone()
    }
}

/// Notes about these settings for readers of the results.
pub fn notes(settings: &Settings) -> Vec<String> {
    let full = match (settings.safe_overflow, settings.backpressure) {
        (true, _) => "a full queue drops its oldest message",
        (false, BackpressureStrategy::RetryUntilDelivered) => {
            "a full queue makes the publisher wait; nothing accepted is dropped"
        }
        (false, BackpressureStrategy::DiscardData) => "a full queue drops the newest message",
    };
    let mut notes = vec![full.into(), format!("depth {} counts per publisher", settings.depth)];
    if settings.history > 0 {
        notes.push(format!(
            "the last {} messages of each publisher are kept for late joiners; a thread of its process sends them",
            settings.history
        ));
    }
    notes
}

pub fn pub_sub(
    node: &Node<ipc::Service>,
    name: &ServiceName,
    settings: Settings,
    object: &str,
) -> Result<PubSub, Error> {
    use {
        PublishSubscribeCreateError as C, PublishSubscribeOpenError as O,
        PublishSubscribeOpenOrCreateError as E,
    };
    let agreed = agreed(&settings.in_common());
    retrying(object, || {
        node.service_builder(name)
            .publish_subscribe::<[u8]>()
            .enable_safe_overflow(settings.safe_overflow)
            .subscriber_max_buffer_size(settings.depth)
            .history_size(settings.history)
            .open_or_create_with_attributes(&agreed)
            .map_err(|e| match e {
                E::SystemInFlux
                | E::PublishSubscribeOpenError(O::DoesNotExist | O::HangsInCreation | O::IsMarkedForDestruction)
                | E::PublishSubscribeCreateError(C::AlreadyExists | C::IsBeingCreatedByAnotherInstance | C::HangsInCreation) => {
                    Refusal::InFlux(e.to_string())
                }
                E::PublishSubscribeOpenError(
                    O::IncompatibleAttributes | O::IncompatibleOverflowBehavior | O::DoesNotSupportRequestedMinBufferSize | O::DoesNotSupportRequestedMinHistorySize,
                ) => {
                    let requested = settings.in_common();
                    Refusal::Mismatch(format!("all endpoints of a topic have one QoS, and another has not this one's ({requested}: {e})"))
                }
                e => Refusal::Final(e.to_string()),
            })
    })
}

/// The attributes with which a service is created and found.
fn agreed(settings: &str) -> AttributeVerifier {
    let key = "rmwbench qos".try_into().expect("short enough for a key");
    let value = settings.try_into().expect("short enough for a value");
    AttributeVerifier::new().require(&key, &value).expect("it is the only one")
}

pub fn events(
    node: &Node<ipc::Service>,
    name: &ServiceName,
    object: &str,
) -> Result<Events, Error> {
    use {EventCreateError as C, EventOpenError as O, EventOpenOrCreateError as E};
    retrying(object, || {
        node.service_builder(name).event().open_or_create().map_err(|e| match e {
            E::SystemInFlux
            | E::EventOpenError(O::DoesNotExist | O::HangsInCreation | O::IsMarkedForDestruction)
            | E::EventCreateError(C::AlreadyExists | C::IsBeingCreatedByAnotherInstance) => {
                Refusal::InFlux(e.to_string())
            }
            e => Refusal::Final(e.to_string()),
        })
    })
}

pub enum Refusal {
    InFlux(String),
    Mismatch(String),
    Final(String),
}

pub fn retrying<T>(
    object: &str,
    mut attempt: impl FnMut() -> Result<T, Refusal>,
) -> Result<T, Error> {
    let begin = Instant::now();
    loop {
        match attempt() {
            Ok(service) => return Ok(service),
            Err(Refusal::InFlux(_)) if begin.elapsed() < RETRY_FOR => {
                sleep(Duration::from_millis(2))
            }
            Err(Refusal::Mismatch(why)) => return Err(Error::unsupported(object, why)),
            Err(Refusal::InFlux(why) | Refusal::Final(why)) => {
                return Err(Error::failed(object, why))
            }
        }
    }
}
