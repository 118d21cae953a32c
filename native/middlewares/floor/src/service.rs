//! Services over sockets: the connection that carries a client's requests also carries the answers;
//! the operating system offers nothing else for services. A ring has one direction, so `shm_ring`
//! has no services.
//!
//! A client passes a channel to each service as a publisher does, and reads its own end of it; a
//! service answers within the delivery of the request, on the channel that brought it, so no client
//! receives another client's answer.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{
    Account, Delivery, Endpoint, EndpointConfig, Error, Granted, Handler, PublishError, Publisher,
    Sink, TakenAs,
};
use rmwbench_harness::qos::Reliability;
use rustix::io::Errno;

use crate::control::{Peers, PublisherEntry, Reader, SubscriptionEntry};
use crate::datagram::{self, DatagramReader};
use crate::frame::{writable, Outcome};
use crate::link::Channel;
use crate::options::Transport;
use crate::outlet::{Outlet, Stats};
use crate::rendezvous::{Acceptance, Offer, Outgoing, PeerId};
use crate::shared::{evidence, Shared};
use crate::sockets::{SocketOutlet, SocketWriter};
use crate::stream::{self, StreamReader};
use crate::waiter::Waiter;

/// Numbers of clients, for which the receive loop has the numbers of subscriptions; they are above
/// any number that the control thread gives.
static NEXT_CLIENT: AtomicU64 = AtomicU64::new(1 << 63);

/// A service is found as a topic with a name that no topic can have.
fn topic(config: &EndpointConfig) -> String {
    format!("{} (service)", config.topic)
}

/// Both types in one name: both must be equal on both sides.
fn type_name(config: &EndpointConfig, reply: &MessageType) -> String {
    format!(
        "{}, answered by {} of {} bytes",
        config.message_type.name, reply.name, reply.payload_bytes
    )
}

fn check<'a>(open: &Shared, config: &'a EndpointConfig) -> Result<&'a MessageType, Error> {
    open.check(config)?;
    let object = format!("endpoint {}", config.endpoint);
    if open.options.transport == Transport::ShmRing {
        return Err(Error::unsupported(
            object,
            "services over shm_ring: a ring has one direction; use transport unix, tcp or udp",
        ));
    }
    config.reply_type.as_ref().ok_or_else(|| Error::invalid(object, "a service needs a reply_type"))
}

/// A client's outlet: the channels of a publisher, and the readers of their answers.
struct Asking {
    writer: SocketWriter,
    transport: Transport,
    reply_bytes: u32,
    waiter: Arc<Waiter>,
    sink: Arc<dyn Sink>,
    stats: Arc<Stats>,
    number: u64,
}

impl Outgoing for Asking {
    fn offer(&self, peer: PeerId) -> Result<OwnedFd, Errno> {
        self.writer.offer(peer)
    }

    fn accept(
        &self,
        peer: PeerId,
        acceptance: &Acceptance,
        fds: Vec<OwnedFd>,
    ) -> Result<(), Errno> {
        let fd = self
            .writer
            .offered_channel(peer)
            .and_then(|channel| channel.fd.try_clone().ok())
            .ok_or(Errno::PROTO)?;
        let channel = match self.transport {
            Transport::Udp => Channel::Datagram(DatagramReader::new(fd, self.reply_bytes)),
            _ => Channel::Stream(StreamReader::new(fd, self.reply_bytes)),
        };
        let outlet = Outlet { sink: self.sink.clone(), stats: self.stats.clone() };
        // The reader of the answers comes first, then the request.
        self.waiter.add(peer, self.number, outlet, channel, None);
        self.writer.accept(peer, acceptance, fds)
    }

    fn remove(&self, peer: PeerId, accepted: bool) {
        self.writer.remove(peer, accepted);
        self.waiter.close(peer);
    }
}

pub struct FloorClient {
    open: Arc<Shared>,
    id: u64,
    asking: Arc<Asking>,
    outlet: SocketOutlet,
    peers: Arc<Peers>,
    granted: Granted,
}

pub fn client(
    open: &Arc<Shared>,
    config: &EndpointConfig,
    sink: Arc<dyn Sink>,
) -> Result<FloorClient, Error> {
    let reply = check(open, config)?;
    let granted = Granted { take: Some(TakenAs::Typed), ..open.granted(config, None)? };
    let (peers, stats) = (Arc::new(Peers::default()), Arc::new(Stats::default()));
    let asking = Arc::new(Asking {
        writer: SocketWriter::new(&open.options),
        transport: open.options.transport,
        reply_bytes: reply.payload_bytes,
        waiter: open.client_waiter(config.wait)?,
        sink,
        stats,
        number: NEXT_CLIENT.fetch_add(1, Ordering::Relaxed),
    });
    let offer = Offer {
        topic: topic(config),
        type_name: type_name(config, reply),
        payload_bytes: config.message_type.payload_bytes,
        transport: open.options.transport.name().into(),
        reliable: config.qos.reliability == Reliability::Reliable,
        slots: 0,
        max_queue_depth: 0,
        inline_bytes: 0,
    };
    let id = open.control.add_publisher(PublisherEntry {
        offer,
        outgoing: asking.clone(),
        peers: peers.clone(),
    })?;
    Ok(FloorClient {
        open: open.clone(),
        id,
        asking,
        outlet: SocketOutlet::default(),
        peers,
        granted,
    })
}

impl Publisher for FloorClient {
    #[inline]
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self.asking.writer.publish(&mut self.outlet, payload)
    }
}

impl Endpoint for FloorClient {
    fn matched(&self) -> u32 {
        self.peers.matched.load(Ordering::Relaxed)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let writer = &self.asking.writer;
        let counters = BTreeMap::from([
            ("refused_peers".to_string(), i64::from(self.peers.refused.load(Ordering::Relaxed))),
            ("blocked".into(), writer.blocked.load(Ordering::Relaxed) as i64),
            ("skipped".into(), writer.skipped.load(Ordering::Relaxed) as i64),
            ("replies_dropped".into(), self.asking.stats.dropped.load(Ordering::Relaxed) as i64),
        ]);
        let replies = self.asking.stats.received.load(Ordering::Relaxed);
        Account {
            reader_drops: None,
            counters,
            evidence: evidence(&self.open, replies, "replies taken from the channel"),
        }
    }
}

impl Drop for FloorClient {
    fn drop(&mut self) {
        self.open.control.remove_publisher(self.id);
        self.asking.waiter.remove(self.asking.number);
    }
}

/// A service's handler at the end of one client's channel.
pub struct Answering {
    handler: Arc<dyn Handler>,
    transport: Transport,
    reliable: bool,
    timeout_ns: i64,
    fd: OwnedFd,
    next_id: AtomicU64,
    replies: Arc<Replies>,
}

#[derive(Default)]
pub struct Replies {
    blocked: AtomicU64,
    skipped: AtomicU64,
}

impl Sink for Answering {
    #[inline]
    fn deliver(&self, request: &Delivery<'_>) {
        self.handler.handle(request, &mut |payload: &[u8]| self.reply(payload));
    }
}

impl Answering {
    /// Only the receive loop answers, so the parts of a reply are not interleaved.
    fn reply(&self, payload: &[u8]) -> Result<(), PublishError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let deadline = now_ns() + self.timeout_ns;
        loop {
            let outcome = match self.transport {
                Transport::Udp => datagram::send(&self.fd, id, payload),
                _ => stream::send(&self.fd, id, payload, &self.replies.blocked),
            };
            match outcome {
                Outcome::Sent => return Ok(()),
                Outcome::Gone => return Err(PublishError::Failed),
                Outcome::Full if !self.reliable => {
                    self.replies.skipped.fetch_add(1, Ordering::Relaxed);
                    return Err(PublishError::Full);
                }
                Outcome::Full => {
                    self.replies.blocked.fetch_add(1, Ordering::Relaxed);
                    if now_ns() >= deadline {
                        return Err(PublishError::Timeout);
                    }
                    writable(&self.fd, Some(deadline - now_ns()));
                }
            }
        }
    }
}

pub struct FloorService {
    open: Arc<Shared>,
    id: u64,
    peers: Arc<Peers>,
    stats: Arc<Stats>,
    replies: Arc<Replies>,
    granted: Granted,
}

pub fn service(
    open: &Arc<Shared>,
    config: &EndpointConfig,
    handler: Arc<dyn Handler>,
) -> Result<FloorService, Error> {
    let reply = check(open, config)?;
    let granted = Granted { take: Some(TakenAs::Typed), ..open.granted(config, None)? };
    let (peers, stats, replies) =
        (Arc::new(Peers::default()), Arc::new(Stats::default()), Arc::new(Replies::default()));
    let reliable = config.qos.reliability == Reliability::Reliable;
    let (transport, timeout_ns, of_all) =
        (open.options.transport, open.options.publish_timeout_ns, replies.clone());
    let answering = move |fd| -> Arc<dyn Sink> {
        let (handler, replies) = (handler.clone(), of_all.clone());
        Arc::new(Answering {
            handler,
            transport,
            reliable,
            timeout_ns,
            fd,
            next_id: AtomicU64::new(0),
            replies,
        })
    };
    let id = open.control.add_subscription(SubscriptionEntry {
        topic: topic(config),
        type_name: type_name(config, reply),
        payload_bytes: config.message_type.payload_bytes,
        transport,
        reliable,
        queue_depth: 0,
        zero_copy: false,
        waiter: open.waiter(config.wait)?,
        reader: Reader::Service(Box::new(answering)),
        stats: stats.clone(),
        peers: peers.clone(),
    })?;
    Ok(FloorService { open: open.clone(), id, peers, stats, replies, granted })
}

impl Endpoint for FloorService {
    fn matched(&self) -> u32 {
        self.peers.matched.load(Ordering::Relaxed)
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn account(&self) -> Account {
        let counters = BTreeMap::from([
            ("refused_peers".to_string(), i64::from(self.peers.refused.load(Ordering::Relaxed))),
            ("blocked".into(), self.replies.blocked.load(Ordering::Relaxed) as i64),
            ("skipped".into(), self.replies.skipped.load(Ordering::Relaxed) as i64),
            ("requests_dropped".into(), self.stats.dropped.load(Ordering::Relaxed) as i64),
        ]);
        let requests = self.stats.received.load(Ordering::Relaxed);
        Account {
            reader_drops: None,
            counters,
            evidence: evidence(&self.open, requests, "requests taken from the channel"),
        }
    }
}

impl Drop for FloorService {
    fn drop(&mut self) {
        self.open.control.remove_subscription(self.id);
    }
}
