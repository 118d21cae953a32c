//! A trial as the orchestrator runs it, reduced to the parts that checks need: processes of nodes,
//! barrier, schedule, drain, records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::{PublishMode, Take, Wait};
use rmwbench_harness::payload::Touch;
use rmwbench_harness::protocol::{
    Arrival, Collected, Command, EndpointKind, EndpointSpec, Event, NodeSpec, Open, Probed,
    Schedule, Start, Started,
};
use rmwbench_harness::qos::{Qos, Reliability};
use rmwbench_harness::records::{received_flag, sent_flag, Kind};
use serde_json::Value;

use crate::failure::{Failure, Finding};
use crate::process::{Slot, Worker, PATIENCE};
use crate::{Context, MATCH};

pub const MS: i64 = 1_000_000;
/// Slots per endpoint: more than any check sends.
const CAPACITY: u64 = 20_000;

pub fn periodic(rate_hz: i64) -> Arrival {
    Arrival::Periodic { period_ns: 1_000_000_000 / rate_hz, phase_ns: 0 }
}

/// A publisher on `topic`: reliable, volatile, keep last. A reliable writer may overwrite messages
/// that a reader has not taken, so the history is deep enough for a machine that is busy elsewhere
/// for a second, as far as memory allows. The overrun checks, which are as shallow as ROS 2's
/// default, test the effect of overwriting on the ledger.
pub fn publisher(
    endpoint: u32,
    topic: &str,
    bytes: u32,
    arrival: Arrival,
    matches: u32,
) -> EndpointSpec {
    let depth = if bytes <= 20_000 { 500 } else { 10 };
    EndpointSpec {
        endpoint,
        kind: EndpointKind::Publisher,
        topic: topic.into(),
        message_type: MessageType::bytes(bytes),
        reply_type: None,
        qos: Qos { depth, ..Qos::default() },
        arrival: Some(arrival),
        touch: Touch::All,
        hold_ns: 0,
        frames: None,
        loan: false,
        publish_mode: PublishMode::Default,
        wait: Wait::Block,
        take: Take::Typed,
        matches,
    }
}

pub fn subscription(endpoint: u32, topic: &str, bytes: u32, matches: u32) -> EndpointSpec {
    EndpointSpec {
        kind: EndpointKind::Subscription,
        arrival: None,
        ..publisher(endpoint, topic, bytes, periodic(1), matches)
    }
}

pub fn node(name: &str, endpoints: Vec<EndpointSpec>) -> NodeSpec {
    NodeSpec { name: name.into(), endpoints }
}

/// Checks request ROS 2's default QoS; an arm that cannot be reliable is checked with best effort
/// instead.
fn granted_reliability(context: &Context<'_>, mut nodes: Vec<NodeSpec>) -> Vec<NodeSpec> {
    if context.lacks("reliable").is_some() {
        for endpoint in nodes.iter_mut().flat_map(|n| &mut n.endpoints) {
            endpoint.qos.reliability = Reliability::BestEffort;
        }
    }
    nodes
}

fn sends(endpoint: &EndpointSpec) -> bool {
    endpoint.kind != EndpointKind::Subscription
}

fn reads(endpoint: &EndpointSpec) -> bool {
    endpoint.kind != EndpointKind::Publisher
}

/// The readers that have not received from as many writers as they are to match, as text.
fn deaf_readers(specs: &[EndpointSpec], events: &[Event]) -> Vec<String> {
    let heard = |reader: u32| {
        let of_reader =
            |e: &&Event| matches!(e, Event::FirstMessage { endpoint, .. } if *endpoint == reader);
        events.iter().filter(of_reader).count()
    };
    let readers = specs.iter().filter(|e| reads(e)).map(|e| (e, heard(e.endpoint)));
    readers
        .filter(|(e, heard)| *heard < e.matches as usize)
        .map(|(e, heard)| format!("endpoint {} heard {heard} of {}", e.endpoint, e.matches))
        .collect()
}

pub struct Rig<'a> {
    pub context: &'a Context<'a>,
    nonce: u64,
    pub workers: Vec<Worker>,
    specs: Vec<Vec<EndpointSpec>>,
    /// Readers that were destroyed: they do not drain.
    gone: BTreeSet<u32>,
    /// Which threads send, from the next `start` on.
    pub schedule: Schedule,
}

impl<'a> Rig<'a> {
    /// Starts a process for each list of nodes, creates them and passes the barrier.
    pub fn ready(
        context: &'a Context<'a>,
        processes: Vec<Vec<NodeSpec>>,
    ) -> Result<Rig<'a>, Failure> {
        Rig::ready_exactly(
            context,
            processes.into_iter().map(|nodes| granted_reliability(context, nodes)).collect(),
        )
    }

    /// The same with exactly the QoS that the nodes request, even if the arm lacks it.
    ///
    /// If messages cannot go between processes, all nodes are in one: the checks of messages apply
    /// there, too.
    pub fn ready_exactly(
        context: &'a Context<'a>,
        mut processes: Vec<Vec<NodeSpec>>,
    ) -> Result<Rig<'a>, Failure> {
        if context.lacks("inter_process").is_some() {
            processes = vec![processes.into_iter().flatten().collect()];
        }
        let mut rig = Rig::empty(context);
        for nodes in &processes {
            rig.open(&[nodes.as_slice()])?;
        }
        for (place, nodes) in processes.into_iter().enumerate() {
            rig.create_exactly(place, nodes)?;
        }
        rig.barrier()?;
        Ok(rig)
    }

    pub fn empty(context: &'a Context<'a>) -> Rig<'a> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let nonce = now_ns() as u64 ^ NEXT.fetch_add(1, Ordering::Relaxed) << 48;
        Rig {
            context,
            nonce,
            workers: Vec::new(),
            specs: Vec::new(),
            gone: BTreeSet::new(),
            schedule: Schedule::Own,
        }
    }

    /// Starts a process whose records have room for the endpoints of all `nodes`, present and
    /// future; returns its place.
    pub fn open(&mut self, nodes: &[&[NodeSpec]]) -> Result<usize, Failure> {
        Ok(self.open_with_modes(nodes, BTreeMap::new())?.0)
    }

    /// The same with modes; also returns the answer to `open`.
    pub fn open_with_modes(
        &mut self,
        nodes: &[&[NodeSpec]],
        modes: BTreeMap<String, Value>,
    ) -> Result<(usize, Value), Failure> {
        let endpoints: Vec<EndpointSpec> =
            nodes.iter().flat_map(|n| n.iter()).flat_map(|n| n.endpoints.clone()).collect();
        let sent =
            endpoints.iter().filter(|e| sends(e)).map(|e| (Kind::Sent, e.endpoint, CAPACITY));
        let received =
            endpoints.iter().filter(|e| reads(e)).map(|e| (Kind::Received, e.endpoint, CAPACITY));
        let sections: Vec<(Kind, u32, u64)> = sent.chain(received).collect();
        let mut worker = Worker::spawn(self.context.worker, self.nonce, &sections)?;
        let opened = worker.request(Command::Open(self.open_with(modes)))?;
        self.workers.push(worker);
        self.specs.push(endpoints);
        Ok((self.workers.len() - 1, opened))
    }

    pub fn open_with(&self, modes: BTreeMap<String, Value>) -> Open {
        Open {
            trial_nonce: format!("{:016x}", self.nonce),
            domain_id: 0,
            profile: self.context.profile.clone(),
            options: self.context.arm.options.clone(),
            modes: self.context.arm.modes.clone().into_iter().chain(modes).collect(),
        }
    }

    pub fn create(&mut self, place: usize, nodes: Vec<NodeSpec>) -> Result<Value, Failure> {
        self.create_exactly(place, granted_reliability(self.context, nodes))
    }

    pub fn create_exactly(&mut self, place: usize, nodes: Vec<NodeSpec>) -> Result<Value, Failure> {
        self.workers[place].request(Command::Create { nodes, at_ns: None })
    }

    /// Destroys a node with one reader in order.
    pub fn leave(&mut self, place: usize, name: &str, reader: u32) -> Result<(), Failure> {
        self.gone.insert(reader);
        self.workers[place].request(Command::Destroy {
            nodes: vec![name.into()],
            endpoints: vec![],
            at_ns: None,
        })?;
        Ok(())
    }

    /// Waits for the match on all sides, then sends probes until every reader has received from
    /// each of its writers.
    pub fn barrier(&mut self) -> Result<(), Failure> {
        let timeout_ns = PATIENCE.as_nanos() as i64 / 2;
        if let Err(error) = self.each(|_| Command::Match { timeout_ns, endpoints: None }) {
            self.context.shows(MATCH);
            return Err(error.about("match"));
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let sent = self
                .each(|_| Command::Probe { endpoints: None })
                .map_err(|error| error.about("probe"))?;
            let round = Instant::now() + Duration::from_millis(100);
            let mut deaf = Vec::new();
            for (worker, specs) in self.workers.iter_mut().zip(&self.specs) {
                while !deaf_readers(specs, &worker.events).is_empty() && worker.pump(round)? {}
                deaf.extend(deaf_readers(specs, &worker.events));
            }
            if deaf.is_empty() {
                return self.settle(sent);
            }
            if Instant::now() > deadline {
                let text = format!("not every reader heard its writers: {}", deaf.join("; "));
                return Err(Finding::Unheard.failure(text));
            }
        }
    }

    /// Waits until probes that are still on their way have arrived, before the schedule starts;
    /// `sent` are the answers to the last `probe`. For lost probes it waits only for a while.
    fn settle(&mut self, sent: Vec<Value>) -> Result<(), Failure> {
        let mut probes = BTreeMap::new();
        for answer in sent {
            let probed: Probed =
                serde_json::from_value(answer).map_err(|e| format!("the answer to probe: {e}"))?;
            probes.extend(probed.sent);
        }
        let expect = self.expected(|writer| probes.get(&writer).copied());
        self.each(|place| Command::Settle {
            expect: expect[place].clone(),
            timeout_ns: PATIENCE.as_nanos() as i64 / 2,
            quiet_ns: 20 * MS,
        })?;
        Ok(())
    }

    /// Sends a command to every worker at once; returns the answers.
    fn each(&mut self, command: impl Fn(usize) -> Command) -> Result<Vec<Value>, Failure> {
        let posted: Vec<u64> = self
            .workers
            .iter_mut()
            .enumerate()
            .map(|(place, worker)| worker.post(command(place)))
            .collect::<Result<_, _>>()?;
        self.workers.iter_mut().zip(posted).map(|(worker, id)| worker.expect_ok(id)).collect()
    }

    /// What the readers of each worker are to receive: reader → writer → the value in `known`. A
    /// service receives from its clients, and a client its answers, by its own number.
    fn expected(
        &self,
        known: impl Fn(u32) -> Option<u64>,
    ) -> Vec<BTreeMap<u32, BTreeMap<u32, u64>>> {
        let of_reader = |reader: &EndpointSpec| {
            let writers = self.specs.iter().flatten().filter(|writer| match reader.kind {
                EndpointKind::Client => writer.endpoint == reader.endpoint,
                EndpointKind::Service => {
                    writer.kind == EndpointKind::Client && writer.topic == reader.topic
                }
                _ => writer.kind == EndpointKind::Publisher && writer.topic == reader.topic,
            });
            writers.filter_map(|w| Some((w.endpoint, known(w.endpoint)?))).collect()
        };
        let there = |e: &&EndpointSpec| reads(e) && !self.gone.contains(&e.endpoint);
        self.specs
            .iter()
            .map(|specs| specs.iter().filter(there).map(|e| (e.endpoint, of_reader(e))).collect())
            .collect()
    }

    /// Starts every schedule together: no warm-up, `length_ms` of steady state. Returns the start.
    pub fn start(&mut self, length_ms: i64, grace_ms: i64) -> Result<i64, Failure> {
        let at_ns = now_ns() + 10 * MS;
        let start = Start {
            at_ns,
            steady_ns: at_ns,
            end_ns: at_ns + length_ms * MS,
            grace_ns: grace_ms * MS,
            endpoints: None,
            schedule: self.schedule,
        };
        for started in self.each(|_| Command::Start(start.clone()))? {
            let answer: Started = serde_json::from_value(started)
                .map_err(|e| format!("the answer to start does not tell the schedule: {e}"))?;
            if answer.schedule != self.schedule {
                let schedule = self.schedule;
                return Err(format!("asked for {schedule:?}, told {:?}", answer.schedule).into());
            }
        }
        Ok(at_ns)
    }

    /// Starts nodes that were added after `start`, for at most as long as the others run.
    pub fn start_late(&mut self, place: usize, length_ms: i64) -> Result<(), Failure> {
        let at_ns = now_ns();
        let start = Start {
            at_ns,
            steady_ns: at_ns,
            end_ns: at_ns + length_ms * MS,
            grace_ns: 0,
            endpoints: None,
            schedule: self.schedule,
        };
        self.workers[place].request(Command::Start(start))?;
        Ok(())
    }

    /// Waits until every endpoint of the living workers that sends by a schedule or as a relay has
    /// finished: endpoint → event.
    pub fn finished(&mut self) -> Result<BTreeMap<u32, Finished>, Failure> {
        self.finished_of(|endpoint| sends(endpoint) && endpoint.kind != EndpointKind::Service)
    }

    /// Ends the services, which would otherwise wait for requests until the grace is over; adds
    /// their ends.
    pub fn end_services(&mut self, finished: &mut BTreeMap<u32, Finished>) -> Result<(), Failure> {
        for (worker, specs) in self.workers.iter_mut().zip(&self.specs) {
            let endpoints: Vec<u32> = specs
                .iter()
                .filter(|e| e.kind == EndpointKind::Service)
                .map(|e| e.endpoint)
                .collect();
            if !endpoints.is_empty() {
                worker.request(Command::Stop { endpoints, at_ns: None })?;
            }
        }
        finished.extend(self.finished_of(|endpoint| endpoint.kind == EndpointKind::Service)?);
        Ok(())
    }

    fn finished_of(
        &mut self,
        chosen: fn(&EndpointSpec) -> bool,
    ) -> Result<BTreeMap<u32, Finished>, Failure> {
        let deadline = Instant::now() + PATIENCE;
        let mut all = BTreeMap::new();
        for (worker, specs) in self.workers.iter_mut().zip(&self.specs) {
            let senders: BTreeSet<u32> =
                specs.iter().filter(|e| chosen(e)).map(|e| e.endpoint).collect();
            let done = |events: &[Event]| {
                let ended: BTreeSet<u32> =
                    events.iter().filter_map(|e| Finished::of(e).map(|f| f.endpoint)).collect();
                senders.is_subset(&ended)
            };
            worker.events_until("finished", deadline, done)?;
            all.extend(worker.events.iter().filter_map(Finished::of).map(|f| (f.endpoint, f)));
        }
        Ok(all)
    }

    /// Drains every reader of every writer on its topic; true when complete.
    pub fn drain(
        &mut self,
        finished: &BTreeMap<u32, Finished>,
        timeout: Duration,
    ) -> Result<bool, Failure> {
        let expected = self.expected(|writer| finished.get(&writer)?.last_seq);
        let mut posted = Vec::new();
        for (worker, expect) in self.workers.iter_mut().zip(expected) {
            posted.push(worker.post(Command::Drain {
                expect,
                timeout_ns: timeout.as_nanos() as i64,
                quiet_ns: None,
                quiet_latencies: None,
            })?);
        }
        let mut complete = true;
        for (worker, id) in self.workers.iter_mut().zip(posted) {
            complete &=
                worker.expect_ok_within(id, timeout + PATIENCE)?["complete"] == Value::Bool(true);
        }
        Ok(complete)
    }

    /// How long sent messages may take to arrive; once they are complete nobody waits. As
    /// installed, Cyclone DDS repairs 32 MiB in fragments of 1344 bytes: up to 9 s alone, and up to
    /// 45 s with five others on two processors. An arm without repair has lost the messages that do
    /// not arrive soon.
    fn repairs_within(&self) -> Duration {
        Duration::from_secs(if self.is_reliable() { 90 } else { 5 })
    }

    /// Start, finish and drain in one, as most checks need.
    pub fn play(&mut self, length_ms: i64) -> Result<BTreeMap<u32, Finished>, Failure> {
        self.start(length_ms, 5_000)?;
        let mut finished = self.finished()?;
        self.drain(&finished, self.repairs_within())?;
        self.end_services(&mut finished)?;
        Ok(finished)
    }

    pub fn collect(&mut self, place: usize) -> Result<Collected, Failure> {
        serde_json::from_value(self.workers[place].request(Command::Collect {})?)
            .map_err(|e| format!("collect: {e}").into())
    }

    pub fn is_reliable(&self) -> bool {
        self.context.lacks("reliable").is_none()
    }

    fn place_of(&self, endpoint: u32) -> usize {
        self.specs
            .iter()
            .position(|s| s.iter().any(|e| e.endpoint == endpoint))
            .expect("the check names its endpoints")
    }

    pub fn sent(&self, endpoint: u32) -> Result<Vec<Slot>, String> {
        self.workers[self.place_of(endpoint)].slots(Kind::Sent, endpoint)
    }

    pub fn received(&self, endpoint: u32) -> Result<Vec<Slot>, String> {
        self.workers[self.place_of(endpoint)].slots(Kind::Received, endpoint)
    }

    /// The answers that `client` received: its request → the reply, by the services' records.
    pub fn answered(&self, client: u32) -> Result<BTreeMap<u64, u64>, String> {
        let heard: BTreeSet<(u32, u64)> =
            self.received(client)?.iter().map(|s| (s.peer, s.seq)).collect();
        let mut answered = BTreeMap::new();
        for service in self.specs.iter().flatten().filter(|e| e.kind == EndpointKind::Service) {
            let replies = self.sent(service.endpoint)?;
            let own = replies
                .iter()
                .filter(|s| s.peer == client && heard.contains(&(service.endpoint, s.seq)));
            answered.extend(own.map(|s| (s.words[5], s.seq)));
        }
        Ok(answered)
    }

    /// The ledger of one writer at one reader; an error for a result that no middleware may have,
    /// whatever the QoS.
    pub fn ledger(&self, writer: u32, reader: u32) -> Result<Ledger, Failure> {
        self.ledger_of(writer, reader, 0)
    }

    /// The same for a writer that was killed: its last message may have been sent before it was
    /// recorded.
    pub fn ledger_of_killed(&self, writer: u32, reader: u32) -> Result<Ledger, Failure> {
        self.ledger_of(writer, reader, 1)
    }

    fn ledger_of(&self, writer: u32, reader: u32, unrecorded: u64) -> Result<Ledger, Failure> {
        let sent = self.sent(writer)?;
        for (place, slot) in sent.iter().enumerate() {
            if slot.seq != place as u64 {
                return Err(format!("writer {writer}: record {place} has sequence number {}: expected a dense series", slot.seq).into());
            }
        }
        let accepted: BTreeSet<u64> =
            sent.iter().filter(|s| s.flags & sent_flag::FAILED == 0).map(|s| s.seq).collect();
        let mut arrived = BTreeSet::new();
        let mut last = None;
        for slot in self.received(reader)?.iter() {
            let object = format!("reader {reader}, writer {}, message {}", slot.peer, slot.seq);
            if slot.flags & (received_flag::CORRUPT | received_flag::FOREIGN) != 0 {
                return Err(Finding::Damaged.failure(format!(
                    "{object}: corrupt or foreign (flags {:#x}, {} bytes)",
                    slot.flags, slot.bytes
                )));
            }
            if slot.peer != writer {
                continue;
            }
            if slot.seq >= sent.len() as u64 + unrecorded {
                return Err(format!("{object}: was never sent").into());
            }
            if !arrived.insert(slot.seq) {
                return Err(format!("{object}: arrived twice").into());
            }
            if last.is_some_and(|last| slot.seq < last) {
                return Err(Finding::Overtaken.failure(format!(
                    "{object}: arrived after message {}",
                    last.unwrap_or_default()
                )));
            }
            last = Some(slot.seq);
        }
        let lost = accepted.difference(&arrived).copied().collect();
        Ok(Ledger { accepted: accepted.len(), arrived: arrived.len(), lost })
    }

    /// An error unless every accepted message of `writer` arrived at `reader`, once and in order;
    /// an arm that cannot be reliable may lose some, but not all.
    pub fn expect_complete(&self, writer: u32, reader: u32) -> Result<(), Failure> {
        let ledger = self.ledger(writer, reader)?;
        if ledger.accepted == 0 {
            return Err(format!("writer {writer} sent nothing").into());
        }
        if ledger.lost.is_empty() || (!self.is_reliable() && ledger.arrived > 0) {
            return Ok(());
        }
        let first: Vec<&u64> = ledger.lost.iter().take(10).collect();
        Err(Finding::Lost.failure(format!(
            "reader {reader} lost {} of {} messages of writer {writer}, first {first:?}",
            ledger.lost.len(),
            ledger.accepted
        )))
    }
}

pub struct Ledger {
    pub accepted: usize,
    pub arrived: usize,
    pub lost: Vec<u64>,
}

#[derive(Clone, Debug)]
pub struct Finished {
    pub endpoint: u32,
    pub sent: u64,
    pub failed: u64,
    pub never_sent: u64,
    pub last_seq: Option<u64>,
}

impl Finished {
    pub fn of(event: &Event) -> Option<Finished> {
        match *event {
            Event::Finished { endpoint, sent, failed, never_sent, last_seq, .. } => {
                Some(Finished { endpoint, sent, failed, never_sent, last_seq })
            }
            _ => None,
        }
    }
}
