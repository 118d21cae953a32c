//! How much the instrument itself costs, as ratios of things that run beside each other.
//!
//! `rmwbench-bench-floor [record] [spin] [futex] [open_loop]` prints one JSON line per result (all four without arguments): the
//! record path against clock reads, the floor against bare ping-pong programs, and how many recorded messages one schedule sends.
//! `limit` is what the project promises; nothing here passes or fails by it, because a busy machine may miss it honestly.

mod affinity;
mod bare;
mod open_loop;
mod pingpong;
mod ratio;
mod record;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        [] => run(&["record", "spin", "futex", "open_loop"]),
        ["--echo", kind, domain_id, box_fd] => pingpong::echo(kind, domain_id, box_fd),
        _ => run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rmwbench-bench-floor: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(names: &[&str]) -> Result<(), String> {
    names.iter().try_for_each(|name| match *name {
        "record" => record::run(),
        "spin" | "futex" => pingpong::run(name),
        "open_loop" => open_loop::run(),
        other => Err(format!("unknown bench {other}: expected record, spin, futex or open_loop")),
    })
}
