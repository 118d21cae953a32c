//! The lines between the orchestrator and the sampler (docs/formats/sampler.md).

use rmwbench_harness::tool;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub const PROTOCOL: u32 = 1;
pub const TOOL: &str = "sampler";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub const COMMANDS: [&str; 4] = ["watch", "start", "collect", "exit"];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case")]
pub enum Command {
    Watch { processes: Vec<Watched> },
    Start(Start),
    Collect {},
    Exit {},
}

/// A process to watch; `pid` is its number in this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    pub process: String,
    pub pid: i32,
    pub role: String,
}

/// Absolute times in ns of CLOCK_MONOTONIC; intervals of 0 turn a part off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    pub steady_ns: i64,
    pub end_ns: i64,
    #[serde(default)]
    pub interval_ns: i64,
    #[serde(default)]
    pub canary_ns: i64,
    #[serde(default)]
    pub threads: bool,
    #[serde(default)]
    pub schedule: bool,
    /// Whether the PSS of each process is read with every fifth sample of the series.
    #[serde(default)]
    pub memory: bool,
}

/// A faster series or canary would disturb the trial.
pub const SHORTEST_INTERVAL_NS: i64 = 1_000_000;
/// A day: larger times are refused, because they would reserve memory.
const LONGEST_WINDOW_NS: i64 = 86_400_000_000_000;

impl Start {
    /// What is wrong with it; None if nothing is.
    pub fn problem(&self) -> Option<String> {
        let Start { steady_ns, end_ns, interval_ns, canary_ns, memory, .. } = *self;
        let length_ns = end_ns.checked_sub(steady_ns);
        if length_ns.is_none_or(|length| !(0..=LONGEST_WINDOW_NS).contains(&length)) {
            return Some(format!(
                "expected steady_ns up to a day before end_ns, found {steady_ns} and {end_ns}"
            ));
        }
        if memory && interval_ns == 0 {
            return Some(
                "expected interval_ns beside memory, which is read with samples of the series"
                    .into(),
            );
        }
        [("interval_ns", interval_ns), ("canary_ns", canary_ns)]
            .into_iter()
            .find(|&(_, value)| value != 0 && value < SHORTEST_INTERVAL_NS)
            .map(|(name, value)| {
                format!("expected {name} of 0 or at least {SHORTEST_INTERVAL_NS}, found {value}")
            })
    }
}

pub fn hello() -> Value {
    tool::hello(TOOL, PROTOCOL, VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_windows_are_refused() {
        let start = |steady_ns, end_ns, canary_ns| Start {
            steady_ns,
            end_ns,
            interval_ns: 0,
            canary_ns,
            threads: false,
            schedule: false,
            memory: false,
        };
        assert_eq!(start(0, 1000, 0).problem(), None);
        assert!(start(1000, 0, 0).problem().is_some());
        assert!(start(i64::MIN, i64::MAX, 0).problem().is_some());
        assert!(Start { memory: true, ..start(0, 1000, 0) }.problem().unwrap().contains("memory"));
        assert!(start(0, 1000, 10).problem().unwrap().contains("canary_ns"));
    }
}
