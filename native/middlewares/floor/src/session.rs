//! Sessions, nodes and endpoints: the traits over the control thread, the receive loops and the
//! outlets.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use rmwbench_harness::middleware::{
    Account, Endpoint, EndpointConfig, Error, Granted, Handler, Node, PublishError, Publisher,
    Session, Sink, Subscription, TakenAs,
};
use rmwbench_harness::pump;
use rmwbench_harness::qos::Reliability;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

use crate::control::{Control, Peers, PublisherEntry, Reader, SubscriptionEntry};
use crate::options::{Options, Transport};
use crate::outlet::Stats;
use crate::rendezvous::{Offer, Outgoing};
use crate::ring_writer::{Ring, RingWriter};
use crate::service;
use crate::shared::{evidence, Shared};
use crate::sockets::{SocketOutlet, SocketWriter};

pub struct FloorSession(Arc<Shared>);

struct FloorNode(Arc<Shared>);

impl FloorSession {
    pub fn open(domain_id: u32, options: Options) -> Result<FloorSession, Error> {
        // Each pair of publisher and subscription costs a descriptor or two on both sides.
        let limit = getrlimit(Resource::Nofile);
        let _ =
            setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        Ok(FloorSession(Arc::new(Shared::new(Control::start(domain_id)?, options))))
    }
}

impl Session for FloorSession {
    fn node(&mut self, _name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(FloorNode(self.0.clone()))) // the floor sends no names
    }
}

impl Node for FloorNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        let open = &self.0;
        open.check(config)?;
        let payload_bytes = config.message_type.payload_bytes;
        let slots = open.options.pool_slots(&config.qos, payload_bytes);
        let inline_bytes = open.options.inline_bytes(payload_bytes);
        let (outlet, outgoing, pool_slots): (Outlet, Arc<dyn Outgoing>, u32) = match open
            .options
            .transport
        {
            Transport::ShmRing => {
                let ring = Ring::new(slots, payload_bytes, inline_bytes)?;
                (
                    Outlet::Ring(RingWriter::new(ring.clone(), open.options.publish_timeout_ns)),
                    ring.clone(),
                    ring.slots(),
                )
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
            max_queue_depth: if inline_bytes > 0 { 0 } else { slots },
            inline_bytes,
        };
        let id =
            open.control.add_publisher(PublisherEntry { offer, outgoing, peers: peers.clone() })?;
        Ok(Box::new(FloorPublisher {
            open: open.clone(),
            id,
            outlet,
            peers,
            granted,
            published: 0,
        }))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        let open = &self.0;
        open.check(config)?;
        let lends = open.options.transport == Transport::ShmRing
            && open.options.zero_copy
            && open.options.inline_bytes(config.message_type.payload_bytes) == 0;
        let take = Some(if lends { TakenAs::Lent } else { TakenAs::Typed });
        let mut granted = Granted { take, ..open.granted(config, None)? };
        granted.notes.push(pump::NOTE.into());
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

    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(service::client(&self.0, config, sink)?))
    }

    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        Ok(Box::new(service::service(&self.0, config, handler)?))
    }
}

enum Outlet {
    Ring(RingWriter),
    Sockets(Arc<SocketWriter>, SocketOutlet),
}

struct FloorPublisher {
    open: Arc<Shared>,
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
    fn publish_loaned(
        &mut self,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
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
        let mut counters = BTreeMap::from([(
            "refused_peers".to_string(),
            i64::from(self.peers.refused.load(Ordering::Relaxed)),
        )]);
        match &self.outlet {
            Outlet::Ring(ring) => drop(counters.insert("blocked".into(), ring.blocked() as i64)),
            Outlet::Sockets(writer, _) => {
                counters.insert("blocked".into(), writer.blocked.load(Ordering::Relaxed) as i64);
                counters.insert("skipped".into(), writer.skipped.load(Ordering::Relaxed) as i64);
            }
        }
        Account {
            reader_drops: None,
            counters,
            evidence: evidence(&self.open, self.published, "handed to the channel"),
        }
    }
}

impl Drop for FloorPublisher {
    fn drop(&mut self) {
        self.open.control.remove_publisher(self.id);
    }
}

struct FloorSubscription {
    open: Arc<Shared>,
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

    /// Drops at a UDP socket are not drops of the reader's own queue; the kernel counts them for
    /// every process to see.
    fn account(&self) -> Account {
        let dropped = self.stats.dropped.load(Ordering::Relaxed);
        let is_socket = self.open.options.transport == Transport::Udp;
        let mut counters = BTreeMap::from([(
            "refused_peers".to_string(),
            i64::from(self.peers.refused.load(Ordering::Relaxed)),
        )]);
        if is_socket {
            counters.insert("datagrams_dropped".into(), dropped as i64);
        }
        Account {
            reader_drops: (!is_socket).then_some(dropped),
            counters,
            evidence: evidence(
                &self.open,
                self.stats.received.load(Ordering::Relaxed),
                "taken from the channel",
            ),
        }
    }
}

impl Drop for FloorSubscription {
    fn drop(&mut self) {
        self.open.control.remove_subscription(self.id);
    }
}
