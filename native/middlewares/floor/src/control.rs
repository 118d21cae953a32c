//! The thread that makes and ends connections between publishers and subscriptions; no message
//! passes through it.
//!
//! One epoll over the directory's inotify, the subscriptions' listening sockets and every peer's
//! connection. All of them are non-blocking, because publisher and subscription may be in the same
//! process and would otherwise wait for each other.

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rmwbench_harness::middleware::{Error, Sink};
use rustix::event::{epoll, eventfd, EventfdFlags};
use rustix::fs::inotify;
use rustix::io::Errno;
use rustix::net::{acceptfrom_with, SocketFlags};

use crate::datagram::DatagramReader;
use crate::link::Channel;
use crate::options::Transport;
use crate::outlet::{Outlet, Stats};
use crate::pool::Pool;
use crate::queue::Queue;
use crate::rendezvous::{self, topic_prefix, Acceptance, Answer, Offer, Outgoing, Started};
use crate::ring_reader::RingReader;
use crate::stream::StreamReader;
use crate::waiter::Waiter;

const DIRECTORY: u64 = 0;
const WAKE: u64 = 1;
const FIRST_ID: u64 = 2;

/// Names of socket files are unique in their directory: process, then number in the process (a
/// process may hold several sessions).
static NEXT_FILE: AtomicU64 = AtomicU64::new(0);

/// Counts of the peers of an endpoint.
#[derive(Default)]
pub struct Peers {
    pub matched: AtomicU32,
    /// Peers with the same topic, but another type, transport, or less reliability than was
    /// requested.
    pub refused: AtomicU32,
}

pub struct PublisherEntry {
    pub offer: Offer,
    pub outgoing: Arc<dyn Outgoing>,
    pub peers: Arc<Peers>,
}

pub struct SubscriptionEntry {
    pub topic: String,
    pub type_name: String,
    pub payload_bytes: u32,
    pub transport: Transport,
    pub reliable: bool,
    pub queue_depth: u32,
    pub zero_copy: bool,
    pub waiter: Arc<Waiter>,
    pub reader: Reader,
    pub stats: Arc<Stats>,
    pub peers: Arc<Peers>,
}

/// The destination of a subscription's messages.
pub enum Reader {
    Sink(Arc<dyn Sink>),
    /// Makes a sink for each client, with the channel that brings the client's requests.
    Service(Box<dyn Fn(OwnedFd) -> Arc<dyn Sink> + Send>),
}

pub struct Control {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    directory: PathBuf,
    epoll: OwnedFd,
    inotify: OwnedFd,
    wake: OwnedFd,
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next_id: u64,
    publishers: HashMap<u64, (PublisherEntry, HashSet<String>)>,
    subscriptions: HashMap<u64, Listening>,
    connections: HashMap<u64, Connection>,
}

struct Listening {
    entry: SubscriptionEntry,
    listener: OwnedFd,
    path: PathBuf,
}

struct Connection {
    socket: OwnedFd,
    role: Role,
}

#[derive(Clone, Copy)]
enum Role {
    /// A publisher's connection that waits for the answer.
    Offered {
        publisher: u64,
    },
    Writing {
        publisher: u64,
    },
    /// A subscription's connection that waits for the offer.
    Greeted {
        subscription: u64,
    },
    /// A subscription's connection that waits for the publisher to start.
    Accepted {
        subscription: u64,
    },
    Reading {
        subscription: u64,
    },
}

impl Control {
    pub fn start(domain_id: u32) -> Result<Control, Error> {
        let directory = rendezvous::directory(domain_id);
        std::fs::create_dir_all(&directory)
            .map_err(|e| Error::failed(format!("directory {}", directory.display()), e))?;
        let failed = |what: &'static str| move |e: Errno| Error::failed(what, e);
        let shared = Arc::new(Shared {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed("epoll"))?,
            inotify: inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)
                .map_err(failed("inotify"))?,
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(failed("eventfd"))?,
            directory,
            stop: AtomicBool::new(false),
            state: Mutex::new(State { next_id: FIRST_ID, ..State::default() }),
        });
        inotify::add_watch(&shared.inotify, &shared.directory, inotify::WatchFlags::MOVED_TO)
            .map_err(failed("inotify"))?;
        shared.watch(&shared.inotify, DIRECTORY).map_err(failed("epoll"))?;
        shared.watch(&shared.wake, WAKE).map_err(failed("epoll"))?;
        let thread = {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name("floor-control".into())
                .spawn(move || shared.run())
                .map_err(|e| Error::failed("control thread", e))?
        };
        Ok(Control { shared, thread: Some(thread) })
    }

    /// Begins to look for subscriptions, present and future ones.
    pub fn add_publisher(&self, entry: PublisherEntry) -> Result<u64, Error> {
        let mut state = self.shared.state.lock().unwrap();
        let id = state.fresh_id();
        let prefix = topic_prefix(&entry.offer.topic);
        state.publishers.insert(id, (entry, HashSet::new()));
        let directory = &self.shared.directory;
        let files = std::fs::read_dir(directory)
            .map_err(|e| Error::failed(format!("directory {}", directory.display()), e))?;
        for file in files.flatten() {
            if let Some(name) = file.file_name().to_str().filter(|n| n.starts_with(&prefix)) {
                state.connect(&self.shared, id, name);
            }
        }
        Ok(id)
    }

    pub fn remove_publisher(&self, id: u64) {
        let mut state = self.shared.state.lock().unwrap();
        state.publishers.remove(&id);
        state.connections.retain(|_, c| !matches!(c.role, Role::Offered { publisher } | Role::Writing { publisher } if publisher == id));
    }

    /// Begins to listen for publishers.
    pub fn add_subscription(&self, entry: SubscriptionEntry) -> Result<u64, Error> {
        let number = NEXT_FILE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{}.{number}", topic_prefix(&entry.topic), std::process::id());
        let path = self.shared.directory.join(&name);
        let mut state = self.shared.state.lock().unwrap();
        let id = state.fresh_id();
        let failed = |e: Errno| Error::failed(format!("socket {}", path.display()), e);
        let listener = rendezvous::listen_at(&self.shared.directory, &name).map_err(failed)?;
        self.shared.watch(&listener, id).map_err(failed)?;
        state.subscriptions.insert(id, Listening { entry, listener, path });
        Ok(id)
    }

    /// After this returns, the subscription's sink is not called again.
    pub fn remove_subscription(&self, id: u64) {
        let listening = self.shared.state.lock().unwrap().subscriptions.remove(&id);
        let Some(listening) = listening else { return };
        let _ = std::fs::remove_file(&listening.path);
        listening.entry.waiter.remove(id);
        // Only now may publishers take back the slots that this reader held.
        let mut state = self.shared.state.lock().unwrap();
        state.connections.retain(|_, c| !matches!(c.role, Role::Greeted { subscription } | Role::Accepted { subscription } | Role::Reading { subscription } if subscription == id));
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let _ = rustix::io::write(&self.shared.wake, &1_u64.to_ne_bytes());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn watch(&self, fd: impl AsFd, id: u64) -> Result<(), Errno> {
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(id), epoll::EventFlags::IN)
    }

    fn run(&self) {
        let mut events = [MaybeUninit::uninit(); 64];
        while !self.stop.load(Ordering::SeqCst) {
            let Ok((ready, _)) = epoll::wait(&self.epoll, &mut events, None) else { continue };
            let mut state = self.state.lock().unwrap();
            for event in ready {
                match event.data.u64() {
                    DIRECTORY => self.new_files(&mut state),
                    WAKE => {}
                    id if state.connections.contains_key(&id) => state.advance(id),
                    id => state.greet(self, id),
                }
            }
        }
    }

    fn new_files(&self, state: &mut State) {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.inotify, &mut space);
        while let Ok(event) = reader.next() {
            let Some(name) = event.file_name().and_then(|n| n.to_str().ok()) else { continue };
            let interested: Vec<u64> = state
                .publishers
                .iter()
                .filter(|(_, (entry, _))| name.starts_with(&topic_prefix(&entry.offer.topic)))
                .map(|(id, _)| *id)
                .collect();
            for publisher in interested {
                state.connect(self, publisher, name);
            }
        }
    }
}

impl State {
    fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Offers a channel to the subscription that listens at `name`.
    fn connect(&mut self, shared: &Shared, publisher: u64, name: &str) {
        let id = self.fresh_id();
        let Some((entry, known)) = self.publishers.get_mut(&publisher) else { return };
        if !known.insert(name.to_string()) {
            return;
        }
        let path = shared.directory.join(name);
        let socket = match rendezvous::connect_to(&path) {
            Ok(socket) => socket,
            Err(e) => return forget_dead(&path, e),
        };
        let offered = entry.outgoing.offer(id).and_then(|fd| {
            rendezvous::send(&socket, &entry.offer, &[fd.as_fd()])?;
            shared.watch(&socket, id)
        });
        match offered {
            Ok(()) => drop(
                self.connections
                    .insert(id, Connection { socket, role: Role::Offered { publisher } }),
            ),
            Err(_) => entry.outgoing.remove(id, false),
        }
    }

    /// A publisher connected to subscription `id`.
    fn greet(&mut self, shared: &Shared, id: u64) {
        let Some(listening) = self.subscriptions.get(&id) else { return };
        let Ok((socket, _)) =
            acceptfrom_with(&listening.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        else {
            return;
        };
        let connection = self.fresh_id();
        if shared.watch(&socket, connection).is_ok() {
            self.connections.insert(
                connection,
                Connection { socket, role: Role::Greeted { subscription: id } },
            );
        }
    }

    /// Handles a connection on which a message arrived, or which ended.
    fn advance(&mut self, id: u64) {
        let Some(Connection { socket, role }) = self.connections.get_mut(&id) else { return };
        let next = match *role {
            Role::Offered { publisher } => {
                let answer = rendezvous::receive::<Answer>(&socket);
                if let Err(Errno::AGAIN) = answer {
                    return;
                }
                self.publishers
                    .get(&publisher)
                    .filter(|(entry, _)| entry.take_answer(id, answer, socket))
                    .map(|_| Role::Writing { publisher })
            }
            Role::Greeted { subscription } => {
                match (rendezvous::receive::<Offer>(&socket), self.subscriptions.get(&subscription))
                {
                    (Err(Errno::AGAIN), _) => return,
                    (Ok(Some((offer, fds))), Some(listening)) => {
                        match listening.entry.take_up(id, subscription, &offer, fds, socket) {
                            Ok(()) => Some(Role::Accepted { subscription }),
                            Err(reason) => {
                                listening.entry.peers.refused.fetch_add(1, Ordering::Relaxed);
                                let _ = rendezvous::send(socket, &Answer::Refused(reason), &[]);
                                None
                            }
                        }
                    }
                    _ => None,
                }
            }
            Role::Accepted { subscription } => match (
                rendezvous::receive::<Started>(&socket),
                self.subscriptions.get(&subscription),
            ) {
                (Err(Errno::AGAIN), _) => return,
                (Ok(Some(_)), Some(listening)) => {
                    listening.entry.peers.matched.fetch_add(1, Ordering::Relaxed);
                    Some(Role::Reading { subscription })
                }
                (_, Some(listening)) => {
                    listening.entry.waiter.close(id);
                    None
                }
                (_, None) => None,
            },
            // No further message follows: the event is the end of file.
            Role::Writing { publisher } => {
                if let Some((entry, _)) = self.publishers.get(&publisher) {
                    entry.outgoing.remove(id, true);
                    entry.peers.matched.fetch_sub(1, Ordering::Relaxed);
                }
                None
            }
            Role::Reading { subscription } => {
                if let Some(listening) = self.subscriptions.get(&subscription) {
                    listening.entry.waiter.close(id);
                    listening.entry.peers.matched.fetch_sub(1, Ordering::Relaxed);
                }
                None
            }
        };
        match next {
            Some(next) => *role = next,
            None => drop(self.connections.remove(&id)),
        }
    }
}

impl PublisherEntry {
    /// Whether the subscription accepted; if so, it gets every message from now on.
    fn take_answer(
        &self,
        id: u64,
        answer: Result<Option<(Answer, Vec<OwnedFd>)>, Errno>,
        socket: &OwnedFd,
    ) -> bool {
        if let Ok(Some((Answer::Accepted(acceptance), fds))) = answer {
            if self.outgoing.accept(id, &acceptance, fds).is_ok() {
                // A reader that is already gone is noticed at the end of file.
                let _ = rendezvous::send(socket, &Started {}, &[]);
                self.peers.matched.fetch_add(1, Ordering::Relaxed);
                return true;
            }
        } else if let Ok(Some((Answer::Refused(_), _))) = answer {
            self.peers.refused.fetch_add(1, Ordering::Relaxed);
        }
        self.outgoing.remove(id, false);
        false
    }
}

impl SubscriptionEntry {
    /// Checks an offer, passes its channel to the receive loop, and accepts: from then on messages
    /// may come.
    fn take_up(
        &self,
        id: u64,
        subscription: u64,
        offer: &Offer,
        fds: Vec<OwnedFd>,
        socket: &OwnedFd,
    ) -> Result<(), String> {
        let differ = |what: &str, theirs: &str, ours: &str| {
            Err(format!("{what}: publisher {theirs}, subscription {ours}"))
        };
        if offer.topic != self.topic {
            return differ("topic", &offer.topic, &self.topic);
        }
        if offer.type_name != self.type_name || offer.payload_bytes != self.payload_bytes {
            let full = |name: &str, bytes: u32| format!("{name} of {bytes} bytes");
            return differ(
                "type",
                &full(&offer.type_name, offer.payload_bytes),
                &full(&self.type_name, self.payload_bytes),
            );
        }
        if offer.transport != self.transport.name() {
            return differ("transport", &offer.transport, self.transport.name());
        }
        if self.reliable && !offer.reliable {
            return differ("reliability", "best_effort", "reliable");
        }
        let bound = offer.max_queue_depth;
        let few = bound > 0 && bound < self.queue_depth;
        // A reliable publisher waits for a slot and loses no message; a best-effort one would lose
        // it.
        if few && !self.reliable {
            return differ(
                "depth",
                &format!("has slots for {bound} messages"),
                &self.queue_depth.to_string(),
            );
        }
        let fd = fds.into_iter().next().ok_or("no channel came with the offer")?;
        let text = |e: Errno| e.to_string();
        let sink: Arc<dyn Sink> = match &self.reader {
            Reader::Sink(sink) => sink.clone(),
            Reader::Service(answering) => answering(fd.try_clone().map_err(|e| e.to_string())?),
        };
        let mut acceptance = Acceptance { reliable: self.reliable, queue_depth: 0 };
        let mut queue_fd = None;
        let channel = match self.transport {
            Transport::ShmRing => {
                let pool = Pool::open(&fd, offer.slots, offer.payload_bytes).map_err(text)?;
                acceptance.queue_depth = if few { bound } else { self.queue_depth };
                let (queue, fd) =
                    Queue::create(acceptance.queue_depth, offer.inline_bytes).map_err(text)?;
                queue_fd = Some(fd);
                Channel::Ring(RingReader::new(
                    pool,
                    queue,
                    self.reliable,
                    offer.inline_bytes,
                    self.zero_copy,
                ))
            }
            Transport::Udp => Channel::Datagram(DatagramReader::new(fd, offer.payload_bytes)),
            Transport::Tcp | Transport::Unix => {
                Channel::Stream(StreamReader::new(fd, offer.payload_bytes))
            }
        };
        let outlet = Outlet { sink, stats: self.stats.clone() };
        let depth = queue_fd.as_ref().map(|_| acceptance.queue_depth);
        self.waiter.add(id, subscription, outlet, channel, depth);
        let wake_fd = self.waiter.wake_fd.as_ref().filter(|_| queue_fd.is_some());
        let fds: Vec<_> = queue_fd.iter().chain(wake_fd).map(|fd| fd.as_fd()).collect();
        // A publisher that is already gone is noticed at the next end of file.
        let _ = rendezvous::send(socket, &Answer::Accepted(acceptance), &fds);
        Ok(())
    }
}

/// Removes the socket file of a killed process, at which nobody listens.
fn forget_dead(path: &Path, error: Errno) {
    if error == Errno::CONNREFUSED {
        let _ = std::fs::remove_file(path);
    }
}
