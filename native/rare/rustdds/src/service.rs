//! Services: a pair of topics, on which every client reads every reply.
//!
//! ROS 2 has two ways to identify the client of a reply. `header` (rmw_cyclonedds): 16 bytes before
//! the body, a number of the client and one of the request. `identity` (rmw_fastrtps): nothing in
//! the message, but the request's writer and sequence number beside it.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::message_type::{dds_reply_topic_name, dds_request_topic_name, MessageType};
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Granted, Handler, PublishError, Sink,
};
use rustdds::GUID;

use crate::reader::{Outlet, Reader, Sample};
use crate::session::{Mapping, Shared};
use crate::writer::Writer;

const HEADER_BYTES: usize = 16;

impl Mapping {
    fn header_bytes(self) -> usize {
        match self {
            Mapping::Header => HEADER_BYTES,
            Mapping::Identity => 0,
        }
    }
}

pub struct Client {
    replies: Reader,
    requests: Writer,
    /// This client's number in the headers.
    number: u64,
    last_request: AtomicI64,
    foreign: Arc<Foreign>,
    mapping: Mapping,
}

/// Counts of replies to other clients.
#[derive(Default)]
struct Foreign {
    replies: AtomicU64,
    bytes: AtomicU64,
}

struct OwnReplies {
    sink: Arc<dyn Sink>,
    number: u64,
    writer: GUID,
    foreign: Arc<Foreign>,
    mapping: Mapping,
}

impl Client {
    pub fn create(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        shared: &Arc<Shared>,
    ) -> Result<Client, Error> {
        let mapping = shared.mapping;
        let requests = Writer::create(
            config,
            &dds_request_topic_name(&config.topic),
            &config.message_type,
            mapping.header_bytes(),
            shared,
        )?;
        let number = RandomState::new().hash_one((config.endpoint, std::process::id()));
        let foreign = Arc::new(Foreign::default());
        let outlet =
            OwnReplies { sink, number, writer: requests.guid(), foreign: foreign.clone(), mapping };
        let replies = Reader::create(
            config,
            &dds_reply_topic_name(&config.topic),
            reply_type(config)?,
            mapping.header_bytes(),
            Box::new(outlet),
            shared,
        )?;
        Ok(Client { replies, requests, number, last_request: AtomicI64::new(0), foreign, mapping })
    }
}

fn reply_type(config: &EndpointConfig) -> Result<&MessageType, Error> {
    let none = || {
        Error::invalid(
            format!("endpoint {}", config.endpoint),
            "a client or service needs a reply_type",
        )
    };
    config.reply_type.as_ref().ok_or_else(none)
}

impl Outlet for OwnReplies {
    fn sample(&self, sample: &Sample<'_>) {
        let own = match self.mapping {
            Mapping::Header => sample.body.get(..8) == Some(&self.number.to_le_bytes()),
            Mapping::Identity => {
                sample.related.is_some_and(|related| related.writer_guid == self.writer)
            }
        };
        if own {
            self.sink.deliver(&sample.delivery);
        } else {
            self.foreign.replies.fetch_add(1, Ordering::Relaxed);
            self.foreign.bytes.fetch_add(sample.body.len() as u64, Ordering::Relaxed);
        }
    }
}

impl trait_::Publisher for Client {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        let request = self.last_request.fetch_add(1, Ordering::Relaxed) + 1;
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&self.number.to_le_bytes());
        header[8..].copy_from_slice(&request.to_le_bytes());
        self.requests.write(&header[..self.mapping.header_bytes()], payload, None)
    }
}

impl Endpoint for Client {
    fn matched(&self) -> u32 {
        self.requests.matched().min(self.replies.matched())
    }

    fn granted(&self) -> Granted {
        granted(&self.requests, &self.replies, self.mapping)
    }

    fn account(&self) -> Account {
        let mut account = self.replies.account();
        let counted = |count: &AtomicU64| count.load(Ordering::Relaxed) as i64;
        account.counters.insert("other_clients_replies".into(), counted(&self.foreign.replies));
        account.counters.insert("other_clients_reply_bytes".into(), counted(&self.foreign.bytes));
        account
    }
}

pub struct Service {
    requests: Reader,
    replies: Arc<Writer>,
    mapping: Mapping,
}

struct Answering {
    handler: Arc<dyn Handler>,
    replies: Arc<Writer>,
    mapping: Mapping,
}

impl Service {
    pub fn create(
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
        shared: &Arc<Shared>,
    ) -> Result<Service, Error> {
        let mapping = shared.mapping;
        let replies = Writer::create(
            config,
            &dds_reply_topic_name(&config.topic),
            reply_type(config)?,
            mapping.header_bytes(),
            shared,
        )?;
        let replies = Arc::new(replies);
        let outlet = Answering { handler, replies: replies.clone(), mapping };
        let requests = Reader::create(
            config,
            &dds_request_topic_name(&config.topic),
            &config.message_type,
            mapping.header_bytes(),
            Box::new(outlet),
            shared,
        )?;
        Ok(Service { requests, replies, mapping })
    }
}

impl Outlet for Answering {
    fn sample(&self, sample: &Sample<'_>) {
        let (header, related) = match self.mapping {
            Mapping::Header => (&sample.body[..HEADER_BYTES], None),
            // A client may request that its own name is returned.
            Mapping::Identity => (&[][..], Some(sample.related.unwrap_or(sample.identity))),
        };
        self.handler.handle(&sample.delivery, &mut |payload: &[u8]| {
            self.replies.write(header, payload, related)
        });
    }
}

impl Endpoint for Service {
    fn matched(&self) -> u32 {
        self.requests.matched().min(self.replies.matched())
    }

    fn granted(&self) -> Granted {
        granted(&self.replies, &self.requests, self.mapping)
    }

    fn account(&self) -> Account {
        self.requests.account()
    }
}

fn granted(writer: &Writer, reader: &Reader, mapping: Mapping) -> Granted {
    let mut granted = reader.granted();
    granted.notes.extend(writer.granted().notes);
    granted.notes.push(match mapping {
        Mapping::Header => {
            "whose reply it is stands in 16 bytes before it, as in rmw_cyclonedds".into()
        }
        Mapping::Identity => "whose reply it is stands beside the data, as in rmw_fastrtps".into(),
    });
    granted
}
