//! Sessions and nodes: the floor's, with the injected effects in between.

use std::sync::Arc;

use rmwbench_harness::middleware::{
    Endpoint, EndpointConfig, Error, Handler, Node, Publisher, Session, Sink, Subscription,
};

use crate::delivery::DeliveryThread;
use crate::endpoints::SyntheticNode;
use crate::service;
use crate::settings::Settings;

pub struct SyntheticSession {
    floor: Box<dyn Session>,
    settings: Arc<Settings>,
    nonce: u64,
    delivery: Option<Arc<DeliveryThread>>,
}

impl SyntheticSession {
    pub fn new(floor: Box<dyn Session>, settings: Settings, nonce: u64) -> Self {
        SyntheticSession { floor, settings: Arc::new(settings), nonce, delivery: None }
    }
}

impl Session for SyntheticSession {
    fn node(&mut self, name: &str) -> Result<Box<dyn Node>, Error> {
        if self.settings.holds_messages() && self.delivery.is_none() {
            self.delivery = Some(Arc::new(DeliveryThread::start(self.settings.spin_ns)?));
        }
        let (settings, delivery) = (self.settings.clone(), self.delivery.clone());
        Ok(Box::new(SyntheticNode {
            floor: self.floor.node(name)?,
            settings,
            nonce: self.nonce,
            delivery,
        }))
    }
}

impl Node for SyntheticNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(self.sender(config, self.settings.clone())?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        Ok(Box::new(self.reader(config, self.settings.clone(), sink, |shaper| shaper)?))
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(service::client(self, config, sink)?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        Ok(Box::new(service::service(self, config, handler)?))
    }
}
