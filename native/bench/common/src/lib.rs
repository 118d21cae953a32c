//! The common part of the benches, so that each consists only of its hand-written program and a
//! `main`.
//!
//! A bench compares two programs by a ratio with an interval and prints it as one JSON line, whose
//! keys are the same for all (`docs/benchmarks.md`). It measures and does not judge: `python -m
//! bench` compares the ratios with their limits.

mod arrivals;
mod isolation;
mod line;
mod ours;
pub mod ratio;
mod turns;

use std::process::ExitCode;

pub use arrivals::{write_message, Arrivals, ByHand};
pub use line::{print, Limit, Line};
pub use ours::Ours;
pub use turns::{run as take_turns, Compared, Load, Path, Round, LOADS};

/// The requests of the command line.
pub struct Selection<'a> {
    pub parts: Vec<&'a str>,
    /// The number of rounds for each round that a bench has by default: more take longer and give a
    /// narrower interval.
    pub times: usize,
}

/// Runs the requested parts, in namespaces of its own: `[PART]... [--times N]`, all of `parts` if
/// none is given. Exit code 2 for invalid arguments, 1 if a part fails.
pub fn main(
    bench: &str,
    parts: &[&str],
    run: impl FnOnce(&Selection<'_>) -> Result<(), String>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let selection = match parse(&arguments, parts) {
        Ok(selection) => selection,
        Err(message) => {
            eprintln!("rmwbench-bench-{bench}: {message}\nusage: rmwbench-bench-{bench} [{}]... [--times N]", parts.join("|"));
            return ExitCode::from(2);
        }
    };
    if let Some(code) = isolation::enter(bench) {
        return code;
    }
    line::keep_stdout();
    match run(&selection) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rmwbench-bench-{bench}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn parse<'a>(arguments: &'a [String], parts: &[&'a str]) -> Result<Selection<'a>, String> {
    let mut selection = Selection { parts: Vec::new(), times: 1 };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--times" {
            let times = arguments.next().ok_or("--times: expected a number")?;
            selection.times = times
                .parse()
                .ok()
                .filter(|n| *n > 0)
                .ok_or(format!("--times: expected a number from 1, found {times}"))?;
        } else if parts.contains(&argument.as_str()) {
            selection.parts.push(argument);
        } else {
            return Err(format!("no part {argument}"));
        }
    }
    if selection.parts.is_empty() {
        selection.parts = parts.to_vec();
    }
    Ok(selection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_parts_and_a_factor_and_nothing_else() {
        let of = |text: &str| {
            let arguments: Vec<String> = text.split_whitespace().map(str::to_string).collect();
            parse(&arguments, &["copy", "loan"])
                .map(|selection| (selection.parts.join(" "), selection.times))
        };
        assert_eq!(of(""), Ok(("copy loan".into(), 1)));
        assert_eq!(of("loan --times 4"), Ok(("loan".into(), 4)));
        for wrong in ["lone", "--times", "--times 0", "--times many", "copy --help"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
