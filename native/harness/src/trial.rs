//! The worker's side of a trial: what was created, what is due, what somebody waits for.
//!
//! Everything here runs in the control thread. Between the barrier and the window's end it sleeps: it wakes for the two usage
//! snapshots and for commands, and looks at the readers only while somebody waits for a match, a first message or a drain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread;

use serde_json::{json, Value};

use crate::clock::now_ns;
use crate::control::Reporter;
use crate::middleware::{EndpointConfig, Error, Middleware, Node, Session, Sink, Subscription};
use crate::payload::{touched_bytes, Phase, HEADER_BYTES};
use crate::protocol::{
    Arrival, Collected, Command, Created, Drained, EndpointAccount, EndpointKind, EndpointSpec, Event, FromWorker, Matched,
    MatchedEndpoint, NodeSpec, Open, Reply, Request, Start,
};
use crate::publisher::{Cause, PublisherParts, PublisherSlot, RecordedPublisher};
use crate::records::{Kind, Records};
use crate::schedule::{self, Interrupt, Scheduled};
use crate::sink::RecordingSink;
use crate::usage::{self, Usage};

/// How often readers are looked at while somebody waits for them.
const LOOK_NS: i64 = 500_000;
/// The same inside the window, where looking is CPU time of ours: a first message carries its own time, so its report can wait.
const WINDOW_LOOK_NS: i64 = 100_000_000;

pub struct Trial<'m> {
    middleware: &'m dyn Middleware,
    records: Arc<Records>,
    reporter: Reporter,
    // Dropped in this order: endpoints before their node, nodes before the session.
    publishers: BTreeMap<u32, Publishing>,
    subscriptions: BTreeMap<u32, Subscribed>,
    nodes: BTreeMap<String, CreatedNode>,
    session: Option<Box<dyn Session>>,
    schedules: Vec<Arc<Interrupt>>,
    snapshots: Vec<(i64, &'static str)>,
    usage: Vec<Usage>,
    later: Vec<(i64, Request)>,
    waiting: Vec<Waiting>,
    started: bool,
    outgoing: Vec<FromWorker>,
    /// What destroyed endpoints counted.
    gone: BTreeMap<u32, EndpointAccount>,
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
    relay_ends_ns: Option<i64>,
}

struct Subscribed {
    subscription: Box<dyn Subscription>,
    sink: Arc<RecordingSink>,
    matches: u32,
    reported: BTreeSet<u32>,
}

/// A command whose answer comes later.
enum Waiting {
    Match { id: u64, deadline_ns: i64, matched: BTreeMap<u32, MatchedEndpoint> },
    Destroy { id: u64, nodes: Vec<String>, doomed: Vec<u32> },
    Drain { id: u64, deadline_ns: i64, expect: BTreeMap<u32, BTreeMap<u32, u64>> },
}

impl<'m> Trial<'m> {
    pub fn new(middleware: &'m dyn Middleware, records: Arc<Records>, reporter: Reporter) -> Self {
        Trial {
            middleware,
            records,
            reporter,
            publishers: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
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
        }
    }

    /// When [`Trial::advance`] must be called even if nothing happens; None: only then.
    pub fn next_wake_ns(&self) -> Option<i64> {
        let timed = self.snapshots.iter().map(|s| s.0).chain(self.later.iter().map(|l| l.0));
        let now = now_ns();
        // A relay that was publishing at its end is looked at again.
        let relays =
            self.publishers.values().filter_map(|p| p.relay_ends_ns).map(|end_ns| if end_ns < now { now + LOOK_NS } else { end_ns });
        let look_ns = if self.started && self.waiting.is_empty() { WINDOW_LOOK_NS } else { LOOK_NS };
        let looking = self.is_looking().then_some(now + look_ns);
        timed.chain(relays).chain(looking).min()
    }

    /// Whether somebody waits for what only a look at the readers can tell.
    fn is_looking(&self) -> bool {
        !self.waiting.is_empty() || self.subscriptions.values().any(|s| s.reported.len() < s.matches as usize)
    }

    /// Takes a command: does it now, or at its time.
    pub fn accept(&mut self, request: Request) {
        let at_ns = match &request.command {
            Command::Create { at_ns, .. } | Command::Stop { at_ns, .. } | Command::Destroy { at_ns, .. } => *at_ns,
            _ => None,
        };
        match at_ns {
            // A stop takes effect by the schedule's own clock, so it is given to it before its time.
            Some(at_ns) if at_ns > now_ns() && !matches!(request.command, Command::Stop { .. }) => self.later.push((at_ns, request)),
            _ => self.perform(request),
        }
    }

    /// Does what is due and returns the lines to send.
    pub fn advance(&mut self) -> Vec<FromWorker> {
        self.take_due_snapshots();
        let now = now_ns();
        while let Some(due) = self.later.iter().position(|(at_ns, _)| *at_ns <= now) {
            let (_, request) = self.later.remove(due);
            self.perform(request);
        }
        self.report_first_messages();
        self.report_ended_relays(now);
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
        let all: Vec<u32> = self.publishers.keys().copied().collect();
        self.stop(&all, 0);
        self.subscriptions.clear();
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
            Command::Match { timeout_ns } => {
                self.waiting.push(Waiting::Match { id, deadline_ns: now_ns() + timeout_ns, matched: BTreeMap::new() });
                return;
            }
            Command::Probe {} => self.probe(),
            Command::Start(start) => self.start(start),
            Command::Stop { endpoints, at_ns } => self.known(&endpoints).map(|()| {
                // Now, not 0: what was due before and is late is still sent, or is never_sent.
                self.stop(&endpoints, at_ns.unwrap_or_else(now_ns));
                json!({})
            }),
            Command::Drain { expect, timeout_ns } => {
                match self.known(&expect.keys().copied().collect::<Vec<_>>()) {
                    Ok(()) => self.waiting.push(Waiting::Drain { id, deadline_ns: now_ns() + timeout_ns, expect }),
                    Err(error) => self.reply(id, Err(error)),
                }
                return;
            }
            Command::Destroy { nodes, endpoints, .. } => match self.doom(&nodes, &endpoints) {
                Ok(doomed) => return self.waiting.push(Waiting::Destroy { id, nodes, doomed }),
                Err(error) => Err(error),
            },
            Command::Collect {} => Ok(self.collect()),
            Command::Exit {} => unreachable!("the control loop takes exit"),
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
            return Err(Error::invalid("trial_nonce", format!("the records file has {expected:016x}, the command {found:016x}")));
        }
        self.session = Some(self.middleware.open(&config)?);
        Ok(json!({}))
    }

    /// All or nothing: an endpoint that outlives its node, or a number that stays taken, would fail the next command instead.
    fn create(&mut self, nodes: Vec<NodeSpec>) -> Result<Value, Error> {
        let known: BTreeSet<u32> = self.publishers.keys().chain(self.subscriptions.keys()).copied().collect();
        let names: BTreeSet<String> = self.nodes.keys().cloned().collect();
        let mut unfinished = None;
        let result = self.create_all(nodes, &mut unfinished);
        if result.is_err() {
            self.subscriptions.retain(|e, _| known.contains(e));
            // A relay's place may live on in a sink: it is emptied, not only dropped.
            for (_, new) in self.publishers.iter().filter(|(e, _)| !known.contains(e)) {
                new.slot.publisher.lock().expect("a publisher panicked").take();
            }
            self.publishers.retain(|e, _| known.contains(e));
            self.nodes.retain(|name, _| names.contains(name));
            drop(unfinished);
        }
        result
    }

    fn create_all(&mut self, nodes: Vec<NodeSpec>, unfinished: &mut Option<Box<dyn Node>>) -> Result<Value, Error> {
        let mut created = Created { endpoints: BTreeMap::new() };
        let mut relays: BTreeMap<u32, Vec<Arc<PublisherSlot>>> = BTreeMap::new();
        for spec in nodes {
            if self.nodes.contains_key(&spec.name) {
                return Err(Error::invalid(format!("node {}", spec.name), "a node of this name exists already"));
            }
            let session = self.session.as_mut().ok_or_else(|| Error::invalid("cmd create", "open comes first"))?;
            let node = unfinished.insert(session.node(&spec.name)?);
            let mut endpoints = Vec::new();
            for endpoint in spec.endpoints {
                let number = endpoint.endpoint;
                if number == 0 {
                    return Err(Error::invalid("endpoint 0", "0 stands for the schedule: expected 1 or more"));
                }
                // Also when it is gone: its sequence numbers would begin again at 0.
                if self.publishers.contains_key(&number) || self.subscriptions.contains_key(&number) || self.gone.contains_key(&number) {
                    return Err(Error::invalid(format!("endpoint {number}"), "this number is taken"));
                }
                endpoints.push(endpoint.endpoint);
                let granted = match endpoint.kind {
                    EndpointKind::Publisher => self.create_publisher(&mut **node, endpoint.clone(), &mut relays),
                    EndpointKind::Subscription => self.create_subscription(&mut **node, &endpoint),
                    EndpointKind::Client | EndpointKind::Service => {
                        Err(Error::unsupported(format!("endpoint {}", endpoint.endpoint), "services are not implemented in this worker"))
                    }
                }?;
                created.endpoints.insert(endpoint.endpoint, granted);
            }
            let node = unfinished.take().expect("made above");
            self.nodes.insert(spec.name, CreatedNode { node, endpoints });
        }
        for (from, publishers) in relays {
            let subscribed = self.subscriptions.get(&from).ok_or_else(|| {
                Error::invalid(
                    format!("endpoint {}", publishers[0].endpoint),
                    format!("relays from {from}, which is no subscription of this process"),
                )
            })?;
            let object = format!("endpoint {}", publishers[0].endpoint);
            if !subscribed.sink.relay_to(publishers) {
                return Err(Error::invalid(object, format!("{from} has its relays: all relays of a subscription come in one create")));
            }
        }
        Ok(serde_json::to_value(created).expect("granted always serialises"))
    }

    fn create_publisher(
        &mut self,
        node: &mut dyn Node,
        spec: EndpointSpec,
        relays: &mut BTreeMap<u32, Vec<Arc<PublisherSlot>>>,
    ) -> Result<crate::middleware::Granted, Error> {
        let object = format!("endpoint {}", spec.endpoint);
        let arrival = spec.arrival.clone().ok_or_else(|| Error::invalid(&object, "a publisher needs an arrival"))?;
        arrival.check().map_err(|why| Error::invalid(&object, format!("arrival: {why}")))?;
        if (spec.message_type.payload_bytes as usize) < HEADER_BYTES {
            let found = spec.message_type.payload_bytes;
            return Err(Error::invalid(&object, format!("expected a payload of at least {HEADER_BYTES} bytes, found {found}")));
        }
        let publisher = node.publisher(&config(&spec))?;
        let granted = publisher.granted();
        let parts = PublisherParts {
            section: self.records.section(Kind::Sent, spec.endpoint),
            endpoint: spec.endpoint,
            nonce: self.records.nonce(),
            payload_bytes: spec.message_type.payload_bytes,
            touched_bytes: touched_bytes(spec.touch, &spec.message_type),
            loan: spec.loan,
        };
        let slot = PublisherSlot::new(spec.endpoint, RecordedPublisher::new(publisher, parts));
        if let Arrival::Relay { from } = arrival {
            relays.entry(from).or_default().push(slot.clone());
        }
        let publishing = Publishing { slot, arrival, matches: spec.matches, started: false, relay_ends_ns: None };
        self.publishers.insert(spec.endpoint, publishing);
        Ok(granted)
    }

    fn create_subscription(&mut self, node: &mut dyn Node, spec: &EndpointSpec) -> Result<crate::middleware::Granted, Error> {
        let section = self.records.section(Kind::Received, spec.endpoint);
        let sink = Arc::new(RecordingSink::new(section, self.records.nonce(), spec.touch, spec.matches));
        let subscription = node.subscription(&config(spec), sink.clone() as Arc<dyn Sink>)?;
        let granted = subscription.granted();
        let subscribed = Subscribed { subscription, sink, matches: spec.matches, reported: BTreeSet::new() };
        self.subscriptions.insert(spec.endpoint, subscribed);
        Ok(granted)
    }

    fn probe(&mut self) -> Result<Value, Error> {
        for publishing in self.publishers.values().filter(|p| !matches!(p.arrival, Arrival::Relay { .. }) && !p.started) {
            if let Some(publisher) = publishing.slot.publisher.lock().expect("a publisher panicked").as_mut() {
                publisher.send(now_ns(), Phase::Probe, Cause::default()).map_err(|e| {
                    Error::failed(format!("endpoint {}", publishing.slot.endpoint), format!("the probe was not sent: {e:?}"))
                })?;
            }
        }
        Ok(json!({}))
    }

    fn start(&mut self, start: Start) -> Result<Value, Error> {
        if start.end_ns <= start.at_ns || start.steady_ns < start.at_ns {
            return Err(Error::invalid("cmd start", "expected at_ns <= steady_ns and at_ns < end_ns"));
        }
        if let Some(endpoints) = &start.endpoints {
            self.known(endpoints)?;
            if let Some(endpoint) = endpoints.iter().find(|e| self.publishers.get(e).is_some_and(|p| p.started)) {
                return Err(Error::invalid(format!("endpoint {endpoint}"), "it has started already; a publisher has one schedule"));
            }
        }
        let chosen = |endpoint: &u32| start.endpoints.as_ref().is_none_or(|list| list.contains(endpoint));
        let mut together = Vec::new();
        for (_, publishing) in self.publishers.iter_mut().filter(|(e, p)| !p.started && chosen(e)) {
            publishing.started = true;
            let scheduled = Scheduled { slot: publishing.slot.clone(), arrival: publishing.arrival.clone() };
            match publishing.arrival {
                Arrival::Relay { .. } => publishing.relay_ends_ns = Some(start.end_ns + start.grace_ns),
                Arrival::Saturation { .. } => self.schedules.push(spawn(vec![scheduled], start.clone(), self.reporter.clone())?),
                _ => together.push(scheduled),
            }
        }
        if !together.is_empty() {
            self.schedules.push(spawn(together, start.clone(), self.reporter.clone())?);
        }
        if !self.started {
            self.started = true;
            self.snapshots.extend([(start.steady_ns, "steady_begin"), (start.end_ns, "steady_end")]);
        }
        Ok(json!({}))
    }

    /// Takes effect at `at_ns` by the schedule's own clock; sleeping schedules wake to see it.
    fn stop(&mut self, endpoints: &[u32], at_ns: i64) {
        for endpoint in endpoints {
            let Some(publishing) = self.publishers.get_mut(endpoint) else { continue };
            publishing.slot.stop_ns.store(at_ns, Ordering::Release);
            if let Some(end_ns) = &mut publishing.relay_ends_ns {
                *end_ns = (*end_ns).min(at_ns);
            }
        }
        for schedule in &self.schedules {
            schedule.raise();
        }
    }

    fn doom(&mut self, nodes: &[String], endpoints: &[u32]) -> Result<Vec<u32>, Error> {
        self.known(endpoints)?;
        let mut doomed = endpoints.to_vec();
        for name in nodes {
            let node = self.nodes.get(name).ok_or_else(|| Error::invalid(format!("node {name}"), "no node of this name"))?;
            doomed.extend(&node.endpoints);
        }
        self.stop(&doomed, 0);
        Ok(doomed)
    }

    /// Removes what was doomed once none of it is publishing: the control thread must not wait for a publish call that blocks.
    fn destroyed(&mut self, nodes: &[String], doomed: &[u32]) -> Option<Result<Value, Error>> {
        for endpoint in doomed {
            let Some(publishing) = self.publishers.get(endpoint) else { continue };
            if publishing.relay_ends_ns.is_some() {
                return None; // its `finished` comes first
            }
            if let Some(publisher) = publishing.slot.publisher.try_lock().ok()?.take() {
                self.gone.insert(*endpoint, publisher_account(&publisher));
            }
            self.publishers.remove(endpoint);
        }
        for endpoint in doomed {
            if let Some(subscribed) = self.subscriptions.remove(endpoint) {
                self.gone.insert(*endpoint, subscription_account(&*subscribed.subscription));
            }
        }
        for name in nodes {
            if let Some(node) = self.nodes.remove(name) {
                drop(node.node);
            }
        }
        Some(Ok(json!({})))
    }

    fn collect(&mut self) -> Value {
        self.take_due_snapshots(); // the command may have been read before the timer was
        self.usage.retain(|u| u.at != "now");
        self.usage.push(usage::snapshot("now"));
        let mut endpoints = self.gone.clone();
        for (endpoint, publishing) in &self.publishers {
            // A publisher whose schedule still runs is its own thread's: it has no account to give yet.
            let Ok(guard) = publishing.slot.publisher.try_lock() else { continue };
            endpoints.extend(guard.as_ref().map(|publisher| (*endpoint, publisher_account(publisher))));
        }
        endpoints.extend(self.subscriptions.iter().map(|(endpoint, s)| (*endpoint, subscription_account(&*s.subscription))));
        let collected = Collected { usage: self.usage.clone(), memory: usage::memory(), endpoints };
        serde_json::to_value(collected).expect("counters always serialise")
    }

    fn known(&self, endpoints: &[u32]) -> Result<(), Error> {
        match endpoints.iter().find(|e| !self.publishers.contains_key(e) && !self.subscriptions.contains_key(e)) {
            None => Ok(()),
            Some(endpoint) => Err(Error::invalid(format!("endpoint {endpoint}"), "no endpoint of this number in this process")),
        }
    }

    fn report_first_messages(&mut self) {
        for (endpoint, subscribed) in &mut self.subscriptions {
            for (writer, time_ns) in subscribed.sink.first_messages() {
                if subscribed.reported.insert(writer) {
                    self.outgoing.push(FromWorker::Event(Event::FirstMessage { endpoint: *endpoint, writer, time_ns }));
                }
            }
        }
    }

    fn report_ended_relays(&mut self, now: i64) {
        for (endpoint, publishing) in &mut self.publishers {
            if publishing.relay_ends_ns.is_none_or(|end_ns| end_ns > now) {
                continue;
            }
            // Nothing may follow `finished`. A relay that is publishing is asked again at the next look.
            publishing.slot.stop_ns.store(0, Ordering::Release);
            let Ok(guard) = publishing.slot.publisher.try_lock() else { continue };
            publishing.relay_ends_ns = None;
            if let Some(p) = guard.as_ref() {
                self.outgoing.push(FromWorker::Event(Event::Finished {
                    endpoint: *endpoint,
                    scheduled: p.attempted(),
                    sent: p.attempted() - p.failed(),
                    failed: p.failed(),
                    never_sent: 0,
                    last_seq: p.last_sent_seq(),
                    time_ns: now,
                }));
            }
        }
    }

    fn answer_waiting(&mut self, now: i64) {
        for mut waiting in std::mem::take(&mut self.waiting) {
            let (id, answer) = match &mut waiting {
                Waiting::Match { id, deadline_ns, matched } => (*id, self.match_answer(now, *deadline_ns, matched)),
                Waiting::Destroy { id, nodes, doomed } => (*id, self.destroyed(nodes, doomed)),
                Waiting::Drain { id, deadline_ns, expect } => (*id, self.drain_answer(now, *deadline_ns, expect)),
            };
            match answer {
                None => self.waiting.push(waiting),
                Some(result) => self.reply(id, result),
            }
        }
    }

    fn match_answer(&self, now: i64, deadline_ns: i64, matched: &mut BTreeMap<u32, MatchedEndpoint>) -> Option<Result<Value, Error>> {
        let mut missing = None;
        let publishers = self.publishers.iter().filter_map(|(endpoint, p)| match p.slot.publisher.try_lock() {
            Ok(guard) => Some((*endpoint, p.matches, Some(guard.as_ref()?.publisher().matched()))),
            Err(_) => Some((*endpoint, p.matches, None)),
        });
        let subscriptions = self.subscriptions.iter().map(|(endpoint, s)| (*endpoint, s.matches, Some(s.subscription.matched())));
        for (endpoint, expected, actual) in publishers.chain(subscriptions) {
            match actual {
                Some(actual) if actual >= expected => {
                    matched.entry(endpoint).or_insert(MatchedEndpoint { matched: actual, time_ns: now }).matched = actual;
                }
                _ => {
                    matched.remove(&endpoint);
                    missing.get_or_insert((endpoint, expected, actual));
                }
            }
        }
        match missing {
            None => {
                let matched = Matched { endpoints: std::mem::take(matched) };
                Some(Ok(serde_json::to_value(matched).expect("matches always serialise")))
            }
            Some((endpoint, expected, actual)) if now >= deadline_ns => {
                // A running schedule owns its publisher, which then cannot be asked.
                let actual = actual.map_or("a publisher that is sending".into(), |n| n.to_string());
                Some(Err(Error::failed(
                    format!("endpoint {endpoint}"),
                    format!("expected {expected} matched peers, found {actual} at the time-out"),
                )))
            }
            Some(_) => None,
        }
    }

    fn drain_answer(&self, now: i64, deadline_ns: i64, expect: &BTreeMap<u32, BTreeMap<u32, u64>>) -> Option<Result<Value, Error>> {
        let complete = expect.iter().all(|(reader, writers)| {
            let subscribed = self.subscriptions.get(reader);
            subscribed.is_none_or(|s| writers.iter().all(|(writer, seq)| s.sink.has_heard_all(*writer, *seq)))
        });
        if !complete && now < deadline_ns {
            return None;
        }
        for reader in expect.keys() {
            if let Some(subscribed) = self.subscriptions.get(reader) {
                subscribed.sink.set_late(now);
            }
        }
        Some(Ok(serde_json::to_value(Drained { complete, time_ns: now }).expect("always serialises")))
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.close();
    }
}

fn publisher_account(publisher: &RecordedPublisher) -> EndpointAccount {
    let (matched, account) = (publisher.publisher().matched(), publisher.publisher().account());
    EndpointAccount { matched, publish_failures: Some(publisher.failed()), account }
}

fn subscription_account(subscription: &dyn Subscription) -> EndpointAccount {
    EndpointAccount { matched: subscription.matched(), publish_failures: None, account: subscription.account() }
}

fn config(spec: &EndpointSpec) -> EndpointConfig {
    EndpointConfig {
        endpoint: spec.endpoint,
        topic: spec.topic.clone(),
        message_type: spec.message_type.clone(),
        qos: spec.qos.clone(),
        loan: spec.loan,
        publish_mode: spec.publish_mode,
        wait: spec.wait,
    }
}

fn spawn(publishers: Vec<Scheduled>, start: Start, reporter: Reporter) -> Result<Arc<Interrupt>, Error> {
    let interrupt = Arc::new(Interrupt::default());
    let theirs = interrupt.clone();
    thread::Builder::new()
        .name("schedule".into())
        .spawn(move || schedule::run(publishers, &start, &theirs, &|event| reporter.report(event)))
        .map_err(|e| Error::failed("schedule thread", e))?;
    Ok(interrupt)
}
