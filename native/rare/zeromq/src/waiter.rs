//! One thread that receives for all endpoints of a session: the harness's receive loop, which
//! sleeps in poll(2) or spins.
//!
//! The descriptor of a ZeroMQ socket signals only changes: the loop takes until there is no
//! message, and any other thread that used the socket wakes the loop, which then checks every
//! endpoint.

use std::os::fd::RawFd;
use std::sync::Arc;

use rmwbench_harness::middleware::{Error, Wait};
use rmwbench_harness::pump::{self, Pump, Source};

use crate::event_fd::EventFd;

/// The receiving part of an endpoint.
pub trait Intake: Send + Sync {
    /// The descriptor, readable when a message may have arrived.
    fn fd(&self) -> RawFd;

    /// Receives one message, if there is one, and delivers it: see [`Source::take`].
    fn take(&self, notified_ns: i64) -> bool;
}

/// An endpoint that the loop watches.
pub struct Watched(Arc<dyn Intake>);

impl Source for Watched {
    #[inline]
    fn take(&self, notified_ns: i64) -> bool {
        self.0.take(notified_ns)
    }
}

pub struct Waiter {
    pump: Pump<Watched>,
    wake: Arc<EventFd>,
}

impl Waiter {
    pub fn start(wait: Wait) -> Result<Self, Error> {
        let wake = Arc::new(EventFd::new()?);
        let pump = match wait {
            Wait::Poll => Pump::poll("waiter"),
            _ => {
                let (set, waker) = (WaitSet::new(wake.clone()), wake.clone());
                Pump::block("waiter", set, Box::new(move || waker.raise()))
            }
        };
        Ok(Waiter { pump: pump.map_err(|e| Error::failed("waiting thread", e))?, wake })
    }

    /// Waking it makes the thread check every endpoint again.
    pub fn wake(&self) -> Arc<EventFd> {
        self.wake.clone()
    }

    /// Adds an endpoint; pass the result to [`Waiter::remove`].
    pub fn add(&self, intake: Arc<dyn Intake>) -> Arc<Watched> {
        let watched = Arc::new(Watched(intake));
        self.pump.add(watched.clone());
        watched
    }

    /// Returns when the thread will not use the endpoint again.
    pub fn remove(&self, watched: &Arc<Watched>) {
        self.pump.remove(watched);
    }
}

struct WaitSet {
    wake: Arc<EventFd>,
    /// The wake-up comes first, then the endpoints in the order of `tokens`.
    waiting: Vec<libc::pollfd>,
    tokens: Vec<usize>,
}

impl WaitSet {
    fn new(wake: Arc<EventFd>) -> Self {
        let waiting = vec![item(wake.fd())];
        WaitSet { wake, waiting, tokens: Vec::new() }
    }
}

fn item(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

impl pump::WaitSet<Watched> for WaitSet {
    fn attach(&mut self, watched: &Arc<Watched>, token: usize) {
        self.waiting.push(item(watched.0.fd()));
        self.tokens.push(token);
    }

    fn detach(&mut self, _watched: &Watched, token: usize) {
        if let Some(place) = self.tokens.iter().position(|t| *t == token) {
            self.tokens.remove(place);
            self.waiting.remove(place + 1);
        }
    }

    fn wait(&mut self, block: bool, ready: &mut Vec<usize>) {
        let timeout_ms = if block { -1 } else { 0 };
        // SAFETY: the slice has this many entries.
        let count = unsafe {
            libc::poll(self.waiting.as_mut_ptr(), self.waiting.len() as libc::nfds_t, timeout_ms)
        };
        if count <= 0 {
            return; // nothing, or a signal: the entries are old
        }
        let woken = self.waiting[0].revents != 0;
        if woken {
            self.wake.clear();
        }
        let entries = self.tokens.iter().zip(&self.waiting[1..]);
        ready.extend(
            entries.filter(|(_, item)| woken || item.revents != 0).map(|(token, _)| *token),
        );
    }
}
