//! Reads commands, sends answers, and handles the edges of the window in between.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::control::{complain, Control};
use rmwbench_harness::tool::{self, Request};
use serde_json::{json, Value};

use crate::awake::Spinners;
use crate::kind::{Asked, Kind};
use crate::protocol::{hello, Collected, Command, Start, Started, Window, COMMANDS};
use crate::usage::{snapshot, Snapshot};
use crate::{awake, cpu, memory, processors, tcp, traffic};

const NS_PER_S: i64 = 1_000_000_000;
/// Two hours: a report about each second must fit into a line.
const MOST_SECONDS: i64 = 7200;

struct Problem {
    kind: &'static str,
    message: String,
}

impl Problem {
    fn invalid(message: impl Into<String>) -> Problem {
        Problem { kind: "invalid", message: message.into() }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Problem {
        Problem { kind: "failed", message: error.to_string() }
    }
}

#[derive(Default)]
struct Load {
    kind: Option<Kind>,
    /// The future edges of the window, the next one last.
    edges: Vec<(i64, &'static str)>,
    snapshots: Vec<Snapshot>,
    latency: Option<File>,
    spinners: Option<Spinners>,
}

/// Serves until `exit` or the end of file; the load's threads end with the process.
pub fn serve(socket: OwnedFd) -> ExitCode {
    // Not `for_life`, which starts a second thread: the spinners' process is forked while there is
    // only one.
    let mut control = match Control::new(socket) {
        Ok(control) => control,
        Err(error) => return complain(&format!("control socket: {error}")),
    };
    control.send(&hello());
    let mut load = Load::default();
    loop {
        load.take_due();
        let until_ns = load.edges.last().map(|&(due_ns, _)| due_ns);
        let Some(Request { id, command }) = tool::next_until(&mut control, &COMMANDS, until_ns)
        else {
            continue;
        };
        let (object, answer) = match command {
            Command::Start(start) => (
                format!("load {}", json!(start.kind).as_str().unwrap_or("?")),
                load.start(&start).map(|started| json!(started)),
            ),
            Command::Window(window) => ("window".into(), load.window(&window)),
            Command::Collect {} => ("collect".into(), Ok(json!(load.collect()))),
            Command::Exit {} => {
                control.send(&tool::ok(id, json!({})));
                return ExitCode::SUCCESS;
            }
        };
        let failed = |problem: Problem| tool::error(id, problem.kind, &object, &problem.message);
        control.send(&answer.map_or_else(failed, |value| tool::ok(id, value)));
    }
}

impl Load {
    fn start(&mut self, start: &Start) -> Result<Started, Problem> {
        if self.kind.is_some() {
            return Err(Problem::invalid("a load runs already; one process is one load"));
        }
        let asked = self.begin(start)?;
        self.kind = Some(start.kind);
        self.snapshot("begin");
        Ok(Started { kind: start.kind, asked })
    }

    fn begin(&mut self, start: &Start) -> Result<Asked, Problem> {
        let on = processors::usable()?;
        let mut asked = Asked { processors: on.len(), ..Asked::default() };
        match (start.kind, &start.tcp) {
            (Kind::TcpSend, Some(flows)) => {
                (asked.processors, asked.congestion_control) = (0, Some(tcp::send(flows)?))
            }
            (Kind::TcpSend, None) | (_, Some(_)) => {
                return Err(Problem::invalid("expected `tcp` with tcp_send and with nothing else"))
            }
            (Kind::Cpu50 | Kind::Cpu100, None) => {
                let share = if start.kind == Kind::Cpu50 { 0.5 } else { 1.0 };
                asked.share = Some(share);
                processors::on_each(&on, move |place, up| {
                    up();
                    cpu::duty(place, share, cpu::arithmetic)
                })?;
            }
            (Kind::Membw, None) => {
                let bytes = memory::buffer_bytes(on.len());
                memory::check_room(2 * bytes * on.len())?;
                (asked.share, asked.memory_bytes) = (Some(0.5), Some(2 * bytes * on.len()));
                processors::on_each(&on, move |place, up| {
                    let mut copier = memory::Copier::new(bytes);
                    up();
                    cpu::duty(place, 0.5, || copier.step())
                })?;
            }
            (Kind::Traffic, None) => {
                traffic::start()?;
                (asked.datagrams_per_s, asked.datagram_bytes) =
                    (Some(traffic::DATAGRAMS_PER_S), Some(traffic::DATAGRAM_BYTES));
                asked.processors = 0;
            }
            (Kind::TcpReceive, None) => (asked.processors, asked.port) = (0, Some(tcp::receive()?)),
            (Kind::Awake, None) => {
                match awake::hold_latency() {
                    Ok(device) => self.latency = Some(device),
                    Err(reason) => asked.dma_latency = Some(reason),
                }
                let spinners = awake::Spinners::start(&on)?;
                asked.pid = Some(spinners.pid);
                self.spinners = Some(spinners);
            }
        }
        Ok(asked)
    }

    fn window(&mut self, window: &Window) -> Result<Value, Problem> {
        if self.kind == Some(Kind::TcpReceive)
            && window.end_ns - window.steady_ns > MOST_SECONDS * NS_PER_S
        {
            return Err(Problem::invalid(format!(
                "expected at most {MOST_SECONDS} s where each of them is told"
            )));
        }
        traffic::pause_around([window.steady_ns, window.end_ns]);
        self.edges = edges(window, self.kind);
        Ok(json!({}))
    }

    fn collect(&mut self) -> Collected {
        self.take_due();
        self.snapshot("end");
        let snapshots = std::mem::take(&mut self.snapshots);
        let bursts = traffic::bursts_near(
            &snapshots.iter().map(|snapshot| snapshot.time_ns).collect::<Vec<_>>(),
        );
        Collected { snapshots, bursts }
    }

    /// Handles the edges of the window that have passed.
    fn take_due(&mut self) {
        while let Some(&(_, at)) = self.edges.last().filter(|&&(due_ns, _)| due_ns <= now_ns()) {
            self.snapshot(at);
            self.edges.pop();
        }
    }

    fn snapshot(&mut self, at: &'static str) {
        let more_ns = self.spinners.as_ref().map_or(0, Spinners::cpu_ns);
        self.snapshots.push(snapshot(at, more_ns));
    }
}

/// The edges, the last one first; a receiver of TCP reports how much came in every second.
fn edges(window: &Window, kind: Option<Kind>) -> Vec<(i64, &'static str)> {
    let mut edges = vec![(window.steady_ns, "steady_begin")];
    if kind == Some(Kind::TcpReceive) {
        let seconds = (1..)
            .map(|k| window.steady_ns + k * NS_PER_S)
            .take_while(|at_ns| *at_ns < window.end_ns);
        edges.extend(seconds.map(|at_ns| (at_ns, "second")));
    }
    edges.push((window.end_ns, "steady_end"));
    edges.reverse();
    edges
}
