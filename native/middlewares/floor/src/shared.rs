//! The common part of a session's endpoints: options, the control thread, the receive loops; and
//! the settings that each endpoint is granted.

use std::sync::{Arc, Mutex};

use rmwbench_harness::middleware::{
    EndpointConfig, Error, Evidence, Granted, PublishMode, Wait, WhenFull,
};
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};

use crate::control::Control;
use crate::options::{Options, Transport};
use crate::sockets::granted_buffers;
use crate::waiter::Waiter;

/// The data that all endpoints of a session share.
pub struct Shared {
    pub options: Options,
    // The control thread passes links to the receive loops, so it ends first.
    pub control: Control,
    readers: Loops,
    clients: Loops,
}

/// The receive loops by their kind of waiting; the first endpoint with a kind starts its loop.
#[derive(Default)]
struct Loops {
    blocking: Mutex<Option<Arc<Waiter>>>,
    spinning: Mutex<Option<Arc<Waiter>>>,
}

impl Shared {
    pub fn new(control: Control, options: Options) -> Shared {
        Shared { options, control, readers: Loops::default(), clients: Loops::default() }
    }

    /// The session's receive loop of that kind for subscriptions and services.
    pub fn waiter(&self, wait: Wait) -> Result<Arc<Waiter>, Error> {
        self.waiter_of(&self.readers, wait)
    }

    /// The loop for the answers to this session's clients, apart from that of its services: a
    /// service that waits until its answer fits into the channel must not keep the client from
    /// reading it.
    pub fn client_waiter(&self, wait: Wait) -> Result<Arc<Waiter>, Error> {
        self.waiter_of(&self.clients, wait)
    }

    fn waiter_of(&self, loops: &Loops, wait: Wait) -> Result<Arc<Waiter>, Error> {
        let place = if wait == Wait::Poll { &loops.spinning } else { &loops.blocking };
        let mut place = place.lock().unwrap();
        if let Some(waiter) = &*place {
            return Ok(waiter.clone());
        }
        let waiter = match (wait, self.options.transport) {
            (Wait::Poll, _) => Waiter::spinning()?,
            (_, Transport::ShmRing) => Waiter::of_rings()?,
            _ => Waiter::of_sockets()?,
        };
        Ok(place.insert(Arc::new(waiter)).clone())
    }

    /// Refuses requests that no raw channel can fulfil.
    pub fn check(&self, config: &EndpointConfig) -> Result<(), Error> {
        let unsupported = |message: String| {
            Err(Error::unsupported(format!("endpoint {}", config.endpoint), message))
        };
        let transport = self.options.transport;
        if transport == Transport::Udp && config.qos.reliability == Reliability::Reliable {
            return unsupported(
                "reliable over udp: datagrams are not sent again; use best_effort, or transport tcp, unix or shm_ring".into(),
            );
        }
        if config.qos.durability != Durability::Volatile {
            return unsupported(
                "transient_local: a raw channel keeps nothing for late joiners".into(),
            );
        }
        if config.qos.content_filter.is_some() || config.qos.instance_key.is_some() {
            return unsupported(
                "content_filter, instance_key: a raw channel does not know contents".into(),
            );
        }
        if config.publish_mode == PublishMode::Async {
            return unsupported(
                "publish_mode async: a raw channel has no queue behind the publish call".into(),
            );
        }
        if config.loan && transport != Transport::ShmRing {
            return unsupported(format!(
                "loan over {}: a socket copies; use transport shm_ring",
                transport.name()
            ));
        }
        if config.wait == Wait::Callback {
            return unsupported("wait callback: a raw channel has no threads of its own".into());
        }
        if let (Reliability::BestEffort, History::KeepLast, Some(slots)) =
            (config.qos.reliability, config.qos.history, self.options.slots)
        {
            if slots < config.qos.depth {
                let message = format!(
                    "expected at least the depth of endpoint {}, {}, found {slots}",
                    config.endpoint, config.qos.depth
                );
                return Err(Error::invalid("option slots", message));
            }
        }
        if config.qos.depth == 0 && config.qos.history == History::KeepLast {
            return Err(Error::invalid(
                format!("endpoint {}", config.endpoint),
                "depth: expected at least 1, found 0",
            ));
        }
        Ok(())
    }

    /// The QoS in force and the notes about it.
    pub fn granted(&self, config: &EndpointConfig, slots: Option<u32>) -> Result<Granted, Error> {
        let mut qos: Qos = config.qos.clone();
        let mut notes = Vec::new();
        if self.options.transport == Transport::ShmRing {
            let depth = self.options.queue_depth(&qos, config.message_type.payload_bytes);
            notes.push(match qos.reliability {
                Reliability::Reliable => format!(
                    "a publish call blocks while a reader's queue of {depth} messages is full, at most {} ms",
                    self.options.publish_timeout_ns / 1_000_000
                ),
                Reliability::BestEffort => format!("a full queue of {depth} messages forgets its oldest"),
            });
            // With fewer slots than its depth, a reliable channel blocks sooner and still loses no
            // message.
            if qos.history == History::KeepAll {
                qos.depth = depth;
            }
            match self.options.inline_bytes(config.message_type.payload_bytes) > 0 {
                true => notes.push(
                    "messages of this size travel in the readers' queues, copied in and out".into(),
                ),
                false => notes.extend(slots.map(|slots| format!("pool of {slots} slots"))),
            }
        } else {
            let (send, receive) =
                granted_buffers(&self.options).map_err(|e| Error::failed("socket buffers", e))?;
            notes.push(format!(
                "no history but the kernel's socket buffers: {send} bytes to send and {receive} to receive granted{}; depth and keep_all have no effect",
                self.options.buffer_bytes().map_or(String::new(), |bytes| format!(" for {bytes} asked"))
            ));
        }
        let when_full = Some(match (self.options.transport, qos.reliability) {
            (Transport::Udp, _) => WhenFull::DropsAtReader,
            (_, Reliability::Reliable) => WhenFull::Blocks,
            (Transport::ShmRing, Reliability::BestEffort) => WhenFull::DropsAtReader,
            (_, Reliability::BestEffort) => WhenFull::DropsAtWriter,
        });
        Ok(Granted {
            qos,
            publish_mode: PublishMode::Sync,
            wait: config.wait,
            take: None,
            when_full,
            notes,
        })
    }
}

/// There is one channel and no fallback: the requested transport carried the messages.
pub fn evidence(shared: &Shared, messages: u64, note: &str) -> Vec<Evidence> {
    vec![Evidence { path: shared.options.transport.path().into(), messages, note: note.into() }]
}
