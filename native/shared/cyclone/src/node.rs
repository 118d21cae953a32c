//! A session makes nodes, and nodes make endpoints.

use std::sync::Arc;

use rmwbench_harness::middleware::{
    Configuration, Endpoint, EndpointConfig, Error, Handler, Node, Publisher, Session,
    SessionConfig, Sink, Subscription,
};

use crate::domain::Settings;
use crate::release::Release;
use crate::service::{CycloneClient, CycloneService};
use crate::session::{Parents, Shared};
use crate::topic::{CyclonePublisher, CycloneSubscription};

pub struct CycloneSession<R: Release>(Arc<Shared<R>>);

impl<R: Release> CycloneSession<R> {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        Ok(CycloneSession(Arc::new(Shared::open(config)?)))
    }
}

impl<R: Release> Session for CycloneSession<R> {
    fn node(&mut self, name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(CycloneNode(Arc::new(Parents::new(name, self.0.clone())?))))
    }

    fn configuration(&self) -> Option<Configuration> {
        let text = self.0.domain.settings.text().to_string();
        Some(Configuration { format: "xml".into(), text })
    }
}

struct CycloneNode<R: Release>(Arc<Parents<R>>);

impl<R: Release> Node for CycloneNode<R> {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(CyclonePublisher::new(config, self.0.clone())?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        Ok(Box::new(CycloneSubscription::new(config, sink, self.0.clone())?))
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(CycloneClient::new(config, sink, self.0.clone())?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        Ok(Box::new(CycloneService::new(config, handler, self.0.clone())?))
    }
}
