//! Our worker in two processes for a few seconds, driven over the worker protocol as by the
//! orchestrator.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::Profile;
use rmwbench_harness::records::{layout, memfd, Kind, SLOT_BYTES};
use serde_json::{json, Value};

use crate::ddsperf::{Load, Outcome, Watch, STEADY};

const TALKER: u32 = 1;
const LISTENER: u32 = 2;

/// One worker process. Dropping it closes the control socket, which ends the worker.
struct Worker {
    child: Child,
    control: UnixStream,
    lines: BufReader<UnixStream>,
    events: VecDeque<Value>,
    records: OwnedFd,
    next_id: u64,
}

/// Runs one trial of `load`; latency is from the publish call to the take, for the messages sent
/// within the steady part.
pub fn run(binary: &Path, profile: &Profile, load: &Load) -> Result<Outcome, String> {
    let capacity = (load.rate_hz * 10) as u64;
    let mut talker = Worker::start(binary, &[(Kind::Sent, TALKER, capacity)])?;
    let mut listener = Worker::start(binary, &[(Kind::Received, LISTENER, capacity)])?;
    for (worker, endpoint, kind) in
        [(&mut talker, TALKER, "publisher"), (&mut listener, LISTENER, "subscription")]
    {
        worker
            .call(json!({"cmd": "open", "trial_nonce": "5", "domain_id": 0, "profile": profile}))?;
        worker.call(json!({"cmd": "create", "nodes": [{"name": kind, "endpoints": [{
            "endpoint": endpoint, "kind": kind, "topic": "ddsperf", "type": MessageType::bytes(load.payload_bytes),
            "qos": {"reliability": "reliable", "durability": "volatile", "history": "keep_last", "depth": 10},
            "arrival": {"kind": "periodic", "period_ns": 1_000_000_000 / load.rate_hz}, "touch": load.touch, "wait": "block", "matches": 1,
        }]}]}))?;
    }
    talker.call(json!({"cmd": "match", "timeout_ns": 10_000_000_000_i64}))?;
    listener.call(json!({"cmd": "match", "timeout_ns": 10_000_000_000_i64}))?;
    talker.call(json!({"cmd": "probe"}))?;
    listener.event("first_message")?;
    let at_ns = now_ns() + 20_000_000;
    let steady_ns = at_ns + 500_000_000;
    let end_ns = steady_ns + STEADY.as_nanos() as i64 + 200_000_000;
    let start = json!({"cmd": "start", "at_ns": at_ns, "steady_ns": steady_ns, "end_ns": end_ns, "grace_ns": 1_000_000_000});
    listener.call(start.clone())?;
    talker.call(start)?;
    rmwbench_harness::clock::sleep_until(steady_ns);
    let watch = Watch::begin(&[talker.child.id(), listener.child.id()])?;
    std::thread::sleep(STEADY);
    let cpu_ns = watch.cpu_ns()?;
    talker.event("finished")?;
    std::thread::sleep(Duration::from_millis(100));
    let latencies = latencies_ns(&talker.slots()?, &listener.slots()?, steady_ns);
    for worker in [talker, listener] {
        worker.exit()?;
    }
    Ok(Outcome {
        latency_p50_ns: rmwbench_bench::ratio::median(&latencies),
        cpu_per_message_ns: cpu_ns / (load.rate_hz as f64 * STEADY.as_secs_f64()),
    })
}

fn latencies_ns(sent: &[[i64; 6]], received: &[[i64; 6]], from_ns: i64) -> Vec<f64> {
    // Words of a slot (records.md): seq, then call_ns is the fourth of SENT and taken_ns the third
    // of RECEIVED.
    let calls: std::collections::HashMap<i64, i64> =
        sent.iter().filter(|s| s[1] >= from_ns).map(|s| (s[0], s[3])).collect();
    received.iter().filter_map(|r| calls.get(&r[0]).map(|call| (r[2] - call) as f64)).collect()
}

impl Worker {
    fn start(binary: &Path, sections: &[(Kind, u32, u64)]) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("{}: {e}", binary.display());
        let records = memfd(&layout(5, sections)).map_err(failed)?;
        let (control, theirs) = UnixStream::pair().map_err(failed)?;
        let (control_fd, records_fd) = (theirs.as_raw_fd(), records.as_raw_fd());
        let mut command = Command::new(binary);
        command.args([
            "--control-fd",
            &control_fd.to_string(),
            "--records-fd",
            &records_fd.to_string(),
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        // SAFETY: between fork and exec only two descriptors lose their close-on-exec flag.
        unsafe {
            command.pre_exec(move || {
                for fd in [control_fd, records_fd] {
                    if libc::fcntl(fd, libc::F_SETFD, 0) < 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
        let child = command.spawn().map_err(failed)?;
        let lines = BufReader::new(control.try_clone().map_err(failed)?);
        let mut worker =
            Worker { child, control, lines, events: VecDeque::new(), records, next_id: 1 };
        worker.line()?; // hello
        Ok(worker)
    }

    fn call(&mut self, mut command: Value) -> Result<Value, String> {
        let id = self.next_id;
        self.next_id += 1;
        command["id"] = id.into();
        writeln!(self.control, "{command}").map_err(|e| format!("worker: {e}"))?;
        loop {
            let line = self.line()?;
            if line["id"] == id {
                return line.get("ok").cloned().ok_or_else(|| {
                    format!("worker: {} answers {}", command["cmd"], line["error"])
                });
            }
            self.events.push_back(line);
        }
    }

    fn event(&mut self, name: &str) -> Result<Value, String> {
        loop {
            if let Some(place) = self.events.iter().position(|e| e["event"] == name) {
                return Ok(self.events.remove(place).expect("just found"));
            }
            let line = self.line()?;
            self.events.push_back(line);
        }
    }

    fn line(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(n) if n > 0 => {
                serde_json::from_str(&line).map_err(|e| format!("worker: {e}: {line}"))
            }
            Ok(_) => Err("worker: ended early".into()),
            Err(e) => Err(format!("worker: {e}")),
        }
    }

    /// The first six words of each finished slot of the only section.
    fn slots(&self) -> Result<Vec<[i64; 6]>, String> {
        let bytes =
            rustix::fs::fstat(&self.records).map_err(|e| format!("records: {e}"))?.st_size as usize;
        let mut file = vec![0; bytes];
        rustix::io::pread(&self.records, &mut file, 0).map_err(|e| format!("records: {e}"))?;
        let word = |at: usize| i64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        let (first, capacity, claimed) =
            (word(SLOT_BYTES + 8) as usize, word(SLOT_BYTES + 16), word(SLOT_BYTES + 24));
        Ok((0..claimed.min(capacity) as usize)
            .map(|i| std::array::from_fn(|w| word(first + i * SLOT_BYTES + 8 * w)))
            .collect())
    }

    fn exit(mut self) -> Result<(), String> {
        self.call(json!({"cmd": "exit"}))?;
        let status = self.child.wait().map_err(|e| format!("worker: {e}"))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("worker: {status}"))
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
