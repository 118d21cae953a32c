//! `WORKER --daemon NAME`: a process that serves the workers of its host (RouDi, a router), under the worker protocol.
//!
//! It knows `open`, which answers when the daemon serves, and `exit`. Unlike a worker it also ends in order at the end of file:
//! what a daemon leaves in the file system, the next one of its kind would find.

use std::os::fd::OwnedFd;
use std::process::ExitCode;

use serde_json::json;

use crate::control::{Control, Woken};
use crate::middleware::{Daemon, Error, Middleware};
use crate::protocol::{parse_request, Command, FromWorker, Open, Reply};
use crate::worker::{complain, hello};

/// Runs daemon `name` of `middleware` until `exit` or the end of file; exit code 2 for a bad control socket.
pub fn run(middleware: &dyn Middleware, name: &str, control: OwnedFd) -> ExitCode {
    let mut control = match Control::new(control) {
        Ok(control) => control,
        Err(error) => return complain(&format!("control socket: {error}")),
    };
    control.send(&hello(middleware, Some(name)));
    let mut serving: Option<Box<dyn Daemon>> = None;
    loop {
        let line = match control.wait(None) {
            Woken::Closed => return ExitCode::SUCCESS,
            Woken::TimedOut | Woken::Event(_) => continue,
            Woken::Line(line) => line,
        };
        let (id, result) = match parse_request(&line) {
            Ok(request) => match request.command {
                Command::Exit {} => {
                    drop(serving);
                    control.send(&FromWorker::Reply { id: request.id, reply: Reply::Ok(json!({})) });
                    return ExitCode::SUCCESS;
                }
                Command::Open(open) => (request.id, start(middleware, name, open, &mut serving)),
                _ => (request.id, Err(Error::unsupported(format!("daemon {name}"), "a daemon knows only open and exit"))),
            },
            Err(bad) => match bad.id {
                Some(id) => (id, Err(bad.error)),
                None => {
                    eprintln!("protocol: {}", bad.error);
                    continue;
                }
            },
        };
        let reply = result.map_or_else(Reply::Error, |()| Reply::Ok(json!({})));
        control.send(&FromWorker::Reply { id, reply });
    }
}

fn start(middleware: &dyn Middleware, name: &str, open: Open, serving: &mut Option<Box<dyn Daemon>>) -> Result<(), Error> {
    if serving.is_some() {
        return Err(Error::invalid(format!("daemon {name}"), "it serves already"));
    }
    *serving = Some(middleware.daemon(name, &open.config()?)?);
    Ok(())
}
