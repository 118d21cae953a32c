//! The traits that a middleware implements: they open a session and create nodes, publishers,
//! subscriptions, clients and services.
//!
//! The middleware's own thread delivers to a [`Sink`], whether it is a wait set's, a listener's or
//! an executor's. The harness never owns the loop, because on a robot no harness does. A middleware
//! that can only be polled has its own waiting thread: one for a session, not one for a
//! subscription (200 nodes must not need 200 threads).

use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::now_ns;
use crate::message_type::MessageType;
pub use crate::modes::modes;
use crate::qos::{History, Qos, Reliability};

/// A middleware: the only type that a worker's `main` names.
pub trait Middleware: Sync {
    /// Version, capabilities and embedded profiles; must work where the middleware itself cannot
    /// run.
    fn describe(&self) -> Description;

    /// What the isolation of trials, or this worker, forces on an embedded profile; the profile is
    /// then shown with an asterisk (`untouched*`) and this text. None: nothing is forced.
    fn forced(&self, _profile: &str) -> Option<&'static str> {
        None
    }

    /// What keeps an embedded profile within one host, and the modes that replace it; None if the
    /// profile reaches other hosts. A cell over several hosts is then `not supported`, with this
    /// reason, before it runs.
    fn one_host(&self, _profile: &str) -> Option<OneHost> {
        None
    }

    /// How the middleware keeps to a host without namespaces of its own ([`crate::shared_host`]).
    /// None: it does not, and its arms do not run there.
    fn shared_host(&self) -> Option<SharedHost> {
        None
    }

    /// What processes with an embedded profile take of `/dev/shm`; None: nothing. It is only asked
    /// where `/dev/shm` is small and shared.
    fn shared_memory(&self, _profile: &str) -> Option<SharedMemory> {
        None
    }

    /// Opens the process's session (a DDS participant, a Zenoh session, …) with a profile.
    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error>;

    /// The daemons that must serve before workers open with an embedded profile, in the order of
    /// their start; each is a process of its own, `WORKER --daemon NAME`.
    fn daemons(&self, _profile: &str) -> &'static [&'static str] {
        &[]
    }

    /// The further daemons that levels of modes need: (mode, level, daemons).
    fn mode_daemons(&self) -> &'static [(&'static str, &'static str, &'static [&'static str])] {
        &[]
    }

    /// The daemons that serve one host only: each host with a process of this middleware gets its
    /// own.
    fn daemons_each_host(&self) -> &'static [&'static str] {
        &[]
    }

    /// Starts a daemon in this process; returns when it serves. `config` is that of the workers of
    /// its host.
    fn daemon(&self, name: &str, _config: &SessionConfig) -> Result<Box<dyn Daemon>, Error> {
        Err(Error::unsupported(format!("daemon {name}"), "this worker has no daemon of that name"))
    }
}

/// A daemon that serves. Dropping it ends it and removes what it left outside the process.
pub trait Daemon {}

/// An open session. Dropping it closes it in order; nodes are dropped before their session.
pub trait Session: Send {
    fn node(&mut self, name: &str) -> Result<Box<dyn Node>, Error>;

    /// The configuration in force, profile and modes together, in the middleware's own file format;
    /// it is stored with the trial. None: there is no such file.
    fn configuration(&self) -> Option<Configuration> {
        None
    }
}

/// An effective configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// The same names as in [`Profile::format`].
    pub format: String,
    pub text: String,
}

impl Configuration {
    /// Settings in the form of a profile that [`Profile::json`] reads.
    pub fn json(settings: &impl Serialize) -> Configuration {
        let text = serde_json::to_string(settings).expect("plain data");
        Configuration { format: "json".into(), text }
    }
}

/// A node as in ROS 2: a named holder of endpoints. Endpoints are dropped before their node.
pub trait Node: Send {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error>;

    /// Creates a subscription. Deliveries to `sink` may come from any thread and may begin before
    /// this returns.
    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error>;

    /// Creates a service's client. `publish` of the returned publisher sends a request and does not
    /// wait for the answer; replies go to `sink`, as a subscription's messages do. `matched` counts
    /// the services. The middleware drops replies to other clients and counts them as
    /// `other_clients_replies` and `other_clients_reply_bytes`.
    fn client(
        &mut self,
        config: &EndpointConfig,
        _sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Publisher>, Error> {
        Err(no_services(config))
    }

    /// Creates a service. Each request goes to `handler`, from any thread, which replies within the
    /// call. `matched` counts the clients.
    fn service(
        &mut self,
        config: &EndpointConfig,
        _handler: Arc<dyn Handler>,
    ) -> Result<Box<dyn Endpoint>, Error> {
        Err(no_services(config))
    }
}

fn no_services(config: &EndpointConfig) -> Error {
    Error::unsupported(
        format!("endpoint {}", config.endpoint),
        "services: not implemented in this worker",
    )
}

/// The reports of publishers, subscriptions, clients and services about themselves.
pub trait Endpoint: Send {
    /// The number of peers matched now.
    fn matched(&self) -> u32;

    /// The granted settings, read back from the middleware where it can report them.
    fn granted(&self) -> Granted;

    /// The drops and the evidence so far.
    fn account(&self) -> Account;
}

/// A publisher. Each is used by a thread of its own, at the same time as the others of its node and
/// session.
pub trait Publisher: Endpoint {
    /// Publishes a copy of `payload`; returns when the middleware's publish call does.
    fn publish(&mut self, payload: &[u8]) -> Result<(), PublishError>;

    /// The payload of the API's own message, `bytes` long, for an API whose users write into such a
    /// message before they publish it. It stays where it is until [`Publisher::publish`] is called
    /// with it, which then copies nothing; nobody else touches it meanwhile. None, by default, if
    /// users publish from their own memory.
    fn message(&mut self, _bytes: usize) -> Option<NonNull<[u8]>> {
        None
    }

    /// Publishes without a copy: loans `bytes` from the middleware, has `fill` write them, commits.
    fn publish_loaned(
        &mut self,
        _bytes: usize,
        _fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), PublishError> {
        Err(PublishError::Unsupported)
    }
}

/// A subscription. Dropping it ends delivery: after that the sink is not called again.
pub trait Subscription: Endpoint {}

/// Why a profile works on one host only; the reason ends with what to request instead. `unless`
/// names the modes that replace the setting which prevents it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneHost {
    pub reason: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub unless: &'static [&'static str],
}

/// The settings that are forced on every profile on a shared host, in words; and the daemons that
/// cannot run there: (name, reason).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SharedHost {
    pub forced: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub without: &'static [(&'static str, &'static str)],
}

/// The bytes of `/dev/shm` that a process takes whatever it sends; and whether a publisher's full
/// history takes more of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SharedMemory {
    pub process_bytes: u64,
    pub histories: bool,
}

/// Where messages go. The middleware's thread calls it; several threads may call it at once. It may
/// sleep in the call, if a suite has a consumer that keeps each message: the payload stays the
/// reader's until the call returns.
pub trait Sink: Send + Sync {
    fn deliver(&self, delivery: &Delivery<'_>);

    /// Whether a delivery publishes the message again in a call that may wait for acknowledgements
    /// (reliable, with a history that keeps all). A middleware that calls back in the thread which
    /// takes acknowledgements would then wait for ever: it refuses such a subscription.
    fn publish_may_wait(&self) -> bool {
        false
    }
}

/// How one request is answered. A function of the payload implements it, for APIs whose users
/// answer from their own memory.
pub trait Reply {
    /// The payload of the API's own reply, `bytes` long, for an API whose users write into it
    /// before they send it. It is valid until [`Reply::send`] is called with it, as for
    /// [`Publisher::message`].
    fn message(&mut self, _bytes: usize) -> Option<NonNull<[u8]>> {
        None
    }

    /// Sends the answer to the client of the request; returns when the middleware's call returns.
    fn send(&mut self, payload: &[u8]) -> Result<(), PublishError>;
}

impl<Send: FnMut(&[u8]) -> Result<(), PublishError>> Reply for Send {
    fn send(&mut self, payload: &[u8]) -> Result<(), PublishError> {
        self(payload)
    }
}

/// Where a service's requests go. The middleware's thread calls it; several threads may call it at
/// once.
pub trait Handler: Send + Sync {
    /// Handles one request. Answers it once, or not at all if no client of this trial sent it.
    fn handle(&self, request: &Delivery<'_>, reply: &mut dyn Reply);
}

/// One message that the reader has taken. `docs/formats/records.md` defines the two stamps;
/// [`Delivery::taken`] takes them accordingly.
pub struct Delivery<'a> {
    /// When the wait that announced this message returned, or its callback began (CLOCK_MONOTONIC,
    /// ns).
    pub notified_ns: i64,
    /// The last instant before the reader's code can look at this payload.
    pub taken_ns: i64,
    pub payload: &'a [u8],
    /// Whether the payload is read in place, by the middleware's own evidence; false if it has
    /// none.
    pub zero_copy: bool,
    /// Whether the body may differ from the published bytes (there is a lossy codec between): it is
    /// then read and only its size is checked.
    pub lossy: bool,
}

impl<'a> Delivery<'a> {
    /// Makes the delivery of a message that the reader's code may look at from now on, with the
    /// stamp `taken_ns`. Make it for one message after the other, when the message is handed over.
    /// `notified_ns` 0: nothing announced the message (polling), so both stamps are equal.
    #[inline]
    pub fn taken(notified_ns: i64, payload: &'a [u8], zero_copy: bool) -> Delivery<'a> {
        let taken_ns = now_ns();
        let notified_ns = if notified_ns == 0 { taken_ns } else { notified_ns };
        Delivery { notified_ns, taken_ns, payload, zero_copy, lossy: false }
    }
}

/// Why a publish call did not send the message. The middleware's words go to the account, not here:
/// no allocation in the hot path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishError {
    /// A queue, history or pool was full and the call gave up.
    Full,
    /// The call timed out while blocking.
    Timeout,
    /// This middleware cannot publish this way (say, a loan).
    Unsupported,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishMode {
    /// The profile's setting.
    Default,
    Sync,
    Async,
}

/// How a subscription learns that there are messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// A thread blocks on the middleware's wait set, listener or receive call.
    Block,
    /// A thread spins.
    Poll,
    /// The middleware's own thread calls.
    Callback,
}

/// Into whose memory a subscription asks to take its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// As any user of this API gets them: in the reader's own memory, or lent if the API lends.
    #[default]
    Typed,
    /// Serialised, in the middleware's receive buffer, before any deserialiser ran.
    Raw,
}

/// Where a payload is when it is taken, as granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakenAs {
    /// In the reader's own memory.
    Typed,
    /// In the middleware's receive buffer.
    Raw,
    /// In memory that the API lends: the writer's, or that of a pool which both share.
    Lent,
}

/// What happens at an endpoint when its own queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// A publish call waits for room, possibly with a time-out; a reader makes its writers wait.
    Blocks,
    /// A writer replaces its oldest message that is not delivered yet.
    OverwritesAtWriter,
    /// A writer, or the component that sends for it, drops the new message.
    DropsAtWriter,
    /// A reader loses a message that reached it.
    DropsAtReader,
    /// The queue grows without a limit.
    NeverFull,
}

impl WhenFull {
    /// What a DDS writer of this granted QoS does; None: a best-effort writer keeps no message.
    pub fn of_dds_writer(qos: &Qos) -> Option<WhenFull> {
        match (qos.reliability, qos.history) {
            (Reliability::BestEffort, _) => None,
            (Reliability::Reliable, History::KeepLast) => Some(WhenFull::OverwritesAtWriter),
            (Reliability::Reliable, History::KeepAll) => Some(WhenFull::Blocks),
        }
    }

    /// What a DDS reader of this granted QoS does: its history replaces the oldest message, unless
    /// it must keep all and can make the writer wait.
    pub fn of_dds_reader(qos: &Qos) -> Option<WhenFull> {
        match (qos.reliability, qos.history) {
            (Reliability::Reliable, History::KeepAll) => Some(WhenFull::Blocks),
            _ => Some(WhenFull::DropsAtReader),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Profile {
    pub name: String,
    /// `xml`, `json5`, `toml`, `none`.
    pub format: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

impl Profile {
    /// The settings in a profile of a worker whose profiles are JSON. Errors: another format or
    /// shape.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        let invalid = |message| Error::invalid(format!("profile {}", self.name), message);
        if self.format != "json" {
            return Err(invalid(format!("this worker reads json, the profile is {}", self.format)));
        }
        serde_json::from_str(&self.text).map_err(|e| invalid(e.to_string()))
    }
}

#[derive(Clone, Debug)]
pub struct SessionConfig {
    pub profile: Profile,
    /// Settings of the arm that its profile does not contain; read them with
    /// [`SessionConfig::option`].
    pub options: BTreeMap<String, Value>,
    /// Settings of the portable vocabulary ([`crate::modes`]), which replace those of the profile;
    /// read them with [`SessionConfig::mode`].
    pub modes: BTreeMap<String, Value>,
    pub domain_id: u32,
    pub trial_nonce: u64,
}

impl SessionConfig {
    /// Option `key` as a `T`, or `default` if it is absent; a value of another shape is invalid.
    pub fn option<T: serde::de::DeserializeOwned>(
        &self,
        key: &str,
        default: T,
    ) -> Result<T, Error> {
        match self.options.get(key) {
            None => Ok(default),
            Some(value) => serde_json::from_value(value.clone()).map_err(|e| {
                Error::invalid(format!("option {key}"), format!("{value} does not fit: {e}"))
            }),
        }
    }

    /// Refuses options that the middleware does not know, and names those that it knows.
    pub fn only_options(&self, known: &[&str]) -> Result<(), Error> {
        match self.options.keys().find(|k| !known.contains(&k.as_str())) {
            None => Ok(()),
            Some(key) => Err(Error::invalid(
                format!("option {key}"),
                format!("known options: {}", known.join(", ")),
            )),
        }
    }
}

/// Everything that the creation of an endpoint needs; the schedule stays with the harness.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    pub endpoint: u32,
    /// For a client or a service: the service's name.
    pub topic: String,
    /// For a client or a service: the request's type.
    pub message_type: MessageType,
    /// For a client or a service only.
    pub reply_type: Option<MessageType>,
    pub qos: Qos,
    pub loan: bool,
    pub publish_mode: PublishMode,
    pub wait: Wait,
    /// For a subscription; `typed` for the others. The harness has refused `raw` if the description
    /// says `no` to `take_raw`.
    pub take: Take,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Granted {
    pub qos: Qos,
    /// The mode in force; `default` only if the mode cannot be known.
    pub publish_mode: PublishMode,
    pub wait: Wait,
    /// For an endpoint that reads; None for a publisher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<TakenAs>,
    /// None if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_full: Option<WhenFull>,
    /// Notes that a reader of the results must know, in plain words.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Drops and evidence of an endpoint. Absent counters are left out, never 0.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Account {
    /// Messages that the reader's side dropped, if the middleware counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader_drops: Option<u64>,
    /// The middleware's own counters.
    #[serde(default)]
    pub counters: BTreeMap<String, i64>,
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}

/// What the middleware itself reports about the path that messages took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// `shm`, `udp`, `tcp`, `unix`, `intra_process`.
    pub path: String,
    pub messages: u64,
    pub note: String,
}

/// The document that `--describe` prints, without the protocol version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    pub middleware: String,
    /// `floor` or `native`.
    pub layer: String,
    pub version: String,
    /// The date of this version's release, in ISO form.
    pub release_date: String,
    pub build: BTreeMap<String, Value>,
    /// Name → `yes`, `no: REASON` or `partly: REASON`; it has every name of [`CAPABILITIES`].
    pub capabilities: BTreeMap<String, String>,
    /// Name → the levels that the middleware supports (`udp|tcp`, `true|false`, `N`) or `no:
    /// REASON`; an absent name is refused as not mapped. [`modes`] builds it.
    #[serde(default)]
    pub modes: BTreeMap<String, String>,
    pub profiles: Vec<Profile>,
}

/// The names that every description contains (`worker-protocol.md`, last section).
pub const CAPABILITIES: [&str; 20] = [
    "reliable",
    "best_effort",
    "keep_last",
    "keep_all",
    "transient_local",
    "loan",
    "zero_copy",
    "block",
    "poll",
    "callback",
    "publish_sync",
    "publish_async",
    "intra_process",
    "inter_process",
    "inter_host",
    "content_filter",
    "instance_key",
    "services",
    "evidence",
    "take_raw",
];

const NO_RAW: &str = "no: this API hands out no serialised message beside what take: typed gives";

/// Builds the capability map: a name that is not listed is `no: REASON` by `default_no`.
pub fn capabilities(listed: &[(&str, &str)]) -> BTreeMap<String, String> {
    CAPABILITIES
        .iter()
        .map(|name| {
            let default =
                if *name == "take_raw" { NO_RAW } else { "no: not implemented in this worker" };
            let answer = listed.iter().find(|(n, _)| n == name).map_or(default, |(_, a)| a);
            (name.to_string(), answer.to_string())
        })
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The middleware is known to be unable to do this.
    Unsupported,
    /// The request contradicts itself or contains an unknown name.
    Invalid,
    /// The attempt failed.
    Failed,
}

/// One error, worded for the person who wrote the suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    pub kind: ErrorKind,
    /// The object of the error: `endpoint 3`, `option transport`.
    pub object: String,
    pub message: String,
}

impl Error {
    pub fn unsupported(object: impl Into<String>, message: impl Into<String>) -> Self {
        Error { kind: ErrorKind::Unsupported, object: object.into(), message: message.into() }
    }

    pub fn invalid(object: impl Into<String>, message: impl Into<String>) -> Self {
        Error { kind: ErrorKind::Invalid, object: object.into(), message: message.into() }
    }

    pub fn failed(object: impl Into<String>, message: impl fmt::Display) -> Self {
        Error { kind: ErrorKind::Failed, object: object.into(), message: message.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.message)
    }
}

impl std::error::Error for Error {}
