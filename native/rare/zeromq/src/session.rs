//! A session: a context of libzmq, the board of its domain and the threads that its endpoints
//! share.

use std::sync::{Arc, Mutex, OnceLock};

use rmwbench_harness::middleware::{
    Configuration, Endpoint, EndpointConfig, Error, Handler, Node, Publisher, Session,
    SessionConfig, Sink, Subscription, Wait,
};
use zmq::Context;

use crate::board::Board;
use crate::client::ZmqClient;
use crate::lookout::Lookout;
use crate::publisher::ZmqPublisher;
use crate::service::ZmqService;
use crate::settings::{Settings, Transport};
use crate::socket;
use crate::subscription::ZmqSubscription;
use crate::waiter::Waiter;

pub struct ZmqSession(Arc<Shared>);

/// Dropped when the last node and endpoint are gone.
pub struct Shared {
    pub settings: Settings,
    pub context: Context,
    pub board: Board,
    lookout: OnceLock<Lookout>,
    starting: Mutex<()>,
    blocking: Mutex<Option<Arc<Waiter>>>,
    polling: Mutex<Option<Arc<Waiter>>>,
}

impl ZmqSession {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        let settings = Settings::of(config)?;
        Ok(ZmqSession(Arc::new(Shared {
            context: socket::context(&settings)?,
            board: Board::new(config.domain_id, settings.transport),
            settings,
            lookout: OnceLock::new(),
            starting: Mutex::new(()),
            blocking: Mutex::new(None),
            polling: Mutex::new(None),
        })))
    }
}

impl Session for ZmqSession {
    fn node(&mut self, _name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(ZmqNode(self.0.clone())))
    }

    fn configuration(&self) -> Option<Configuration> {
        Some(self.0.settings.configuration())
    }
}

impl Shared {
    /// The context for socket monitors; None over inproc, which has no connections to monitor.
    pub fn monitored(&self) -> Option<&Context> {
        (self.settings.transport != Transport::IntraProcess).then_some(&self.context)
    }

    /// The session's thread that looks for peers, started at first use: a process that only
    /// publishes has none.
    pub fn lookout(&self) -> Result<&Lookout, Error> {
        let _one = self.starting.lock().unwrap();
        if self.lookout.get().is_none() {
            let _ = self.lookout.set(Lookout::start()?);
        }
        Ok(self.lookout.get().expect("just set"))
    }

    /// The session's thread for `wait`, started at first use.
    pub fn waiter(&self, wait: Wait) -> Result<Arc<Waiter>, Error> {
        let mut place =
            if wait == Wait::Poll { &self.polling } else { &self.blocking }.lock().unwrap();
        if place.is_none() {
            *place = Some(Arc::new(Waiter::start(wait)?));
        }
        Ok(place.clone().expect("just set"))
    }
}

/// A node is a name, and ZeroMQ has none.
struct ZmqNode(Arc<Shared>);

impl Node for ZmqNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(ZmqPublisher::new(config, self.0.clone())?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        Ok(Box::new(ZmqSubscription::new(config, sink, self.0.clone())?))
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(ZmqClient::new(config, sink, self.0.clone())?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        Ok(Box::new(ZmqService::new(config, handler, self.0.clone())?))
    }
}
