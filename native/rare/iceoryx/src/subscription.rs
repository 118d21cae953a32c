//! A topic's subscription.

use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, PublishMode, Sink, Subscription,
};

use crate::intake::{Origin, Taken};
use crate::qos;
use crate::session::{Name, Shared};
use crate::sys;

pub struct IceoryxSubscription {
    taken: Taken,
    name: Name,
    granted: Granted,
    session: Arc<Shared>,
}

impl IceoryxSubscription {
    pub fn new(
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
        session: Arc<Shared>,
    ) -> Result<Self, Error> {
        let queues = qos::queues(config, session.congestion, qos::limits().0)?;
        let name = session.name(config, c"message")?;
        let (service, instance, event) =
            (name.service.as_ptr(), name.instance.as_ptr(), name.event.as_ptr());
        // SAFETY: the strings outlive the call, which copies them.
        let origin = Origin(unsafe {
            sys::rmwbench_subscriber_new(
                service,
                instance,
                event,
                queues.queue,
                queues.history,
                queues.block,
            )
        });
        let deliver = Box::new(move |_, delivery: &Delivery<'_>| sink.deliver(delivery));
        let taken = Taken::new(config.endpoint, config.wait, origin, &session, deliver)?;
        let granted = Granted { publish_mode: PublishMode::Default, ..queues.granted };
        let granted = taken.granted(granted);
        Ok(IceoryxSubscription { taken, name, granted, session })
    }
}

impl Subscription for IceoryxSubscription {}

impl Endpoint for IceoryxSubscription {
    fn matched(&self) -> u32 {
        if self.taken.is_connected() {
            self.session.census.count(&self.name.service, &self.name.present)
        } else {
            0
        }
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        self.taken.account()
    }
}
