//! The session of a process, and what its endpoints share.

use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{Configuration, EndpointConfig, Error, Handler, SessionConfig, Sink, Wait};
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};
use zenoh::key_expr::KeyExpr;
use zenoh::Wait as _;

use crate::client::ZenohClient;
use crate::graph::Graph;
use crate::mailroom::Mailroom;
use crate::modes::{Discovery, Modes};
use crate::profile;
use crate::publisher::ZenohPublisher;
use crate::rendezvous::Rendezvous;
use crate::service::ZenohService;
use crate::subscription::ZenohSubscription;

const OPTIONS: [&str; 5] = ["keep_all_depth", "loan_slots", "recovery", "reliable_keep_last", "shm_provider"];

static CLEANED: Once = Once::new();
/// The router of a host serves before any worker opens; this is for a busy machine.
const ROUTER_PATIENCE: Duration = Duration::from_secs(3);

/// What endpoints need of their session.
pub struct Shared {
    pub session: zenoh::Session,
    pub graph: Graph,
    pub shared_memory: bool,
    pub udp_links: bool,
    pub shared_memory_threshold_bytes: Option<u64>,
    /// Of the pool that Zenoh makes for itself.
    pub pool_bytes: Option<u64>,
    /// Queue length of `keep_all`: Zenoh's own default for a channel is 256.
    pub keep_all_depth: usize,
    /// Messages that a loaning publisher's pool holds; None: depth + 8.
    pub loan_slots: Option<usize>,
    /// Every publisher has a provider of shared memory, also without loans.
    pub shm_provider: bool,
    /// Whether lost messages are asked for again; None: where they are reliable and transient_local, as rmw_zenoh does it.
    pub recovery: Option<bool>,
    /// Whether congestion may cost a message that is reliable with history keep_last, as in rmw_zenoh.
    pub drops_reliable_keep_last: bool,
    pub request_timeout_ms: u64,
    pub modes: Modes,
    pub domain_id: u32,
    block: Mutex<Option<Arc<Mailroom>>>,
    poll: Mutex<Option<Arc<Mailroom>>>,
    /// Last: the endpoint goes off the list after the session has closed.
    _rendezvous: Option<Rendezvous>,
}

pub struct ZenohSession {
    shared: Arc<Shared>,
    /// The whole of it, as Zenoh read it.
    configuration: String,
}

impl ZenohSession {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        config.only_options(&OPTIONS)?;
        let keep_all_depth: usize = config.option("keep_all_depth", 256)?;
        let loan_slots: usize = config.option("loan_slots", 0)?;
        if keep_all_depth == 0 {
            return Err(Error::invalid("option keep_all_depth", "expected at least 1, found 0"));
        }
        let name = config.profile.name.as_str();
        let reliable_keep_last: String =
            config.option("reliable_keep_last", if name == profile::RMW_ZENOH { "drop" } else { "block" }.to_string())?;
        if !["block", "drop"].contains(&reliable_keep_last.as_str()) {
            return Err(Error::invalid("option reliable_keep_last", format!("expected block or drop, found {reliable_keep_last}")));
        }
        zenoh::init_log_from_env_or("error");
        let prepared = profile::prepare(config)?;
        let (shared_memory, udp_links) = (profile::has_shared_memory(&prepared.config), profile::has_udp_links(&prepared.config));
        let shm_provider = config.option("shm_provider", name == profile::SHM)? && shared_memory;
        if shared_memory {
            // A killed process leaves its pools in /dev/shm; Zenoh itself looks only when it makes its first one. Once, and before any
            // of ours: to Zenoh, the pools of the process that asks look like those of the dead.
            CLEANED.call_once(zenoh::shm::cleanup_orphaned_shm_segments);
        }
        let shared_memory_threshold_bytes = profile::shared_memory_threshold_bytes(&prepared.config);
        let pool_bytes = profile::pool_bytes(&prepared.config);
        let request_timeout_ms = profile::request_timeout_ms(&prepared.config);
        let configuration = format!("{}{}\n", prepared.modes.beside_the_file(), pretty(&prepared.config));
        let failed = |e: zenoh::Error| Error::failed(format!("profile {name}"), e);
        let session = zenoh::open(prepared.config).wait().map_err(failed)?;
        if prepared.modes.discovery == Some(Discovery::Server) && !finds_router(&session) {
            return Err(Error::failed("mode discovery", "server: no router answers; it is this worker with --daemon router"));
        }
        let graph = Graph::open(&session, config.domain_id).map_err(failed)?;
        let shared = Shared {
            session,
            graph,
            shared_memory,
            udp_links,
            shared_memory_threshold_bytes,
            pool_bytes,
            keep_all_depth,
            loan_slots: (loan_slots > 0).then_some(loan_slots),
            shm_provider,
            recovery: config.option("recovery", None)?,
            drops_reliable_keep_last: reliable_keep_last == "drop",
            request_timeout_ms,
            modes: prepared.modes,
            domain_id: config.domain_id,
            block: Mutex::default(),
            poll: Mutex::default(),
            _rendezvous: prepared.rendezvous,
        };
        Ok(ZenohSession { shared: Arc::new(shared), configuration })
    }
}

fn finds_router(session: &zenoh::Session) -> bool {
    let began = Instant::now();
    while session.info().routers_zid().wait().next().is_none() {
        if began.elapsed() > ROUTER_PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// JSON, which is JSON5.
fn pretty(config: &zenoh::Config) -> String {
    let text = config.to_string();
    serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or(text)
}

impl Drop for ZenohSession {
    fn drop(&mut self) {
        let _ = self.shared.session.close().wait();
    }
}

impl Shared {
    /// Whether a reader here may be lent messages of this size, as far as the session's own settings tell: those of publishers that
    /// loan are lent too.
    pub fn lends(&self, payload_bytes: u32) -> bool {
        let bytes = u64::from(payload_bytes);
        self.shared_memory && (self.shm_provider || self.shared_memory_threshold_bytes.is_some_and(|threshold| bytes >= threshold))
    }

    /// The mailroom for subscriptions that wait like `wait`; started by the first of them.
    pub fn mailroom(&self, wait: Wait) -> std::io::Result<Arc<Mailroom>> {
        let place = if wait == Wait::Poll { &self.poll } else { &self.block };
        let mut place = place.lock().expect("starting a thread panicked");
        match &*place {
            Some(mailroom) => Ok(mailroom.clone()),
            None => Ok(place.insert(Arc::new(Mailroom::open(wait)?)).clone()),
        }
    }

    /// How many messages a history holds.
    pub fn depth(&self, qos: &Qos) -> usize {
        match qos.history {
            History::KeepLast => qos.depth as usize,
            History::KeepAll => self.keep_all_depth,
        }
    }

    pub fn recovers(&self, qos: &Qos) -> bool {
        let reliable = qos.reliability == Reliability::Reliable;
        reliable && self.recovery.unwrap_or(qos.durability == Durability::TransientLocal)
    }

    pub fn refuse_reliable_over_udp(&self, config: &EndpointConfig) -> Result<(), Error> {
        if config.qos.reliability == Reliability::Reliable && self.udp_links {
            let reason = "reliable: the session has UDP links, and Zenoh resends nothing over them";
            return Err(Error::unsupported(format!("endpoint {}", config.endpoint), reason));
        }
        Ok(())
    }

    pub fn key(&self, topic: &str) -> Result<KeyExpr<'static>, Error> {
        let key = KeyExpr::try_from(format!("rmwbench/{}/{topic}", self.domain_id))
            .map_err(|e| Error::invalid(format!("topic {topic}"), e.to_string()))?;
        if key.is_wild() {
            return Err(Error::invalid(format!("topic {topic}"), "expected a name without * and $"));
        }
        Ok(key)
    }
}

impl trait_::Session for ZenohSession {
    fn node(&mut self, name: &str) -> Result<Box<dyn trait_::Node>, Error> {
        Ok(Box::new(ZenohNode { name: name.into(), shared: self.shared.clone() }))
    }

    fn configuration(&self) -> Option<Configuration> {
        Some(Configuration { format: "json5".into(), text: self.configuration.clone() })
    }
}

struct ZenohNode {
    name: String,
    shared: Arc<Shared>,
}

impl ZenohNode {
    fn check(config: &EndpointConfig) -> Result<(), Error> {
        let object = || format!("endpoint {}", config.endpoint);
        if config.qos.content_filter.is_some() || config.qos.instance_key.is_some() {
            let reason = "content filters and instance keys: Zenoh filters by key expression, and an instance would be a key of its own";
            return Err(Error::unsupported(object(), reason));
        }
        if config.qos.history == History::KeepLast && config.qos.depth == 0 {
            return Err(Error::invalid(object(), "qos depth: expected at least 1, found 0"));
        }
        Ok(())
    }
}

impl trait_::Node for ZenohNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn trait_::Publisher>, Error> {
        Self::check(config)?;
        Ok(Box::new(ZenohPublisher::create(&self.name, config, &self.shared)?))
    }

    fn subscription(&mut self, config: &EndpointConfig, sink: Arc<dyn Sink>) -> Result<Box<dyn trait_::Subscription>, Error> {
        Self::check(config)?;
        Ok(Box::new(ZenohSubscription::create(&self.name, config, sink, &self.shared)?))
    }
    fn client(&mut self, config: &EndpointConfig, sink: Arc<dyn Sink>) -> Result<Box<dyn trait_::Publisher>, Error> {
        Self::check(config)?;
        Ok(Box::new(ZenohClient::create(&self.name, config, sink, &self.shared)?))
    }

    fn service(&mut self, config: &EndpointConfig, handler: Arc<dyn Handler>) -> Result<Box<dyn trait_::Endpoint>, Error> {
        Self::check(config)?;
        Ok(Box::new(ZenohService::create(&self.name, config, handler, &self.shared)?))
    }
}
