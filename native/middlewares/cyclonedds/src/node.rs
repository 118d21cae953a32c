//! A node: a DDS publisher and subscriber that carry its name; its readers and writers are their children.

use std::sync::Arc;

use cyclors::{cdds_create_blob_topic, dds_create_publisher, dds_create_subscriber};
use rmwbench_harness::message_type::dds_topic_name;
use rmwbench_harness::middleware::{EndpointConfig, Error, Node, Publisher, Sink, Subscription};

use crate::entity::{c_string, Entity};
use crate::publisher::CyclonePublisher;
use crate::qos::DdsQos;
use crate::session::Shared;
use crate::subscription::CycloneSubscription;

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
        let c_name = c_string(name, "node name")?;
        let qos = DdsQos::named(&c_name);
        let participant = session.participant.handle();
        // SAFETY: plain calls on a live participant.
        let (publisher, subscriber) = unsafe {
            (
                dds_create_publisher(participant, qos.as_ptr(), std::ptr::null()),
                dds_create_subscriber(participant, qos.as_ptr(), std::ptr::null()),
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

    fn subscription(&mut self, config: &EndpointConfig, sink: Arc<dyn Sink>) -> Result<Box<dyn Subscription>, Error> {
        Ok(Box::new(CycloneSubscription::new(config, sink, self.parents.clone())?))
    }
}

impl Parents {
    /// The keyless raw-CDR topic of an endpoint, with ROS 2's topic and type names.
    pub fn topic(&self, config: &EndpointConfig) -> Result<Entity, Error> {
        let topic = c_string(&dds_topic_name(&config.topic), "topic name")?;
        let type_name = c_string(&config.message_type.dds_type_name(), "type name")?;
        let participant = self.session.participant.handle();
        // SAFETY: the strings outlive the call, which copies them although it asks for mutable pointers.
        let handle = unsafe { cdds_create_blob_topic(participant, topic.as_ptr().cast_mut(), type_name.as_ptr().cast_mut(), true) };
        Entity::owned(handle, || format!("endpoint {}: topic {:?} of type {:?}", config.endpoint, topic, type_name))
    }
}
