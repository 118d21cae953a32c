//! A session is a participant in a domain; it holds the waiting threads that its readers share.

use std::sync::{Arc, Mutex};

use rmwbench_harness::middleware::{Configuration, Error, Node, Session, SessionConfig, Wait};
use rmwbench_harness::pump::Pump;

use crate::domain::Domain;
use crate::entity::{c_string, Entity};
use crate::node::CycloneNode;
use crate::qos::DdsQos;
use crate::reader::Watched;
use crate::sys;
use crate::wait_set::WaitSet;

pub struct CycloneSession(Arc<Shared>);

/// Dropped when the last node and endpoint are gone. The fields' order is the order of closing.
pub struct Shared {
    blocking: Mutex<Option<Arc<Pump<Watched>>>>,
    polling: Mutex<Option<Arc<Pump<Watched>>>>,
    pub participant: Entity,
    pub domain: Arc<Domain>,
}

impl CycloneSession {
    pub fn open(config: &SessionConfig) -> Result<Self, Error> {
        let domain = Domain::open(config)?;
        let qos = DdsQos::named(&c_string("rmwbench", "participant")?);
        // SAFETY: a plain call; the domain exists already.
        let handle = unsafe {
            sys::dds_create_participant(config.domain_id, qos.as_ptr(), std::ptr::null())
        };
        let participant =
            Entity::owned(handle, || format!("participant in domain {}", config.domain_id))?;
        Ok(CycloneSession(Arc::new(Shared {
            blocking: Mutex::new(None),
            polling: Mutex::new(None),
            participant,
            domain,
        })))
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
    /// The session's thread for `wait`, started at first use; None where Cyclone's own threads
    /// deliver.
    pub fn pump(&self, wait: Wait) -> Result<Option<Arc<Pump<Watched>>>, Error> {
        let place = match wait {
            Wait::Block => &self.blocking,
            Wait::Poll => &self.polling,
            Wait::Callback => return Ok(None),
        };
        let mut pump = place.lock().unwrap();
        if pump.is_none() {
            let started = if wait == Wait::Poll {
                Pump::poll("waiter")
            } else {
                let wait_set = WaitSet::new(self.participant.handle())?;
                let waker = wait_set.waker();
                Pump::block("waiter", wait_set, waker)
            };
            *pump = Some(Arc::new(started.map_err(|e| Error::failed("waiting thread", e))?));
        }
        Ok(pump.clone())
    }
}
