//! History for late joiners (transient local).
//!
//! An iceoryx2 publisher keeps its last messages, but hands them to a new subscriber only when its own thread publishes again or asks
//! for it (`update_connections`). The way of iceoryx2's users: the subscriber says that it has come, by an event, and the publisher's
//! process answers. Here an event service beside the topic says it, and the session's waiting thread answers, which is why such a
//! publisher's port stands behind a lock. Topics without history have neither.

use std::sync::{Arc, Mutex};

use iceoryx2::port::listener::Listener;
use iceoryx2::port::update_connections::UpdateConnections;
use iceoryx2::prelude::*;
use rmwbench_harness::middleware::{Error, Wait};

use crate::exclusive::Exclusive;
use crate::publisher::Ports;
use crate::service::Events;
use crate::session::Shared;
use crate::waiter::{Reader, Registration};

/// The event service by which late joiners of a topic announce themselves.
pub struct Late(pub Events);

impl Late {
    /// Told by a subscriber after it was created.
    pub fn announce(&self) -> Result<(), String> {
        let notifier = self.0.notifier_builder().create().map_err(|e| e.to_string())?;
        notifier.notify().map(|_| ()).map_err(|e| e.to_string())
    }

    /// Has the waiting thread serve late joiners of a publisher until what it returns is dropped.
    pub fn serve(&self, ports: Arc<Mutex<Exclusive<Ports>>>, shared: &Shared, object: &str) -> Result<Registration, Error> {
        let failed = |e: String| Error::failed(object, e);
        let listener = self.0.listener_builder().create().map_err(|e| failed(e.to_string()))?;
        let joiners = Joiners { listener, ports };
        shared.waiters.add(Wait::Block, Exclusive(Box::new(joiners))).map_err(|e| failed(e.to_string()))
    }
}

struct Joiners {
    listener: Listener<ipc::Service>,
    ports: Arc<Mutex<Exclusive<Ports>>>,
}

impl Reader for Joiners {
    fn listener(&self) -> Option<&Listener<ipc::Service>> {
        Some(&self.listener)
    }

    fn drain(&self, _notified_ns: i64) -> bool {
        // The publishing thread may hold it while it waits for room that this very thread makes: come back.
        let Ok(ports) = self.ports.try_lock() else { return true };
        // What fails here fails again at the next publish call, which tells.
        let _ = ports.0.publisher.update_connections();
        let _ = ports.0.notifier.notify();
        false
    }
}
