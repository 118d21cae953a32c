//! A topic's subscription.

use std::sync::Arc;

use rmwbench_harness::message_type::dds_topic_name;
use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, Sink, Subscription,
};

use crate::node::Parents;
use crate::reader::{off_the_receive_thread, Reader};

pub struct CycloneSubscription(Reader);

impl CycloneSubscription {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        parents: Arc<Parents>,
    ) -> Result<Self, Error> {
        let config =
            if sink.publishes_reliably() { off_the_receive_thread(config) } else { config.clone() };
        let deliver = Box::new(move |_: &[u8], delivery: &Delivery<'_>| sink.deliver(delivery));
        Ok(CycloneSubscription(Reader::new(
            &config,
            &dds_topic_name(&config.topic),
            &config.message_type,
            0,
            parents,
            deliver,
        )?))
    }
}

impl Subscription for CycloneSubscription {}

impl Endpoint for CycloneSubscription {
    fn matched(&self) -> u32 {
        self.0.matched()
    }

    fn granted(&self) -> Granted {
        self.0.granted()
    }

    fn account(&self) -> Account {
        self.0.account()
    }
}
