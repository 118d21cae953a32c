//! A topic's publisher. By copy roscpp serialises into a buffer for its sockets; a loan is a
//! message object that is published by its shared_ptr, which nodes of this process get as it is
//! (others a serialised copy).

use rmwbench_harness::c_api::raw;
use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Granted, PublishError, Publisher,
};

use crate::qos;
use crate::session::Shared;
use crate::sys;

pub struct RosPublisher {
    publisher: *mut sys::Publisher,
    granted: Granted,
}

// SAFETY: roscpp's publishers may be used from any thread.
unsafe impl Send for RosPublisher {}

impl RosPublisher {
    pub fn new(config: &EndpointConfig, session: &Shared) -> Result<Self, Error> {
        let topic = qos::topic(config, &session.settings)?;
        let name = session.name(config)?;
        let publisher = sys::create(format!("endpoint {}", config.endpoint), |error| {
            let (topic, name) = (&topic, name.as_ptr());
            // SAFETY: the string and the error outlive the call.
            unsafe { sys::rmwbench_publisher_new(name, topic.queue_size, topic.latch, error) }
        })?;
        Ok(RosPublisher { publisher, granted: topic.granted })
    }
}

impl Publisher for RosPublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        let Ok(size) = u32::try_from(payload.len()) else { return Err(PublishError::Failed) };
        // SAFETY: this many bytes, which the call copies.
        outcome(unsafe { sys::rmwbench_publish(self.publisher, payload.as_ptr(), size) })
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let Ok(size) = u32::try_from(bytes) else { return Err(PublishError::Failed) };
        // SAFETY: a vector of this many bytes, which nobody else has until it is published; an
        // empty one has no address.
        outcome(unsafe {
            let mut place = std::ptr::null_mut();
            if !sys::rmwbench_loan(self.publisher, size, &raw mut place) {
                return Err(PublishError::Full);
            }
            fill(if bytes == 0 { &mut [] } else { std::slice::from_raw_parts_mut(place, bytes) });
            sys::rmwbench_publish_loan(self.publisher)
        })
    }
}

fn outcome(status: raw::Status) -> Result<(), PublishError> {
    if status == raw::OK {
        Ok(())
    } else {
        Err(PublishError::Failed)
    }
}

impl Endpoint for RosPublisher {
    fn matched(&self) -> u32 {
        // SAFETY: the publisher exists.
        unsafe { sys::rmwbench_publisher_matched(self.publisher) }
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    /// roscpp counts no drops: only the ledger shows them.
    fn account(&self) -> Account {
        Account::default()
    }
}

impl Drop for RosPublisher {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { sys::rmwbench_publisher_delete(self.publisher) };
    }
}
