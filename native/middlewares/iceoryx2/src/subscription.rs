//! A subscription is a subscriber and a listener that the receive loop uses; this side keeps only
//! its counters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, Delivery, EndpointConfig, Error, Evidence, Granted, PublishMode, Sink, TakenAs, Wait,
};
use rmwbench_harness::pump::{self, Registration};

use crate::dead_nodes::DeadNodes;
use crate::late::Late;
use crate::service::{granted_qos, notes, Events, PubSub, Settings};
use crate::shared::Shared;
use crate::wait_set::{Reader, Watched};

pub struct Iceoryx2Subscription {
    /// Dropping it removes the reader from the loop; it comes first so that no delivery follows.
    _registration: Registration<Watched>,
    service: PubSub,
    dead_nodes: DeadNodes,
    granted: Granted,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    /// Only the loop's thread writes it.
    delivered: AtomicU64,
    receive_errors: AtomicU64,
}

/// The part of a subscription that the loop uses.
struct Messages {
    subscriber: Subscriber<ipc::Service, [u8], ()>,
    listener: Option<Listener<ipc::Service>>,
    sink: Arc<dyn Sink>,
    counts: Arc<Counts>,
}

impl Iceoryx2Subscription {
    pub fn create(
        service: PubSub,
        events: &Events,
        late: Option<&Late>,
        config: &EndpointConfig,
        settings: Settings,
        sink: Arc<dyn Sink>,
        shared: &Shared,
    ) -> Result<Self, Error> {
        let failed =
            |e: &dyn std::fmt::Display| Error::failed(format!("endpoint {}", config.endpoint), e);
        let counts = Arc::new(Counts::default());
        // The listener comes first: no message may arrive that would wake nobody.
        let listener = match config.wait {
            Wait::Poll => None,
            _ => Some(events.listener_builder().create().map_err(|e| failed(&e))?),
        };
        let subscriber = service.subscriber_builder().create().map_err(|e| failed(&e))?;
        let mut qos = granted_qos(&service, &config.qos);
        qos.depth = subscriber.buffer_size() as u32;
        let mut notes = notes(&settings);
        notes.push(pump::NOTE.into());
        let when_full = Some(settings.when_full());
        let granted = Granted {
            qos,
            publish_mode: PublishMode::Sync,
            wait: config.wait,
            take: Some(TakenAs::Lent),
            when_full,
            notes,
        };
        if let Some(late) = late {
            late.announce().map_err(|e| failed(&e))?;
        }
        let reader = Messages { subscriber, listener, sink, counts: counts.clone() };
        let registration = shared.waiters.add(config.wait, reader)?;
        Ok(Iceoryx2Subscription {
            _registration: registration,
            service,
            dead_nodes: shared.dead_nodes.clone(),
            granted,
            counts,
        })
    }
}

impl Reader for Messages {
    fn listener(&self) -> Option<&Listener<ipc::Service>> {
        self.listener.as_ref()
    }

    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        match self.subscriber.receive() {
            Ok(Some(sample)) => {
                self.counts
                    .delivered
                    .store(self.counts.delivered.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                self.sink.deliver(&Delivery::taken(notified_ns, sample.payload(), true));
                true
            }
            Ok(None) => false,
            Err(_) => {
                self.counts.receive_errors.fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }
}

impl trait_::Endpoint for Iceoryx2Subscription {
    fn matched(&self) -> u32 {
        self.dead_nodes.sweep();
        self.service.dynamic_config().number_of_publishers() as u32
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let messages = self.counts.delivered.load(Ordering::Relaxed);
        Account {
            reader_drops: None,
            counters: [(
                "receive_errors".to_string(),
                self.counts.receive_errors.load(Ordering::Relaxed) as i64,
            )]
            .into(),
            evidence: vec![Evidence {
                path: "shm".into(),
                messages,
                note: "read in the publisher's data segment".into(),
            }],
        }
    }
}

impl trait_::Subscription for Iceoryx2Subscription {}
