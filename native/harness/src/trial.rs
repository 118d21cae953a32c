//! The worker's side of a trial: the endpoints that exist, the times that are due, the commands
//! that wait.
//!
//! Everything here runs in the control thread. Between the barrier and the window's end the thread
//! sleeps: it wakes for the two usage snapshots and for commands, and it looks at the readers only
//! while a command waits for a match, a first message or a drain.
//!
//! Kinds of endpoints: a publisher sends by a schedule, a subscription reads, a client does both
//! under one number, and a service reads and sends in answer.

mod answers;
mod create;
mod traffic;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{json, Value};

use self::answers::Quiet;
use crate::clock::now_ns;
use crate::control::Reporter;
use crate::frames::Frames;
use crate::middleware::{Endpoint, Error, Middleware, Node, Session};
use crate::modes;
use crate::protocol::{
    Arrival, Command, EndpointAccount, FromWorker, MatchedEndpoint, Open, Opened, Reply, Request,
};
use crate::publisher::PublisherSlot;
use crate::records::Records;
use crate::schedule::Interrupt;
use crate::service::RecordedService;
use crate::sink::RecordingSink;
use crate::usage::{self, Usage};

/// The time between two looks at the readers while a command waits for them.
const LOOK_NS: i64 = 500_000;
/// The same time inside the window, where looking costs CPU time of the harness: a first message
/// has its own time stamp, so its report can wait.
const WINDOW_LOOK_NS: i64 = 100_000_000;

pub struct Trial<'m> {
    middleware: &'m dyn Middleware,
    records: Arc<Records>,
    reporter: Reporter,
    // Dropped in this order: endpoints before their node, nodes before the session.
    /// Publishers, and the sending side of clients.
    publishers: BTreeMap<u32, Publishing>,
    /// Subscriptions, services, and the reading side of clients.
    readers: BTreeMap<u32, Reading>,
    /// The sending side of services.
    services: BTreeMap<u32, Serving>,
    nodes: BTreeMap<String, CreatedNode>,
    session: Option<Box<dyn Session>>,
    schedules: Vec<Arc<Interrupt>>,
    snapshots: Vec<(i64, &'static str)>,
    usage: Vec<Usage>,
    later: Vec<(i64, Request)>,
    waiting: Vec<Waiting>,
    started: bool,
    outgoing: Vec<FromWorker>,
    /// The accounts of destroyed endpoints.
    gone: BTreeMap<u32, EndpointAccount>,
    /// Rings of frames that no publisher has taken yet.
    frames: BTreeMap<u32, Frames>,
}

struct CreatedNode {
    node: Box<dyn Node>,
    endpoints: Vec<u32>,
}

struct Publishing {
    slot: Arc<PublisherSlot>,
    arrival: Arrival,
    matches: u32,
    started: bool,
    /// Set for a relay by `start`: when to report its end.
    ends_ns: Option<i64>,
}

struct Serving {
    service: Arc<RecordedService>,
    started: bool,
    /// Set by `start`: when to report its end.
    ends_ns: Option<i64>,
}

struct Reading {
    /// The middleware's subscription or service; None for a client, whose endpoint is its
    /// publisher.
    source: Option<Box<dyn Endpoint>>,
    sink: Arc<RecordingSink>,
    matches: u32,
    reported: BTreeSet<u32>,
}

/// A command whose answer comes later.
enum Waiting {
    Match {
        id: u64,
        deadline_ns: i64,
        only: Option<Vec<u32>>,
        matched: BTreeMap<u32, MatchedEndpoint>,
    },
    Destroy {
        id: u64,
        nodes: Vec<String>,
        doomed: Vec<u32>,
    },
    Drain {
        id: u64,
        deadline_ns: i64,
        quiet: Option<Quiet>,
        expect: BTreeMap<u32, BTreeMap<u32, u64>>,
    },
    Settle {
        id: u64,
        deadline_ns: i64,
        quiet: Quiet,
        expect: BTreeMap<u32, BTreeMap<u32, u64>>,
    },
}

impl<'m> Trial<'m> {
    pub fn new(middleware: &'m dyn Middleware, records: Arc<Records>, reporter: Reporter) -> Self {
        Trial {
            middleware,
            records,
            reporter,
            publishers: BTreeMap::new(),
            readers: BTreeMap::new(),
            services: BTreeMap::new(),
            nodes: BTreeMap::new(),
            session: None,
            schedules: Vec::new(),
            snapshots: Vec::new(),
            usage: Vec::new(),
            later: Vec::new(),
            waiting: Vec::new(),
            started: false,
            outgoing: Vec::new(),
            gone: BTreeMap::new(),
            frames: BTreeMap::new(),
        }
    }

    /// The same trial with rings of frames for the publishers with these numbers.
    pub fn with_frames(mut self, frames: BTreeMap<u32, Frames>) -> Self {
        self.frames = frames;
        self
    }

    /// When [`Trial::advance`] must be called even if nothing happens; None: only when something
    /// happens.
    pub fn next_wake_ns(&self) -> Option<i64> {
        let timed = self.snapshots.iter().map(|s| s.0).chain(self.later.iter().map(|l| l.0));
        let now = now_ns();
        let ends = self
            .publishers
            .values()
            .filter_map(|p| p.ends_ns)
            .chain(self.services.values().filter_map(|s| s.ends_ns));
        // A relay or a service that was sending at its end is checked again.
        let ends = ends.map(|end_ns| if end_ns < now { now + LOOK_NS } else { end_ns });
        let look_ns =
            if self.started && self.waiting.is_empty() { WINDOW_LOOK_NS } else { LOOK_NS };
        let looking = self.is_looking().then_some(now + look_ns);
        timed.chain(ends).chain(looking).min()
    }

    /// Whether a command waits for a fact that only a look at the readers gives.
    fn is_looking(&self) -> bool {
        !self.waiting.is_empty()
            || self.readers.values().any(|r| r.reported.len() < r.matches as usize)
    }

    /// Accepts a command: executes it now, or at its time.
    pub fn accept(&mut self, request: Request) {
        let at_ns = match &request.command {
            Command::Create { at_ns, .. }
            | Command::Stop { at_ns, .. }
            | Command::Destroy { at_ns, .. } => *at_ns,
            _ => None,
        };
        match at_ns {
            // A stop takes effect by the schedule's own clock, so the schedule gets it before its
            // time.
            Some(at_ns) if at_ns > now_ns() && !matches!(request.command, Command::Stop { .. }) => {
                self.later.push((at_ns, request))
            }
            _ => self.perform(request),
        }
    }

    /// Executes the commands that are due and returns the lines to send.
    pub fn advance(&mut self) -> Vec<FromWorker> {
        self.take_due_snapshots();
        let now = now_ns();
        while let Some(due) = self.later.iter().position(|(at_ns, _)| *at_ns <= now) {
            let (_, request) = self.later.remove(due);
            self.perform(request);
        }
        self.report_first_messages();
        self.report_ends(now);
        self.answer_waiting(now);
        std::mem::take(&mut self.outgoing)
    }

    fn take_due_snapshots(&mut self) {
        let now = now_ns();
        while let Some(due) = self.snapshots.iter().position(|(at_ns, _)| *at_ns <= now) {
            let (_, name) = self.snapshots.remove(due);
            self.usage.push(usage::snapshot(name));
        }
    }

    /// Closes everything in order.
    pub fn close(&mut self) {
        let all: Vec<u32> = self.publishers.keys().chain(self.services.keys()).copied().collect();
        self.stop(&all, 0);
        self.readers.clear();
        self.services.clear();
        for publishing in std::mem::take(&mut self.publishers).into_values() {
            publishing.slot.publisher.lock().expect("a publisher panicked").take();
        }
        self.nodes.clear();
        self.session = None;
    }

    fn perform(&mut self, request: Request) {
        let id = request.id;
        let result = match request.command {
            Command::Open(open) => self.open(open),
            Command::Create { nodes, .. } => self.create(nodes),
            Command::Match { timeout_ns, endpoints: only } => {
                match self.known(only.as_deref().unwrap_or_default()) {
                    Ok(()) => {
                        let deadline_ns = now_ns() + timeout_ns;
                        self.waiting.push(Waiting::Match {
                            id,
                            deadline_ns,
                            only,
                            matched: BTreeMap::new(),
                        });
                    }
                    Err(error) => self.reply(id, Err(error)),
                }
                return;
            }
            Command::Probe { endpoints: only } => self.probe(only.as_deref()),
            Command::Settle { expect, timeout_ns, quiet_ns } => {
                match self.known(&expect.keys().copied().collect::<Vec<_>>()) {
                    Ok(()) => {
                        let now = now_ns();
                        self.waiting.push(Waiting::Settle {
                            id,
                            deadline_ns: now.saturating_add(timeout_ns),
                            quiet: Quiet::new(quiet_ns, 0, now),
                            expect,
                        });
                    }
                    Err(error) => self.reply(id, Err(error)),
                }
                return;
            }
            Command::Start(start) => self.start(start),
            Command::Stop { endpoints, at_ns } => self.known(&endpoints).map(|()| {
                // Now, not 0: a message that was due before and is late is still sent, or is
                // never_sent.
                self.stop(&endpoints, at_ns.unwrap_or_else(now_ns));
                json!({})
            }),
            Command::Drain { expect, timeout_ns, quiet_ns, quiet_latencies } => {
                match self.known(&expect.keys().copied().collect::<Vec<_>>()) {
                    Ok(()) => {
                        let now = now_ns();
                        let latencies = i64::from(quiet_latencies.unwrap_or(0));
                        let quiet = quiet_ns.map(|quiet_ns| Quiet::new(quiet_ns, latencies, now));
                        for reading in expect.keys().filter_map(|e| self.readers.get(e)) {
                            reading.sink.forget_longest();
                        }
                        self.waiting.push(Waiting::Drain {
                            id,
                            deadline_ns: now.saturating_add(timeout_ns),
                            quiet,
                            expect,
                        });
                    }
                    Err(error) => self.reply(id, Err(error)),
                }
                return;
            }
            Command::Destroy { nodes, endpoints, .. } => match self.doom(&nodes, &endpoints) {
                Ok(doomed) => return self.waiting.push(Waiting::Destroy { id, nodes, doomed }),
                Err(error) => Err(error),
            },
            Command::Collect {} => Ok(self.collect()),
            Command::Clock {} | Command::Exit {} => unreachable!("the control loop takes them"),
        };
        self.reply(id, result);
    }

    fn reply(&mut self, id: u64, result: Result<Value, Error>) {
        let reply = match result {
            Ok(value) => Reply::Ok(value),
            Err(error) => Reply::Error(error),
        };
        self.outgoing.push(FromWorker::Reply { id, reply });
    }

    fn open(&mut self, open: Open) -> Result<Value, Error> {
        if self.session.is_some() {
            return Err(Error::invalid("cmd open", "the session is open already"));
        }
        let config = open.config()?;
        if config.trial_nonce != self.records.nonce() {
            let (expected, found) = (self.records.nonce(), config.trial_nonce);
            return Err(Error::invalid(
                "trial_nonce",
                format!("the records file has {expected:016x}, the command {found:016x}"),
            ));
        }
        let session = if config.modes.is_empty() {
            self.middleware.open(&config)?
        } else {
            let description = self.middleware.describe();
            modes::check_asked(&description, &config)?;
            let session = self.middleware.open(&config)?;
            modes::check_granted(&description, &config)?;
            session
        };
        let opened = Opened { time_ns: now_ns(), configuration: session.configuration() };
        self.session = Some(session);
        Ok(serde_json::to_value(opened).expect("text always serialises"))
    }

    fn known(&self, endpoints: &[u32]) -> Result<(), Error> {
        match endpoints
            .iter()
            .find(|e| !self.publishers.contains_key(e) && !self.readers.contains_key(e))
        {
            None => Ok(()),
            Some(endpoint) => Err(Error::invalid(
                format!("endpoint {endpoint}"),
                "no endpoint of this number in this process",
            )),
        }
    }

    fn answer_waiting(&mut self, now: i64) {
        for mut waiting in std::mem::take(&mut self.waiting) {
            let (id, answer) = match &mut waiting {
                Waiting::Match { id, deadline_ns, only, matched } => {
                    (*id, self.match_answer(now, *deadline_ns, only.as_deref(), matched))
                }
                Waiting::Destroy { id, nodes, doomed } => (*id, self.destroyed(nodes, doomed)),
                Waiting::Drain { id, deadline_ns, quiet, expect } => {
                    (*id, self.drain_answer(now, *deadline_ns, quiet.as_mut(), expect))
                }
                Waiting::Settle { id, deadline_ns, quiet, expect } => {
                    (*id, self.settle_answer(now, *deadline_ns, quiet, expect))
                }
            };
            match answer {
                None => self.waiting.push(waiting),
                Some(result) => self.reply(id, result),
            }
        }
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.close();
    }
}
