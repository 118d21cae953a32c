//! A subscription is a reader of one topic.

use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Granted, Sink, Subscription,
};

use crate::intake::{Outlet, Sample};
use crate::parents::Parents;
use crate::reader::{off_the_receive_thread, Reader};
use crate::wire::Wire;

pub struct CycloneSubscription(Reader);

struct ToSink(Arc<dyn Sink>);

impl CycloneSubscription {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        parents: Arc<Parents>,
    ) -> Result<Self, Error> {
        let config =
            if sink.publishes_reliably() { off_the_receive_thread(config) } else { config.clone() };
        Ok(CycloneSubscription(Reader::new(
            &config,
            &Wire::topic(&config),
            Box::new(ToSink(sink)),
            parents,
        )?))
    }
}

impl Outlet for ToSink {
    #[inline]
    fn sample(&self, sample: &Sample<'_>) {
        self.0.deliver(&sample.delivery());
    }
}

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

impl Subscription for CycloneSubscription {}
