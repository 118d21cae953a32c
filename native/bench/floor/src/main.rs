//! The cost of the instrument itself, as ratios of programs that run beside each other.
//!
//! `rmwbench-bench-floor [record|spin|futex|open_loop]... [--times N]` prints one JSON line per
//! result (all four parts without arguments): the record path against clock reads, the floor
//! against bare ping-pong programs, and how many recorded messages one schedule sends.

mod affinity;
mod bare;
mod open_loop;
mod pingpong;
mod record;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // This is the other process of a ping-pong.
    if let [flag, kind, domain_id, mailbox] = &arguments[..] {
        if flag == "--echo" {
            return match pingpong::echo(kind, domain_id, mailbox) {
                Ok(()) => ExitCode::SUCCESS,
                Err(message) => {
                    eprintln!("rmwbench-bench-floor: {message}");
                    ExitCode::FAILURE
                }
            };
        }
    }
    rmwbench_bench::main("floor", &["record", "spin", "futex", "open_loop"], |selection| {
        selection.parts.iter().try_for_each(|part| match *part {
            "record" => record::run(),
            "open_loop" => open_loop::run(selection.times),
            kind => pingpong::run(kind, selection.times),
        })
    })
}
