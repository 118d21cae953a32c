//! The control socket: it carries lines in and out, and wakes the control thread for the worker's
//! own threads. Also the few steps that every process with such a socket takes at its start.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;

use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags};
use rustix::time::Timespec;
use serde::Serialize;
use serde_json::Value;

use crate::allocations;
use crate::clock::now_ns;
use crate::protocol::{Event, MAX_LINE_BYTES};

/// Passes events from any thread to the control thread, and wakes it.
#[derive(Clone)]
pub struct Reporter {
    events: Sender<Event>,
    wake: Arc<OwnedFd>,
}

impl Reporter {
    pub fn report(&self, event: Event) {
        // The receiver lives as long as the process.
        let _ = allocations::uncounted(|| self.events.send(event));
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}

pub struct Control {
    socket: UnixStream,
    pending: Vec<u8>,
    lines: VecDeque<String>,
    events: Receiver<Event>,
    reporter: Reporter,
}

/// Why [`Control::wait`] came back.
pub enum Woken {
    Line(String),
    /// A worker thread reported something.
    Event(Event),
    TimedOut,
    /// The orchestrator is gone: exit now.
    Closed,
    /// The other end sent this, which no orchestrator sends: complain and exit now.
    Violated(String),
}

impl Control {
    pub fn new(fd: OwnedFd) -> std::io::Result<Control> {
        let socket = UnixStream::from(fd);
        let (sender, events) = channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok(Control {
            socket,
            pending: Vec::new(),
            lines: VecDeque::new(),
            events,
            reporter: Reporter { events: sender, wake },
        })
    }

    /// A control socket whose end is the process's end ([`Control::exit_at_end_of_file`]).
    pub fn for_life(fd: OwnedFd) -> std::io::Result<Control> {
        let control = Control::new(fd)?;
        control.exit_at_end_of_file()?;
        Ok(control)
    }

    /// Ends the process when the other end closes, whatever the control thread is doing then: a
    /// middleware may hold it in a match, a close or a publish call that never returns. The
    /// watching thread sleeps all the time.
    pub fn exit_at_end_of_file(&self) -> std::io::Result<()> {
        let socket = self.socket.try_clone()?;
        let watch = move || loop {
            let mut fds = [PollFd::new(&socket, PollFlags::RDHUP)];
            if poll(&mut fds, None).is_ok() && !fds[0].revents().is_empty() {
                exit_now();
            }
        };
        std::thread::Builder::new()
            .name("end of file".into())
            .stack_size(64 << 10)
            .spawn(watch)
            .map(drop)
    }

    pub fn reporter(&self) -> Reporter {
        self.reporter.clone()
    }

    /// Sends one line; a closed socket is noticed by the next wait.
    pub fn send(&mut self, line: &impl Serialize) {
        let mut bytes = serde_json::to_vec(line).expect("protocol types always serialise");
        bytes.push(b'\n');
        let _ = self.socket.write_all(&bytes);
    }

    /// Waits for a line, an event, or `until_ns` (never, when None).
    pub fn wait(&mut self, until_ns: Option<i64>) -> Woken {
        loop {
            if let Ok(event) = self.events.try_recv() {
                return Woken::Event(event);
            }
            if let Some(line) = self.lines.pop_front() {
                return Woken::Line(line);
            }
            let left_ns = until_ns.map(|until| until - now_ns());
            if left_ns.is_some_and(|left| left <= 0) {
                return Woken::TimedOut;
            }
            let timeout = left_ns.map(|left| Timespec {
                tv_sec: left / 1_000_000_000,
                tv_nsec: left % 1_000_000_000,
            });
            let mut fds = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::from_borrowed_fd(self.reporter.wake.as_fd(), PollFlags::IN),
            ];
            if poll(&mut fds, timeout.as_ref()).is_err() {
                continue; // a signal
            }
            let (readable, woken) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if woken {
                let _ = rustix::io::read(&*self.reporter.wake, &mut [0_u8; 8]);
            }
            if let Some(end) = readable.then(|| self.read_lines()).flatten() {
                return end;
            }
        }
    }

    /// Reads the lines that the socket holds; Some if nothing more is to be read from it.
    fn read_lines(&mut self) -> Option<Woken> {
        let mut buffer = [0; 1 << 16];
        let count = match self.socket.read(&mut buffer) {
            Ok(0) => return Some(Woken::Closed),
            Ok(count) => count,
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {
                return None
            }
            Err(_) => return Some(Woken::Closed),
        };
        let mut searched = self.pending.len(); // each piece of a long line is searched once
        self.pending.extend_from_slice(&buffer[..count]);
        while let Some(end) =
            self.pending[searched..].iter().position(|&b| b == b'\n').map(|at| searched + at)
        {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            searched = 0;
            match String::from_utf8(line) {
                Ok(line) => self.lines.push_back(line),
                Err(_) => {
                    return Some(Woken::Violated("protocol: a line that is not UTF-8".into()))
                }
            }
        }
        let too_long = self.pending.len() > MAX_LINE_BYTES;
        too_long.then(|| {
            Woken::Violated(format!("protocol: a line of more than {MAX_LINE_BYTES} bytes"))
        })
    }
}

/// Exits because the orchestrator is gone. The middleware is not cleaned up, which could hang; the
/// namespace removes everything that is left.
pub fn exit_now() -> ! {
    end(0)
}

/// Exits because the orchestrator sent a line that no orchestrator sends: prints that line, and
/// uses the exit code of bad arguments.
pub fn refuse_now(violation: &str) -> ! {
    eprintln!("{violation}");
    end(2)
}

fn end(exit_code: i32) -> ! {
    // SAFETY: ends the process without running exit handlers of the middleware's libraries.
    unsafe { libc::_exit(exit_code) }
}

/// The descriptor with this `number`, which the orchestrator left open for this process and named
/// on the command line; None if it is not a number, is not open, or is one of the three standard
/// streams. No child process inherits it. Take it only once.
pub fn inherited(number: &str) -> Option<OwnedFd> {
    let fd: RawFd = number.parse().ok().filter(|fd| *fd > 2)?;
    // SAFETY: fcntl only asks whether the descriptor is open; if so it was inherited for us and
    // nobody else owns it.
    unsafe {
        (libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) == 0).then(|| OwnedFd::from_raw_fd(fd))
    }
}

/// Prints `value` for people, on stdout.
pub fn print(value: &Value) -> ExitCode {
    // A program that reads only the first lines of the output is no failure.
    let _ = writeln!(
        std::io::stdout(),
        "{}",
        serde_json::to_string_pretty(value).expect("JSON always serialises")
    );
    ExitCode::SUCCESS
}

/// Prints a message for people, on stderr, and returns the exit code of wrong arguments and
/// descriptors.
pub fn complain(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a control socket reports first after `sent` was written to it.
    fn woken_by(sent: &[u8]) -> Woken {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        theirs.write_all(sent).unwrap();
        drop(theirs);
        Control::new(ours.into()).unwrap().wait(None)
    }

    #[test]
    fn what_no_orchestrator_sends_is_not_its_end() {
        assert!(matches!(woken_by(b""), Woken::Closed));
        assert!(matches!(woken_by(b"{}\n"), Woken::Line(line) if line == "{}\n"));
        assert!(
            matches!(woken_by(b"{}\n\xff\n"), Woken::Violated(what) if what.contains("not UTF-8"))
        );
    }
}
