//! Services as DDS has them: a topic of requests and one of replies, which every client of the
//! service reads.
//!
//! So the fate of a request is that of a message of its client, the fate of a reply is that of a
//! message of its service, and the replies that a client drops as another client's are exactly
//! those that the other clients were sent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmwbench_harness::message_type::{dds_reply_topic_name, dds_request_topic_name};
use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, Handler, PublishError, Publisher,
    Sink,
};
use rmwbench_harness::payload::Header;

use crate::endpoints::{SyntheticNode, SyntheticPublisher, SyntheticSubscription, TRAILER_BYTES};

fn requests(config: &EndpointConfig) -> EndpointConfig {
    EndpointConfig {
        topic: dds_request_topic_name(&config.topic),
        reply_type: None,
        ..config.clone()
    }
}

fn replies(config: &EndpointConfig) -> Result<EndpointConfig, Error> {
    let reply_type = config.reply_type.clone();
    let message_type = reply_type.ok_or_else(|| {
        Error::invalid(format!("endpoint {}", config.endpoint), "a service needs a reply_type")
    })?;
    Ok(EndpointConfig {
        topic: dds_reply_topic_name(&config.topic),
        message_type,
        reply_type: None,
        loan: false,
        ..config.clone()
    })
}

pub struct SyntheticClient {
    // This is dropped first: after that the sink is not called again.
    replies: SyntheticSubscription,
    requests: SyntheticPublisher,
    others: Arc<Others>,
}

/// Counts of replies to other clients.
#[derive(Default)]
struct Others {
    replies: AtomicU64,
    bytes: AtomicU64,
}

/// Passes only a client's own replies on.
struct OwnReplies {
    client: u32,
    sink: Arc<dyn Sink>,
    others: Arc<Others>,
}

impl Sink for OwnReplies {
    fn deliver(&self, delivery: &Delivery<'_>) {
        if Header::read(delivery.payload).is_ok_and(|header| header.cause_endpoint != self.client) {
            self.others.replies.fetch_add(1, Ordering::Relaxed);
            self.others
                .bytes
                .fetch_add((delivery.payload.len() - TRAILER_BYTES) as u64, Ordering::Relaxed);
            return;
        }
        self.sink.deliver(delivery);
    }
}

pub fn client(
    node: &mut SyntheticNode,
    config: &EndpointConfig,
    sink: Arc<dyn Sink>,
) -> Result<SyntheticClient, Error> {
    let others = Arc::new(Others::default());
    let settings = Arc::new(node.settings.of_replies());
    let only_own = |sink| -> Arc<dyn Sink> {
        Arc::new(OwnReplies { client: config.endpoint, sink, others: others.clone() })
    };
    let replies = node.reader(&replies(config)?, settings, sink, only_own)?;
    let requests = node.sender(&requests(config), node.settings.clone())?;
    Ok(SyntheticClient { replies, requests, others })
}

impl Publisher for SyntheticClient {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.requests.publish(payload)
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        self.requests.publish_loaned(bytes, fill)
    }
}

impl Endpoint for SyntheticClient {
    /// The number of services that receive its requests and whose replies it receives.
    fn matched(&self) -> u32 {
        self.requests.matched().min(self.replies.matched())
    }

    fn granted(&self) -> Granted {
        Granted { wait: self.replies.granted().wait, ..self.requests.granted() }
    }

    fn account(&self) -> Account {
        let mut account = self.requests.account();
        let replies = self.replies.account();
        account.counters.extend(replies.counters);
        account.evidence.extend(replies.evidence);
        let others = [
            ("other_clients_replies", &self.others.replies),
            ("other_clients_reply_bytes", &self.others.bytes),
        ];
        account.counters.extend(
            others.map(|(name, count)| (name.to_string(), count.load(Ordering::Relaxed) as i64)),
        );
        account
    }
}

pub struct SyntheticService {
    // This is dropped first: after that the handler is not called again.
    requests: SyntheticSubscription,
    replies: Arc<Mutex<SyntheticPublisher>>,
}

struct Answering {
    handler: Arc<dyn Handler>,
    replies: Arc<Mutex<SyntheticPublisher>>,
}

impl Sink for Answering {
    fn deliver(&self, request: &Delivery<'_>) {
        self.handler.handle(request, &mut |payload: &[u8]| {
            self.replies.lock().expect("a reply panicked").publish(payload)
        });
    }
}

pub fn service(
    node: &mut SyntheticNode,
    config: &EndpointConfig,
    handler: Arc<dyn Handler>,
) -> Result<SyntheticService, Error> {
    let replies =
        Arc::new(Mutex::new(node.sender(&replies(config)?, Arc::new(node.settings.of_replies()))?));
    let sink = Arc::new(Answering { handler, replies: replies.clone() });
    let requests = node.reader(&requests(config), node.settings.clone(), sink, |shaper| shaper)?;
    Ok(SyntheticService { requests, replies })
}

impl Endpoint for SyntheticService {
    fn matched(&self) -> u32 {
        self.requests.matched().min(self.replies.lock().expect("a reply panicked").matched())
    }

    fn granted(&self) -> Granted {
        self.requests.granted()
    }

    fn account(&self) -> Account {
        let mut account = self.requests.account();
        account.evidence.extend(self.replies.lock().expect("a reply panicked").account().evidence);
        account
    }
}
