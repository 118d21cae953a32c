//! The participant of a process, and the data that its endpoints share.

use std::sync::Arc;

use rmwbench_harness::message_type::{dds_topic_name, MessageType};
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Configuration, EndpointConfig, Error, Handler, SessionConfig, Sink,
};
use rustdds::{
    DomainParticipant, DomainParticipantBuilder, Publisher, QosPolicies, Subscriber, Topic,
    TopicKind,
};
use serde::Deserialize;
use serde_json::json;

use crate::peers::Peers;
use crate::qos::{self, Limits};
use crate::reader::Reader;
use crate::service::{Client, Service};
use crate::wait_set::Readers;
use crate::watch::StatusThread;
use crate::writer::Writer;

/// The date of publication on crates.io.
pub const RELEASE_DATE: &str = "2026-10-29";
/// Beyond this domain the ports that RTPS computes are not valid.
const LAST_DOMAIN: u32 = 232;

/// How ROS 2 identifies the client of a service's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mapping {
    Header,
    Identity,
}

/// The data that endpoints need from their session.
pub struct Shared {
    pub publisher: Publisher,
    pub subscriber: Subscriber,
    /// Its loops must end before the participant.
    pub readers: Readers,
    pub status_thread: StatusThread,
    pub limits: Limits,
    /// Whether a best-effort write may wait for the socket; None: RustDDS's default, which is no.
    pub may_block: Option<bool>,
    pub mapping: Mapping,
    pub peers: Peers,
    pub participant: DomainParticipant,
}

pub struct RustDdsSession {
    shared: Arc<Shared>,
    configuration: String,
}

impl RustDdsSession {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        config.only_options(&[&qos::OPTIONS[..], &["services", "socket_buffer_bytes"]].concat())?;
        config.only_modes(&["transport", "congestion", "discovery"])?;
        let profile = &config.profile;
        if !profile.text.trim().is_empty() {
            return Err(Error::invalid(
                format!("profile {}", profile.name),
                "RustDDS has no configuration file; use modes and options",
            ));
        }
        if config.domain_id > LAST_DOMAIN {
            return Err(Error::invalid(
                "domain_id",
                format!("expected 0 to {LAST_DOMAIN}, found {}", config.domain_id),
            ));
        }
        only(config, "transport", "udp", "RustDDS has UDP alone")?;
        only(
            config,
            "discovery",
            "multicast",
            "RustDDS finds others by multicast, and on its own host by the well-known ports of 127.0.0.1; it takes no peers",
        )?;
        let may_block = config.mode::<String>("congestion")?.map(|level| level == "block");
        let buffer_bytes = config.option(
            "socket_buffer_bytes",
            DomainParticipantBuilder::DEFAULT_SOCKET_RECEIVE_BUFFER_SIZE,
        )?;
        let mapping = config.option("services", Mapping::Header)?;
        let limits = Limits::from_config(config)?;
        let failed = |e: &dyn std::fmt::Display| Error::failed("participant", e);
        let participant = DomainParticipantBuilder::new(config.domain_id as u16)
            .socket_receive_buffer_size(buffer_bytes)
            .socket_send_buffer_size(buffer_bytes)
            .build()
            .map_err(|e| failed(&e))?;
        let none = QosPolicies::qos_none();
        let configuration = json!({
            "domain_id": config.domain_id,
            "socket_receive_buffer_size": buffer_bytes,
            "socket_send_buffer_size": buffer_bytes,
            "same_host_loopback": true,
            "best_effort_may_block": may_block.unwrap_or(false),
            "services": mapping_name(mapping),
            "limits": {"max_blocking_ms": limits.max_blocking_ms, "max_samples": limits.max_samples},
        });
        let shared = Shared {
            publisher: participant.create_publisher(&none).map_err(|e| failed(&e))?,
            subscriber: participant.create_subscriber(&none).map_err(|e| failed(&e))?,
            readers: Readers::open().map_err(|e| failed(&e))?,
            status_thread: StatusThread::open().map_err(|e| failed(&e))?,
            limits,
            may_block,
            mapping,
            peers: Peers::default(),
            participant,
        };
        let configuration = serde_json::to_string_pretty(&configuration).unwrap_or_default();
        Ok(RustDdsSession { shared: Arc::new(shared), configuration })
    }
}

fn mapping_name(mapping: Mapping) -> &'static str {
    match mapping {
        Mapping::Header => "header",
        Mapping::Identity => "identity",
    }
}

/// Checks a mode that has a single level here.
fn only(config: &SessionConfig, mode: &str, level: &str, reason: &str) -> Result<(), Error> {
    match config.mode::<String>(mode)? {
        Some(requested) if requested != level => {
            Err(Error::unsupported(format!("mode {mode}"), format!("{requested}: {reason}")))
        }
        _ => Ok(()),
    }
}

impl Shared {
    pub fn topic(
        &self,
        name: &str,
        message_type: &MessageType,
        policies: &QosPolicies,
        object: &str,
    ) -> Result<Topic, Error> {
        let topic = self.participant.create_topic(
            name.to_string(),
            message_type.dds_type_name(),
            policies,
            TopicKind::NoKey,
        );
        topic.map_err(|e| Error::failed(object, e))
    }
}

impl trait_::Session for RustDdsSession {
    fn node(&mut self, _name: &str) -> Result<Box<dyn trait_::Node>, Error> {
        Ok(Box::new(RustDdsNode { shared: self.shared.clone() }))
    }

    fn configuration(&self) -> Option<Configuration> {
        Some(Configuration { format: "json".into(), text: self.configuration.clone() })
    }
}

struct RustDdsNode {
    shared: Arc<Shared>,
}

impl trait_::Node for RustDdsNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn trait_::Publisher>, Error> {
        Ok(Box::new(Writer::create(
            config,
            &dds_topic_name(&config.topic),
            &config.message_type,
            0,
            &self.shared,
        )?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn trait_::Subscription>, Error> {
        let topic = dds_topic_name(&config.topic);
        Ok(Box::new(Reader::create(
            config,
            &topic,
            &config.message_type,
            0,
            Box::new(sink),
            &self.shared,
        )?))
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn trait_::Publisher>, Error> {
        Ok(Box::new(Client::create(config, sink, &self.shared)?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn trait_::Endpoint>, Error> {
        Ok(Box::new(Service::create(config, handler, &self.shared)?))
    }
}
