//! A service's client as rmw_cyclonedds has it: a writer of requests, a reader of replies, and
//! before each body 16 bytes that name the client and count its requests. Replies go to every
//! client of the service; those of others are dropped here and counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::message_type::{dds_reply_topic_name, dds_request_topic_name, MessageType};
use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, PublishError, Publisher, Sink,
};

use crate::node::Parents;
use crate::reader::{off_the_receive_thread, Reader};
use crate::sys;
use crate::writer::Writer;

/// The client's name and the request's number, eight bytes each.
pub const HEADER_BYTES: usize = 16;

pub struct CycloneClient {
    /// Dropped first: nothing is delivered after that.
    replies: Reader,
    requests: Writer,
    name: u64,
    next: u64,
    others: Arc<Others>,
}

/// Replies that this client got and that are for others.
#[derive(Default)]
struct Others {
    replies: AtomicU64,
    bytes: AtomicU64,
}

impl CycloneClient {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        parents: Arc<Parents>,
    ) -> Result<Self, Error> {
        let reply_type = reply_type(config)?;
        let topic = dds_request_topic_name(&config.topic);
        let requests =
            Writer::new(config, &topic, &config.message_type, HEADER_BYTES, parents.clone())?;
        // SAFETY: a plain call on a live entity.
        let name = unsafe { sys::rmwbench_guid(requests.handle()) };
        let reading =
            if sink.publishes_reliably() { off_the_receive_thread(config) } else { config.clone() };
        let others = Arc::new(Others::default());
        let counted = others.clone();
        let deliver = Box::new(move |header: &[u8], delivery: &Delivery<'_>| {
            if header[..8] == name.to_ne_bytes() {
                return sink.deliver(delivery);
            }
            counted.replies.fetch_add(1, Ordering::Relaxed);
            counted.bytes.fetch_add(delivery.payload.len() as u64, Ordering::Relaxed);
        });
        let topic = dds_reply_topic_name(&config.topic);
        let replies = Reader::new(&reading, &topic, reply_type, HEADER_BYTES, parents, deliver)?;
        Ok(CycloneClient { replies, requests, name, next: 1, others })
    }

    fn header(&mut self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&self.name.to_ne_bytes());
        header[8..].copy_from_slice(&self.next.to_ne_bytes());
        self.next += 1;
        header
    }
}

/// The reply's layout, without which there is no service.
pub fn reply_type(config: &EndpointConfig) -> Result<&MessageType, Error> {
    let missing = || {
        Error::invalid(
            format!("endpoint {}", config.endpoint),
            "a client or service needs a reply_type",
        )
    };
    config.reply_type.as_ref().ok_or_else(missing)
}

impl Publisher for CycloneClient {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        let header = self.header();
        self.requests.write(&header, payload)
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let header = self.header();
        self.requests.write_in_place(&header, bytes, fill)
    }
}

impl Endpoint for CycloneClient {
    /// Services that both get the requests and send replies.
    fn matched(&self) -> u32 {
        self.requests.matched().min(self.replies.matched())
    }

    fn granted(&self) -> Granted {
        Granted { wait: self.replies.granted().wait, ..self.requests.granted() }
    }

    fn account(&self) -> Account {
        let mut account = self.replies.account();
        account.counters.extend(self.requests.account().counters);
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
