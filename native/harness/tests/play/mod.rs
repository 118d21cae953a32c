//! A trial with its control loop, over a middleware that does only what a test orders.
#![allow(dead_code)] // each test binary uses its part

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
use std::time::Duration;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::control::{Control, Woken};
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::*;
use rmwbench_harness::payload::{fill, Header, Phase};
use rmwbench_harness::protocol::{parse_request, FromWorker, Reply};
use rmwbench_harness::records::{layout, memfd, Kind, Records};
use rmwbench_harness::trial::Trial;
use serde_json::{json, Value};

pub const NONCE: u64 = 7;
pub const MS: i64 = 1_000_000;
const ENDPOINTS: std::ops::Range<u32> = 1..10;

/// The state that a test reads and sets: the order of drops, the readers' sinks, whether publish
/// blocks, what `matched` returns, who answers requests and how often each reply comes.
#[derive(Default)]
pub struct Stage {
    pub dropped: Mutex<Vec<String>>,
    pub sinks: Mutex<BTreeMap<u32, Arc<dyn Sink>>>,
    handlers: Mutex<BTreeMap<u32, Arc<dyn Handler>>>,
    pub blocked: AtomicBool,
    /// The name of the only endpoint that is blocked; None: all are.
    pub blocked_alone: Mutex<Option<String>>,
    /// Whether a publish call has found that it is blocked.
    pub waiting: AtomicBool,
    pub slow: AtomicBool,
    pub matched: AtomicBool,
    /// How many times the reply to a request with this number comes; 1 for an absent number.
    pub replies: Mutex<BTreeMap<u64, usize>>,
    /// The mode that the session was opened with.
    pub transport: Mutex<Option<String>>,
}

pub struct Scripted(pub Arc<Stage>);
pub struct Part {
    stage: Arc<Stage>,
    name: String,
}

impl Drop for Part {
    fn drop(&mut self) {
        self.stage.dropped.lock().unwrap().push(self.name.clone());
    }
}

impl Middleware for Scripted {
    fn describe(&self) -> Description {
        Description {
            middleware: "scripted".into(),
            layer: "native".into(),
            version: "1".into(),
            release_date: "2026-01-01".into(),
            build: BTreeMap::new(),
            capabilities: capabilities(&[("services", "yes")]),
            modes: modes(&[("transport", "udp|tcp"), ("security", "no: it has no secrets")]),
            profiles: Vec::new(),
        }
    }
    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        let transport = config.mode::<String>("transport")?;
        if transport.as_deref() == Some("unix") {
            return Err(Error::unsupported("mode transport", "unix: its own words"));
        }
        *self.0.transport.lock().unwrap() = transport;
        Ok(Box::new(Part { stage: self.0.clone(), name: "session".into() }))
    }
}

impl Session for Part {
    fn node(&mut self, name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(Part { stage: self.stage.clone(), name: format!("node {name}") }))
    }

    fn configuration(&self) -> Option<Configuration> {
        let transport = self.stage.transport.lock().unwrap().clone();
        transport.map(|transport| Configuration {
            format: "toml".into(),
            text: format!("transport = '{transport}'"),
        })
    }
}

impl Part {
    fn endpoint(&self, config: &EndpointConfig) -> Result<Part, Error> {
        if config.topic == "refused" {
            return Err(Error::unsupported("topic", "refused"));
        }
        Ok(Part { stage: self.stage.clone(), name: format!("endpoint {}", config.endpoint) })
    }
}

impl Node for Part {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(self.endpoint(config)?))
    }
    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        self.stage.sinks.lock().unwrap().insert(config.endpoint, sink);
        Ok(Box::new(self.endpoint(config)?))
    }
    fn client(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(Client { part: self.endpoint(config)?, sink }))
    }
    fn service(
        &mut self,
        config: &EndpointConfig,
        handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        self.stage.handlers.lock().unwrap().insert(config.endpoint, handler);
        Ok(Box::new(self.endpoint(config)?))
    }
}

/// Calls every service in the publish call, as a service of the same process and thread would
/// answer.
struct Client {
    part: Part,
    sink: Arc<dyn Sink>,
}

impl Publisher for Client {
    fn publish(&mut self, request: &[u8]) -> Result<(), PublishError> {
        let stage = &self.part.stage;
        let seq = Header::read(request).unwrap().seq;
        let times = stage.replies.lock().unwrap().get(&seq).copied().unwrap_or(1);
        for handler in stage.handlers.lock().unwrap().values() {
            handler.handle(&delivery(request), &mut |reply: &[u8]| {
                self.part.publish(reply)?;
                (0..times).for_each(|_| self.sink.deliver(&delivery(reply)));
                Ok(())
            });
        }
        Ok(())
    }
}

impl Endpoint for Client {
    fn matched(&self) -> u32 {
        self.part.matched()
    }
    fn granted(&self) -> Granted {
        self.part.granted()
    }
    fn account(&self) -> Account {
        self.part.account()
    }
}

fn delivery(payload: &[u8]) -> Delivery<'_> {
    Delivery { notified_ns: now_ns(), taken_ns: now_ns(), payload, zero_copy: false, lossy: false }
}

impl Endpoint for Part {
    fn matched(&self) -> u32 {
        u32::from(self.stage.matched.load(Ordering::Relaxed))
    }
    fn granted(&self) -> Granted {
        Granted {
            qos: Default::default(),
            publish_mode: PublishMode::Sync,
            wait: Wait::Block,
            take: None,
            when_full: None,
            notes: vec![],
        }
    }
    fn account(&self) -> Account {
        Account::default()
    }
}

impl Publisher for Part {
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        Part::publish(self, payload)
    }
}

impl Part {
    fn publish(&self, _: &[u8]) -> Result<(), PublishError> {
        while self.stage.blocked.load(Ordering::Relaxed) && self.is_blocked() {
            self.stage.waiting.store(true, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
        }
        if self.stage.slow.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn is_blocked(&self) -> bool {
        self.stage.blocked_alone.lock().unwrap().as_ref().is_none_or(|name| *name == self.name)
    }
}

impl Subscription for Part {}

/// A trial with its control loop in a thread of its own, as in a worker.
pub struct Play {
    pub stage: Arc<Stage>,
    commands: mpsc::Sender<String>,
    lines: mpsc::Receiver<Value>,
    kept: Vec<Value>,
    pub records: OwnedFd,
    _socket: UnixStream,
    next_id: u64,
}

/// A trial that was opened without modes.
pub fn play() -> Play {
    let mut play = unopened();
    let opened = play.ask(open(json!({})));
    assert!(opened.get("ok").is_some_and(|ok| ok.get("configuration").is_none()), "{opened}");
    play
}

pub fn open(modes: Value) -> Value {
    json!({"cmd": "open", "trial_nonce": "7", "profile": {"name": "", "format": "none", "text": ""}, "modes": modes})
}

pub fn unopened() -> Play {
    let stage = Arc::new(Stage::default());
    stage.matched.store(true, Ordering::Relaxed);
    let (commands, inbox) = mpsc::channel::<String>();
    let (outbox, lines) = mpsc::channel();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let middleware = Scripted(stage.clone());
    let sections: Vec<_> =
        ENDPOINTS.flat_map(|e| [(Kind::Sent, e, 1000), (Kind::Received, e, 1000)]).collect();
    let file = memfd(&layout(NONCE, &sections)).unwrap();
    let records = Records::map(file.try_clone().unwrap()).unwrap();
    thread::spawn(move || {
        let mut control = Control::new(OwnedFd::from(theirs)).unwrap();
        let mut trial = Trial::new(&middleware, records, control.reporter());
        loop {
            match control
                .wait(trial.next_wake_ns().map(|t| t.min(now_ns() + MS)).or(Some(now_ns() + MS)))
            {
                Woken::Event(event) => {
                    outbox.send(serde_json::to_value(FromWorker::Event(event)).unwrap()).unwrap()
                }
                Woken::Closed => return,
                _ => {}
            }
            while let Ok(line) = inbox.try_recv() {
                match parse_request(&line) {
                    Ok(request) => trial.accept(request),
                    Err(bad) => outbox
                        .send(
                            serde_json::to_value(FromWorker::Reply {
                                id: bad.id.unwrap(),
                                reply: Reply::Error(bad.error),
                            })
                            .unwrap(),
                        )
                        .unwrap(),
                }
            }
            for line in trial.advance() {
                if outbox.send(serde_json::to_value(line).unwrap()).is_err() {
                    return;
                }
            }
        }
    });
    Play { stage, commands, lines, kept: vec![], records: file, _socket: ours, next_id: 1 }
}

impl Play {
    pub fn post(&mut self, mut command: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        command["id"] = json!(id);
        self.commands.send(command.to_string()).unwrap();
        id
    }

    pub fn find(&mut self, what: impl Fn(&Value) -> bool, patience: Duration) -> Option<Value> {
        let deadline = std::time::Instant::now() + patience;
        loop {
            if let Some(place) = self.kept.iter().position(&what) {
                return Some(self.kept.remove(place));
            }
            let left = deadline.checked_duration_since(std::time::Instant::now())?;
            self.kept.push(self.lines.recv_timeout(left).ok()?);
        }
    }

    pub fn answer(&mut self, id: u64, patience: Duration) -> Option<Value> {
        self.find(|line| line["id"] == id, patience)
    }

    pub fn ask(&mut self, command: Value) -> Value {
        let id = self.post(command.clone());
        self.answer(id, Duration::from_secs(2))
            .unwrap_or_else(|| panic!("no answer within 2 s to {command}"))
    }

    pub fn ok(&mut self, command: Value) -> Value {
        let reply = self.ask(command);
        assert!(reply.get("ok").is_some(), "{reply}");
        reply["ok"].clone()
    }

    /// Slots claimed in a section of the records.
    pub fn claimed(&self, kind: Kind, endpoint: u32) -> u64 {
        let place = 2 * u64::from(endpoint - ENDPOINTS.start) + (kind as u64 - 1);
        let mut word = [0; 8];
        rustix::io::pread(&self.records, &mut word, 64 + 64 * place + 24).unwrap();
        u64::from_le_bytes(word)
    }

    pub fn finished(&mut self, endpoint: u32, patience: Duration) -> Option<Value> {
        self.find(|line| line["event"] == "finished" && line["endpoint"] == endpoint, patience)
    }
}

impl Stage {
    pub fn deliver(&self, reader: u32, writer: u32, seq: u64) {
        self.deliver_intended(reader, writer, seq, now_ns());
    }

    pub fn deliver_intended(&self, reader: u32, writer: u32, seq: u64, intended_ns: i64) {
        self.deliver_phase(reader, writer, seq, intended_ns, Phase::Steady);
    }

    pub fn deliver_probe(&self, reader: u32, writer: u32, seq: u64) {
        self.deliver_phase(reader, writer, seq, now_ns(), Phase::Probe);
    }

    fn deliver_phase(&self, reader: u32, writer: u32, seq: u64, intended_ns: i64, phase: Phase) {
        let sink = self.sinks.lock().unwrap()[&reader].clone();
        let mut payload = vec![0; 64];
        Header {
            writer,
            nonce: NONCE,
            seq,
            intended_ns,
            cause_seq: 0,
            cause_endpoint: 0,
            size: 64,
            phase,
            touched: 0,
        }
        .write(&mut payload);
        fill(&mut payload[64..], writer, seq);
        sink.deliver(&delivery(&payload));
    }
}

pub fn endpoint(number: u32, kind: &str, topic: &str) -> Value {
    json!({"endpoint": number, "kind": kind, "topic": topic, "type": MessageType::bytes(64),
           "qos": {"reliability": "reliable", "durability": "volatile", "history": "keep_last", "depth": 10}, "matches": 1})
}

pub fn publisher(number: u32, arrival: Value) -> Value {
    let mut spec = endpoint(number, "publisher", "t");
    spec["arrival"] = arrival;
    spec
}

pub fn periodic(ms: i64) -> Value {
    json!({"kind": "periodic", "period_ns": ms * MS})
}

pub fn create(name: &str, endpoints: Vec<Value>) -> Value {
    json!({"cmd": "create", "nodes": [{"name": name, "endpoints": endpoints}]})
}

pub fn start(from_ms: i64, end_ms: i64, grace_ms: i64) -> Value {
    let at = now_ns() + from_ms * MS;
    json!({"cmd": "start", "at_ns": at, "steady_ns": at, "end_ns": at + end_ms * MS, "grace_ns": grace_ms * MS})
}

pub fn scheduled(mut start: Value, schedule: &str) -> Value {
    start["schedule"] = json!(schedule);
    start
}
