//! A topic's publisher. A copy does the minimum: it takes a chunk, fills it and sends it.

use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Granted, PublishError, Publisher,
};

use crate::presence::Presence;
use crate::qos;
use crate::session::Shared;
use crate::sys;

pub struct IceoryxPublisher {
    _presence: Presence,
    port: *mut sys::Publisher,
    granted: Granted,
    /// The number of chunks that were not available: their pool was empty, or too many are in use.
    refused: u64,
    _session: Arc<Shared>,
}

// SAFETY: a port of shared memory, which one thread at a time uses.
unsafe impl Send for IceoryxPublisher {}

impl IceoryxPublisher {
    pub fn new(config: &EndpointConfig, session: Arc<Shared>) -> Result<Self, Error> {
        let queues = qos::queues(config, session.congestion, qos::limits().0)?;
        session.check_size(config, config.message_type.payload_bytes)?;
        let name = session.name(config, c"message")?;
        let (service, instance, event) =
            (name.service.as_ptr(), name.instance.as_ptr(), name.event.as_ptr());
        // SAFETY: the strings outlive the call, which copies them.
        let port = unsafe {
            sys::rmwbench_publisher_new(service, instance, event, queues.history, queues.block)
        };
        let presence = Presence::new(&name.service, &name.present);
        Ok(IceoryxPublisher {
            _presence: presence,
            port,
            granted: queues.granted,
            refused: 0,
            _session: session,
        })
    }
}

impl Publisher for IceoryxPublisher {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.publish_loaned(payload.len(), &mut |place| place.copy_from_slice(payload))
    }

    #[inline]
    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let Ok(size) = u32::try_from(bytes) else { return Err(PublishError::Failed) };
        // SAFETY: a chunk of this many bytes is ours until it is sent.
        unsafe {
            let chunk = sys::rmwbench_publisher_loan(self.port, size);
            if chunk.is_null() {
                self.refused += 1;
                return Err(PublishError::Full);
            }
            fill(std::slice::from_raw_parts_mut(chunk, bytes));
            sys::rmwbench_publisher_send(self.port, chunk);
        }
        Ok(())
    }
}

impl Endpoint for IceoryxPublisher {
    fn matched(&self) -> u32 {
        // SAFETY: the port exists.
        unsafe { sys::rmwbench_publisher_matched(self.port) }
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        Account {
            counters: [("loan_refused".to_string(), self.refused as i64)].into(),
            ..Account::default()
        }
    }
}

impl Drop for IceoryxPublisher {
    fn drop(&mut self) {
        // SAFETY: ours, deleted once.
        unsafe { sys::rmwbench_publisher_delete(self.port) };
    }
}
