//! What the instrument adds to Cyclone DDS, as ratios of things that run beside each other.
//!
//! `rmwbench-bench-cyclonedds [bare|ddsperf]` prints one JSON line per ratio. `bare` (the default): our worker's path against a
//! program written by hand on the same C API, in one process, taking turns every 100 messages. `ddsperf`: our worker against
//! Cyclone's own benchmark, built from the source that cyclors ships, two processes each, taking turns.
//!
//! Messages stay on loopback, and a discovery tag keeps them apart from any other Cyclone on this machine.

mod bare;
mod ddsperf;
mod network;
mod ours;
mod ratio;
mod turns;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["bare"] => turns::run(),
        ["ddsperf"] => ddsperf::run(),
        _ => {
            eprintln!("usage: rmwbench-bench-cyclonedds [bare|ddsperf]");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rmwbench-bench-cyclonedds: {message}");
            ExitCode::FAILURE
        }
    }
}
