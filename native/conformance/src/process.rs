//! A worker process at the other end of the protocol.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rmwbench_harness::protocol::{Command as Verb, Event, FromWorker, Open, Reply, Request};
use rmwbench_harness::records::{layout, memfd, Kind, SLOT_BYTES};
use serde_json::Value;

use crate::failure::Failure;

/// Nothing in the suite takes longer; a worker that needs more hangs.
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

/// A finished slot: kind, the six words, peer, endpoint, bytes, flags.
#[derive(Clone, Debug)]
pub struct Slot {
    pub seq: u64,
    pub words: [u64; 6],
    pub peer: u32,
    pub bytes: u32,
    pub flags: u32,
}

impl Worker {
    pub fn spawn(path: &str, nonce: u64, sections: &[(Kind, u32, u64)]) -> Result<Worker, String> {
        Worker::launch(path, &["--control-fd", "200", "--records-fd", "201"], nonce, sections)
    }

    /// The worker's program as one of its daemons, serving.
    pub fn daemon(path: &str, name: &str, open: Open) -> Result<Worker, Failure> {
        let mut daemon = Worker::launch(path, &["--daemon", name, "--control-fd", "200"], 0, &[])?;
        daemon.request(Verb::Open(open)).map_err(|e| e.about(format!("daemon {name}")))?;
        Ok(daemon)
    }

    fn launch(
        path: &str,
        arguments: &[&str],
        nonce: u64,
        sections: &[(Kind, u32, u64)],
    ) -> Result<Worker, String> {
        let records = memfd(&layout(nonce, sections)).map_err(|e| format!("memfd: {e}"))?;
        let (ours, theirs) = UnixStream::pair().map_err(|e| format!("socketpair: {e}"))?;
        let (control_fd, records_fd) = (theirs.as_raw_fd(), records.as_raw_fd());
        let mut command = Command::new(path);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        // SAFETY: dup2 is async-signal-safe; the descriptors stay open until spawn returns.
        unsafe {
            command.pre_exec(move || {
                for (from, to) in [(control_fd, 200), (records_fd, 201)] {
                    if libc_dup2(from, to) < 0 {
                        return Err(std::io::Error::last_os_error());
                    }
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
            Some(FromWorker::Hello { hello }) if hello.protocol == 1 => Ok(worker),
            other => Err(format!("expected hello of protocol 1, found {other:?}")),
        }
    }

    /// Sends a command without waiting.
    pub fn post(&mut self, command: Verb) -> Result<u64, String> {
        let id = self.next_id;
        self.next_id += 1;
        let line = serde_json::to_string(&Request { id, command }).map_err(|e| e.to_string())?;
        self.post_line(&line)?;
        Ok(id)
    }

    pub fn post_line(&mut self, line: &str) -> Result<(), String> {
        self.socket
            .write_all(format!("{line}\n").as_bytes())
            .map_err(|e| format!("the worker is gone: {e}"))
    }

    /// Waits for the answer to a posted command.
    pub fn answer(&mut self, id: u64) -> Result<Reply, String> {
        self.answer_within(id, PATIENCE)
    }

    fn answer_within(&mut self, id: u64, patience: Duration) -> Result<Reply, String> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(reply) = self.replies.remove(&id) {
                return Ok(reply);
            }
            if !self.pump(deadline)? {
                return Err(format!("no answer to command {id} within {patience:?}"));
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

    /// Of a command that the worker itself may take its time for.
    pub fn expect_ok_within(&mut self, id: u64, patience: Duration) -> Result<Value, Failure> {
        match self.answer_within(id, patience)? {
            Reply::Ok(value) => Ok(value),
            Reply::Error(error) => Err(error.into()),
        }
    }

    /// Takes lines until `found` is true of the events so far.
    pub fn events_until(
        &mut self,
        what: &str,
        deadline: Instant,
        found: impl Fn(&[Event]) -> bool,
    ) -> Result<(), String> {
        while !found(&self.events) {
            if !self.pump(deadline)? {
                return Err(format!(
                    "time-out waiting for {what}; events so far: {:?}",
                    self.events
                ));
            }
        }
        Ok(())
    }

    /// Takes one line; false at the deadline.
    pub fn pump(&mut self, deadline: Instant) -> Result<bool, String> {
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

    fn line(&mut self, deadline: Instant) -> Result<Option<FromWorker>, String> {
        loop {
            if let Some(end) = self.pending.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return serde_json::from_slice(&line)
                    .map(Some)
                    .map_err(|e| format!("{}: {e}", String::from_utf8_lossy(&line).trim()));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.socket.set_read_timeout(Some(left)).map_err(|e| e.to_string())?;
            let mut buffer = [0; 1 << 16];
            match self.socket.read(&mut buffer) {
                Ok(0) => {
                    let status = self.child.wait().map_err(|e| e.to_string())?;
                    return Err(format!("the worker ended: {status}"));
                }
                Ok(count) => self.pending.extend_from_slice(&buffer[..count]),
                Err(e)
                    if matches!(
                        e.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) =>
                {
                    return Ok(None)
                }
                Err(e) => return Err(format!("control socket: {e}")),
            }
        }
    }

    /// Ends the worker as a crash would.
    pub fn kill(&mut self) -> Result<ExitStatus, String> {
        self.child.kill().and_then(|()| self.child.wait()).map_err(|e| e.to_string())
    }

    /// Closes the control socket and waits: true when the worker exits in time.
    pub fn exits_on_end_of_file(mut self) -> bool {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let deadline = Instant::now() + Duration::from_secs(2);
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

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

    /// The finished slots of an endpoint, in the order of claiming; an error when some are missing.
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
        Ok(Vec::new())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// dup2 as the kernel has it: rustix's takes an owned target, which a child between fork and exec
/// does not have.
unsafe fn libc_dup2(from: i32, to: i32) -> i32 {
    extern "C" {
        fn dup2(from: i32, to: i32) -> i32;
    }
    // SAFETY: plain integers.
    unsafe { dup2(from, to) }
}
