//! The one form of a result: a JSON line whose keys are documented in `docs/benchmarks.md` and are
//! always all present.

use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::sync::OnceLock;

use serde_json::{json, Value};

use crate::ratio::{self, Ratio};

/// The project's promise about a ratio, or about a value.
#[derive(Clone, Copy)]
pub enum Limit {
    /// No promise; the line is printed for comparison.
    None,
    AtMost(f64),
    AtLeast(f64),
    Within(f64, f64),
}

impl Limit {
    /// Equivalent within 5 %.
    pub const EQUIVALENT: Limit = Limit::Within(0.95, 1.05);

    /// The lower and the upper end, infinite for an open side; None if nothing is promised.
    fn ends(self) -> Option<(f64, f64)> {
        match self {
            Limit::None => None,
            Limit::AtMost(upper) => Some((f64::NEG_INFINITY, upper)),
            Limit::AtLeast(lower) => Some((lower, f64::INFINITY)),
            Limit::Within(lower, upper) => Some((lower, upper)),
        }
    }

    /// Whether an interval is entirely within the limit, or entirely outside; true if nothing is
    /// promised.
    fn is_decided_by(self, bounds: Option<(f64, f64)>) -> bool {
        let Some((lower, upper)) = self.ends() else { return true };
        bounds.is_some_and(|(low, high)| {
            (lower <= low && high <= upper) || high < lower || upper < low
        })
    }

    /// [lower, upper]; null for an open side.
    fn json(self) -> Value {
        // JSON has no infinity: it becomes null
        self.ends().map_or(Value::Null, |(lower, upper)| json!([lower, upper]))
    }
}

/// The subject of a line.
pub struct Line<'a> {
    pub bench: &'a str,
    /// The two programs compared, `OURS / THEIRS`.
    pub name: &'a str,
    pub message_bytes: u32,
    pub metric: &'a str,
    /// The unit of `ours` and `theirs`; the ratio has none.
    pub unit: &'a str,
    pub limit: Limit,
}

impl Line<'_> {
    /// `ours` and `theirs` in `unit`, pair by pair.
    pub fn of_pairs(&self, ours: &[f64], theirs: &[f64]) -> Value {
        let Ratio { median, bounds, pairs, without } = ratio::of_pairs(ours, theirs);
        let mut line = self.no_data("");
        line["ours"] = json!(ratio::median(ours)); // JSON has neither infinity nor NaN: both become null
        line["theirs"] = json!(ratio::median(theirs));
        line["ratio"] = json!(median);
        line["low"] = json!(bounds.map(|b| b.0));
        line["high"] = json!(bounds.map(|b| b.1));
        line["pairs"] = json!(pairs);
        line["note"] = match (without, median.is_infinite()) {
            (0, false) => Value::Null,
            (0, true) => json!("in most pairs our messages did not arrive"),
            _ => json!(format!("{without} pairs without a ratio: neither side's messages arrived")),
        };
        line
    }

    /// Whether more pairs would change nothing.
    pub fn is_decided_by(&self, ours: &[f64], theirs: &[f64]) -> bool {
        self.limit.is_decided_by(ratio::of_pairs(ours, theirs).bounds)
    }

    /// A line without a value, and the reason.
    pub fn no_data(&self, reason: &str) -> Value {
        json!({
            "bench": self.bench, "name": self.name, "message_bytes": self.message_bytes, "metric": self.metric, "unit": self.unit,
            "ours": null, "theirs": null, "ratio": null, "low": null, "high": null, "pairs": 0, "limit": self.limit.json(),
            "note": reason, "details": {},
        })
    }
}

static RESULTS: OnceLock<File> = OnceLock::new();

/// Keeps standard output for results alone: middlewares log there, and from now on their output
/// goes to standard error.
pub(crate) fn keep_stdout() {
    // SAFETY: only this process has the duplicate; children do not get it.
    unsafe {
        let kept = libc::fcntl(1, libc::F_DUPFD_CLOEXEC, 3);
        if kept >= 0 && libc::dup2(2, 1) >= 0 {
            let _ = RESULTS.set(File::from_raw_fd(kept));
        }
    }
}

/// Prints one line at once: a reader of the output sees the progress of the bench.
pub fn print(line: &Value) {
    let text = format!("{line}\n");
    let written = match RESULTS.get() {
        Some(mut file) => file.write_all(text.as_bytes()),
        None => std::io::stdout().write_all(text.as_bytes()),
    };
    if written.is_err() {
        std::process::exit(1); // the reader closed the output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(limit: Limit) -> Line<'static> {
        Line { bench: "b", name: "x / y", message_bytes: 1, metric: "m", unit: "ns", limit }
    }

    #[test]
    fn every_key_is_there_with_and_without_data() {
        let full = line(Limit::EQUIVALENT).of_pairs(&[2.0; 8], &[1.0; 8]);
        assert_eq!(
            (full["ratio"].as_f64(), full["low"].as_f64(), full["pairs"].as_u64()),
            (Some(2.0), Some(2.0), Some(8))
        );
        assert_eq!((&full["limit"], &full["note"]), (&json!([0.95, 1.05]), &Value::Null));
        let none = line(Limit::AtMost(1.0)).no_data("one core");
        assert_eq!(
            (&none["ratio"], &none["limit"], &none["note"]),
            (&Value::Null, &json!([null, 1.0]), &json!("one core"))
        );
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&full), keys(&none));
    }

    #[test]
    fn an_interval_decides_when_all_of_it_is_on_one_side() {
        let decided = |limit: Limit, low, high| limit.is_decided_by(Some((low, high)));
        assert!(decided(Limit::EQUIVALENT, 0.95, 1.05) && decided(Limit::EQUIVALENT, 1.06, 1.2));
        assert!(decided(Limit::EQUIVALENT, 0.8, 0.9) && !decided(Limit::EQUIVALENT, 0.96, 1.06));
        assert!(decided(Limit::AtMost(1.0), 0.1, 0.9) && !decided(Limit::AtMost(1.0), 0.9, 1.1));
        assert!(decided(Limit::AtLeast(1.0), 0.1, 0.9) && !decided(Limit::AtLeast(1.0), 0.9, 1.1));
        // Too few pairs decide nothing, and without a promise nothing is open.
        assert!(!Limit::EQUIVALENT.is_decided_by(None) && Limit::None.is_decided_by(None));
    }

    #[test]
    fn what_never_came_is_null_with_a_note() {
        let late = line(Limit::None).of_pairs(&[f64::INFINITY; 6], &[1.0; 6]);
        assert_eq!((&late["ratio"], &late["high"]), (&Value::Null, &Value::Null));
        assert!(late["note"].as_str().unwrap().contains("did not arrive"));
    }
}
