//! A service as rmw_cyclonedds has it: a reader of requests and a writer of replies, which carry
//! the header of their request.

use std::sync::Arc;

use rmwbench_harness::message_type::{dds_reply_topic_name, dds_request_topic_name};
use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, Handler,
};

use crate::client::{reply_type, HEADER_BYTES};
use crate::node::Parents;
use crate::reader::{off_the_receive_thread, Reader};
use crate::writer::Writer;

pub struct CycloneService {
    /// Dropped first: nothing is handled after that.
    requests: Reader,
    replies: Arc<Writer>,
}

impl CycloneService {
    pub fn new(
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
        parents: Arc<Parents>,
    ) -> Result<Self, Error> {
        let topic = dds_reply_topic_name(&config.topic);
        let copied = EndpointConfig { loan: false, ..config.clone() };
        let replies = Arc::new(Writer::new(
            &copied,
            &topic,
            reply_type(config)?,
            HEADER_BYTES,
            parents.clone(),
        )?);
        let writer = replies.clone();
        let deliver = Box::new(move |header: &[u8], request: &Delivery<'_>| {
            handler.handle(request, &mut |reply| writer.write(header, reply));
        });
        let topic = dds_request_topic_name(&config.topic);
        let reading = off_the_receive_thread(config);
        let requests =
            Reader::new(&reading, &topic, &config.message_type, HEADER_BYTES, parents, deliver)?;
        Ok(CycloneService { requests, replies })
    }
}

impl Endpoint for CycloneService {
    /// Clients that both send requests and get the replies.
    fn matched(&self) -> u32 {
        self.requests.matched().min(self.replies.matched())
    }

    fn granted(&self) -> Granted {
        self.requests.granted()
    }

    fn account(&self) -> Account {
        let mut account = self.requests.account();
        account.counters.extend(self.replies.account().counters);
        account
    }
}
