//! The data that the endpoints of a session share: a participant in a domain, and the receive
//! loops; and the data that those of a node share: a DDS publisher and subscriber with its name.

use std::sync::Arc;

use rmwbench_harness::middleware::{Error, SessionConfig, Wait};
use rmwbench_harness::pump::{Pumps, Registration};

use crate::domain::{Domain, Settings};
use crate::entity::{c_string, Entity};
use crate::intake::{Message, Watched};
use crate::qos::DdsQos;
use crate::sys;
use crate::wait_set::WaitSet;

/// The types in which the two releases differ.
pub trait Types: Sized + Send + Sync + 'static {
    type Settings: Settings;
    type Message: Message;
    /// Release-specific data of a session.
    type Session: Send + Sync;

    /// Called before the domain opens. Errors: invalid options.
    fn session(config: &SessionConfig) -> Result<Self::Session, Error>;
}

/// Dropped when the last node and endpoint are gone. The order of the fields is the order of
/// closing.
pub struct Shared<T: Types> {
    pumps: Pumps<Watched<T::Message>>,
    pub release_data: T::Session,
    pub participant: Entity,
    pub domain: Arc<Domain<T::Settings>>,
}

impl<T: Types> Shared<T> {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        let release_data = T::session(config)?;
        let domain = Domain::open(config)?;
        let qos = DdsQos::named(&c_string("rmwbench", "participant")?);
        // SAFETY: a plain call; the domain exists already.
        let handle = unsafe {
            sys::dds_create_participant(config.domain_id, qos.as_ptr(), std::ptr::null())
        };
        let participant =
            Entity::owned(handle, || format!("participant in domain {}", config.domain_id))?;
        Ok(Shared { pumps: Pumps::default(), release_data, participant, domain })
    }

    /// From now on the loop for `wait` takes for a reader, until the result is dropped.
    pub fn watch(
        &self,
        wait: Wait,
        watched: Watched<T::Message>,
    ) -> Result<Registration<Watched<T::Message>>, Error> {
        self.pumps.add(wait, Arc::new(watched), || WaitSet::new(self.participant.handle()))
    }
}

/// The entities that must outlive the endpoints of a node: its writers and readers are children of
/// these two.
pub struct Parents<T: Types> {
    pub publisher: Entity,
    pub subscriber: Entity,
    pub session: Arc<Shared<T>>,
}

impl<T: Types> Parents<T> {
    pub fn new(name: &str, session: Arc<Shared<T>>) -> Result<Self, Error> {
        let qos = DdsQos::named(&c_string(name, "node name")?);
        let participant = session.participant.handle();
        // SAFETY: plain calls on a live participant.
        let (publisher, subscriber) = unsafe {
            (
                sys::dds_create_publisher(participant, qos.as_ptr(), std::ptr::null()),
                sys::dds_create_subscriber(participant, qos.as_ptr(), std::ptr::null()),
            )
        };
        Ok(Parents {
            publisher: Entity::owned(publisher, || format!("DDS publisher of node {name}"))?,
            subscriber: Entity::owned(subscriber, || format!("DDS subscriber of node {name}"))?,
            session,
        })
    }
}
