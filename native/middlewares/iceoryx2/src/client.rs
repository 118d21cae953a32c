//! A client: the publishing thread sends requests, the receive loop takes replies; both use one
//! port, which is the thread-safe kind.
//!
//! Each request that was sent is a `PendingResponse`, which the loop keeps until all services that
//! it reached have replied or are gone. Replies to other clients do not come here: iceoryx2 has a
//! connection for each client and request.

use std::cell::RefCell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use iceoryx2::pending_response::PendingResponse;
use iceoryx2::port::client::{Client, RequestSendError};
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::SendError;
use iceoryx2::prelude::*;
use iceoryx2::request_mut::RequestMut;
use rmwbench_harness::middleware as trait_;
use rmwbench_harness::middleware::{
    Account, Delivery, EndpointConfig, Error, Evidence, Granted, PublishError, PublishMode, Sink,
    TakenAs, Wait,
};
use rmwbench_harness::pump::{self, Registration};

use crate::dead_nodes::DeadNodes;
use crate::exclusive::Exclusive;
use crate::publisher::{loan_error, refuse_async, waited};
use crate::requests::{reply_type, RequestResponse, RequestSettings};
use crate::service::Events;
use crate::shared::Shared;
use crate::wait_set::{Reader, Watched};

type Port = ipc_threadsafe::Service;
type Pending = PendingResponse<Port, [u8], (), [u8], ()>;
type Request = RequestMut<Port, [u8], (), [u8], ()>;

pub struct Iceoryx2Client {
    /// This is dropped first: no delivery follows, and no answer is awaited any more.
    _registration: Registration<Watched>,
    client: Client<Port, [u8], (), [u8], ()>,
    requests: Exclusive<Notifier<ipc::Service>>,
    /// Makes the loop look at the awaited answers; None if it looks all the time.
    awaiting: Option<Exclusive<Notifier<ipc::Service>>>,
    service: RequestResponse<Port>,
    awaited: Arc<Awaited>,
    dead_nodes: DeadNodes,
    granted: Granted,
    too_many: i64,
    unheard: i64,
    timeouts: i64,
}

#[derive(Default)]
struct Awaited {
    /// Requests that were sent and that the loop has not yet seen. It is locked while a request is
    /// sent: the loop must not search for its answer before the request is here.
    sent: Mutex<Vec<Pending>>,
    delivered: AtomicU64,
    /// The number of requests whose services ended without a reply.
    unanswered: AtomicI64,
    receive_errors: AtomicI64,
}

impl Iceoryx2Client {
    pub fn create(
        service: RequestResponse<Port>,
        requests: &Events,
        replies: &dyn Fn(u128) -> Result<Events, Error>,
        config: &EndpointConfig,
        settings: RequestSettings,
        sink: Arc<dyn Sink>,
        shared: &Shared,
    ) -> Result<Self, Error> {
        let failed =
            |e: &dyn std::fmt::Display| Error::failed(format!("endpoint {}", config.endpoint), e);
        refuse_async(config)?;
        reply_type(config)?;
        let max_blocking = shared.max_blocking;
        let client = service
            .client_builder()
            .initial_max_slice_len(config.message_type.payload_bytes.max(1) as usize)
            .backpressure_strategy(settings.backpressure)
            .set_backpressure_handler(move |info| waited(info.elapsed_time, max_blocking))
            .create()
            .map_err(|e| failed(&e))?;
        let (listener, awaiting) = match config.wait {
            Wait::Poll => (None, None),
            _ => {
                let replies = replies(client.id().value())?;
                let listener = replies.listener_builder().create().map_err(|e| failed(&e))?;
                let notifier = replies.notifier_builder().create().map_err(|e| failed(&e))?;
                // SAFETY: the notifier is not shared, and the owner of the client uses it.
                (Some(listener), Some(unsafe { Exclusive::new(notifier) }))
            }
        };
        let requests = requests.notifier_builder().create().map_err(|e| failed(&e))?;
        // Services map a new client's memory when they next wake: wake them now, not when the first
        // request is waiting.
        requests.notify().map_err(|e| failed(&e))?;
        let awaited = Arc::new(Awaited::default());
        let replies =
            Replies { listener, sink, awaited: awaited.clone(), open: RefCell::default() };
        let registration = shared.waiters.add(config.wait, replies)?;
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
        Ok(Iceoryx2Client {
            _registration: registration,
            client,
            // SAFETY: the notifier is not shared, and the owner of the client uses it.
            requests: unsafe { Exclusive::new(requests) },
            awaiting,
            service,
            awaited,
            dead_nodes: shared.dead_nodes.clone(),
            granted,
            too_many: 0,
            unheard: 0,
            timeouts: 0,
        })
    }

    #[inline]
    fn send(&mut self, request: Request) -> Result<(), PublishError> {
        let mut sent = self.awaited.sent.lock().unwrap_or_else(|e| e.into_inner());
        match request.send() {
            // As with a topic without readers: it was sent, and nobody received it.
            Ok(pending) if pending.number_of_server_connections() == 0 => {
                self.unheard += 1;
                return Ok(());
            }
            Ok(pending) => sent.push(pending),
            Err(RequestSendError::ExceedsMaxActiveRequests) => {
                self.too_many += 1;
                drop(sent);
                self.give_up_the_dead();
                return Err(PublishError::Full);
            }
            Err(RequestSendError::SendError(SendError::UnableToDeliver)) => {
                self.timeouts += 1;
                drop(sent);
                self.dead_nodes.sweep();
                return Err(PublishError::Timeout);
            }
            Err(RequestSendError::SendError(SendError::LoanError(e))) => return Err(loan_error(e)),
            Err(_) => return Err(PublishError::Failed),
        }
        drop(sent);
        self.requests.get().notify().map(|_| ()).map_err(|_| PublishError::Failed)
    }

    /// A request to a killed service is never answered, and nothing would wake the loop to notice:
    /// a client whose requests all wait for that service could send no more.
    #[cold]
    fn give_up_the_dead(&self) {
        if self.dead_nodes.sweep() {
            if let Some(awaiting) = &self.awaiting {
                let _ = awaiting.get().notify();
            }
        }
    }
}

impl trait_::Publisher for Iceoryx2Client {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        let request = self.client.loan_slice_uninit(payload.len()).map_err(loan_error)?;
        self.send(request.write_from_slice(payload))
    }

    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        let request = self.client.loan_slice_uninit(bytes).map_err(loan_error)?;
        // SAFETY: the chunk is in mapped shared memory, whose bytes are always initialised, and
        // any byte is a valid u8.
        let mut request = unsafe { request.assume_init() };
        fill(request.payload_mut());
        self.send(request)
    }
}

/// The part of a client that the loop uses.
struct Replies {
    listener: Option<Listener<ipc::Service>>,
    sink: Arc<dyn Sink>,
    awaited: Arc<Awaited>,
    /// Requests in the order in which they were sent, with the number of replies taken.
    open: RefCell<Vec<(Pending, usize)>>,
}

impl Reader for Replies {
    fn listener(&self) -> Option<&Listener<ipc::Service>> {
        self.listener.as_ref()
    }

    fn take(&self, notified_ns: i64) -> bool {
        let mut open = self.open.borrow_mut();
        open.extend(
            self.awaited
                .sent
                .lock()
                .unwrap_or_else(|e| e.into_inner())
                .drain(..)
                .map(|pending| (pending, 0)),
        );
        let mut place = 0;
        while let Some((pending, taken)) = open.get_mut(place) {
            // This is read before the queue is: a reply that a service sent before it disconnected
            // is then found.
            let connected = pending.is_connected();
            match pending.receive() {
                Ok(Some(reply)) => {
                    *taken += 1;
                    self.awaited.delivered.fetch_add(1, Ordering::Relaxed);
                    self.sink.deliver(&Delivery::taken(notified_ns, reply.payload(), true));
                    return true;
                }
                Ok(None) => {}
                Err(_) => drop(self.awaited.receive_errors.fetch_add(1, Ordering::Relaxed)),
            }
            let answered = *taken >= pending.number_of_server_connections();
            if connected && !answered {
                place += 1;
            } else {
                self.awaited
                    .unanswered
                    .fetch_add(i64::from(!answered && *taken == 0), Ordering::Relaxed);
                open.remove(place);
            }
        }
        false
    }
}

impl trait_::Endpoint for Iceoryx2Client {
    fn matched(&self) -> u32 {
        self.dead_nodes.sweep();
        self.service.dynamic_config().number_of_servers() as u32
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let counters = [
            ("too_many_requests", self.too_many),
            ("requests_without_service", self.unheard),
            ("timeouts", self.timeouts),
            ("unanswered", self.awaited.unanswered.load(Ordering::Relaxed)),
            ("receive_errors", self.awaited.receive_errors.load(Ordering::Relaxed)),
            // By design: each request has a connection of its own.
            ("other_clients_replies", 0),
            ("other_clients_reply_bytes", 0),
        ];
        let messages = self.awaited.delivered.load(Ordering::Relaxed);
        Account {
            reader_drops: None,
            counters: counters.into_iter().map(|(name, count)| (name.to_string(), count)).collect(),
            evidence: vec![Evidence {
                path: "shm".into(),
                messages,
                note: "read in the service's data segment".into(),
            }],
        }
    }
}
