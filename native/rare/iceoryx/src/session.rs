//! A session: the process's registration with RouDi and the threads that its endpoints share.

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, Once};

use rmwbench_harness::middleware::{
    Configuration, Endpoint, EndpointConfig, Error, Handler, Node, Publisher, Session,
    SessionConfig, Sink, Subscription, Wait,
};
use serde::Deserialize;

use crate::client::IceoryxClient;
use crate::intake::Listener;
use crate::presence::Census;
use crate::publisher::IceoryxPublisher;
use crate::roudi;
use crate::service::IceoryxService;
use crate::subscription::IceoryxSubscription;
use crate::sys;
use crate::waiter::Waiter;

/// RouDi's largest chunk if neither profile nor option configures it.
const LARGEST_AS_INSTALLED: u64 = 4 << 20;
/// The file that RouDi reads if it is given none.
const INSTALLED_FILE: &str = "/etc/iceoryx/roudi_config.toml";

/// The behaviour of a full queue, whatever the QoS says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Congestion {
    Drop,
    Block,
}

pub struct IceoryxSession(Arc<Shared>);

pub struct Shared {
    pub congestion: Option<Congestion>,
    pub census: Census,
    instance: String,
    configuration: Configuration,
    /// iceoryx ends the process if a message is larger.
    largest_chunk: u64,
    blocking: Mutex<Option<Arc<Waiter>>>,
    polling: Mutex<Option<Arc<Waiter>>>,
    listener: Mutex<Option<Arc<Listener>>>,
}

impl IceoryxSession {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        let profile = &config.profile;
        let object = || format!("profile {}", profile.name);
        if profile.format != "toml" {
            return Err(Error::invalid(
                object(),
                format!("RouDi reads toml, the profile is {}", profile.format),
            ));
        }
        let configuration = roudi::configuration(config)?;
        let text = configuration
            .as_ref()
            .map(|c| c.text.clone())
            .or_else(|| std::fs::read_to_string(INSTALLED_FILE).ok());
        let largest_chunk = match &text {
            None => LARGEST_AS_INSTALLED,
            Some(text) => roudi::largest(text)
                .ok_or_else(|| Error::invalid(object(), "no mempool has a size"))?,
        };
        if !roudi::is_running() {
            let message = "iceoryx needs a RouDi, and none serves this host: an arm starts one with the option daemons: roudi";
            return Err(Error::failed(object(), message));
        }
        static RUNTIME: Once = Once::new();
        RUNTIME.call_once(|| {
            let name = CString::new(format!("rmwbench-{}", std::process::id())).expect("digits");
            // SAFETY: the string outlives the call.
            unsafe { sys::rmwbench_runtime(name.as_ptr()) };
        });
        Ok(IceoryxSession(Arc::new(Shared {
            congestion: config.mode("congestion")?,
            census: Census::new(),
            instance: format!("rmwbench-{}", config.domain_id),
            configuration: configuration
                .unwrap_or(Configuration { format: "toml".into(), text: String::new() }),
            largest_chunk,
            blocking: Mutex::new(None),
            polling: Mutex::new(None),
            listener: Mutex::new(None),
        })))
    }
}

impl Session for IceoryxSession {
    fn node(&mut self, _name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(IceoryxNode(self.0.clone())))
    }

    fn configuration(&self) -> Option<Configuration> {
        Some(self.0.configuration.clone())
    }
}

/// iceoryx's name of an endpoint: service, instance and event; and the instance by which endpoints
/// announce themselves.
pub struct Name {
    pub service: CString,
    pub instance: CString,
    pub event: &'static CStr,
    pub present: CString,
}

impl Shared {
    pub fn name(&self, config: &EndpointConfig, event: &'static CStr) -> Result<Name, Error> {
        let object = || format!("endpoint {}", config.endpoint);
        // SAFETY: a constant of the library.
        let limit = unsafe { sys::rmwbench_limit_name() } as usize;
        if config.topic.len() > limit {
            return Err(Error::invalid(
                object(),
                format!("topic {:?}: iceoryx's names have {limit} bytes at most", config.topic),
            ));
        }
        let c = |text: String| {
            CString::new(text)
                .map_err(|_| Error::invalid(object(), "the topic contains a NUL byte"))
        };
        let present = format!("{}-{}", self.instance, event.to_string_lossy());
        Ok(Name {
            service: c(config.topic.clone())?,
            instance: c(self.instance.clone())?,
            event,
            present: c(present)?,
        })
    }

    /// Refuses a message that no pool can hold.
    pub fn check_size(&self, config: &EndpointConfig, bytes: u32) -> Result<(), Error> {
        if u64::from(bytes) <= self.largest_chunk {
            return Ok(());
        }
        let message = format!(
            "{bytes} bytes: RouDi's largest chunks have {}; the option roudi_pools (\"32M:8\") or another profile has larger ones",
            self.largest_chunk
        );
        Err(Error::unsupported(format!("endpoint {}", config.endpoint), message))
    }

    /// The session's thread for `wait`, started at first use; None for callbacks, which iceoryx's
    /// own Listener makes.
    pub fn waiter(&self, wait: Wait) -> Result<Option<Arc<Waiter>>, Error> {
        let place = match wait {
            Wait::Block => &self.blocking,
            Wait::Poll => &self.polling,
            Wait::Callback => return Ok(None),
        };
        let mut waiter = place.lock().unwrap();
        if waiter.is_none() {
            *waiter = Some(Arc::new(Waiter::start(wait)?));
        }
        Ok(waiter.clone())
    }

    /// The session's Listener, made at first use.
    pub fn listener(&self) -> Arc<Listener> {
        self.listener.lock().unwrap().get_or_insert_with(|| Arc::new(Listener::new())).clone()
    }
}

/// A node is a name, which this worker does not pass to iceoryx.
struct IceoryxNode(Arc<Shared>);

impl Node for IceoryxNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(IceoryxPublisher::new(config, self.0.clone())?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        Ok(Box::new(IceoryxSubscription::new(config, sink, self.0.clone())?))
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(IceoryxClient::new(config, sink, self.0.clone())?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        Ok(Box::new(IceoryxService::new(config, handler, self.0.clone())?))
    }
}
