//! A node: a DDS publisher and subscriber that carry its name; its readers and writers are their
//! children.

use std::sync::Arc;

use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    Endpoint, EndpointConfig, Error, Handler, Node, Publisher, Sink, Subscription,
};

use crate::client::CycloneClient;
use crate::entity::{c_string, Entity};
use crate::publisher::CyclonePublisher;
use crate::qos::DdsQos;
use crate::service::CycloneService;
use crate::session::Shared;
use crate::shared_memory;
use crate::subscription::CycloneSubscription;
use crate::sys::{self, Handle};

pub struct CycloneNode {
    parents: Arc<Parents>,
}

/// What the endpoints of a node need to outlive them.
pub struct Parents {
    pub publisher: Entity,
    pub subscriber: Entity,
    pub session: Arc<Shared>,
}

impl CycloneNode {
    pub fn new(name: &str, session: Arc<Shared>) -> Result<Self, Error> {
        let qos = DdsQos::named(&c_string(name, "node name")?);
        let participant = session.participant.handle();
        // SAFETY: plain calls on a live participant.
        let (publisher, subscriber) = unsafe {
            (
                sys::dds_create_publisher(participant, qos.as_ptr(), std::ptr::null()),
                sys::dds_create_subscriber(participant, qos.as_ptr(), std::ptr::null()),
            )
        };
        Ok(CycloneNode {
            parents: Arc::new(Parents {
                publisher: Entity::owned(publisher, || format!("DDS publisher of node {name}"))?,
                subscriber: Entity::owned(subscriber, || format!("DDS subscriber of node {name}"))?,
                session,
            }),
        })
    }
}

impl Node for CycloneNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(CyclonePublisher::new(config, self.parents.clone())?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        Ok(Box::new(CycloneSubscription::new(config, sink, self.parents.clone())?))
    }

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(CycloneClient::new(config, sink, self.parents.clone())?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        Ok(Box::new(CycloneService::new(config, handler, self.parents.clone())?))
    }
}

impl Parents {
    /// A topic for messages of `message_type` behind `header_bytes` of a service's header, with the
    /// type that writes them.
    pub fn topic(
        &self,
        config: &EndpointConfig,
        name: &str,
        message_type: &MessageType,
        header_bytes: usize,
    ) -> Result<(Entity, *const std::ffi::c_void), Error> {
        let object = format!("endpoint {}", config.endpoint);
        let (topic, type_name) =
            (c_string(name, "topic name")?, c_string(&message_type.dds_type_name(), "type name")?);
        let bytes = message_type.cdr_bytes() + header_bytes - crate::writer::ENCAPSULATION_BYTES;
        let bytes = u32::try_from(bytes).map_err(|_| {
            Error::invalid(&object, format!("type {} is too large", message_type.name))
        })?;
        let mut written_as = std::ptr::null();
        let participant = self.session.participant.handle();
        // SAFETY: the strings outlive the call, which copies them.
        let handle = unsafe {
            sys::rmwbench_topic(
                participant,
                topic.as_ptr(),
                type_name.as_ptr(),
                bytes,
                &mut written_as,
            )
        };
        Ok((
            Entity::owned(handle, || format!("{object}: topic {topic:?} of type {type_name:?}"))?,
            written_as,
        ))
    }

    /// What a reader of an endpoint's numbers must know; how it stands to shared memory if that is
    /// configured.
    pub fn notes(&self, endpoint: Handle, config: &EndpointConfig) -> Vec<String> {
        let mut notes = self.session.domain.notes.clone();
        if self.session.domain.settings.shared_memory {
            if shared_memory::in_use(endpoint) {
                notes.extend(shared_memory::surprises(config));
            } else {
                notes.push(format!("path: {}", shared_memory::reason(config)));
            }
        }
        notes
    }
}
