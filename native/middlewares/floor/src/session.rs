//! Sessions, nodes and endpoints: the traits over the control thread, the waiting threads and the outlets.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Evidence, Granted, Handler, Node, PublishError, PublishMode, Publisher, Session, Sink,
    Subscription, TakenAs, Wait, WhenFull,
};
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

use crate::bell::Bell;
use crate::control::{Control, Peers, PublisherEntry, Reader, SubscriptionEntry};
use crate::options::{Options, Transport};
use crate::rendezvous::{Offer, Outgoing};
use crate::ring_writer::{Ring, RingWriter};
use crate::service;
use crate::sockets::{granted_buffers, SocketOutlet, SocketWriter};
use crate::waiter::{Doorbell, Stats, Waiter};

/// Stricter than the turns of others: a relay in the thread feeds links of the same thread, which must be emptied in step.
const ONE_AT_A_TIME: &str = "one thread takes for all readers of the process, one message of each in its turn";

pub struct FloorSession(Arc<Open>);

/// What all endpoints of a session share.
pub struct Open {
    pub options: Options,
    // The control thread hands links to the waiting threads: it ends first.
    pub control: Control,
    blocking: Mutex<Option<Arc<Waiter>>>,
    spinning: Mutex<Option<Arc<Waiter>>>,
    clients: Mutex<Option<Arc<Waiter>>>,
}

struct FloorNode(Arc<Open>);

impl FloorSession {
    pub fn open(domain_id: u32, options: Options) -> Result<FloorSession, Error> {
        // Each pair of publisher and subscription costs a descriptor or two on both sides.
        let limit = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        let control = Control::start(domain_id)?;
        Ok(FloorSession(Arc::new(Open {
            options,
            control,
            blocking: Mutex::default(),
            spinning: Mutex::default(),
            clients: Mutex::default(),
        })))
    }
}

impl Session for FloorSession {
    fn node(&mut self, _name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(FloorNode(self.0.clone()))) // nothing on the wire has a name
    }
}

impl Open {
    /// The session's waiting thread of that kind, started by its first subscription.
    pub fn waiter(&self, wait: Wait) -> Result<Arc<Waiter>, Error> {
        self.waiter_at(if wait == Wait::Poll { &self.spinning } else { &self.blocking }, wait)
    }

    /// The thread that waits for the answers to this session's clients, apart from that of its services: a service that waits until
    /// its answer fits into the channel must not keep the client from reading it.
    pub fn client_waiter(&self, wait: Wait) -> Result<Arc<Waiter>, Error> {
        self.waiter_at(&self.clients, wait)
    }

    fn waiter_at(&self, place: &Mutex<Option<Arc<Waiter>>>, wait: Wait) -> Result<Arc<Waiter>, Error> {
        let mut place = place.lock().unwrap();
        if let Some(waiter) = &*place {
            return Ok(waiter.clone());
        }
        let waiter = Arc::new(match (wait, self.options.transport) {
            (Wait::Poll, _) => Waiter::start(Doorbell::Spin, None)?,
            (_, Transport::ShmRing) => {
                let (bell, fd) = Bell::create().map_err(|e| Error::failed("futex segment", e))?;
                Waiter::start(Doorbell::Futex(bell), Some(fd))?
            }
            _ => Waiter::start(Doorbell::epoll()?, None)?,
        });
        *place = Some(waiter.clone());
        Ok(waiter)
    }

    /// Refuses what no raw channel can do.
    pub fn check(&self, config: &EndpointConfig) -> Result<(), Error> {
        let unsupported = |message: String| Err(Error::unsupported(format!("endpoint {}", config.endpoint), message));
        let transport = self.options.transport;
        if transport == Transport::Udp && config.qos.reliability == Reliability::Reliable {
            return unsupported(
                "reliable over udp: datagrams are not sent again; use best_effort, or transport tcp, unix or shm_ring".into(),
            );
        }
        if config.qos.durability != Durability::Volatile {
            return unsupported("transient_local: a raw channel keeps nothing for late joiners".into());
        }
        if config.qos.content_filter.is_some() || config.qos.instance_key.is_some() {
            return unsupported("content_filter, instance_key: a raw channel knows no content".into());
        }
        if config.publish_mode == PublishMode::Async {
            return unsupported("publish_mode async: a raw channel has no queue behind the publish call".into());
        }
        if config.loan && transport != Transport::ShmRing {
            return unsupported(format!("loan over {}: a socket copies; use transport shm_ring", transport.name()));
        }
        if config.wait == Wait::Callback {
            return unsupported("wait callback: a raw channel has no threads of its own".into());
        }
        if let (Reliability::BestEffort, History::KeepLast, Some(slots)) = (config.qos.reliability, config.qos.history, self.options.slots)
        {
            if slots < config.qos.depth {
                let message = format!("expected at least the depth of endpoint {}, {}, found {slots}", config.endpoint, config.qos.depth);
                return Err(Error::invalid("option slots", message));
            }
        }
        if config.qos.depth == 0 && config.qos.history == History::KeepLast {
            return Err(Error::invalid(format!("endpoint {}", config.endpoint), "depth: expected at least 1, found 0"));
        }
        Ok(())
    }

    /// The QoS in force and what to know of it.
    pub fn granted(&self, config: &EndpointConfig, slots: Option<u32>) -> Result<Granted, Error> {
        let mut qos: Qos = config.qos.clone();
        let mut notes = Vec::new();
        if self.options.transport == Transport::ShmRing {
            let held = self.options.queue_depth(&qos, config.message_type.payload_bytes);
            notes.push(match qos.reliability {
                Reliability::Reliable => format!(
                    "a publish call blocks while a reader's queue of {held} messages is full, at most {} ms",
                    self.options.publish_timeout_ns / 1_000_000
                ),
                Reliability::BestEffort => format!("a full queue of {held} messages forgets its oldest"),
            });
            // With fewer slots than its depth a reliable channel blocks sooner and still loses nothing.
            if qos.history == History::KeepAll {
                qos.depth = held;
            }
            match self.options.inline_bytes(config.message_type.payload_bytes) > 0 {
                true => notes.push("messages of this size travel in the readers' queues, copied in and out".into()),
                false => notes.extend(slots.map(|slots| format!("pool of {slots} slots"))),
            }
        } else {
            let (send, receive) = granted_buffers(&self.options).map_err(|e| Error::failed("socket buffers", e))?;
            notes.push(format!(
                "no history but the kernel's socket buffers: {send} bytes to send and {receive} to receive granted{}; depth and keep_all have no effect",
                self.options.buffer_bytes().map_or(String::new(), |asked| format!(" for {asked} asked"))
            ));
        }
        let when_full = Some(match (self.options.transport, qos.reliability) {
            (Transport::Udp, _) => WhenFull::DropsAtReader,
            (_, Reliability::Reliable) => WhenFull::Blocks,
            (Transport::ShmRing, Reliability::BestEffort) => WhenFull::DropsAtReader,
            (_, Reliability::BestEffort) => WhenFull::DropsAtWriter,
        });
        Ok(Granted { qos, publish_mode: PublishMode::Sync, wait: config.wait, take: None, when_full, notes })
    }
}

impl Node for FloorNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        let open = &self.0;
        open.check(config)?;
        let payload_bytes = config.message_type.payload_bytes;
        let slots = open.options.pool_slots(&config.qos, payload_bytes);
        let inline_bytes = open.options.inline_bytes(payload_bytes);
        let (outlet, outgoing, pool_slots): (Outlet, Arc<dyn Outgoing>, u32) = match open.options.transport {
            Transport::ShmRing => {
                let ring = Ring::new(slots, payload_bytes, inline_bytes)?;
                (Outlet::Ring(RingWriter::new(ring.clone(), open.options.publish_timeout_ns)), ring.clone(), ring.slots())
            }
            _ => {
                let writer = Arc::new(SocketWriter::new(&open.options));
                (Outlet::Sockets(writer.clone(), SocketOutlet::default()), writer, 0)
            }
        };
        let granted = open.granted(config, Some(slots))?;
        let peers = Arc::new(Peers::default());
        let offer = Offer {
            topic: config.topic.clone(),
            type_name: config.message_type.name.clone(),
            payload_bytes,
            transport: open.options.transport.name().into(),
            reliable: config.qos.reliability == Reliability::Reliable,
            slots: pool_slots,
            max_queue_depth: slots,
            inline_bytes,
        };
        let id = open.control.add_publisher(PublisherEntry { offer, outgoing, peers: peers.clone() })?;
        Ok(Box::new(FloorPublisher { open: open.clone(), id, outlet, peers, granted, published: 0 }))
    }

    fn subscription(&mut self, config: &EndpointConfig, sink: Arc<dyn Sink>) -> Result<Box<dyn Subscription>, Error> {
        let open = &self.0;
        open.check(config)?;
        let lends = open.options.transport == Transport::ShmRing
            && open.options.zero_copy
            && open.options.inline_bytes(config.message_type.payload_bytes) == 0;
        let take = Some(if lends { TakenAs::Lent } else { TakenAs::Typed });
        let mut granted = Granted { take, ..open.granted(config, None)? };
        granted.notes.push(ONE_AT_A_TIME.into());
        let (peers, stats) = (Arc::new(Peers::default()), Arc::new(Stats::default()));
        let id = open.control.add_subscription(SubscriptionEntry {
            topic: config.topic.clone(),
            type_name: config.message_type.name.clone(),
            payload_bytes: config.message_type.payload_bytes,
            transport: open.options.transport,
            reliable: config.qos.reliability == Reliability::Reliable,
            queue_depth: open.options.queue_depth(&config.qos, config.message_type.payload_bytes),
            zero_copy: open.options.zero_copy,
            waiter: open.waiter(config.wait)?,
            reader: Reader::Sink(sink),
            stats: stats.clone(),
            peers: peers.clone(),
        })?;
        Ok(Box::new(FloorSubscription { open: open.clone(), id, peers, stats, granted }))
    }

    fn client(&mut self, config: &EndpointConfig, sink: Arc<dyn Sink>) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(service::client(&self.0, config, sink)?))
    }

    fn service(&mut self, config: &EndpointConfig, handler: Arc<dyn Handler>) -> Result<Box<dyn Endpoint>, Error> {
        Ok(Box::new(service::service(&self.0, config, handler)?))
    }
}

enum Outlet {
    Ring(RingWriter),
    Sockets(Arc<SocketWriter>, SocketOutlet),
}

struct FloorPublisher {
    open: Arc<Open>,
    id: u64,
    outlet: Outlet,
    peers: Arc<Peers>,
    granted: Granted,
    published: u64,
}

impl Publisher for FloorPublisher {
    #[inline]
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        match &mut self.outlet {
            Outlet::Ring(ring) => ring.publish(payload)?,
            Outlet::Sockets(writer, outlet) => writer.publish(outlet, payload)?,
        }
        self.published += 1;
        Ok(())
    }

    #[inline]
    fn publish_loaned(&mut self, bytes: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<(), PublishError> {
        let Outlet::Ring(ring) = &mut self.outlet else { return Err(PublishError::Unsupported) };
        ring.publish_loaned(bytes, fill)?;
        self.published += 1;
        Ok(())
    }
}

impl Endpoint for FloorPublisher {
    fn matched(&self) -> u32 {
        self.peers.matched.load(Ordering::Relaxed)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let mut counters = BTreeMap::from([("refused_peers".to_string(), i64::from(self.peers.refused.load(Ordering::Relaxed)))]);
        match &self.outlet {
            Outlet::Ring(ring) => drop(counters.insert("blocked".into(), ring.blocked() as i64)),
            Outlet::Sockets(writer, _) => {
                counters.insert("blocked".into(), writer.blocked.load(Ordering::Relaxed) as i64);
                counters.insert("skipped".into(), writer.skipped.load(Ordering::Relaxed) as i64);
            }
        }
        Account { reader_drops: None, counters, evidence: evidence(&self.open, self.published, "handed to the channel") }
    }
}

impl Drop for FloorPublisher {
    fn drop(&mut self) {
        self.open.control.remove_publisher(self.id);
    }
}

struct FloorSubscription {
    open: Arc<Open>,
    id: u64,
    peers: Arc<Peers>,
    stats: Arc<Stats>,
    granted: Granted,
}

impl Subscription for FloorSubscription {}

impl Endpoint for FloorSubscription {
    fn matched(&self) -> u32 {
        self.peers.matched.load(Ordering::Relaxed)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    /// What a UDP socket dropped is not the doing of a queue of the reader's; the kernel counts it for everybody to see.
    fn account(&self) -> Account {
        let dropped = self.stats.dropped.load(Ordering::Relaxed);
        let is_socket = self.open.options.transport == Transport::Udp;
        let mut counters = BTreeMap::from([("refused_peers".to_string(), i64::from(self.peers.refused.load(Ordering::Relaxed)))]);
        if is_socket {
            counters.insert("datagrams_dropped".into(), dropped as i64);
        }
        Account {
            reader_drops: (!is_socket).then_some(dropped),
            counters,
            evidence: evidence(&self.open, self.stats.received.load(Ordering::Relaxed), "taken from the channel"),
        }
    }
}

impl Drop for FloorSubscription {
    fn drop(&mut self) {
        self.open.control.remove_subscription(self.id);
    }
}

/// There is one channel and no fallback: the transport that was asked is the one that carried them.
pub fn evidence(open: &Open, messages: u64, note: &str) -> Vec<Evidence> {
    vec![Evidence { path: open.options.transport.path().into(), messages, note: note.into() }]
}
