//! A topic's publisher.

use std::sync::Arc;

use rmwbench_harness::message_type::dds_topic_name;
use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Granted, PublishError, Publisher,
};

use crate::node::Parents;
use crate::writer::Writer;

pub struct CyclonePublisher(Writer);

impl CyclonePublisher {
    pub fn new(config: &EndpointConfig, parents: Arc<Parents>) -> Result<Self, Error> {
        Ok(CyclonePublisher(Writer::new(
            config,
            &dds_topic_name(&config.topic),
            &config.message_type,
            0,
            parents,
        )?))
    }
}

impl Publisher for CyclonePublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.0.write(&[], payload)
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        self.0.write_in_place(&[], bytes, fill)
    }
}

impl Endpoint for CyclonePublisher {
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
