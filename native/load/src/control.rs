//! The control socket: commands in, replies out, and the edges of the window in between.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::event::{poll, PollFd, PollFlags};
use serde::de::DeserializeOwned;
use serde::Serialize;

use crate::awake::Spinners;
use crate::clock::{now_ns, timespec};
use crate::kind::{Asked, Kind};
use crate::protocol::{hello, Answer, Collected, Line, Problem, Reply, Start, Started, Window};
use crate::usage::{snapshot, Snapshot};
use crate::{awake, cpu, memory, processors, tcp, traffic};

const MAX_LINE_BYTES: usize = 1 << 20;
const NS_PER_S: i64 = 1_000_000_000;
/// Two hours: what says more of each second must fit into a line.
const MOST_SECONDS: i64 = 7200;

struct Load {
    socket: UnixStream,
    kind: Option<Kind>,
    /// Times of the window that are still to come, the next one last.
    edges: Vec<(i64, &'static str)>,
    snapshots: Vec<Snapshot>,
    latency: Option<File>,
    spinners: Option<Spinners>,
}

/// Serves until the end of file; the load's threads end with the process.
pub fn serve(socket: UnixStream) -> ExitCode {
    let mut load = Load { socket, kind: None, edges: Vec::new(), snapshots: Vec::new(), latency: None, spinners: None };
    if load.send(&hello()).is_err() {
        return ExitCode::SUCCESS;
    }
    let mut pending = Vec::new();
    while load.wait(&mut pending) {
        while let Some(end) = pending.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            match serde_json::from_slice::<Line>(&line) {
                Ok(line) if line.cmd == "exit" => return ExitCode::SUCCESS,
                Ok(line) => load.obey(line),
                Err(error) => {
                    eprintln!("load: a line that is no command: {error}");
                    return ExitCode::from(2);
                }
            }
        }
    }
    ExitCode::SUCCESS
}

impl Load {
    /// Until something was read (true) or the other end closed (false); takes the snapshots that fall due meanwhile.
    fn wait(&mut self, pending: &mut Vec<u8>) -> bool {
        loop {
            self.take_due();
            let timeout = self.edges.last().map(|&(due_ns, _)| timespec((due_ns - now_ns()).max(0)));
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) | Err(_) => continue, // an edge, or a signal
                Ok(_) => {}
            }
            let mut buffer = [0; 1 << 14];
            match self.socket.read(&mut buffer) {
                Ok(0) => return false,
                Ok(count) => {
                    pending.extend_from_slice(&buffer[..count]);
                    return pending.len() <= MAX_LINE_BYTES;
                }
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(_) => return false,
            }
        }
    }

    fn obey(&mut self, line: Line) {
        let id = line.id;
        match line.cmd.as_str() {
            "start" => {
                let answer = parsed::<Start>(line).and_then(|start| self.start(&start));
                self.reply(id, answer);
            }
            "window" => {
                let answer = parsed::<Window>(line).map(|window| {
                    traffic::pause_around([window.steady_ns, window.end_ns]);
                    self.edges = edges(&window, self.kind);
                });
                self.reply(id, answer.map(|()| serde_json::json!({})));
            }
            "collect" => {
                self.take_due();
                self.snapshot("end");
                let snapshots = std::mem::take(&mut self.snapshots);
                let bursts = traffic::bursts_near(&snapshots.iter().map(|snapshot| snapshot.time_ns).collect::<Vec<_>>());
                self.reply(id, Ok(Collected { snapshots, bursts }));
            }
            other => {
                let problem = Problem { kind: "unsupported", object: format!("cmd {other}"), message: "not a command of this load".into() };
                self.reply::<()>(id, Err(problem));
            }
        }
    }

    fn start(&mut self, start: &Start) -> Result<Started, Problem> {
        let kind = start.kind;
        let object = format!("load {}", serde_json::json!(kind).as_str().unwrap_or("?"));
        if self.kind.is_some() {
            return Err(Problem { kind: "invalid", object, message: "a load runs already; one process is one load".into() });
        }
        if start.tcp.is_some() != (kind == Kind::TcpSend) {
            return Err(Problem { kind: "invalid", object, message: "expected `tcp` with tcp_send and with nothing else".into() });
        }
        let asked = self.begin(start).map_err(|error| Problem { kind: "failed", object, message: error.to_string() })?;
        self.kind = Some(kind);
        self.snapshot("begin");
        Ok(Started { kind, asked })
    }

    fn begin(&mut self, start: &Start) -> io::Result<Asked> {
        let kind = start.kind;
        let on = processors::usable()?;
        let mut asked = Asked { processors: on.len(), ..Asked::default() };
        match kind {
            Kind::Cpu50 | Kind::Cpu100 => {
                let share = if kind == Kind::Cpu50 { 0.5 } else { 1.0 };
                asked.share = Some(share);
                processors::on_each(&on, move |place, up| {
                    up();
                    cpu::duty(place, share, cpu::arithmetic)
                })?;
            }
            Kind::Membw => {
                let bytes = memory::buffer_bytes(on.len());
                memory::check_room(2 * bytes * on.len())?;
                (asked.share, asked.memory_bytes) = (Some(0.5), Some(2 * bytes * on.len()));
                processors::on_each(&on, move |place, up| {
                    let mut copier = memory::Copier::new(bytes);
                    up();
                    cpu::duty(place, 0.5, || copier.step())
                })?;
            }
            Kind::Traffic => {
                traffic::start()?;
                (asked.datagrams_per_s, asked.datagram_bytes) = (Some(traffic::DATAGRAMS_PER_S), Some(traffic::DATAGRAM_BYTES));
                asked.processors = 0;
            }
            Kind::TcpReceive => (asked.processors, asked.port) = (0, Some(tcp::receive()?)),
            Kind::TcpSend => {
                let flows = start.tcp.as_ref().ok_or_else(|| io::Error::other("tcp: missing"))?;
                (asked.processors, asked.congestion_control) = (0, Some(tcp::send(flows)?));
            }
            Kind::Awake => {
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

    /// The edges of the window that have passed.
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

    fn reply<T: Serialize>(&mut self, id: u64, answer: Result<T, Problem>) {
        let answer = match answer {
            Ok(value) => Answer::Ok(value),
            Err(problem) => Answer::Error(problem),
        };
        // A closed socket is noticed by the next wait.
        let _ = self.send(&Reply { id, answer });
    }

    fn send(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line).map_err(io::Error::other)?;
        bytes.push(b'\n');
        self.socket.write_all(&bytes)
    }
}

/// The last one first; what receives TCP says of every second how much came.
fn edges(window: &Window, kind: Option<Kind>) -> Vec<(i64, &'static str)> {
    let mut edges = vec![(window.steady_ns, "steady_begin")];
    if kind == Some(Kind::TcpReceive) {
        let seconds = (1..MOST_SECONDS).map(|k| window.steady_ns + k * NS_PER_S).take_while(|at_ns| *at_ns < window.end_ns);
        edges.extend(seconds.map(|at_ns| (at_ns, "second")));
    }
    edges.push((window.end_ns, "steady_end"));
    edges.reverse();
    edges
}

fn parsed<T: DeserializeOwned>(line: Line) -> Result<T, Problem> {
    let object = format!("cmd {}", line.cmd);
    serde_json::from_value(serde_json::Value::Object(line.fields)).map_err(|error| Problem {
        kind: "invalid",
        object,
        message: error.to_string(),
    })
}
