//! A service's client: iceoryx's Client, which receives only its own answers.

use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, PublishError, Publisher, Sink,
};

use crate::intake::{Origin, Taken};
use crate::presence::Presence;
use crate::qos;
use crate::session::Shared;
use crate::sys;

pub struct IceoryxClient {
    _presence: Presence,
    taken: Taken,
    granted: Granted,
    /// The number of chunks that were not available.
    refused: u64,
    _session: Arc<Shared>,
}

impl IceoryxClient {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        session: Arc<Shared>,
    ) -> Result<Self, Error> {
        // SAFETY: a constant of the library.
        let queues =
            qos::queues(config, session.congestion, unsafe { sys::rmwbench_limit_responses() })?;
        session.check_size(config, config.message_type.payload_bytes)?;
        let name = session.name(config, c"service")?;
        let (service, instance, event) =
            (name.service.as_ptr(), name.instance.as_ptr(), name.event.as_ptr());
        // SAFETY: the strings outlive the call, which copies them.
        let origin = Origin(unsafe {
            sys::rmwbench_client_new(service, instance, event, queues.queue, queues.block)
        });
        let deliver = Box::new(move |_, delivery: &Delivery<'_>| sink.deliver(delivery));
        let taken = Taken::new(config.endpoint, config.wait, origin, &session, deliver)?;
        let presence = Presence::new(&name.service, &name.present);
        Ok(IceoryxClient {
            _presence: presence,
            granted: taken.granted(queues.granted),
            taken,
            refused: 0,
            _session: session,
        })
    }
}

impl Publisher for IceoryxClient {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.publish_loaned(payload.len(), &mut |place| place.copy_from_slice(payload))
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let Ok(size) = u32::try_from(bytes) else { return Err(PublishError::Failed) };
        // SAFETY: a chunk of this many bytes is ours until it is sent; sending also returns a chunk
        // that has no receiver.
        let sent = unsafe {
            let chunk = sys::rmwbench_client_loan(self.taken.origin(), size);
            if chunk.is_null() {
                self.refused += 1;
                return Err(PublishError::Full);
            }
            fill(std::slice::from_raw_parts_mut(chunk, bytes));
            sys::rmwbench_client_send(self.taken.origin(), chunk)
        };
        if sent {
            Ok(())
        } else {
            Err(PublishError::Failed)
        }
    }
}

impl Endpoint for IceoryxClient {
    /// iceoryx has one service with a name.
    fn matched(&self) -> u32 {
        u32::from(self.taken.is_connected())
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let mut account = self.taken.account();
        account.counters.insert("loan_refused".into(), self.refused as i64);
        account
    }
}
