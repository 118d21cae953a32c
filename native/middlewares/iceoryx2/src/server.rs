//! A service: the waiting thread takes each request, calls the handler, and sends the reply within
//! the handler's call.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::server::Server;
use iceoryx2::port::SendError;
use iceoryx2::prelude::*;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, Delivery, EndpointConfig, Error, Evidence, Granted, Handler, PublishError,
    PublishMode, TakenAs, Wait,
};
use rmwbench_harness::pump::{self, Registration};

use crate::dead_nodes::DeadNodes;
use crate::publisher::{loan_error, refuse_async, waited};
use crate::requests::{reply_type, RequestResponse, RequestSettings};
use crate::service::Events;
use crate::shared::Shared;
use crate::wait_set::{Reader, Watched};

/// How many clients' notifiers are kept; a service admits fewer, so the surplus are those of
/// clients that are gone.
const MOST_KNOWN: usize = 256;

/// Opens the event service that wakes a client; None when that fails.
pub type WakeClient = Box<dyn Fn(u128) -> Option<Events> + Send>;

pub struct Iceoryx2Service {
    _registration: Registration<Watched>,
    service: RequestResponse<ipc::Service>,
    dead_nodes: DeadNodes,
    granted: Granted,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    receive_errors: AtomicI64,
    timeouts: AtomicI64,
}

/// The part of a service that the loop uses.
struct Requests {
    server: Server<ipc::Service, [u8], (), [u8], ()>,
    listener: Option<Listener<ipc::Service>>,
    handler: Arc<dyn Handler>,
    clients: RefCell<HashMap<u128, Option<Notifier<ipc::Service>>>>,
    wake: WakeClient,
    counts: Arc<Counts>,
}

impl Iceoryx2Service {
    pub fn create(
        service: RequestResponse<ipc::Service>,
        requests: &Events,
        wake: WakeClient,
        config: &EndpointConfig,
        settings: RequestSettings,
        handler: Arc<dyn Handler>,
        shared: &Shared,
    ) -> Result<Self, Error> {
        let failed =
            |e: &dyn std::fmt::Display| Error::failed(format!("endpoint {}", config.endpoint), e);
        refuse_async(config)?;
        // The listener comes first: no request may arrive that would wake nobody.
        let listener = match config.wait {
            Wait::Poll => None,
            _ => Some(requests.listener_builder().create().map_err(|e| failed(&e))?),
        };
        let max_blocking = shared.max_blocking;
        let server = service
            .server_builder()
            .max_loaned_responses_per_request(1)
            .initial_max_slice_len(reply_type(config)?.payload_bytes.max(1) as usize)
            .backpressure_strategy(settings.backpressure)
            .set_backpressure_handler(move |info| waited(info.elapsed_time, max_blocking))
            .create()
            .map_err(|e| failed(&e))?;
        let counts = Arc::new(Counts::default());
        let requests = Requests {
            server,
            listener,
            handler,
            clients: RefCell::default(),
            wake,
            counts: counts.clone(),
        };
        let registration = shared.waiters.add(config.wait, requests)?;
        let qos = settings.granted(&config.qos);
        let notes = [settings.notes(&config.qos), vec![pump::NOTE.into()]].concat();
        let granted = Granted {
            qos,
            publish_mode: PublishMode::Sync,
            wait: config.wait,
            take: Some(TakenAs::Lent),
            when_full: None,
            notes,
        };
        Ok(Iceoryx2Service {
            _registration: registration,
            service,
            dead_nodes: shared.dead_nodes.clone(),
            granted,
            counts,
        })
    }
}

impl Reader for Requests {
    fn listener(&self) -> Option<&Listener<ipc::Service>> {
        self.listener.as_ref()
    }

    fn take(&self, notified_ns: i64) -> bool {
        let request = match self.server.receive() {
            Ok(Some(request)) => request,
            Ok(None) => return false,
            Err(_) => {
                self.counts.receive_errors.fetch_add(1, Ordering::Relaxed);
                return false;
            }
        };
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
        let client = request.origin().value();
        let delivery = Delivery::taken(notified_ns, request.payload(), true);
        self.handler.handle(&delivery, &mut |reply: &[u8]| {
            let response = request.loan_slice_uninit(reply.len()).map_err(loan_error)?;
            match response.write_from_slice(reply).send() {
                Ok(()) => self.wake(client),
                Err(SendError::UnableToDeliver) => {
                    self.counts.timeouts.fetch_add(1, Ordering::Relaxed);
                    Err(PublishError::Timeout)
                }
                Err(SendError::LoanError(e)) => Err(loan_error(e)),
                Err(_) => Err(PublishError::Failed),
            }
        });
        true
    }
}

impl Requests {
    /// Wakes a client; its event service is opened at its first request.
    #[inline]
    fn wake(&self, client: u128) -> Result<(), PublishError> {
        let mut clients = self.clients.borrow_mut();
        if !clients.contains_key(&client) {
            if clients.len() >= MOST_KNOWN {
                clients.clear();
            }
            clients.insert(
                client,
                (self.wake)(client).and_then(|events| events.notifier_builder().create().ok()),
            );
        }
        match &clients[&client] {
            Some(notifier) => notifier.notify().map(|_| ()).map_err(|_| PublishError::Failed),
            None => Err(PublishError::Failed),
        }
    }
}

impl trait_::Endpoint for Iceoryx2Service {
    fn matched(&self) -> u32 {
        self.dead_nodes.sweep();
        self.service.dynamic_config().number_of_clients() as u32
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let counters = [
            ("receive_errors", self.counts.receive_errors.load(Ordering::Relaxed)),
            ("timeouts", self.counts.timeouts.load(Ordering::Relaxed)),
        ];
        let messages = self.counts.requests.load(Ordering::Relaxed);
        Account {
            reader_drops: None,
            counters: counters.into_iter().map(|(name, count)| (name.to_string(), count)).collect(),
            evidence: vec![Evidence {
                path: "shm".into(),
                messages,
                note: "read in the client's data segment".into(),
            }],
        }
    }
}
