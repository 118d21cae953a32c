//! The thread that waits for all subscriptions of a session, one for each way of waiting.
//!
//! It alone touches the readers' ends, so taking a message needs no lock. Others change its list by posting; the thread applies
//! what was posted between two messages, and whoever ends a subscription waits for that: afterwards its sink is called no more.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{JoinHandle, ThreadId};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::{Delivery, Error, Sink};
use rustix::event::{epoll, eventfd, EventfdFlags};
use rustix::time::Timespec;

use crate::bell::Bell;
use crate::datagram::DatagramReader;
use crate::eventcount;
use crate::ring_reader::RingReader;
use crate::stream::StreamReader;

/// The epoll token of posted changes; links have others.
const POSTED: u64 = 0;

/// Looks of a spinning thread between two glances at posted changes.
const SPINS: u32 = 64;
const NO_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// A subscription's counters, written by the waiting thread.
#[derive(Default)]
pub struct Stats {
    pub received: AtomicU64,
    pub dropped: AtomicU64,
}

/// Where the messages of a link go.
pub struct Outlet {
    pub sink: Arc<dyn Sink>,
    pub stats: Arc<Stats>,
}

impl Outlet {
    /// Counts, then delivers: whoever saw a message finds it counted. Only the waiting thread writes the count.
    #[inline]
    pub fn deliver(&self, delivery: &Delivery<'_>) {
        self.stats.received.store(self.stats.received.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.sink.deliver(delivery);
    }
}

/// A reader's end of one channel.
pub enum Channel {
    Ring(RingReader),
    Stream(StreamReader),
    Datagram(DatagramReader),
}

pub struct Link {
    pub id: u64,
    pub subscription: u64,
    pub outlet: Outlet,
    pub channel: Channel,
}

impl Link {
    /// Delivers one message, if there is one.
    #[inline]
    fn receive(&mut self, notified_ns: Option<i64>) -> bool {
        let (received, dropped) = match &mut self.channel {
            Channel::Ring(reader) => (reader.receive(&self.outlet), reader.new_drops()),
            Channel::Stream(reader) => (reader.receive(&self.outlet, notified_ns), reader.new_drops()),
            Channel::Datagram(reader) => (reader.receive(&self.outlet, notified_ns), reader.new_drops()),
        };
        if dropped > 0 {
            self.outlet.stats.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
        received
    }

    /// A message is there of which no descriptor will tell.
    fn has_more(&self) -> bool {
        matches!(&self.channel, Channel::Stream(reader) if reader.has_whole())
    }

    /// Worth a visit of a spinning thread; a socket always is, because only a call can tell.
    #[inline]
    fn has_news(&self) -> bool {
        match &self.channel {
            Channel::Ring(reader) => !reader.is_empty(),
            Channel::Stream(_) | Channel::Datagram(_) => true,
        }
    }

    fn ended(&self) -> bool {
        matches!(&self.channel, Channel::Stream(reader) if reader.ended())
    }

    fn fd(&self) -> Option<&OwnedFd> {
        match &self.channel {
            Channel::Ring(_) => None,
            Channel::Stream(reader) => Some(reader.fd()),
            Channel::Datagram(reader) => Some(reader.fd()),
        }
    }
}

pub enum Change {
    Add(Box<Link>),
    /// The writer is gone: deliver what it left, then forget the link.
    Close(u64),
    /// The subscription ends: deliver nothing more.
    Remove(u64),
    Stop,
}

/// How the thread sleeps while there is nothing to deliver.
pub enum Doorbell {
    Spin,
    Futex(Bell),
    Epoll { epoll: OwnedFd, posted: OwnedFd },
}

impl Doorbell {
    /// For socket links: one blocking wait over all of them.
    pub fn epoll() -> Result<Doorbell, Error> {
        let failed = |e| Error::failed("epoll", e);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let posted = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        epoll::add(&epoll, &posted, epoll::EventData::new_u64(POSTED), epoll::EventFlags::IN).map_err(failed)?;
        Ok(Doorbell::Epoll { epoll, posted })
    }
}

pub struct Waiter {
    shared: Arc<Shared>,
    /// The descriptor of the bell, for publishers to map; None where nobody needs to ring.
    pub bell_fd: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    thread_id: ThreadId,
}

struct Shared {
    doorbell: Doorbell,
    changes: Mutex<Vec<Change>>,
    /// Number of changes posted; the thread reads it in every pass, so it stands apart from the lock.
    posted: AtomicU64,
    applied: Mutex<u64>,
    on_applied: Condvar,
}

impl Waiter {
    pub fn start(doorbell: Doorbell, bell_fd: Option<OwnedFd>) -> Result<Waiter, Error> {
        let shared = Arc::new(Shared {
            doorbell,
            changes: Mutex::default(),
            posted: AtomicU64::new(0),
            applied: Mutex::default(),
            on_applied: Condvar::new(),
        });
        let thread = {
            let shared = shared.clone();
            let name = if matches!(shared.doorbell, Doorbell::Spin) { "floor-spin" } else { "floor-wait" };
            std::thread::Builder::new().name(name.into()).spawn(move || run(&shared)).map_err(|e| Error::failed("waiting thread", e))?
        };
        Ok(Waiter { shared, bell_fd, thread_id: thread.thread().id(), thread: Some(thread) })
    }

    /// Posts a change; its number goes to [`Waiter::wait_for`].
    pub fn post(&self, change: Change) -> u64 {
        let number = {
            let mut changes = self.shared.changes.lock().unwrap();
            changes.push(change);
            self.shared.posted.fetch_add(1, Ordering::SeqCst) + 1
        };
        match &self.shared.doorbell {
            Doorbell::Spin => {}
            Doorbell::Futex(bell) => eventcount::ring(bell.word()),
            Doorbell::Epoll { posted, .. } => drop(rustix::io::write(posted, &1_u64.to_ne_bytes())),
        }
        number
    }

    /// Returns once the change has been applied; at once in the waiting thread itself, which applies it before its next message.
    pub fn wait_for(&self, number: u64) {
        if std::thread::current().id() == self.thread_id {
            return;
        }
        let applied = self.shared.applied.lock().unwrap();
        drop(self.shared.on_applied.wait_while(applied, |applied| *applied < number).unwrap());
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.post(Change::Stop);
        if std::thread::current().id() != self.thread_id {
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

fn run(shared: &Shared) {
    let mut pass = Pass { shared, links: Vec::new(), applied: 0, stopped: false };
    match &shared.doorbell {
        Doorbell::Spin => pass.spin(),
        Doorbell::Futex(bell) => pass.sleep_on(bell),
        Doorbell::Epoll { epoll, posted } => pass.poll(epoll, posted),
    }
    // Whoever still waits for a change must not wait for ever.
    *shared.applied.lock().unwrap() = u64::MAX;
    shared.on_applied.notify_all();
}

struct Pass<'a> {
    shared: &'a Shared,
    links: Vec<Link>,
    applied: u64,
    stopped: bool,
}

impl Pass<'_> {
    fn spin(&mut self) {
        while self.go_on() {
            if self.receive_all() {
                continue;
            }
            // Nothing but the look itself, most of the time: a spinning core takes its share from its sibling.
            for _ in 0..SPINS {
                std::hint::spin_loop();
                if self.links.iter().any(Link::has_news) {
                    break;
                }
            }
        }
    }

    fn sleep_on(&mut self, bell: &Bell) {
        while self.go_on() {
            if self.receive_all() {
                continue;
            }
            let armed = eventcount::arm(bell.word());
            let nothing = self.links.iter().all(|l| matches!(&l.channel, Channel::Ring(reader) if reader.is_empty()));
            if nothing && self.shared.posted.load(Ordering::SeqCst) == self.applied {
                eventcount::sleep(bell.word(), armed, None);
            } else {
                eventcount::disarm(bell.word());
            }
        }
    }

    fn poll(&mut self, epoll: &OwnedFd, posted: &OwnedFd) {
        let mut events = [MaybeUninit::uninit(); 64];
        // Where each link stands in the list; rebuilt when the list changes.
        let mut places = HashMap::new();
        let mut known = u64::MAX;
        let mut more = false;
        while self.go_on() {
            if known != self.applied {
                known = self.applied;
                places = self.links.iter().enumerate().map(|(place, link)| (link.id, place)).collect();
            }
            let ready = match epoll::wait(epoll, &mut events, if more { Some(&NO_TIME) } else { None }) {
                Ok((ready, _)) => ready,
                Err(_) => continue, // a signal
            };
            let notified_ns = now_ns();
            for link in self.links.iter_mut().filter(|_| more) {
                if link.has_more() {
                    link.receive(Some(notified_ns));
                }
            }
            for event in ready {
                match event.data.u64() {
                    POSTED => drop(rustix::io::read(posted, &mut [0_u8; 8])),
                    id => {
                        if let Some(link) = places.get(&id).and_then(|&place| self.links.get_mut(place)) {
                            link.receive(Some(notified_ns));
                            more |= link.has_more();
                        }
                    }
                }
            }
            more = more && self.links.iter().any(Link::has_more);
            if self.links.iter().any(Link::ended) {
                self.links.retain(|l| !l.ended()); // closing its descriptor takes it out of epoll
                known = u64::MAX;
            }
        }
    }

    /// One message of each link: a relay in this thread feeds links of this thread, which must be emptied in step with the others,
    /// or the relay would block on a queue that only this thread can empty.
    fn receive_all(&mut self) -> bool {
        let mut received = false;
        let mut ended = false;
        for link in &mut self.links {
            received |= link.receive(None);
            ended |= link.ended();
        }
        if ended {
            self.links.retain(|l| !l.ended());
        }
        received
    }

    /// Applies what was posted; false when the thread is to end.
    #[inline]
    fn go_on(&mut self) -> bool {
        if self.shared.posted.load(Ordering::SeqCst) != self.applied {
            self.apply();
        }
        !self.stopped
    }

    #[cold]
    fn apply(&mut self) {
        let (changes, number) = {
            let mut changes = self.shared.changes.lock().unwrap();
            (std::mem::take(&mut *changes), self.shared.posted.load(Ordering::SeqCst))
        };
        for change in changes {
            match change {
                Change::Add(link) => {
                    if let (Doorbell::Epoll { epoll, .. }, Some(fd)) = (&self.shared.doorbell, link.fd()) {
                        // Fails only without memory; the link then stays silent and the trial's ledger shows it.
                        let _ = epoll::add(epoll, fd, epoll::EventData::new_u64(link.id), epoll::EventFlags::IN);
                    }
                    self.links.push(*link);
                }
                Change::Close(id) => {
                    if let Some(place) = self.links.iter().position(|l| l.id == id) {
                        let mut link = self.links.remove(place);
                        while link.receive(None) {}
                    }
                }
                Change::Remove(subscription) => self.links.retain(|l| l.subscription != subscription),
                Change::Stop => self.stopped = true,
            }
        }
        self.applied = number;
        *self.shared.applied.lock().unwrap() = number;
        self.shared.on_applied.notify_all();
    }
}
