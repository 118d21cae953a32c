//! The lines of the worker protocol, as types (`docs/formats/worker-protocol.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message_type::MessageType;
use crate::middleware::{
    Account, Configuration, Error, Granted, Profile, PublishMode, SessionConfig, Take, Wait,
};
use crate::payload::Touch;
use crate::qos::Qos;
use crate::usage::{Memory, Usage};

pub const PROTOCOL: u32 = 1;
/// The longest line that is accepted: a longer one comes from a broken orchestrator.
pub const MAX_LINE_BYTES: usize = 64 << 20;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    pub worker: String,
    pub middleware: String,
    pub version: String,
    pub build: String,
    pub pid: u32,
    pub clock: String,
    /// The daemon that this process is; absent for a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub id: u64,
    #[serde(flatten)]
    pub command: Command,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case")]
pub enum Command {
    Open(Open),
    Create {
        nodes: Vec<NodeSpec>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ns: Option<i64>,
    },
    Match {
        timeout_ns: i64,
        /// Absent: every endpoint of the worker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        endpoints: Option<Vec<u32>>,
    },
    Probe {
        /// Absent: every publisher and client of the worker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        endpoints: Option<Vec<u32>>,
    },
    Settle {
        /// Reader → writer → how many of its probes were sent.
        #[serde(deserialize_with = "numbered")]
        expect: BTreeMap<u32, BTreeMap<u32, u64>>,
        timeout_ns: i64,
        /// Ends the settling when these readers have heard nothing for this long.
        quiet_ns: i64,
    },
    Start(Start),
    Stop {
        endpoints: Vec<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ns: Option<i64>,
    },
    Drain {
        /// Reader → writer → last sequence number sent.
        #[serde(deserialize_with = "numbered")]
        expect: BTreeMap<u32, BTreeMap<u32, u64>>,
        timeout_ns: i64,
        /// Ends the drain when no message came for this long; while messages come, it waits for the
        /// time-out. Absent: only the time-out ends the drain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quiet_ns: Option<i64>,
        /// The quiet time is also at least this many times the longest latency of the messages
        /// since the drain began. Only if writers and readers have one clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quiet_latencies: Option<u32>,
    },
    Destroy {
        #[serde(default)]
        nodes: Vec<String>,
        #[serde(default)]
        endpoints: Vec<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ns: Option<i64>,
    },
    Collect {},
    /// The time at this worker: the orchestrator compares clocks by this exchange.
    Clock {},
    Exit {},
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Open {
    /// Hexadecimal: 64 bits do not fit a JSON number.
    pub trial_nonce: String,
    #[serde(default)]
    pub domain_id: u32,
    pub profile: Profile,
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modes: BTreeMap<String, Value>,
}

impl Open {
    /// The configuration for the middleware. Errors: the nonce is not a hexadecimal number.
    pub fn config(self) -> Result<SessionConfig, Error> {
        let trial_nonce = u64::from_str_radix(&self.trial_nonce, 16).map_err(|e| {
            Error::invalid(
                "trial_nonce",
                format!("expected 16 hexadecimal digits, found {:?}: {e}", self.trial_nonce),
            )
        })?;
        Ok(SessionConfig {
            profile: self.profile,
            options: self.options,
            modes: self.modes,
            domain_id: self.domain_id,
            trial_nonce,
        })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeSpec {
    pub name: String,
    pub endpoints: Vec<EndpointSpec>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndpointKind {
    Publisher,
    Subscription,
    Client,
    Service,
}

impl EndpointKind {
    pub fn name(self) -> &'static str {
        match self {
            EndpointKind::Publisher => "publisher",
            EndpointKind::Subscription => "subscription",
            EndpointKind::Client => "client",
            EndpointKind::Service => "service",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndpointSpec {
    pub endpoint: u32,
    pub kind: EndpointKind,
    pub topic: String,
    #[serde(rename = "type")]
    pub message_type: MessageType,
    /// For clients and services only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_type: Option<MessageType>,
    pub qos: Qos,
    /// For publishers and clients only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Arrival>,
    #[serde(default = "touch_all")]
    pub touch: Touch,
    /// For subscriptions only: how long the consumer keeps each message, and its memory, before it
    /// gives the memory back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hold_ns: i64,
    /// For publishers only: the messages are frames of a source outside of the worker, from the
    /// ring of this endpoint. The text describes the source; the worker does not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<String>,
    #[serde(default)]
    pub loan: bool,
    #[serde(default = "publish_mode_default")]
    pub publish_mode: PublishMode,
    #[serde(default = "wait_block")]
    pub wait: Wait,
    /// For subscriptions only.
    #[serde(default, skip_serializing_if = "is_typed")]
    pub take: Take,
    #[serde(default)]
    pub matches: u32,
}

fn is_typed(take: &Take) -> bool {
    *take == Take::Typed
}

fn is_zero(ns: &i64) -> bool {
    *ns == 0
}

/// Reads numbers as keys: JSON keys are strings, and serde does not turn them into numbers inside a
/// tagged enum.
fn numbered<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<u32, BTreeMap<u32, u64>>, D::Error> {
    use serde::de::Error as _;
    let number = |key: &String| {
        key.parse::<u32>()
            .map_err(|_| D::Error::custom(format!("expected an endpoint, found {key:?}")))
    };
    let named = BTreeMap::<String, BTreeMap<String, u64>>::deserialize(deserializer)?;
    named
        .iter()
        .map(|(reader, writers)| {
            let writers = writers
                .iter()
                .map(|(writer, seq)| Ok((number(writer)?, *seq)))
                .collect::<Result<_, D::Error>>()?;
            Ok((number(reader)?, writers))
        })
        .collect()
}

fn touch_all() -> Touch {
    Touch::All
}

fn publish_mode_default() -> PublishMode {
    PublishMode::Default
}

fn wait_block() -> Wait {
    Wait::Block
}

/// When messages are due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Arrival {
    Periodic {
        period_ns: i64,
        #[serde(default)]
        phase_ns: i64,
    },
    Poisson {
        rate_hz: f64,
        seed: u64,
    },
    Burst {
        period_ns: i64,
        count: u32,
        #[serde(default)]
        phase_ns: i64,
    },
    Trace {
        offsets_ns: Vec<i64>,
    },
    /// Publishes in the callback of subscription `from` of the same process.
    Relay {
        from: u32,
    },
    /// Back to back: closed loop, at most `limit` messages.
    Saturation {
        limit: u64,
    },
}

/// The highest rate that suites allow (rmwbench/suite/workload/arrival.py); at a much higher one,
/// the draws would take longer than the trial.
const MAX_RATE_HZ: f64 = 2e6;

impl Arrival {
    /// Refuses an arrival whose time would never advance: such a schedule neither sleeps nor ends.
    pub fn check(&self) -> Result<(), String> {
        // A year: beyond it, times in ns come near the end of an i64.
        let sensible = |what: &str, ns: i64, least: i64| {
            let most = 365 * 86_400 * 1_000_000_000;
            (least..=most)
                .contains(&ns)
                .then_some(())
                .ok_or_else(|| format!("{what}: expected {least} to {most}, found {ns}"))
        };
        match self {
            Arrival::Periodic { period_ns, phase_ns } => {
                sensible("period_ns", *period_ns, 1).and(sensible("phase_ns", *phase_ns, 0))
            }
            Arrival::Burst { count: 0, .. } => Err("count: expected 1 or more, found 0".into()),
            Arrival::Burst { period_ns, phase_ns, .. } => {
                sensible("period_ns", *period_ns, 1).and(sensible("phase_ns", *phase_ns, 0))
            }
            Arrival::Poisson { rate_hz, .. } if !(*rate_hz > 0.0 && *rate_hz <= MAX_RATE_HZ) => {
                Err(format!(
                    "rate_hz: expected more than 0 and at most {MAX_RATE_HZ}, found {rate_hz}"
                ))
            }
            Arrival::Trace { offsets_ns } => {
                match offsets_ns.windows(2).position(|w| w[0] > w[1]) {
                    Some(place) => Err(format!(
                        "offsets_ns: expected ascending, found {} after {}",
                        offsets_ns[place + 1],
                        offsets_ns[place]
                    )),
                    None => {
                        offsets_ns.first().map_or(Ok(()), |first| sensible("offsets_ns", *first, 0))
                    }
                }
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    pub at_ns: i64,
    pub steady_ns: i64,
    pub end_ns: i64,
    pub grace_ns: i64,
    /// Absent: every publisher that has not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<Vec<u32>>,
    #[serde(default)]
    pub schedule: Schedule,
}

/// Which threads send for the publishers and clients that have arrivals of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Each has a thread of its own: a publish call that takes long makes no other publisher late.
    #[default]
    Own,
    /// One thread sends for all endpoints that a `start` names, in the order in which their
    /// messages are due, as a single-threaded executor runs the timers of its nodes.
    Shared,
}

/// The answer to `start`: the schedule that is used. A worker of an earlier version does not report
/// it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Started {
    pub schedule: Schedule,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Ok(Value),
    Error(Error),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    FirstMessage {
        endpoint: u32,
        writer: u32,
        time_ns: i64,
    },
    Finished {
        endpoint: u32,
        scheduled: u64,
        sent: u64,
        failed: u64,
        never_sent: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_seq: Option<u64>,
        time_ns: i64,
    },
    /// A manager of lifecycle nodes finished a step with one of them.
    Step {
        node: String,
        step: Step,
        outcome: StepOutcome,
        asked_ns: i64,
        time_ns: i64,
    },
    Log {
        level: String,
        message: String,
    },
}

/// A step of a manager of lifecycle nodes with one node: it waits for the node's services, then
/// requests two changes of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Service,
    Configure,
    Activate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    Done,
    TimedOut,
    Refused,
}

/// A line from the worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FromWorker {
    Hello {
        hello: Hello,
    },
    Reply {
        id: u64,
        #[serde(flatten)]
        reply: Reply,
    },
    Event(Event),
}

/// The answer to `open`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Opened {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Configuration>,
    /// When the session was open.
    pub time_ns: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Created {
    pub endpoints: BTreeMap<u32, CreatedEndpoint>,
    /// When the last of them was created.
    pub time_ns: i64,
}

/// The settings that the middleware granted, and those of the harness itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreatedEndpoint {
    #[serde(flatten)]
    pub granted: Granted,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hold_ns: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Matched {
    pub endpoints: BTreeMap<u32, MatchedEndpoint>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MatchedEndpoint {
    pub matched: u32,
    pub time_ns: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drained {
    pub complete: bool,
    pub time_ns: i64,
}

/// The answer to `probe`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Probed {
    /// Publisher or client → the number of its probes so far that the middleware accepted.
    pub sent: BTreeMap<u32, u64>,
}

/// The answer to `settle`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settled {
    pub complete: bool,
    /// Whether the barrier is incomplete and no probe came for the requested time.
    pub quiet: bool,
    pub time_ns: i64,
    /// Reader → writer → the writer's probes that this reader heard.
    pub heard: BTreeMap<u32, BTreeMap<u32, ProbesHeard>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbesHeard {
    /// The number of probes heard, without copies.
    pub count: u64,
    /// The highest number heard, plus one; 0 if none was heard.
    pub seen: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Collected {
    pub usage: Vec<Usage>,
    pub memory: Memory,
    pub endpoints: BTreeMap<u32, EndpointAccount>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndpointAccount {
    pub matched: u32,
    /// For endpoints that send: publishers, clients and services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish_failures: Option<u64>,
    #[serde(flatten)]
    pub account: Account,
}

/// The answer to `clock`: when the command was read and when this answer was sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ClockRead {
    pub received_ns: i64,
    pub sent_ns: i64,
}

/// Why a line could not be read, with its id if it has one.
pub struct BadLine {
    pub id: Option<u64>,
    pub error: Error,
}

/// Parses a command line; an unknown command is `unsupported`, any other line that does not fit is
/// `invalid`.
pub fn parse_request(line: &str) -> Result<Request, BadLine> {
    let value: Value = serde_json::from_str(line).map_err(|e| BadLine {
        id: None,
        error: Error::invalid("line", format!("not JSON: {e}")),
    })?;
    let id = value.get("id").and_then(Value::as_u64);
    let Some(name) = value.get("cmd").and_then(Value::as_str).map(str::to_owned) else {
        return Err(BadLine {
            id,
            error: Error::invalid("line", "expected a command with `id` and `cmd`"),
        });
    };
    serde_json::from_value(value).map_err(|e| {
        let message = e.to_string();
        let error =
            if message.starts_with("unknown variant") && message.contains(&format!("`{name}`")) {
                Error::unsupported(
                    format!("cmd {name}"),
                    format!("this worker speaks protocol {PROTOCOL}"),
                )
            } else {
                Error::invalid(format!("cmd {name}"), message)
            };
        BadLine { id, error }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_are_ignored_and_unknown_commands_unsupported() {
        assert!(parse_request(r#"{"id":1,"cmd":"probe","later":true}"#).is_ok());
        let bad = parse_request(r#"{"id":2,"cmd":"frobnicate"}"#).err().unwrap();
        assert_eq!((bad.id, bad.error.kind), (Some(2), crate::middleware::ErrorKind::Unsupported));
        let bad = parse_request(r#"{"id":3,"cmd":"match"}"#).err().unwrap();
        assert_eq!((bad.id, bad.error.kind), (Some(3), crate::middleware::ErrorKind::Invalid));
        assert!(bad.error.message.contains("timeout_ns"), "{}", bad.error);
        assert!(parse_request("{").err().unwrap().id.is_none());
    }

    #[test]
    fn an_arrival_that_would_never_end_is_refused() {
        for rate_hz in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 2.1e6] {
            assert!(Arrival::Poisson { rate_hz, seed: 1 }.check().is_err(), "{rate_hz}");
        }
        assert!(Arrival::Poisson { rate_hz: 2e6, seed: 1 }.check().is_ok());
    }

    #[test]
    fn endpoints_are_numbers_although_json_keys_are_text() {
        let request =
            parse_request(r#"{"id":7,"cmd":"drain","expect":{"2":{"1":42}},"timeout_ns":1}"#)
                .map_err(|b| b.error)
                .unwrap();
        let Command::Drain { expect, .. } = request.command else { panic!("{request:?}") };
        assert_eq!(expect, BTreeMap::from([(2, BTreeMap::from([(1, 42)]))]));
        let bad = parse_request(r#"{"id":7,"cmd":"drain","expect":{"two":{}},"timeout_ns":1}"#)
            .err()
            .unwrap();
        assert!(bad.error.message.contains("expected an endpoint, found \"two\""), "{}", bad.error);
    }
}
