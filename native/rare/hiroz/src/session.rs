//! The context of a process, and the router that its host needs.

use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;

use hiroz::context::{ZContext, ZContextBuilder};
use hiroz::node::ZNode;
use hiroz::Builder as _;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Configuration, Daemon, EndpointConfig, Error, SessionConfig, Sink,
};

use crate::endpoints::{HirozPublisher, HirozSubscription};
use crate::readers::Readers;

pub const UNTOUCHED: &str = "untouched";
pub const ROUTER: &str = "router";

/// The port at which rmw_zenoh's sessions search for a router.
const ROUTER_PORT: u16 = 7447;

/// None: another router serves.
pub struct Router(Option<ZContext>);

impl Router {
    pub fn start() -> Result<Router, Error> {
        // A trial that includes rmw_zenoh starts a router for each of the two; both need the same
        // port, and one router is enough.
        if TcpStream::connect((Ipv4Addr::LOCALHOST, ROUTER_PORT)).is_ok() {
            eprintln!("daemon router: another one serves already, and is used");
            return Ok(Router(None));
        }
        let failed = |e: &dyn std::fmt::Display| Error::failed("daemon router", e);
        let config = hiroz::config::router_config().map_err(|e| failed(&e))?;
        Ok(Router(Some(
            ZContextBuilder::default().with_zenoh_config(config).build().map_err(|e| failed(&e))?,
        )))
    }
}

impl Daemon for Router {}

impl Drop for Router {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            let _ = context.shutdown();
        }
    }
}

pub struct HirozSession {
    context: ZContext,
    readers: Arc<Readers>,
    configuration: String,
}

impl HirozSession {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        config.only_options(&[])?;
        config.only_modes(&["discovery"])?;
        if config.mode::<String>("discovery")?.is_some_and(|level| level != "server") {
            return Err(Error::unsupported(
                "mode discovery",
                "hiroz's session, as rmw_zenoh's, finds others through a router",
            ));
        }
        let profile = &config.profile;
        let failed =
            |e: &dyn std::fmt::Display| Error::failed(format!("profile {}", profile.name), e);
        let builder = ZContextBuilder::default().with_domain_id(config.domain_id as usize);
        let (builder, configuration) = if profile.text.trim().is_empty() {
            let installed = hiroz::config::session_config().map_err(|e| failed(&e))?;
            let text = installed.to_string();
            (builder.with_zenoh_config(installed), text)
        } else {
            // hiroz reads files; this one is read before `build` returns.
            let file = std::env::temp_dir().join(format!(
                "rmwbench-hiroz-{}-{}.json5",
                std::process::id(),
                config.domain_id
            ));
            std::fs::write(&file, &profile.text).map_err(|e| failed(&e))?;
            (builder.with_config_file(file), profile.text.clone())
        };
        let context = builder.build();
        let _ = std::fs::remove_file(std::env::temp_dir().join(format!(
            "rmwbench-hiroz-{}-{}.json5",
            std::process::id(),
            config.domain_id
        )));
        Ok(HirozSession {
            context: context.map_err(|e| failed(&e))?,
            readers: Arc::default(),
            configuration,
        })
    }
}

impl Drop for HirozSession {
    fn drop(&mut self) {
        let _ = self.context.shutdown();
    }
}

impl trait_::Session for HirozSession {
    fn node(&mut self, name: &str) -> Result<Box<dyn trait_::Node>, Error> {
        // Parameters are services of their own, which a bare node does not need.
        let node = self.context.create_node(ros_node_name(name)).without_parameters().build();
        let node = Arc::new(node.map_err(|e| Error::failed(format!("node {name}"), e))?);
        Ok(Box::new(HirozNode { node, readers: self.readers.clone() }))
    }

    fn configuration(&self) -> Option<Configuration> {
        Some(Configuration { format: "json5".into(), text: self.configuration.clone() })
    }
}

/// ROS 2's node names consist of letters, digits and underscores.
fn ros_node_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

struct HirozNode {
    node: Arc<ZNode>,
    readers: Arc<Readers>,
}

impl trait_::Node for HirozNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn trait_::Publisher>, Error> {
        Ok(Box::new(HirozPublisher::create(&self.node, config)?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn trait_::Subscription>, Error> {
        Ok(Box::new(HirozSubscription::create(&self.node, config, sink, &self.readers)?))
    }
}
