//! History for late joiners (transient local).
//!
//! An iceoryx2 publisher keeps its last messages, but sends them to a new subscriber only when its
//! own thread publishes again or calls `update_connections`. iceoryx2's users do this: the
//! subscriber announces itself by an event, and the publisher's process reacts. Here an event
//! service beside the topic carries the announcement, and the session's receive loop reacts, or the
//! publishing thread if it is in a call; therefore such a publisher's ports are behind a lock.
//! Topics without history have neither.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::update_connections::UpdateConnections;
use iceoryx2::prelude::*;
use rmwbench_harness::middleware::{Error, Wait};
use rmwbench_harness::pump::Registration;

use crate::exclusive::Exclusive;
use crate::service::Events;
use crate::shared::Shared;
use crate::wait_set::{Reader, Watched};

/// The event service by which late joiners of a topic announce themselves.
pub struct Late(pub Events);

impl Late {
    /// A subscriber calls this after it was created.
    pub fn announce(&self) -> Result<(), String> {
        let notifier = self.0.notifier_builder().create().map_err(|e| e.to_string())?;
        notifier.notify().map(|_| ()).map_err(|e| e.to_string())
    }

    /// Makes the receive loop handle a publisher's late joiners until the result is dropped.
    pub fn listen(
        &self,
        latched: Arc<Latched>,
        shared: &Shared,
        object: &str,
    ) -> Result<Registration<Watched>, Error> {
        let listener = self.0.listener_builder().create().map_err(|e| Error::failed(object, e))?;
        shared.waiters.add(Wait::Block, Joiners { listener, latched })
    }
}

pub struct Ports {
    pub publisher: Publisher<ipc::Service, [u8], ()>,
    pub notifier: Notifier<ipc::Service>,
}

/// A publisher's ports, shared by the thread that publishes and the one that handles joiners. The
/// latter never waits for the former, which may be waiting for room that this very thread makes:
/// the thread that has the ports when a subscriber joins serves it in the end.
pub struct Latched {
    ports: Mutex<Exclusive<Ports>>,
    joined: AtomicBool,
}

impl Latched {
    pub fn new(ports: Exclusive<Ports>) -> Self {
        Latched { ports: Mutex::new(ports), joined: AtomicBool::new(false) }
    }

    #[inline]
    pub fn with<T>(&self, call: impl FnOnce(&Ports) -> T) -> T {
        let result = call(self.ports.lock().unwrap_or_else(|e| e.into_inner()).get());
        self.serve();
        result
    }

    fn joined(&self) {
        self.joined.store(true, Ordering::SeqCst);
        self.serve();
    }

    /// Looks for joiners once more each time it has released the ports: a joiner's thread that
    /// found them taken relies on this.
    #[inline]
    fn serve(&self) {
        while self.joined.load(Ordering::SeqCst) {
            let Ok(ports) = self.ports.try_lock() else { return };
            self.joined.store(false, Ordering::SeqCst);
            // An error here occurs again at the next publish call, which reports it.
            let _ = ports.get().publisher.update_connections();
            let _ = ports.get().notifier.notify();
        }
    }
}

struct Joiners {
    listener: Listener<ipc::Service>,
    latched: Arc<Latched>,
}

impl Reader for Joiners {
    fn listener(&self) -> Option<&Listener<ipc::Service>> {
        Some(&self.listener)
    }

    fn take(&self, _notified_ns: i64) -> bool {
        self.latched.joined();
        false
    }
}
