//! No middleware at all: the publish call passes the message to the readers of its topic, in the
//! same process and thread.
//!
//! It has two uses. A trial with it measures the instrument itself: schedule, payload, stamps and
//! records, with nothing in between. And it is the smallest worker, the example of
//! docs/adding-a-middleware.md: this file answers everything that a middleware must answer, and
//! declares what it cannot do. Services, which not every middleware has, are in [`service`].

pub mod clock_cost;
mod service;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use rmwbench_harness::middleware::{
    capabilities, Account, Delivery, Description, Endpoint, EndpointConfig, Error, Evidence,
    Granted, Handler, Middleware, Node, Profile, PublishError, PublishMode, Publisher, Session,
    SessionConfig, SharedHost, Sink, Subscription, TakenAs, WhenFull,
};
use rmwbench_harness::qos::Durability;

pub struct Null;

const SAME_CALL: &str = "partly: nothing ever waits, the publish call itself is the delivery";

impl Middleware for Null {
    fn describe(&self) -> Description {
        Description {
            middleware: "null".into(),
            layer: "floor".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            release_date: "2026-11-21".into(),
            build: BTreeMap::from([(
                "source".to_string(),
                format!("crate rmwbench-null {}", env!("CARGO_PKG_VERSION")).into(),
            )]),
            // A name that is not listed is answered `no`.
            capabilities: capabilities(&[
                ("reliable", "yes"),
                ("best_effort", "yes"),
                ("keep_last", "yes"),
                ("keep_all", "yes"),
                ("transient_local", "no: nothing is kept for late joiners"),
                ("loan", "yes"),
                ("zero_copy", "yes"),
                ("block", SAME_CALL),
                ("poll", SAME_CALL),
                ("callback", "yes"),
                ("publish_sync", "yes"),
                ("publish_async", "no: the publish call is the delivery"),
                ("intra_process", "yes"),
                (
                    "inter_process",
                    "no: there is nothing that could carry a message to another process",
                ),
                (
                    "inter_host",
                    "no: there is nothing that could carry a message to another process",
                ),
                ("services", "yes"),
                ("evidence", "yes"),
            ]),
            // It has no portable modes, because there is nothing to set.
            modes: BTreeMap::new(),
            profiles: vec![Profile {
                name: "untouched".into(),
                format: "none".into(),
                text: String::new(),
                summary: "there is nothing to configure".into(),
            }],
        }
    }

    fn shared_host(&self) -> Option<SharedHost> {
        Some(SharedHost { forced: "nothing: no message leaves the process", without: &[] })
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        config.only_options(&[])?;
        config.only_modes(&[])?;
        Ok(Box::new(NullSession { domain_id: config.domain_id }))
    }
}

/// A topic's endpoints in this process. The lock is held during a delivery, so that none is under
/// way when a subscription has ended.
#[derive(Default)]
struct Topic {
    readers: Mutex<Vec<Arc<Reader>>>,
    reader_count: AtomicU32,
    writer_count: AtomicU32,
}

struct Reader {
    sink: Arc<dyn Sink>,
    delivered: AtomicU64,
}

type Topics = HashMap<(u32, String), Arc<Topic>>;

/// All topics of the process, by domain and name: two sessions of one process reach each other, as
/// with any middleware.
static TOPICS: LazyLock<Mutex<Topics>> = LazyLock::new(Mutex::default);

struct NullSession {
    domain_id: u32,
}

impl Session for NullSession {
    fn node(&mut self, _name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(NullNode { domain_id: self.domain_id }))
    }
}

struct NullNode {
    domain_id: u32,
}

impl NullNode {
    /// The settings granted to an endpoint, or why its request is refused: never a silent fallback.
    fn granted(&self, config: &EndpointConfig) -> Result<Granted, Error> {
        let refuse =
            |message| Err(Error::unsupported(format!("endpoint {}", config.endpoint), message));
        if config.qos.durability == Durability::TransientLocal {
            return refuse("transient_local: nothing is kept for late joiners");
        }
        if config.qos.content_filter.is_some() || config.qos.instance_key.is_some() {
            return refuse("content_filter and instance_key: not implemented in this worker");
        }
        if config.publish_mode == PublishMode::Async {
            return refuse("publish_async: the publish call is the delivery");
        }
        // It grants the requested quality of service: there is no queue and no loss.
        let qos = config.qos.clone();
        let notes = vec!["delivered within the publish call, in the publisher's memory".into()];
        let (take, when_full) = (Some(TakenAs::Lent), Some(WhenFull::Blocks));
        Ok(Granted {
            qos,
            publish_mode: PublishMode::Sync,
            wait: config.wait,
            take,
            when_full,
            notes,
        })
    }

    fn topic(&self, config: &EndpointConfig) -> Arc<Topic> {
        TOPICS.lock().unwrap().entry((self.domain_id, config.topic.clone())).or_default().clone()
    }
}

impl Node for NullNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        let (granted, topic) = (self.granted(config)?, self.topic(config));
        topic.writer_count.fetch_add(1, Ordering::SeqCst);
        // A loan is this buffer: its size is known here, so the hot path allocates nothing.
        let loan = vec![0; config.message_type.payload_bytes as usize];
        Ok(Box::new(NullPublisher { topic, granted, loan }))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        let (granted, topic) = (self.granted(config)?, self.topic(config));
        let reader = Arc::new(Reader { sink, delivered: AtomicU64::new(0) });
        topic.readers.lock().unwrap().push(reader.clone());
        topic.reader_count.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(NullSubscription { topic, granted, reader }))
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        if config.loan {
            return Err(Error::unsupported(
                format!("endpoint {}", config.endpoint),
                "loan: a request is handed over as it is",
            ));
        }
        let granted = self.granted(config)?;
        Ok(Box::new(service::NullClient::new(
            service::service(self.domain_id, &config.topic),
            sink,
            granted,
        )))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        let granted = self.granted(config)?;
        Ok(Box::new(service::NullService::new(
            service::service(self.domain_id, &config.topic),
            handler,
            granted,
        )))
    }
}

struct NullPublisher {
    topic: Arc<Topic>,
    granted: Granted,
    loan: Vec<u8>,
}

impl Publisher for NullPublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        deliver(&self.topic, payload, false);
        Ok(())
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        self.loan.resize(bytes, 0);
        fill(&mut self.loan);
        deliver(&self.topic, &self.loan, true);
        Ok(())
    }
}

/// The whole transport. Each reader gets its own stamps: the second reader waits while the first
/// one uses the message.
fn deliver(topic: &Topic, payload: &[u8], zero_copy: bool) {
    for reader in topic.readers.lock().unwrap().iter() {
        reader.sink.deliver(&Delivery::taken(0, payload, zero_copy));
        reader.delivered.fetch_add(1, Ordering::Relaxed);
    }
}

impl Endpoint for NullPublisher {
    fn matched(&self) -> u32 {
        self.topic.reader_count.load(Ordering::SeqCst)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        Account::default()
    }
}

impl Drop for NullPublisher {
    fn drop(&mut self) {
        self.topic.writer_count.fetch_sub(1, Ordering::SeqCst);
    }
}

struct NullSubscription {
    topic: Arc<Topic>,
    granted: Granted,
    reader: Arc<Reader>,
}

impl Subscription for NullSubscription {}

impl Endpoint for NullSubscription {
    fn matched(&self) -> u32 {
        self.topic.writer_count.load(Ordering::SeqCst)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        in_the_call(self.reader.delivered.load(Ordering::Relaxed))
    }
}

impl Drop for NullSubscription {
    fn drop(&mut self) {
        self.topic.readers.lock().unwrap().retain(|reader| !Arc::ptr_eq(reader, &self.reader));
        self.topic.reader_count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The account of a reader that received `messages`.
fn in_the_call(messages: u64) -> Account {
    let note = "in the publish call".to_string();
    Account {
        reader_drops: Some(0),
        evidence: vec![Evidence { path: "intra_process".into(), messages, note }],
        ..Account::default()
    }
}
