//! A service: iceoryx's Server. iceoryx has one with a name, and ends the process that requests a
//! second one: so this looks first, and gives RouDi time to notice the death of a process that had
//! it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, Handler, PublishError,
};

use crate::intake::{Origin, Taken};
use crate::qos;
use crate::session::{Name, Shared};
use crate::sys;

/// The time to wait; RouDi misses a process after 1.5 s.
const UNTIL_NOTICED: Duration = Duration::from_secs(5);

pub struct IceoryxService {
    taken: Taken,
    name: Name,
    granted: Granted,
    refused: Arc<AtomicU64>,
    session: Arc<Shared>,
}

impl IceoryxService {
    pub fn new(
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
        session: Arc<Shared>,
    ) -> Result<Self, Error> {
        // SAFETY: a constant of the library.
        let queues =
            qos::queues(config, session.congestion, unsafe { sys::rmwbench_limit_requests() })?;
        if let Some(reply_type) = &config.reply_type {
            session.check_size(config, reply_type.payload_bytes)?;
        }
        let name = session.name(config, c"service")?;
        let (service, instance, event) =
            (name.service.as_ptr(), name.instance.as_ptr(), name.event.as_ptr());
        let deadline = Instant::now() + UNTIL_NOTICED;
        while session.census.has_service(&name.service, &name.instance, name.event) {
            if Instant::now() > deadline {
                let message =
                    format!("iceoryx has one service of a name, and {:?} exists", config.topic);
                return Err(Error::unsupported(format!("endpoint {}", config.endpoint), message));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // SAFETY: the strings outlive the call, which copies them.
        let origin = Origin(unsafe {
            sys::rmwbench_server_new(service, instance, event, queues.queue, queues.block)
        });
        let answering = Answering(origin.0);
        let refused = Arc::new(AtomicU64::new(0));
        let counted = refused.clone();
        let deliver = Box::new(move |request: *const u8, delivery: &Delivery<'_>| {
            handler.handle(delivery, &mut |reply: &[u8]| answering.reply(request, reply, &counted));
        });
        let taken = Taken::new(config.endpoint, config.wait, origin, &session, deliver)?;
        let granted = taken.granted(queues.granted);
        Ok(IceoryxService { taken, name, granted, refused, session })
    }
}

/// The origin as its own deliveries use it; they end before it does.
struct Answering(*mut sys::Origin);

// SAFETY: one thread at a time takes; a client's port separates sending and taking.
unsafe impl Send for Answering {}
// SAFETY: as above.
unsafe impl Sync for Answering {}

impl Answering {
    fn reply(
        &self,
        request: *const u8,
        reply: &[u8],
        refused: &AtomicU64,
    ) -> Result<(), PublishError> {
        let Ok(bytes) = u32::try_from(reply.len()) else { return Err(PublishError::Failed) };
        // SAFETY: origin and request exist; the request is held until the handler returned.
        match unsafe { sys::rmwbench_server_reply(self.0, request, reply.as_ptr(), bytes) } {
            0 => Ok(()),
            1 => {
                refused.fetch_add(1, Ordering::Relaxed);
                Err(PublishError::Full)
            }
            _ => Err(PublishError::Failed),
        }
    }
}

impl Endpoint for IceoryxService {
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
        let mut account = self.taken.account();
        account.counters.insert("loan_refused".into(), self.refused.load(Ordering::Relaxed) as i64);
        account
    }
}
