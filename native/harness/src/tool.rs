//! The protocol of the tools beside the workers (`rmwbench-sampler`, `rmwbench-link`,
//! `rmwbench-load`). As in the worker protocol, a command is one line and so is its answer; each
//! tool has an enum of its own commands, and the envelope is here.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use crate::clock::CLOCK_NAME;
use crate::control::{exit_now, refuse_now, Control, Woken};

/// A command `C` with the number that its answer repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request<C> {
    pub id: u64,
    #[serde(flatten)]
    pub command: C,
}

/// The first line that a tool sends.
pub fn hello(tool: &str, protocol: u32, version: &str) -> Value {
    json!({"hello": {"protocol": protocol, "tool": tool, "version": version, "pid": std::process::id(), "clock": CLOCK_NAME}})
}

pub fn ok(id: u64, value: Value) -> Value {
    json!({"id": id, "ok": value})
}

/// `kind` as in the worker protocol: `unsupported`, `invalid` or `failed`.
pub fn error(id: u64, kind: &str, object: &str, message: &str) -> Value {
    json!({"id": id, "error": {"kind": kind, "object": object, "message": message}})
}

/// Returns a request, or the answer to a line that is not one; None for a line without an id, since
/// nobody waits for an answer to it. `known` are the names of the commands.
pub fn parse<C: DeserializeOwned>(line: &str, known: &[&str]) -> Result<Request<C>, Option<Value>> {
    serde_json::from_str(line).map_err(|e| {
        let value: Value = serde_json::from_str(line).ok()?;
        let (id, cmd) =
            (value.get("id")?.as_u64()?, value.get("cmd").and_then(Value::as_str).unwrap_or(""));
        let object = format!("cmd {cmd}");
        Some(if known.contains(&cmd) {
            error(id, "invalid", &object, &e.to_string())
        } else {
            error(id, "unsupported", &object, &format!("this tool knows {}", known.join(", ")))
        })
    })
}

/// Waits for the next request; any other line is answered here. The process ends when the
/// orchestrator closes the socket.
pub fn next<C: DeserializeOwned>(control: &mut Control, known: &[&str]) -> Request<C> {
    loop {
        if let Some(request) = next_until(control, known, None) {
            return request;
        }
    }
}

/// The same, but returns None from `until_ns` on (never, if that is None).
pub fn next_until<C: DeserializeOwned>(
    control: &mut Control,
    known: &[&str],
    until_ns: Option<i64>,
) -> Option<Request<C>> {
    loop {
        match control.wait(until_ns) {
            Woken::Closed => exit_now(),
            Woken::Violated(what) => refuse_now(&what),
            Woken::TimedOut => return None,
            Woken::Event(_) => {}
            Woken::Line(line) => match parse(&line, known) {
                Ok(request) => return Some(request),
                Err(Some(answer)) => control.send(&answer),
                Err(None) => {
                    eprintln!("protocol: expected a command with an id, found {}", line.trim_end())
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "cmd", rename_all = "snake_case")]
    enum Command {
        Open { seed: u64 },
        Exit {},
    }

    #[test]
    fn unknown_commands_are_unsupported_and_bad_ones_invalid() {
        let read = |line: &str| parse::<Command>(line, &["open", "exit"]);
        let kind = |line: &str| {
            read(line).unwrap_err().map(|e| e["error"]["kind"].as_str().unwrap().to_string())
        };
        assert_eq!(kind(r#"{"id": 1, "cmd": "frobnicate"}"#).as_deref(), Some("unsupported"));
        assert_eq!(kind(r#"{"id": 1, "cmd": "open", "seed": "many"}"#).as_deref(), Some("invalid"));
        assert_eq!(kind(r#"{"cmd": "exit"}"#), None);
        assert_eq!(kind("no JSON"), None);
        assert_eq!(
            read(r#"{"id": 7, "cmd": "exit", "more": 1}"#),
            Ok(Request { id: 7, command: Command::Exit {} })
        );
        assert_eq!(
            read(r#"{"id": 8, "cmd": "open", "seed": 3}"#),
            Ok(Request { id: 8, command: Command::Open { seed: 3 } })
        );
    }
}
