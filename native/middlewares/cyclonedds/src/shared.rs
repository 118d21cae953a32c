//! What the endpoints of a session share: a participant in a domain, and the receive loops.

use std::sync::Arc;
use std::time::Duration;

use cyclors::dds_create_participant;
use rmwbench_harness::middleware::{Error, SessionConfig, Wait};
use rmwbench_harness::pump::{Pumps, Registration};

use crate::batch::{self, Batches};
use crate::domain::Domain;
use crate::entity::{c_string, Entity};
use crate::intake::Watched;
use crate::qos::{DdsQos, Limits};
use crate::topic::Kind;
use crate::wait_set::WaitSet;

/// Dropped when the last node and endpoint are gone. The fields' order is the order of closing.
pub struct Shared {
    pumps: Pumps<Watched>,
    /// None: every write sends at once.
    pub batches: Option<Batches>,
    pub participant: Entity,
    pub topics: Kind,
    pub limits: Limits,
    pub domain: Arc<Domain>,
}

impl Shared {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        let topics = config.option("topic", None)?;
        let limits = Limits::asked(config)?;
        let period =
            Duration::from_micros(config.option(batch::PERIOD, batch::DEFAULT_PERIOD_US)?.max(1));
        let domain = Domain::open(config)?;
        let topics = topics.unwrap_or(if domain.psmx { Kind::Descriptor } else { Kind::Blob });
        let qos = DdsQos::named(&c_string("rmwbench", "participant")?);
        // SAFETY: a plain call; the domain exists already.
        let handle =
            unsafe { dds_create_participant(config.domain_id, qos.as_ptr(), std::ptr::null()) };
        let participant =
            Entity::owned(handle, || format!("participant in domain {}", config.domain_id))?;
        let batches = if config.mode("batching")? == Some(true) {
            Some(Batches::start(period)?)
        } else {
            None
        };
        Ok(Shared { pumps: Pumps::default(), batches, participant, topics, limits, domain })
    }

    /// Has the loop for `wait` take for a reader until what this returns is dropped.
    pub fn watch(&self, wait: Wait, watched: Watched) -> Result<Registration<Watched>, Error> {
        self.pumps.add(wait, Arc::new(watched), || WaitSet::new(self.participant.handle()))
    }
}
