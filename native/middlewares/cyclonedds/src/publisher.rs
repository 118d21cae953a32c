//! A publisher is a writer of one topic.

use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Granted, PublishError, PublishMode, Publisher, Wait,
    WhenFull,
};

use crate::parents::Parents;
use crate::wire::Wire;
use crate::writer::Writer;

pub struct CyclonePublisher {
    writer: Writer,
    wait: Wait,
}

impl CyclonePublisher {
    pub fn new(config: &EndpointConfig, parents: Arc<Parents>) -> Result<Self, Error> {
        refuse_async(config)?;
        Ok(CyclonePublisher {
            writer: Writer::new(config, &Wire::topic(config), parents)?,
            wait: config.wait,
        })
    }
}

/// Errors: publish mode async.
pub fn refuse_async(config: &EndpointConfig) -> Result<(), Error> {
    if config.publish_mode != PublishMode::Async {
        return Ok(());
    }
    let why = "publish mode async: in Cyclone DDS the writing thread sends";
    Err(Error::unsupported(format!("endpoint {}", config.endpoint), why))
}

impl Publisher for CyclonePublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.writer.write(payload)
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        self.writer.write_loaned(bytes, fill)
    }
}

impl Endpoint for CyclonePublisher {
    fn matched(&self) -> u32 {
        self.writer.matched()
    }

    fn granted(&self) -> Granted {
        let (qos, notes) = (self.writer.granted.clone(), self.writer.notes.clone());
        let when_full = WhenFull::of_dds_writer(&qos);
        Granted {
            qos,
            publish_mode: PublishMode::Sync,
            wait: self.wait,
            take: None,
            when_full,
            notes,
        }
    }

    fn account(&self) -> Account {
        Account { counters: self.writer.counters(), ..Account::default() }
    }
}
