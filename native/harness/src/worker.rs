//! A worker's `main`: prints the description, runs one trial under the orchestrator's control, or
//! serves the workers of a host as a daemon.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::OnceLock;

use serde_json::json;

use crate::allocations;
use crate::c_api::{spans, steps};
use crate::clock;
use crate::control::{complain, exit_now, inherited, refuse_now, Control, Woken};
use crate::daemon;
use crate::frames::Frames;
use crate::middleware::Middleware;
use crate::protocol::{parse_request, ClockRead, Command, FromWorker, Hello, Reply, PROTOCOL};
use crate::records::Records;
use crate::trial::Trial;

/// The descriptor of a daemon's control socket, unless the command line gives another.
const DAEMON_CONTROL_FD: &str = "3";

/// The worker's file name, set by its `main`.
static PROGRAM: OnceLock<String> = OnceLock::new();

const USAGE: &str =
    "usage: WORKER --describe | WORKER --control-fd N --records-fd M [--frames ENDPOINT=FD…] | WORKER --daemon NAME [--control-fd N]\n\
    A worker is started by rmwbench; docs/formats/worker-protocol.md says how it is spoken to.";

/// Runs the worker for `middleware`. Returns exit code 0 after `exit`, 2 for bad arguments or a bad
/// records file.
pub fn main(middleware: &dyn Middleware) -> ExitCode {
    main_with(middleware, std::env::args().collect())
}

/// The same with arguments as a program gets them, its own name first: those of an interpreter's
/// process differ.
pub fn main_with(middleware: &dyn Middleware, arguments: Vec<String>) -> ExitCode {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    PROGRAM.get_or_init(|| arguments.first().map(|path| file_name(path)).unwrap_or_default());
    match arguments.get(1..).unwrap_or_default() {
        ["--describe"] => {
            let mut document = serde_json::to_value(middleware.describe()).expect("a description always serialises");
            document["protocol"] = json!(PROTOCOL);
            for profile in document["profiles"].as_array_mut().into_iter().flatten() {
                let name = profile["name"].as_str().unwrap_or_default().to_owned();
                if let Some(forced) = middleware.forced(&name) {
                    profile["forced"] = json!(forced);
                }
                if let Some(one_host) = middleware.one_host(&name) {
                    profile["one_host"] = json!(one_host);
                }
                if let Some(memory) = middleware.shared_memory(&name) {
                    profile["shared_memory"] = json!(memory);
                }
                if !middleware.daemons(&name).is_empty() {
                    profile["daemons"] = json!(middleware.daemons(&name));
                }
            }
            if let Some(shared) = middleware.shared_host() {
                document["shared_host"] = json!(shared);
            }
            for (mode, level, daemons) in middleware.mode_daemons() {
                document["mode_daemons"][mode][level] = json!(daemons);
            }
            if !middleware.daemons_each_host().is_empty() {
                document["daemons_each_host"] = json!(middleware.daemons_each_host());
            }
            // A program that reads only the first lines of the output is no failure.
            let _ = writeln!(std::io::stdout(), "{document}");
            ExitCode::SUCCESS
        }
        ["--control-fd", control, "--records-fd", records, rings @ ..] => match (inherited(control), inherited(records)) {
            (Some(control), Some(records)) => match given_frames(rings) {
                Ok(frames) => run(middleware, control, records, frames),
                Err(message) => complain(&format!("{message}\n{USAGE}")),
            },
            _ => complain(&format!("expected the numbers of two inherited descriptors, found {control} and {records}\n{USAGE}")),
        },
        ["--daemon", name] => serve(middleware, name, DAEMON_CONTROL_FD),
        ["--daemon", name, "--control-fd", control] => serve(middleware, name, control),
        _ => complain(USAGE),
    }
}

fn serve(middleware: &dyn Middleware, name: &str, control: &str) -> ExitCode {
    die_whole_on_panic();
    match inherited(control) {
        Some(control) => daemon::run(middleware, name, control),
        None => complain(&format!(
            "expected the number of an inherited descriptor, found {control}\n{USAGE}"
        )),
    }
}

/// The first line of a worker or of its daemon.
pub(crate) fn hello(middleware: &dyn Middleware, daemon: Option<&str>) -> FromWorker {
    let description = middleware.describe();
    FromWorker::Hello {
        hello: Hello {
            protocol: PROTOCOL,
            worker: PROGRAM.get().cloned().unwrap_or_default(),
            middleware: description.middleware,
            version: description.version,
            build: description
                .build
                .get("source")
                .and_then(|s| s.as_str())
                .unwrap_or_default()
                .into(),
            pid: std::process::id(),
            clock: clock::CLOCK_NAME.into(),
            daemon: daemon.map(str::to_owned),
        },
    }
}

fn clock_read(id: u64, received_ns: i64) -> FromWorker {
    let read = ClockRead { received_ns, sent_ns: clock::now_ns() };
    FromWorker::Reply {
        id,
        reply: Reply::Ok(serde_json::to_value(read).expect("numbers always serialise")),
    }
}

/// Endpoint → its ring of frames, from the arguments `--frames ENDPOINT=FD`.
fn given_frames(arguments: &[&str]) -> Result<BTreeMap<u32, Frames>, String> {
    let mut rings = BTreeMap::new();
    for pair in arguments.chunks(2) {
        let [option, ring] = pair else { return Err(format!("unknown argument {}", pair[0])) };
        let parts = ring.split_once('=').filter(|_| *option == "--frames");
        let parts =
            parts.and_then(|(endpoint, fd)| Some((endpoint.parse::<u32>().ok()?, inherited(fd)?)));
        let (endpoint, fd) =
            parts.ok_or_else(|| format!("expected --frames ENDPOINT=FD, found {option} {ring}"))?;
        rings.insert(endpoint, Frames::map(fd).map_err(|error| error.to_string())?);
    }
    Ok(rings)
}

/// Locks memory once it was touched, if the trial requests it. Untouched pages are not locked,
/// since records are mapped far beyond their used part. Whether it was granted is visible from
/// outside (VmLck).
fn lock_memory() {
    if std::env::var_os("RMWBENCH_LOCK_MEMORY").is_some() {
        // SAFETY: the call touches no memory of ours.
        unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) };
    }
}

fn run(
    middleware: &dyn Middleware,
    control: OwnedFd,
    records: OwnedFd,
    frames: BTreeMap<u32, Frames>,
) -> ExitCode {
    die_whole_on_panic();
    lock_memory();
    let records = match Records::map(records) {
        Ok(records) => records,
        Err(error) => return complain(&error.to_string()),
    };
    spans::remember(&records);
    let mut control = match Control::for_life(control) {
        Ok(control) => control,
        Err(error) => return complain(&format!("control socket: {error}")),
    };
    steps::remember(&control.reporter());
    control.send(&hello(middleware, None));
    // The protocol's thread: commands, looks, snapshots.
    allocations::leave_this_thread_out();
    let mut trial = Trial::new(middleware, records, control.reporter()).with_frames(frames);
    loop {
        match control.wait(trial.next_wake_ns()) {
            Woken::Closed => exit_now(),
            Woken::Violated(what) => refuse_now(&what),
            Woken::TimedOut => {}
            Woken::Event(event) => control.send(&FromWorker::Event(event)),
            Woken::Line(line) => {
                // This comes before parsing: the time between the two stamps of a clock's answer
                // must not count as transmission time.
                let received_ns = clock::now_ns();
                match parse_request(&line) {
                    Ok(request) if matches!(request.command, Command::Exit {}) => {
                        trial.close();
                        control.send(&FromWorker::Reply {
                            id: request.id,
                            reply: Reply::Ok(json!({})),
                        });
                        return ExitCode::SUCCESS;
                    }
                    Ok(request) if matches!(request.command, Command::Clock {}) => {
                        control.send(&clock_read(request.id, received_ns));
                        // Nothing was changed: a look at the endpoints would only cost time.
                        continue;
                    }
                    Ok(request) => trial.accept(request),
                    Err(bad) => match bad.id {
                        Some(id) => {
                            control.send(&FromWorker::Reply { id, reply: Reply::Error(bad.error) })
                        }
                        // A line without an id has nobody who waits for the answer: it goes to the
                        // log.
                        None => eprintln!("protocol: {}", bad.error),
                    },
                }
            }
        }
        for line in trial.advance() {
            control.send(&line);
        }
    }
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_string()
}

/// A panic in any thread ends the process, since a worker that lost a thread would measure
/// something else.
fn die_whole_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::abort();
    }));
}
