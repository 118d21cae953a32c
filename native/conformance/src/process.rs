//! A worker process at the other end of the protocol.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rmwbench_harness::protocol::{
    Command as Verb, Event, FromWorker, Open, Reply, Request, PROTOCOL,
};
use rmwbench_harness::records::{layout, memfd, Kind, SLOT_BYTES};
use rustix::io::{fcntl_setfd, FdFlags};
use rustix::process::Signal;
use serde_json::Value;

use crate::failure::{Failure, Finding};

/// Nothing in the suite takes longer; a worker that needs more is considered hung.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Worker {
    child: Child,
    socket: UnixStream,
    records: OwnedFd,
    pending: Vec<u8>,
    next_id: u64,
    replies: BTreeMap<u64, Reply>,
    pub events: Vec<Event>,
}

/// A finished slot.
#[derive(Clone, Debug)]
pub struct Slot {
    pub seq: u64,
    pub words: [u64; 6],
    pub peer: u32,
    pub bytes: u32,
    pub flags: u32,
}

impl Worker {
    pub fn spawn(path: &str, nonce: u64, sections: &[(Kind, u32, u64)]) -> Result<Worker, Failure> {
        Worker::launch(path, None, nonce, sections)
    }

    /// Starts the worker's program as one of its daemons, which serves when this returns.
    pub fn daemon(path: &str, name: &str, open: Open) -> Result<Worker, Failure> {
        let mut daemon = Worker::launch(path, Some(name), 0, &[])?;
        daemon.request(Verb::Open(open)).map_err(|e| e.about(format!("daemon {name}")))?;
        Ok(daemon)
    }

    fn launch(
        path: &str,
        daemon: Option<&str>,
        nonce: u64,
        sections: &[(Kind, u32, u64)],
    ) -> Result<Worker, Failure> {
        let records = memfd(&layout(nonce, sections)).map_err(|e| format!("memfd: {e}"))?;
        let (ours, theirs) = UnixStream::pair().map_err(|e| format!("socketpair: {e}"))?;
        ours.set_write_timeout(Some(PATIENCE)).map_err(|e| format!("control socket: {e}"))?;
        let (control_fd, records_fd) = (theirs.as_raw_fd(), records.as_raw_fd());
        let (control, kept) = (control_fd.to_string(), records_fd.to_string());
        let mut command = Command::new(path);
        match daemon {
            Some(name) => command.args(["--daemon", name, "--control-fd", &control]),
            None => command.args(["--control-fd", &control, "--records-fd", &kept]),
        };
        command.stdin(Stdio::null()).stdout(Stdio::null());
        // SAFETY: a system call and nothing else; the descriptors stay open until spawn returns.
        unsafe {
            command.pre_exec(move || {
                for kept in [control_fd, records_fd] {
                    fcntl_setfd(BorrowedFd::borrow_raw(kept), FdFlags::empty())?;
                }
                Ok(())
            });
        }
        let child = command.spawn().map_err(|e| format!("{path}: {e}"))?;
        drop(theirs);
        let mut worker = Worker {
            child,
            socket: ours,
            records,
            pending: Vec::new(),
            next_id: 1,
            replies: BTreeMap::new(),
            events: Vec::new(),
        };
        match worker.line(Instant::now() + PATIENCE)? {
            Some(FromWorker::Hello { hello }) if hello.protocol == PROTOCOL => Ok(worker),
            other => Err(format!("expected hello of protocol {PROTOCOL}, found {other:?}").into()),
        }
    }

    /// Sends a command without waiting.
    pub fn post(&mut self, command: Verb) -> Result<u64, Failure> {
        let id = self.next_id;
        self.next_id += 1;
        let line = serde_json::to_string(&Request { id, command }).map_err(|e| e.to_string())?;
        self.post_line(&line)?;
        Ok(id)
    }

    pub fn post_line(&mut self, line: &str) -> Result<(), Failure> {
        self.socket.write_all(format!("{line}\n").as_bytes()).map_err(|e| self.gone(e))
    }

    /// The failure of a worker whose control socket is gone. A process that dies with unread
    /// commands resets the socket, and a later write to it fails.
    fn gone(&mut self, error: std::io::Error) -> Failure {
        let is_closed = matches!(
            error.kind(),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
        );
        match is_closed.then(|| self.exited()).flatten() {
            Some(status) if status.signal().is_some() => {
                Finding::Crashed.failure(format!("the worker ended: {status}"))
            }
            Some(status) => format!("the worker ended: {status}").into(),
            None => format!("the worker lives, and its control socket failed: {error}").into(),
        }
    }

    /// Waits for the answer to a posted command.
    pub fn answer(&mut self, id: u64) -> Result<Reply, Failure> {
        self.answer_within(id, PATIENCE)
    }

    fn answer_within(&mut self, id: u64, patience: Duration) -> Result<Reply, Failure> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(reply) = self.replies.remove(&id) {
                return Ok(reply);
            }
            if !self.pump(deadline)? {
                return Err(format!("no answer to command {id} within {patience:?}").into());
            }
        }
    }

    pub fn request(&mut self, command: Verb) -> Result<Value, Failure> {
        let id = self.post(command)?;
        self.expect_ok(id)
    }

    pub fn expect_ok(&mut self, id: u64) -> Result<Value, Failure> {
        self.expect_ok_within(id, PATIENCE)
    }

    /// The answer to a command for which the worker may need this long.
    pub fn expect_ok_within(&mut self, id: u64, patience: Duration) -> Result<Value, Failure> {
        match self.answer_within(id, patience)? {
            Reply::Ok(value) => Ok(value),
            Reply::Error(error) => Err(error.into()),
        }
    }

    /// Reads lines until `found` is true for the events so far.
    pub fn events_until(
        &mut self,
        what: &str,
        deadline: Instant,
        is_complete: impl Fn(&[Event]) -> bool,
    ) -> Result<(), Failure> {
        while !is_complete(&self.events) {
            if !self.pump(deadline)? {
                return Err(format!(
                    "time-out waiting for {what}; events so far: {:?}",
                    self.events
                )
                .into());
            }
        }
        Ok(())
    }

    /// Reads one line; false at the deadline.
    pub fn pump(&mut self, deadline: Instant) -> Result<bool, Failure> {
        match self.line(deadline)? {
            None => return Ok(false),
            Some(FromWorker::Reply { id, reply }) => {
                self.replies.insert(id, reply);
            }
            Some(FromWorker::Event(event)) => self.events.push(event),
            Some(FromWorker::Hello { .. }) => return Err("a second hello".into()),
        }
        Ok(true)
    }

    fn line(&mut self, deadline: Instant) -> Result<Option<FromWorker>, Failure> {
        loop {
            if let Some(end) = self.pending.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return serde_json::from_slice(&line)
                    .map(Some)
                    .map_err(|e| format!("{}: {e}", String::from_utf8_lossy(&line).trim()).into());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.socket.set_read_timeout(Some(left)).map_err(|e| e.to_string())?;
            let mut buffer = [0; 1 << 16];
            match self.socket.read(&mut buffer) {
                Ok(0) => return Err(self.gone(ErrorKind::UnexpectedEof.into())),
                Ok(count) => self.pending.extend_from_slice(&buffer[..count]),
                // A read with a time-out is interrupted when its process is stopped and continues.
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(None)
                }
                Err(e) => return Err(self.gone(e)),
            }
        }
    }

    /// Ends the worker as a crash would. Errors: it had already ended unnoticed.
    pub fn kill(&mut self) -> Result<(), String> {
        let status = self.child.kill().and_then(|()| self.child.wait());
        match status.map_err(|e| e.to_string())? {
            status if status.signal() == Some(Signal::KILL.as_raw()) => Ok(()),
            status => Err(format!("the worker ended before it was killed: {status}")),
        }
    }

    /// Closes the control socket and waits; None while the worker lives.
    pub fn exits_on_end_of_file(mut self) -> Option<ExitStatus> {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        self.exited()
    }

    /// How it ended, after a time for that; None while it lives.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// The finished slots of an endpoint, in the order of claiming. Errors: the plan has no such
    /// section, or one with too little room.
    pub fn slots(&self, kind: Kind, endpoint: u32) -> Result<Vec<Slot>, String> {
        let mut file = File::from(self.records.try_clone().map_err(|e| e.to_string())?);
        let mut read = |offset: u64, bytes: usize| -> Result<Vec<u8>, String> {
            let mut buffer = vec![0; bytes];
            file.seek(SeekFrom::Start(offset))
                .and_then(|_| file.read_exact(&mut buffer))
                .map_err(|e| e.to_string())?;
            Ok(buffer)
        };
        let u32_at = |b: &[u8], at: usize| u32::from_le_bytes(b[at..at + 4].try_into().unwrap());
        let u64_at = |b: &[u8], at: usize| u64::from_le_bytes(b[at..at + 8].try_into().unwrap());
        let header = read(0, 64)?;
        for section in 0..u64::from(u32_at(&header, 12)) {
            let entry = read(64 + section * 64, 64)?;
            if u32_at(&entry, 0) != kind as u32 || u32_at(&entry, 4) != endpoint {
                continue;
            }
            let (offset, capacity, claimed) =
                (u64_at(&entry, 8), u64_at(&entry, 16), u64_at(&entry, 24));
            if claimed > capacity {
                return Err(format!("endpoint {endpoint}: {claimed} records for {capacity} slots"));
            }
            let slots = read(offset, claimed as usize * SLOT_BYTES)?;
            return Ok(slots
                .chunks(SLOT_BYTES)
                .filter(|slot| u32_at(slot, 60) != 0)
                .map(|slot| Slot {
                    seq: u64_at(slot, 0),
                    words: std::array::from_fn(|i| u64_at(slot, i * 8)),
                    peer: u32_at(slot, 48),
                    bytes: u32_at(slot, 56),
                    flags: u32_at(slot, 60) >> 8,
                })
                .collect());
        }
        Err(format!("endpoint {endpoint} has no section for {kind:?} records"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that is this shell script, and its end of the control socket.
    fn worker(script: &str) -> (Worker, UnixStream) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let records = memfd(&layout(1, &[(Kind::Sent, 7, 4)])).unwrap();
        let (socket, theirs) = UnixStream::pair().unwrap();
        let worker = Worker {
            child,
            socket,
            records,
            pending: Vec::new(),
            next_id: 1,
            replies: BTreeMap::new(),
            events: Vec::new(),
        };
        (worker, theirs)
    }

    const CRASH: &str = "kill -SEGV $$";

    #[test]
    fn a_crash_is_told_by_its_signal_whatever_of_the_socket_shows_it() {
        let until = Instant::now() + PATIENCE;
        let (mut silent, theirs) = worker(CRASH);
        drop(theirs);
        assert!(silent.pump(until).unwrap_err().is_any(&[Finding::Crashed]));
        let (mut unread, theirs) = worker(CRASH);
        unread.post_line("{}").unwrap();
        drop(theirs); // with the unread command
        assert!(unread.pump(until).unwrap_err().is_any(&[Finding::Crashed]));
        let (mut broken, theirs) = worker(CRASH);
        drop(theirs);
        assert!(broken.post_line("{}").unwrap_err().is_any(&[Finding::Crashed]));
    }

    #[test]
    fn a_worker_that_ended_by_itself_was_not_killed() {
        let (mut crashed, _theirs) = worker(CRASH);
        assert!(crashed.exited().is_some());
        assert!(crashed.kill().unwrap_err().contains("signal: 11"));
        let (mut living, _theirs) = worker("exec sleep 600");
        assert_eq!(living.kill(), Ok(()));
    }

    #[test]
    fn how_a_worker_ends_at_the_end_of_file_is_told() {
        for (script, code) in [("exit 0", 0), ("exit 3", 3)] {
            let (worker, _theirs) = worker(script);
            assert_eq!(worker.exits_on_end_of_file().unwrap().code(), Some(code));
        }
    }

    #[test]
    fn who_asks_for_a_section_that_the_plan_has_not_is_told() {
        let (worker, _theirs) = worker("exit 0");
        assert!(worker.slots(Kind::Sent, 7).unwrap().is_empty());
        assert!(worker.slots(Kind::Received, 7).is_err() && worker.slots(Kind::Sent, 8).is_err());
    }

    #[test]
    fn a_stop_of_the_suite_is_not_the_end_of_a_worker() {
        let (mut worker, mut theirs) = worker("exec sleep 600");
        let stop =
            format!("sleep 0.1; kill -STOP {0}; sleep 0.1; kill -CONT {0}", std::process::id());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                Command::new("sh").args(["-c", &stop]).status().unwrap();
                std::thread::sleep(Duration::from_millis(100));
                theirs.write_all(b"{\"id\": 1, \"ok\": {}}\n").unwrap();
                theirs
            });
            assert!(matches!(worker.answer(1), Ok(Reply::Ok(_))));
        });
    }
}
