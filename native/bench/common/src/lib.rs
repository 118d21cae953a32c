//! What the benches share, so that each of them is only its program written by hand and a `main`.
//!
//! A bench compares two programs by a ratio with an interval and prints it as one JSON line, whose keys are the same for all
//! (`docs/benchmarks.md`). It measures and does not judge: `python -m bench` holds the ratios against their limits.

mod arrivals;
mod line;
mod ours;
pub mod ratio;
mod turns;

use std::process::ExitCode;

pub use arrivals::{write_message, Arrivals};
pub use line::{print, Limit, Line};
pub use ours::Ours;
pub use turns::{run as take_turns, Compared, Load, Path, Round, LOADS};

/// Runs the parts that the arguments name, or all of `parts`. Exit code 2 for an unknown name, 1 when a part fails.
pub fn main(bench: &str, parts: &[&'static str], run: impl FnOnce(&[&str]) -> Result<(), String>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chosen: Vec<&str> = if arguments.is_empty() { parts.to_vec() } else { arguments.iter().map(String::as_str).collect() };
    if let Some(unknown) = chosen.iter().find(|name| !parts.contains(name)) {
        eprintln!("rmwbench-bench-{bench}: no part {unknown}\nusage: rmwbench-bench-{bench} [{}]...", parts.join("|"));
        return ExitCode::from(2);
    }
    match run(&chosen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rmwbench-bench-{bench}: {message}");
            ExitCode::FAILURE
        }
    }
}
