//! `rmwbench-load`: a machine that is busy in a known way, as a factor of an experiment
//! (docs/formats/load.md).
//!
//! One process is one kind of load. It runs inside the host of a trial, so that it ends with it,
//! and reports the load that it really made: if a load did not start, `loaded` and `idle` would be
//! the same cell under two names.

mod awake;
mod clock;
mod control;
mod cpu;
mod kind;
mod memory;
mod processors;
mod protocol;
mod tcp;
mod traffic;
mod usage;

use std::process::ExitCode;

use rmwbench_harness::control::{complain, inherited, print};

const USAGE: &str = "usage: rmwbench-load --describe
       rmwbench-load --control-fd N   under rmwbench's control (docs/formats/load.md)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--describe"] => print(&protocol::describe()),
        // Every tool gets a file for a long answer; the answers of this one are short.
        ["--control-fd", control] | ["--control-fd", control, "--document-fd", _] => {
            match inherited(control) {
                Some(socket) => control::serve(socket),
                None => complain(&format!(
                    "expected the number of an inherited socket, found {control}\n{USAGE}"
                )),
            }
        }
        _ => complain(USAGE),
    }
}
