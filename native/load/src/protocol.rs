//! Lines of docs/formats/load.md.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use crate::kind::{Asked, Kind};
use crate::tcp::Flows;
use crate::usage::Snapshot;

const PROTOCOL: u32 = 1;
const TOOL: &str = "load";
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn hello() -> Value {
    json!({"hello": {"protocol": PROTOCOL, "tool": TOOL, "version": VERSION, "pid": std::process::id(), "clock": "CLOCK_MONOTONIC"}})
}

/// What `--describe` prints.
pub fn describe() -> Value {
    json!({"protocol": PROTOCOL, "tool": TOOL, "version": VERSION, "kinds": Kind::ALL})
}

#[derive(Debug, Deserialize)]
pub struct Line {
    pub id: u64,
    pub cmd: String,
    #[serde(flatten)]
    pub fields: serde_json::Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub struct Start {
    pub kind: Kind,
    /// Of `tcp_send` alone.
    #[serde(default)]
    pub tcp: Option<Flows>,
}

#[derive(Debug, Deserialize)]
pub struct Window {
    pub steady_ns: i64,
    pub end_ns: i64,
}

#[derive(Serialize)]
pub struct Started {
    pub kind: Kind,
    pub asked: Asked,
}

#[derive(Serialize)]
pub struct Collected {
    pub snapshots: Vec<Snapshot>,
    /// Of `traffic`: (time_ns, datagrams sent by then) of every burst near the window's edges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bursts: Vec<(i64, u64)>,
}

#[derive(Serialize)]
pub struct Problem {
    pub kind: &'static str,
    pub object: String,
    pub message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer<T> {
    Ok(T),
    Error(Problem),
}

#[derive(Serialize)]
pub struct Reply<T> {
    pub id: u64,
    #[serde(flatten)]
    pub answer: Answer<T>,
}
