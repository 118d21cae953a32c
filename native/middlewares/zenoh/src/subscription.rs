//! Receiving messages, and with `transient_local` earlier ones, too, by zenoh-ext's subscriber.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{Account, EndpointConfig, Error, Granted, Sink};
use rmwbench_harness::qos::Durability;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;
use zenoh::Wait as _;
use zenoh_ext::{
    AdvancedSubscriber, AdvancedSubscriberBuilderExt as _, HistoryConfig, RecoveryConfig,
};

use crate::graph::Side;
use crate::locked;
use crate::queue::{Arrival, Deliver, What};
use crate::reading::{granted, Intake, Payloads, Receive};
use crate::shared::Shared;

pub struct ZenohSubscription {
    token: Option<LivelinessToken>,
    reader: Option<Reader>,
    intake: Intake,
    topic: String,
    granted: Granted,
    payloads: Arc<Payloads>,
    /// The number of messages that zenoh-ext found missing and could not get again; None if it does
    /// not look for them.
    missed: Option<Arc<AtomicU64>>,
    shared: Arc<Shared>,
}

enum Reader {
    Plain(Subscriber<()>),
    Advanced(AdvancedSubscriber<()>),
}

impl ZenohSubscription {
    pub fn create(
        node: &str,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        shared: &Arc<Shared>,
    ) -> Result<Self, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        shared.refuse_reliable_over_udp(config)?;
        let key = shared.key(&config.topic)?;
        let payloads = Arc::new(Payloads::new(config.take, config.message_type.payload_bytes));
        let taken = payloads.clone();
        let deliver: Deliver = Box::new(move |arrival, notified_ns| match arrival.what {
            What::Sample(sample) if sample.kind() == SampleKind::Put => {
                taken.hand_over(sample.payload(), arrival.in_session, notified_ns, |delivery| {
                    sink.deliver(delivery)
                });
            }
            _ => {}
        });
        let (intake, receive) = Intake::open(config, shared, deliver)?;
        let mut granted =
            granted(config, shared.keep_all_depth, shared.lends(config.message_type.payload_bytes));
        if let (true, Some(limit)) = (shared.shared_memory, locked::limit_bytes()) {
            granted.notes.push(format!(
                "this process may lock {limit} bytes (ulimit -l): Zenoh loses, without a word, messages in pools of shared memory beyond that"
            ));
        }
        let (reader, missed) = declare(config, shared, key, receive, &mut granted)
            .map_err(|e| Error::failed(object(), e))?;
        let token =
            shared.graph.announce(Side::Subscription, node, config.endpoint, &config.topic)?;
        Ok(ZenohSubscription {
            token: Some(token),
            reader: Some(reader),
            intake,
            topic: config.topic.clone(),
            granted,
            payloads,
            missed,
            shared: shared.clone(),
        })
    }
}

type Declared = (Reader, Option<Arc<AtomicU64>>);

fn declare(
    config: &EndpointConfig,
    shared: &Shared,
    key: zenoh::key_expr::KeyExpr<'static>,
    receive: Receive,
    granted: &mut Granted,
) -> zenoh::Result<Declared> {
    let subscriber = shared
        .session
        .declare_subscriber(key)
        .callback(move |sample| receive(Arrival::now(What::Sample(sample))));
    let (history, recovery) =
        (config.qos.durability == Durability::TransientLocal, shared.recovers(&config.qos));
    if !history && !recovery {
        return Ok((Reader::Plain(subscriber.wait()?), None));
    }
    let mut advanced = subscriber.advanced();
    if history {
        // For publishers that it knows and those that it will find; each sends the messages that
        // its own depth kept.
        let depth = shared.depth(&config.qos);
        advanced =
            advanced.history(HistoryConfig::default().detect_late_publishers().max_samples(depth));
        granted.notes.push(format!(
            "transient_local: zenoh-ext asks each publisher for its last {depth} messages"
        ));
    }
    if recovery {
        advanced = advanced.recovery(RecoveryConfig::default().heartbeat());
        granted.notes.push(
            "recovery: zenoh-ext asks the publisher again for messages that it finds missing"
                .into(),
        );
    }
    let advanced = advanced.wait()?;
    let missed = Arc::new(AtomicU64::new(0));
    let counted = missed.clone();
    let listener = advanced.sample_miss_listener().callback(move |miss| {
        counted.fetch_add(u64::from(miss.nb()), Ordering::Relaxed);
    });
    listener.background().wait()?;
    Ok((Reader::Advanced(advanced), Some(missed)))
}

impl Drop for ZenohSubscription {
    fn drop(&mut self) {
        self.token.take();
        self.intake.close();
        let _ = match self.reader.take() {
            Some(Reader::Plain(subscriber)) => subscriber.undeclare().wait_callbacks().wait(),
            Some(Reader::Advanced(subscriber)) => subscriber.undeclare().wait_callbacks().wait(),
            None => Ok(()),
        };
    }
}

impl trait_::Endpoint for ZenohSubscription {
    fn matched(&self) -> u32 {
        self.shared.graph.count(Side::Publisher, &self.topic).total()
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let senders = self.shared.graph.ever(Side::Publisher, &self.topic);
        let replays = matches!(self.reader, Some(Reader::Advanced(_)));
        let mut account =
            self.payloads.account(&self.intake, senders, replays, &self.shared.session);
        if let Some(missed) = &self.missed {
            account.counters.insert("missed".into(), missed.load(Ordering::Relaxed) as i64);
        }
        account
    }
}

impl trait_::Subscription for ZenohSubscription {}
