//! Services as in rmw_cyclonedds: a pair of topics, on which every client reads every reply.
//!
//! A client knows its replies by the header that the service returns. It drops the others, which
//! were sent to it all the same, and counts them. A service replies within the callback of the
//! request, in the thread that took it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, Handler, PublishError, Publisher,
    Sink,
};
use rmwbench_harness::qos::{History, Reliability};

use crate::reader::{refuse_waiting_in_the_receive_thread, Reader};
use crate::release::Release;
use crate::session::Parents;
use crate::wire::{RequestHeader, Wire, HEADER_BYTES};
use crate::writer::Writer;

/// The last request number of this process: rmw_cyclonedds numbers the requests of a process
/// consecutively.
static LAST_REQUEST: AtomicI64 = AtomicI64::new(0);

pub struct CycloneClient<R: Release> {
    /// This is dropped first: nothing is delivered after that.
    replies: Reader<R>,
    requests: Writer<R>,
    name: u64,
    foreign: Arc<Foreign>,
}

/// Counts of replies to other clients.
#[derive(Default)]
struct Foreign {
    replies: AtomicU64,
    bytes: AtomicU64,
}

impl<R: Release> CycloneClient<R> {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        parents: Arc<Parents<R>>,
    ) -> Result<Self, Error> {
        refuse_waiting_in_the_receive_thread(config, sink.publish_may_wait())?;
        let user_data = R::user_data("clientid", config, &parents);
        let (request, reply) = Wire::service(config, user_data)?;
        let requests = Writer::new(config, &request, parents.clone())?;
        let name = R::client_number(requests.handle());
        let foreign = Arc::new(Foreign::default());
        let counted = foreign.clone();
        let deliver =
            Box::new(move |body: &[u8], delivery: &Delivery<'_>| match RequestHeader::of(body) {
                Some(header) if header.client == name => sink.deliver(delivery),
                _ => {
                    let bytes =
                        if R::OTHERS_WITH_HEADERS { body.len() } else { delivery.payload.len() };
                    counted.replies.fetch_add(1, Ordering::Relaxed);
                    counted.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
                }
            });
        let replies = Reader::new(config, &reply, deliver, parents)?;
        Ok(CycloneClient { replies, requests, name, foreign })
    }

    #[inline]
    fn next(&self) -> [u8; HEADER_BYTES] {
        let seq = LAST_REQUEST.fetch_add(1, Ordering::Relaxed) + 1;
        RequestHeader { client: self.name, seq }.bytes()
    }
}

impl<R: Release> Publisher for CycloneClient<R> {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.requests.write(&self.next(), payload)
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        self.requests.write_in_place(&self.next(), bytes, fill)
    }
}

impl<R: Release> Endpoint for CycloneClient<R> {
    /// The number of services that both get the requests and send replies.
    fn matched(&self) -> u32 {
        self.requests.matched().min(self.replies.matched())
    }

    fn granted(&self) -> Granted {
        R::client_granted(self.requests.granted(), self.replies.granted())
    }

    fn account(&self) -> Account {
        let mut account = both(&self.replies, &self.requests);
        let counted = |count: &AtomicU64| count.load(Ordering::Relaxed) as i64;
        account.counters.insert("other_clients_replies".into(), counted(&self.foreign.replies));
        account.counters.insert("other_clients_reply_bytes".into(), counted(&self.foreign.bytes));
        account
    }
}

pub struct CycloneService<R: Release> {
    /// This is dropped first: nothing is handled after that.
    requests: Reader<R>,
    replies: Arc<Writer<R>>,
}

impl<R: Release> CycloneService<R> {
    pub fn new(
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
        parents: Arc<Parents<R>>,
    ) -> Result<Self, Error> {
        let qos = &config.qos;
        let may_wait = qos.reliability == Reliability::Reliable && qos.history == History::KeepAll;
        refuse_waiting_in_the_receive_thread(config, may_wait)?;
        let user_data = R::user_data("serviceid", config, &parents);
        let (request, reply) = Wire::service(config, user_data)?;
        let replies = Arc::new(Writer::new(config, &reply, parents.clone())?);
        let writer = replies.clone();
        let deliver = Box::new(move |body: &[u8], request: &Delivery<'_>| {
            let Some(header) = body.get(..HEADER_BYTES) else { return };
            handler.handle(request, &mut |reply: &[u8]| writer.write(header, reply));
        });
        let requests = Reader::new(config, &request, deliver, parents)?;
        Ok(CycloneService { requests, replies })
    }
}

impl<R: Release> Endpoint for CycloneService<R> {
    /// The number of clients that both send requests and get the replies.
    fn matched(&self) -> u32 {
        self.requests.matched().min(self.replies.matched())
    }

    fn granted(&self) -> Granted {
        R::service_granted(self.requests.granted(), self.replies.granted())
    }

    fn account(&self) -> Account {
        both(&self.requests, &self.replies)
    }
}

fn both<R: Release>(reader: &Reader<R>, writer: &Writer<R>) -> Account {
    let mut account = reader.account();
    account.counters.extend(writer.counters());
    account
}
