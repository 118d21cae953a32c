//! The session of a process, and what its endpoints share.

use std::sync::{Arc, Mutex};

use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{EndpointConfig, Error, SessionConfig, Sink, Wait};
use rmwbench_harness::qos::{Durability, History};
use zenoh::key_expr::KeyExpr;
use zenoh::Wait as _;

use crate::graph::Graph;
use crate::mailroom::Mailroom;
use crate::profile;
use crate::publisher::ZenohPublisher;
use crate::rendezvous::Rendezvous;
use crate::subscription::ZenohSubscription;

const OPTIONS: [&str; 2] = ["keep_all_depth", "loan_slots"];

/// What endpoints need of their session.
pub struct Shared {
    pub session: zenoh::Session,
    pub graph: Graph,
    pub shared_memory: bool,
    pub udp_links: bool,
    pub shared_memory_threshold_bytes: Option<u64>,
    /// Queue length of `keep_all`: Zenoh's own default for a channel is 256.
    pub keep_all_depth: usize,
    /// Messages that a loaning publisher's pool holds; None: depth + 8.
    pub loan_slots: Option<usize>,
    pub domain_id: u32,
    block: Mutex<Option<Arc<Mailroom>>>,
    poll: Mutex<Option<Arc<Mailroom>>>,
    /// Last: the endpoint goes off the list after the session has closed.
    _rendezvous: Option<Rendezvous>,
}

pub struct ZenohSession {
    shared: Arc<Shared>,
}

impl ZenohSession {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        config.only_options(&OPTIONS)?;
        let keep_all_depth: usize = config.option("keep_all_depth", 256)?;
        let loan_slots: usize = config.option("loan_slots", 0)?;
        if keep_all_depth == 0 {
            return Err(Error::invalid("option keep_all_depth", "expected at least 1, found 0"));
        }
        zenoh::init_log_from_env_or("error");
        let (parsed, rendezvous) = profile::parse(&config.profile, config.trial_nonce, config.domain_id)?;
        let (shared_memory, udp_links) = (profile::has_shared_memory(&parsed), profile::has_udp_links(&parsed));
        if shared_memory {
            // A killed process leaves its pools in /dev/shm; Zenoh itself looks only when it makes its first one.
            zenoh::shm::cleanup_orphaned_shm_segments();
        }
        let shared_memory_threshold_bytes = profile::shared_memory_threshold_bytes(&parsed);
        let failed = |e: zenoh::Error| Error::failed(format!("profile {}", config.profile.name), e);
        let session = zenoh::open(parsed).wait().map_err(failed)?;
        let graph = Graph::open(&session, config.domain_id).map_err(failed)?;
        Ok(ZenohSession {
            shared: Arc::new(Shared {
                session,
                graph,
                shared_memory,
                udp_links,
                shared_memory_threshold_bytes,
                keep_all_depth,
                loan_slots: (loan_slots > 0).then_some(loan_slots),
                domain_id: config.domain_id,
                block: Mutex::default(),
                poll: Mutex::default(),
                _rendezvous: rendezvous,
            }),
        })
    }
}

impl Drop for ZenohSession {
    fn drop(&mut self) {
        let _ = self.shared.session.close().wait();
    }
}

impl Shared {
    /// The mailroom for subscriptions that wait like `wait`; started by the first of them.
    pub fn mailroom(&self, wait: Wait) -> std::io::Result<Arc<Mailroom>> {
        let place = if wait == Wait::Poll { &self.poll } else { &self.block };
        let mut place = place.lock().expect("starting a thread panicked");
        match &*place {
            Some(mailroom) => Ok(mailroom.clone()),
            None => Ok(place.insert(Arc::new(Mailroom::open(wait)?)).clone()),
        }
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
}

struct ZenohNode {
    name: String,
    shared: Arc<Shared>,
}

impl ZenohNode {
    fn check(config: &EndpointConfig) -> Result<(), Error> {
        let object = || format!("endpoint {}", config.endpoint);
        if config.qos.durability == Durability::TransientLocal {
            return Err(Error::unsupported(object(), "durability transient_local: not in Zenoh's core"));
        }
        if config.qos.content_filter.is_some() || config.qos.instance_key.is_some() {
            return Err(Error::unsupported(object(), "content filters and instance keys: Zenoh has neither"));
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
}
