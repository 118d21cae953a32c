//! The publisher and the subscription of a topic: a writer, and a reader.

use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, PublishError, Publisher, Sink,
    Subscription,
};

use crate::reader::{refuse_waiting_in_the_receive_thread, Reader};
use crate::release::Release;
use crate::session::Parents;
use crate::wire::Wire;
use crate::writer::Writer;

pub struct CyclonePublisher<R: Release>(Writer<R>);

impl<R: Release> CyclonePublisher<R> {
    pub fn new(config: &EndpointConfig, parents: Arc<Parents<R>>) -> Result<Self, Error> {
        Ok(CyclonePublisher(Writer::new(config, &Wire::topic(config), parents)?))
    }
}

impl<R: Release> Publisher for CyclonePublisher<R> {
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

impl<R: Release> Endpoint for CyclonePublisher<R> {
    fn matched(&self) -> u32 {
        self.0.matched()
    }

    fn granted(&self) -> Granted {
        self.0.granted().clone()
    }

    fn account(&self) -> Account {
        Account { counters: self.0.counters(), ..Account::default() }
    }
}

pub struct CycloneSubscription<R: Release>(Reader<R>);

impl<R: Release> CycloneSubscription<R> {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        parents: Arc<Parents<R>>,
    ) -> Result<Self, Error> {
        refuse_waiting_in_the_receive_thread(config, sink.publish_may_wait())?;
        let deliver = Box::new(move |_: &[u8], delivery: &Delivery<'_>| sink.deliver(delivery));
        Ok(CycloneSubscription(Reader::new(config, &Wire::topic(config), deliver, parents)?))
    }
}

impl<R: Release> Subscription for CycloneSubscription<R> {}

impl<R: Release> Endpoint for CycloneSubscription<R> {
    fn matched(&self) -> u32 {
        self.0.matched()
    }

    fn granted(&self) -> Granted {
        self.0.granted().clone()
    }

    fn account(&self) -> Account {
        self.0.account()
    }
}
