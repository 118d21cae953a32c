//! The lines of docs/formats/load.md.

use rmwbench_harness::tool;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use crate::kind::{Asked, Kind};
use crate::tcp::Flows;
use crate::usage::Snapshot;

const PROTOCOL: u32 = 1;
const TOOL: &str = "load";
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn hello() -> Value {
    tool::hello(TOOL, PROTOCOL, VERSION)
}

/// The output of `--describe`.
pub fn describe() -> Value {
    json!({"protocol": PROTOCOL, "tool": TOOL, "version": VERSION, "kinds": Kind::ALL})
}

pub const COMMANDS: [&str; 4] = ["start", "window", "collect", "exit"];

#[derive(Debug, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case")]
pub enum Command {
    Start(Start),
    Window(Window),
    Collect {},
    Exit {},
}

#[derive(Debug, Deserialize)]
pub struct Start {
    pub kind: Kind,
    /// For `tcp_send` only.
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
    /// For `traffic`: (time_ns, datagrams sent by then) of every burst near the window's edges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bursts: Vec<(i64, u64)>,
}
