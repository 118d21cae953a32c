//! Sessions and nodes; iceoryx2 itself has only nodes.

use std::sync::Arc;
use std::time::Duration;

use iceoryx2::prelude::*;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{EndpointConfig, Error, Profile, SessionConfig, Sink, Wait};

use crate::client::Iceoryx2Client;
use crate::dead_nodes::DeadNodes;
use crate::late::Late;
use crate::modes::Modes;
use crate::profile;
use crate::publisher::{refuse_async, Iceoryx2Publisher};
use crate::requests::{request_response, RequestSettings, MOST_ACTIVE};
use crate::server::Iceoryx2Service;
use crate::service::{events, pub_sub, ReliableKeepLast, Settings};
use crate::shared::Shared;
use crate::subscription::Iceoryx2Subscription;
use crate::wait_set::Waiters;

const OPTIONS: [&str; 4] = ["max_blocking_ms", "keep_all_depth", "reliable_keep_last", MOST_ACTIVE];

pub struct Iceoryx2Session {
    shared: Shared,
    profile: Profile,
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
        let most_active: usize = config.option(MOST_ACTIVE, 64)?;
        if most_active == 0 {
            return Err(Error::invalid(
                format!("option {MOST_ACTIVE}"),
                "expected at least 1, found 0",
            ));
        }
        let parsed = Arc::new(profile::parse(&config.profile)?);
        Ok(Iceoryx2Session {
            shared: Shared {
                dead_nodes: DeadNodes::new(parsed.clone()),
                config: parsed,
                waiters: Arc::new(Waiters::default()),
                max_blocking: Duration::from_millis(max_blocking_ms),
                keep_all_depth,
                reliable_keep_last: config
                    .option("reliable_keep_last", ReliableKeepLast::Overflow)?,
                most_active,
                modes: Modes::from_config(config)?,
                domain_id: config.domain_id,
            },
            profile: config.profile.clone(),
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
            // The orchestrator handles the worker's signals: iceoryx2 would ignore SIGTERM.
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc::Service>()
            .map_err(|e| Error::failed(object(), e))?;
        Ok(Box::new(Iceoryx2Node {
            node: Arc::new(node),
            name: node_name,
            for_clients: None,
            shared: self.shared.clone(),
        }))
    }

    /// iceoryx2's modes are settings of ports, so the file is that of the profile.
    fn configuration(&self) -> Option<trait_::Configuration> {
        Some(trait_::Configuration { format: "toml".into(), text: self.profile.text.clone() })
    }
}

struct Iceoryx2Node {
    node: Arc<Node<ipc::Service>>,
    name: NodeName,
    /// Made for the first client, whose port two threads share.
    for_clients: Option<Node<ipc_threadsafe::Service>>,
    shared: Shared,
}

impl Iceoryx2Node {
    fn settings(&self, config: &EndpointConfig) -> Result<Settings, Error> {
        Settings::of(config, self.shared.keep_all_depth, self.shared.reliable_keep_last)
    }

    fn topic(&self, config: &EndpointConfig) -> Result<ServiceName, Error> {
        self.service_name(&config.topic)
    }

    fn service_name(&self, name: &str) -> Result<ServiceName, Error> {
        ServiceName::new(&format!("{}/{name}", self.shared.domain_id))
            .map_err(|e| Error::invalid(format!("topic {name}"), e.to_string()))
    }

    /// The event service by which late joiners of a topic with history announce themselves. `@` is
    /// in no ROS name.
    fn late(
        &self,
        config: &EndpointConfig,
        settings: Settings,
        object: &str,
    ) -> Result<Option<Late>, Error> {
        if settings.history == 0 {
            return Ok(None);
        }
        let name = self.service_name(&format!("{}@late", config.topic))?;
        Ok(Some(Late(events(&self.node, &name, object)?)))
    }

    fn clients(&mut self, object: &str) -> Result<&Node<ipc_threadsafe::Service>, Error> {
        if self.for_clients.is_none() {
            let builder = NodeBuilder::new().name(&self.name).config(&self.shared.config);
            let node = builder
                .signal_handling_mode(SignalHandlingMode::Disabled)
                .create()
                .map_err(|e| Error::failed(object, e))?;
            self.for_clients = Some(node);
        }
        Ok(self.for_clients.as_ref().expect("just made"))
    }
}

impl trait_::Node for Iceoryx2Node {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn trait_::Publisher>, Error> {
        let object = format!("endpoint {}", config.endpoint);
        refuse_async(config)?;
        let settings = self.settings(config)?;
        let name = self.topic(config)?;
        let service = pub_sub(&self.node, &name, settings, &object)?;
        let events = events(&self.node, &name, &object)?;
        let late = self.late(config, settings, &object)?;
        Ok(Box::new(Iceoryx2Publisher::create(
            service,
            &events,
            late.as_ref(),
            config,
            settings,
            &self.shared,
        )?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn trait_::Subscription>, Error> {
        let object = format!("endpoint {}", config.endpoint);
        refuse_callback(config)?;
        let settings = self.settings(config)?;
        let name = self.topic(config)?;
        let service = pub_sub(&self.node, &name, settings, &object)?;
        let events = events(&self.node, &name, &object)?;
        let late = self.late(config, settings, &object)?;
        Ok(Box::new(Iceoryx2Subscription::create(
            service,
            &events,
            late.as_ref(),
            config,
            settings,
            sink,
            &self.shared,
        )?))
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn trait_::Publisher>, Error> {
        let object = format!("endpoint {}", config.endpoint);
        refuse_callback(config)?;
        let settings =
            RequestSettings::of(config, self.shared.keep_all_depth, self.shared.most_active)?;
        let name = self.topic(config)?;
        let service = request_response(self.clients(&object)?, &name, settings, &object)?;
        let requests =
            events(&self.node, &self.service_name(&request_events(&config.topic))?, &object)?;
        let replies = |client: u128| {
            events(&self.node, &self.service_name(&reply_events(&config.topic, client))?, &object)
        };
        Ok(Box::new(Iceoryx2Client::create(
            service,
            &requests,
            &replies,
            config,
            settings,
            sink,
            &self.shared,
        )?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn trait_::Handler>,
    ) -> Result<Box<dyn trait_::Endpoint>, Error> {
        let object = format!("endpoint {}", config.endpoint);
        refuse_callback(config)?;
        let settings =
            RequestSettings::of(config, self.shared.keep_all_depth, self.shared.most_active)?;
        let service = request_response(&self.node, &self.topic(config)?, settings, &object)?;
        let requests =
            events(&self.node, &self.service_name(&request_events(&config.topic))?, &object)?;
        let (node, topic, domain_id) =
            (self.node.clone(), config.topic.clone(), self.shared.domain_id);
        let replies = move |client: u128| {
            let name =
                ServiceName::new(&format!("{domain_id}/{}", reply_events(&topic, client))).ok()?;
            events(&node, &name, "reply").ok()
        };
        Ok(Box::new(Iceoryx2Service::create(
            service,
            &requests,
            Box::new(replies),
            config,
            settings,
            handler,
            &self.shared,
        )?))
    }
}

fn refuse_callback(config: &EndpointConfig) -> Result<(), Error> {
    if config.wait == Wait::Callback {
        return Err(Error::unsupported(
            format!("endpoint {}", config.endpoint),
            "wait callback: iceoryx2 calls nobody back",
        ));
    }
    Ok(())
}

/// The name of the event service that wakes a service.
fn request_events(topic: &str) -> String {
    format!("{topic}@request")
}

/// The name of the event service that wakes one client: each has its own, or every reply would wake
/// all clients.
fn reply_events(topic: &str, client: u128) -> String {
    format!("{topic}@reply{client:x}")
}
