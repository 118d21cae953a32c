//! `rmwbench-load`: a machine that is busy in a known way, as a factor of an experiment (docs/formats/load.md).
//!
//! One process is one kind of load. It runs inside the host of a trial, so that it dies with it, and says what it really put on:
//! a load that did not come up would make `loaded` and `idle` the same cell under two names.

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

use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

const USAGE: &str = "usage: rmwbench-load --describe
       rmwbench-load --control-fd N   under rmwbench's control (docs/formats/load.md)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--describe"] => {
            println!("{}", protocol::describe());
            ExitCode::SUCCESS
        }
        // Every tool is given a file for a long answer; ours are short.
        ["--control-fd", control] | ["--control-fd", control, "--document-fd", _] => match inherited(control) {
            Some(socket) => control::serve(socket),
            None => complain(&format!("expected the number of an inherited socket, found {control}\n{USAGE}")),
        },
        _ => complain(USAGE),
    }
}

fn inherited(number: &str) -> Option<UnixStream> {
    let fd: RawFd = number.parse().ok().filter(|fd| *fd > 2)?;
    // SAFETY: fcntl only asks whether the descriptor is open; if so it was inherited for us and nobody else owns it.
    unsafe { (libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) == 0).then(|| UnixStream::from_raw_fd(fd)) }
}

fn complain(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}
