//! A session is a participant in a domain; it holds the waiting threads that its readers share.

use std::sync::{Arc, Mutex};

use rmwbench_harness::middleware::{Configuration, Error, Node, Session, SessionConfig, Wait};

use crate::domain::Domain;
use crate::entity::{c_string, Entity};
use crate::node::CycloneNode;
use crate::qos::DdsQos;
use crate::sys;
use crate::waiter::Waiter;

pub struct CycloneSession(Arc<Shared>);

/// Dropped when the last node and endpoint are gone. The fields' order is the order of closing.
pub struct Shared {
    blocking: Mutex<Option<Arc<Waiter>>>,
    polling: Mutex<Option<Arc<Waiter>>>,
    pub participant: Entity,
    pub domain: Arc<Domain>,
}

impl CycloneSession {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        let domain = Domain::open(config)?;
        let qos = DdsQos::named(&c_string("rmwbench", "participant")?);
        // SAFETY: a plain call; the domain exists already.
        let handle = unsafe { sys::dds_create_participant(config.domain_id, qos.as_ptr(), std::ptr::null()) };
        let participant = Entity::owned(handle, || format!("participant in domain {}", config.domain_id))?;
        Ok(CycloneSession(Arc::new(Shared { blocking: Mutex::new(None), polling: Mutex::new(None), participant, domain })))
    }
}

impl Session for CycloneSession {
    fn node(&mut self, name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(CycloneNode::new(name, self.0.clone())?))
    }

    fn configuration(&self) -> Option<Configuration> {
        Some(self.0.domain.settings.configuration())
    }
}

impl Shared {
    /// The session's thread for `wait`, started at first use; None where Cyclone's own threads deliver.
    pub fn waiter(&self, wait: Wait) -> Result<Option<Arc<Waiter>>, Error> {
        let place = match wait {
            Wait::Block => &self.blocking,
            Wait::Poll => &self.polling,
            Wait::Callback => return Ok(None),
        };
        let mut waiter = place.lock().unwrap();
        if waiter.is_none() {
            *waiter = Some(Arc::new(Waiter::start(self.participant.handle(), wait)?));
        }
        Ok(waiter.clone())
    }
}
