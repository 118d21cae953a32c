//! A node's DDS publisher and subscriber, which carry its name: its writers and readers are their
//! children.

use std::sync::Arc;

use cyclors::{dds_create_publisher, dds_create_subscriber, dds_entity_t};
use rmwbench_harness::middleware::{EndpointConfig, Error};

use crate::entity::{c_string, Entity};
use crate::psmx;
use crate::qos::DdsQos;
use crate::shared::Shared;
use crate::topic::Kind;

/// What the endpoints of a node need to outlive them.
pub struct Parents {
    pub publisher: Entity,
    pub subscriber: Entity,
    pub session: Arc<Shared>,
}

impl Parents {
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
        Ok(Parents {
            publisher: Entity::owned(publisher, || format!("DDS publisher of node {name}"))?,
            subscriber: Entity::owned(subscriber, || format!("DDS subscriber of node {name}"))?,
            session,
        })
    }

    /// The QoS of an endpoint, once it may be made. A blob reader must not even listen to PSMX:
    /// cyclors' serialiser frees memory that is not its own when a described writer's message
    /// reaches it that way.
    pub fn qos(&self, config: &EndpointConfig, topics: Kind) -> Result<DdsQos, Error> {
        let qos = DdsQos::asked(config, &self.session.limits)?;
        if topics == Kind::Descriptor {
            self.session.domain.check_roudi(&format!("endpoint {}", config.endpoint))?;
        }
        Ok(if self.session.domain.psmx && topics == Kind::Blob { qos.without_psmx() } else { qos })
    }

    /// What a reader of an endpoint's numbers must know; how it stands to shared memory if the
    /// profile configures that.
    pub fn notes(
        &self,
        endpoint: dds_entity_t,
        config: &EndpointConfig,
        topics: Kind,
    ) -> Vec<String> {
        let mut notes = self.session.domain.notes.clone();
        if self.session.domain.psmx {
            if psmx::in_use(endpoint) {
                notes.extend(psmx::surprises(config));
            } else {
                notes.push(format!("path: {}", psmx::reason(topics, config)));
            }
        }
        notes
    }
}
