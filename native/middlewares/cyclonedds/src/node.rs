//! A node, which makes endpoints.

use std::sync::Arc;

use rmwbench_harness::middleware::{
    Endpoint, EndpointConfig, Error, Handler, Node, Publisher, Sink, Subscription,
};

use crate::parents::Parents;
use crate::publisher::CyclonePublisher;
use crate::service::{Client, Service};
use crate::shared::Shared;
use crate::subscription::CycloneSubscription;

pub struct CycloneNode {
    parents: Arc<Parents>,
}

impl CycloneNode {
    pub fn new(name: &str, session: Arc<Shared>) -> Result<Self, Error> {
        Ok(CycloneNode { parents: Arc::new(Parents::new(name, session)?) })
    }
}

impl Node for CycloneNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(CyclonePublisher::new(config, self.parents.clone())?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        Ok(Box::new(CycloneSubscription::new(config, sink, self.parents.clone())?))
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(Client::new(config, sink, self.parents.clone())?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        Ok(Box::new(Service::new(config, handler, self.parents.clone())?))
    }
}
