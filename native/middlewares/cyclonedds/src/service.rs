//! Services as rmw_cyclonedds has them: a pair of topics, on which every client reads every reply.
//!
//! A client knows its replies by the header that comes back and drops the others, which reached it
//! all the same: they are counted. A service replies within the callback of the request, in the
//! thread that took it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cyclors::dds_get_guid;
use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Granted, Handler, PublishError, PublishMode,
    Publisher, Sink,
};

use crate::intake::{Outlet, Sample};
use crate::parents::Parents;
use crate::publisher::refuse_async;
use crate::reader::{off_the_receive_thread, Reader};
use crate::wire::{RequestHeader, Wire};
use crate::writer::Writer;

/// What no client of this process has asked before: rmw_cyclonedds numbers the requests of a
/// process through.
static LAST_REQUEST: AtomicI64 = AtomicI64::new(0);

pub struct Client {
    replies: Reader,
    requests: Writer,
    foreign: Arc<Foreign>,
}

/// Replies to other clients.
#[derive(Default)]
struct Foreign {
    replies: AtomicU64,
    /// Their bodies, request headers included.
    bytes: AtomicU64,
}

struct OwnReplies {
    sink: Arc<dyn Sink>,
    client: u64,
    foreign: Arc<Foreign>,
}

impl Client {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        parents: Arc<Parents>,
    ) -> Result<Self, Error> {
        refuse_async(config)?;
        let (request, reply) = Wire::service(config, user_data("clientid", config, &parents))?;
        let requests = Writer::new(config, &request, parents.clone())?;
        let foreign = Arc::new(Foreign::default());
        let reading =
            if sink.publishes_reliably() { off_the_receive_thread(config) } else { config.clone() };
        let outlet = OwnReplies { sink, client: requests.instance(), foreign: foreign.clone() };
        // Nothing is lent to a reader.
        let replies = Reader::new(&reading, &reply, Box::new(outlet), parents)?;
        Ok(Client { replies, requests, foreign })
    }

    #[inline]
    fn next(&mut self) {
        let seq = LAST_REQUEST.fetch_add(1, Ordering::Relaxed) + 1;
        self.requests.set_header(RequestHeader { client: self.requests.instance(), seq });
    }
}

impl Outlet for OwnReplies {
    #[inline]
    fn sample(&self, sample: &Sample<'_>) {
        match RequestHeader::of(sample.body) {
            Some(header) if header.client == self.client => self.sink.deliver(&sample.delivery()),
            _ => {
                self.foreign.replies.fetch_add(1, Ordering::Relaxed);
                self.foreign.bytes.fetch_add(sample.body.len() as u64, Ordering::Relaxed);
            }
        }
    }
}

impl Publisher for Client {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.next();
        self.requests.write(payload)
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        self.next();
        self.requests.write_loaned(bytes, fill)
    }
}

impl Endpoint for Client {
    fn matched(&self) -> u32 {
        self.requests.matched().min(self.replies.matched())
    }

    fn granted(&self) -> Granted {
        granted(&self.requests, &self.replies)
    }

    fn account(&self) -> Account {
        let mut account = self.replies.account();
        account.counters.extend(self.requests.counters());
        let counted = |count: &AtomicU64| count.load(Ordering::Relaxed) as i64;
        account.counters.insert("other_clients_replies".into(), counted(&self.foreign.replies));
        account.counters.insert("other_clients_reply_bytes".into(), counted(&self.foreign.bytes));
        account
    }
}

pub struct Service {
    requests: Reader,
    replies: Arc<Mutex<Writer>>,
}

struct Answering {
    handler: Arc<dyn Handler>,
    replies: Arc<Mutex<Writer>>,
}

impl Service {
    pub fn new(
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
        parents: Arc<Parents>,
    ) -> Result<Self, Error> {
        refuse_async(config)?;
        let (request, reply) = Wire::service(config, user_data("serviceid", config, &parents))?;
        let replies = Arc::new(Mutex::new(Writer::new(config, &reply, parents.clone())?));
        let config = off_the_receive_thread(config);
        let requests = Reader::new(
            &config,
            &request,
            Box::new(Answering { handler, replies: replies.clone() }),
            parents,
        )?;
        Ok(Service { requests, replies })
    }

    fn replies(&self) -> std::sync::MutexGuard<'_, Writer> {
        self.replies.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Outlet for Answering {
    #[inline]
    fn sample(&self, sample: &Sample<'_>) {
        let Some(header) = RequestHeader::of(sample.body) else { return };
        self.handler.handle(&sample.delivery(), &mut |payload| {
            // Free, unless two callbacks of one service run at the same time.
            let mut replies = self.replies.lock().unwrap_or_else(|e| e.into_inner());
            replies.set_header(header);
            replies.write(payload)
        });
    }
}

impl Endpoint for Service {
    fn matched(&self) -> u32 {
        self.replies().matched().min(self.requests.matched())
    }

    fn granted(&self) -> Granted {
        granted(&self.replies(), &self.requests)
    }

    fn account(&self) -> Account {
        let mut account = self.requests.account();
        account.counters.extend(self.replies().counters());
        account
    }
}

fn granted(writer: &Writer, reader: &Reader) -> Granted {
    let mut granted = reader.granted();
    granted.notes.extend(
        writer
            .notes
            .iter()
            .filter(|note| !granted.notes.contains(note))
            .cloned()
            .collect::<Vec<_>>(),
    );
    Granted { publish_mode: PublishMode::Sync, ..granted }
}

/// What tells rmw_cyclonedds which reader belongs to which writer: it answers a client only when it
/// has matched both.
fn user_data(key: &str, config: &EndpointConfig, parents: &Parents) -> String {
    let mut id = cyclors::dds_guid_t { v: [0; 16] };
    // SAFETY: fills a plain struct.
    unsafe { dds_get_guid(parents.session.participant.handle(), &mut id) };
    id.v[12..].copy_from_slice(&config.endpoint.to_be_bytes());
    let id: Vec<String> = id.v.iter().map(|byte| format!("{byte:x}")).collect();
    format!("{key}={};", id.join("."))
}
