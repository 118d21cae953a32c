//! The session is what a process shares: the configuration and the two waiting threads; iceoryx2 itself knows only nodes.

use std::sync::Arc;
use std::time::Duration;

use iceoryx2::prelude::*;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{EndpointConfig, Error, PublishMode, SessionConfig, Sink, Wait};

use crate::dead_nodes::DeadNodes;
use crate::profile;
use crate::publisher::Iceoryx2Publisher;
use crate::service::{events, pub_sub, Settings};
use crate::subscription::Iceoryx2Subscription;
use crate::waiter::Waiters;

const OPTIONS: [&str; 2] = ["max_blocking_ms", "keep_all_depth"];

/// What endpoints need of their session.
#[derive(Clone)]
pub struct Shared {
    pub config: Arc<Config>,
    pub dead_nodes: DeadNodes,
    pub waiters: Arc<Waiters>,
    /// How long a reliable publish call waits for room: DDS's `max_blocking_time`, with its default of 100 ms.
    pub max_blocking: Duration,
    keep_all_depth: usize,
    domain_id: u32,
}

pub struct Iceoryx2Session {
    shared: Shared,
}

impl Iceoryx2Session {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        config.only_options(&OPTIONS)?;
        set_log_level(LogLevel::Warn);
        let max_blocking_ms: u64 = config.option("max_blocking_ms", 100)?;
        let keep_all_depth: usize = config.option("keep_all_depth", 64)?;
        if keep_all_depth == 0 {
            return Err(Error::invalid("option keep_all_depth", "expected at least 1, found 0"));
        }
        let parsed = Arc::new(profile::parse(&config.profile)?);
        Ok(Iceoryx2Session {
            shared: Shared {
                dead_nodes: DeadNodes::new(parsed.clone()),
                config: parsed,
                waiters: Arc::new(Waiters::default()),
                max_blocking: Duration::from_millis(max_blocking_ms),
                keep_all_depth,
                domain_id: config.domain_id,
            },
        })
    }
}

impl trait_::Session for Iceoryx2Session {
    fn node(&mut self, name: &str) -> Result<Box<dyn trait_::Node>, Error> {
        let object = || format!("node {name}");
        let node_name = NodeName::new(name).map_err(|e| Error::invalid(object(), e.to_string()))?;
        let node = NodeBuilder::new()
            .name(&node_name)
            .config(&self.shared.config)
            // The worker's signals are the orchestrator's: iceoryx2 would swallow SIGTERM.
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc::Service>()
            .map_err(|e| Error::failed(object(), e))?;
        Ok(Box::new(Iceoryx2Node { node, shared: self.shared.clone() }))
    }
}

struct Iceoryx2Node {
    node: Node<ipc::Service>,
    shared: Shared,
}

impl Iceoryx2Node {
    fn topic(&self, config: &EndpointConfig) -> Result<ServiceName, Error> {
        ServiceName::new(&format!("{}/{}", self.shared.domain_id, config.topic))
            .map_err(|e| Error::invalid(format!("topic {}", config.topic), e.to_string()))
    }
}

impl trait_::Node for Iceoryx2Node {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn trait_::Publisher>, Error> {
        let object = format!("endpoint {}", config.endpoint);
        if config.publish_mode == PublishMode::Async {
            return Err(Error::unsupported(object, "publish_mode async: iceoryx2 hands over an offset in the caller's thread"));
        }
        let settings = Settings::of(config, self.shared.keep_all_depth)?;
        let name = self.topic(config)?;
        let service = pub_sub(&self.node, &name, settings, &object)?;
        let events = events(&self.node, &name, &object)?;
        Ok(Box::new(Iceoryx2Publisher::create(service, &events, config, settings, &self.shared)?))
    }

    fn subscription(&mut self, config: &EndpointConfig, sink: Arc<dyn Sink>) -> Result<Box<dyn trait_::Subscription>, Error> {
        let object = format!("endpoint {}", config.endpoint);
        if config.wait == Wait::Callback {
            return Err(Error::unsupported(object, "wait callback: iceoryx2 calls nobody back"));
        }
        let settings = Settings::of(config, self.shared.keep_all_depth)?;
        let name = self.topic(config)?;
        let service = pub_sub(&self.node, &name, settings, &object)?;
        let events = events(&self.node, &name, &object)?;
        Ok(Box::new(Iceoryx2Subscription::create(service, &events, config, settings, sink, &self.shared)?))
    }
}
