//! What the instrument adds to Fast DDS: our worker's path against a program written by hand on the same API, in one process, taking
//! turns every 100 messages. One JSON line per ratio.
//!
//! Runs in namespaces of its own, because Fast DDS announces itself by multicast on every interface.

mod bare;
mod isolation;
mod ours;
mod profile;
mod ratio;
mod turns;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = isolation::enter() {
        return code;
    }
    match turns::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rmwbench-bench-fastdds: {message}");
            ExitCode::FAILURE
        }
    }
}
