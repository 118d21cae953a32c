//! A topic's publisher. By copy roscpp serialises into a buffer for its sockets; a loan is a
//! message object that is published by its shared_ptr, which nodes of this process get as it is
//! (others a serialised copy).

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
        // SAFETY: a string that outlives the call.
        let publisher =
            unsafe { sys::rmwbench_publisher_new(name.as_ptr(), topic.queue_size, topic.latch) };
        Ok(RosPublisher { publisher, granted: topic.granted })
    }
}

impl Publisher for RosPublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        let Ok(size) = u32::try_from(payload.len()) else { return Err(PublishError::Failed) };
        // SAFETY: so many bytes, which the call copies.
        unsafe { sys::rmwbench_publish(self.publisher, payload.as_ptr(), size) };
        Ok(())
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let Ok(size) = u32::try_from(bytes) else { return Err(PublishError::Failed) };
        // SAFETY: a vector of so many bytes, which nobody else has until it is published; an empty
        // one has no address.
        unsafe {
            let place = sys::rmwbench_loan(self.publisher, size);
            fill(if bytes == 0 { &mut [] } else { std::slice::from_raw_parts_mut(place, bytes) });
            sys::rmwbench_publish_loan(self.publisher);
        }
        Ok(())
    }
}

impl Endpoint for RosPublisher {
    fn matched(&self) -> u32 {
        // SAFETY: a live publisher.
        unsafe { sys::rmwbench_publisher_matched(self.publisher) }
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    /// roscpp counts no drops: the ledger alone shows them.
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
