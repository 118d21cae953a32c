//! The session of a process and its nodes.

use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Configuration, EndpointConfig, Error, Handler, SessionConfig, Sink,
};
use rmwbench_harness::qos::History;
use zenoh::Wait as _;

use crate::client::ZenohClient;
use crate::graph::Graph;
use crate::modes::Discovery;
use crate::profile;
use crate::publisher::ZenohPublisher;
use crate::queue::Queues;
use crate::service::ZenohService;
use crate::shared::Shared;
use crate::subscription::ZenohSubscription;

const OPTIONS: [&str; 5] =
    ["keep_all_depth", "loan_slots", "recovery", "reliable_keep_last", "shm_provider"];

static CLEANED: Once = Once::new();
/// The router of a host serves before any worker opens; this time is for a busy machine.
const ROUTER_PATIENCE: Duration = Duration::from_secs(3);

pub struct ZenohSession {
    shared: Arc<Shared>,
    /// The whole configuration, as Zenoh read it.
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
        let reliable_keep_last: String = config.option(
            "reliable_keep_last",
            if name == profile::RMW_ZENOH { "drop" } else { "block" }.to_string(),
        )?;
        if !["block", "drop"].contains(&reliable_keep_last.as_str()) {
            return Err(Error::invalid(
                "option reliable_keep_last",
                format!("expected block or drop, found {reliable_keep_last}"),
            ));
        }
        zenoh::init_log_from_env_or("error");
        let prepared = profile::prepare(config)?;
        let (shared_memory, udp_links) = (
            profile::has_shared_memory(&prepared.config),
            profile::has_udp_links(&prepared.config),
        );
        let provider_from_bytes = profile::provider_from_bytes(
            name,
            config.option("shm_provider", None)?,
            &prepared.config,
        );
        if shared_memory {
            // A killed process leaves its pools in /dev/shm; Zenoh itself removes them only when it
            // makes its first pool. This is done once, and before this process has a pool: Zenoh
            // takes the pools of the calling process for those of dead ones.
            CLEANED.call_once(zenoh::shm::cleanup_orphaned_shm_segments);
        }
        let shared_memory_threshold_bytes =
            profile::shared_memory_threshold_bytes(&prepared.config);
        let pool_bytes = profile::pool_bytes(&prepared.config);
        let request_timeout_ms = profile::request_timeout_ms(&prepared.config);
        let configuration =
            format!("{}{}\n", prepared.modes.beside_the_file(), pretty(&prepared.config));
        let failed = |e: zenoh::Error| Error::failed(format!("profile {name}"), e);
        let session = zenoh::open(prepared.config).wait().map_err(failed)?;
        if prepared.modes.discovery == Some(Discovery::Server) && !finds_router(&session) {
            return Err(Error::failed(
                "mode discovery",
                "server: no router answers; it is this worker with --daemon router",
            ));
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
            provider_from_bytes,
            recovery: config.option("recovery", None)?,
            drops_reliable_keep_last: reliable_keep_last == "drop",
            request_timeout_ms,
            modes: prepared.modes,
            domain_id: config.domain_id,
            queues: Queues::default(),
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

/// The configuration as JSON, which is also JSON5.
fn pretty(config: &zenoh::Config) -> String {
    let text = config.to_string();
    serde_json::from_str::<serde_json::Value>(&text)
        .ok()
        .and_then(|value| serde_json::to_string_pretty(&value).ok())
        .unwrap_or(text)
}

impl Drop for ZenohSession {
    fn drop(&mut self) {
        let _ = self.shared.session.close().wait();
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

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn trait_::Subscription>, Error> {
        Self::check(config)?;
        Ok(Box::new(ZenohSubscription::create(&self.name, config, sink, &self.shared)?))
    }
    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn trait_::Publisher>, Error> {
        Self::check(config)?;
        Ok(Box::new(ZenohClient::create(&self.name, config, sink, &self.shared)?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn trait_::Endpoint>, Error> {
        Self::check(config)?;
        Ok(Box::new(ZenohService::create(&self.name, config, handler, &self.shared)?))
    }
}
