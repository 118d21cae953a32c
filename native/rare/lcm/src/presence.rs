//! The present endpoints: LCM has no discovery, so each process with this worker informs the others
//! which endpoints it has.
//!
//! The list of a process is a message of LCM itself, on the port next to that of the traffic, so
//! that a process that only publishes still receives no traffic. It is sent at every change, when a
//! process is heard for the first time, and each half second. A process that was not heard for
//! three seconds counts as gone, as if it was killed.

use std::collections::HashMap;
use std::ffi::{c_char, c_void, CStr};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::Error;

use crate::sys::{self, ReceiveBuffer};

const CHANNEL: &CStr = c"presence";
const PERIOD: Duration = Duration::from_millis(500);
const GONE: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Publisher(String),
    Subscription(String),
}

impl Entry {
    /// A line in a process's list.
    fn line(&self) -> String {
        match self {
            Entry::Publisher(topic) => format!("p{topic}"),
            Entry::Subscription(topic) => format!("s{topic}"),
        }
    }

    fn peer(&self) -> Entry {
        match self.clone() {
            Entry::Publisher(topic) => Entry::Subscription(topic),
            Entry::Subscription(topic) => Entry::Publisher(topic),
        }
    }
}

/// An endpoint that is in its process's list as long as this lives.
pub struct Entered {
    line: String,
    peer: String,
    shared: Arc<Shared>,
}

impl Entered {
    pub fn peer(&self) -> &str {
        &self.peer
    }
}

pub struct Presence {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    instance: sys::Instance,
    own: u64,
    processes: Mutex<HashMap<u64, Process>>,
    ended: AtomicBool,
}

struct Process {
    heard: Instant,
    lines: Vec<String>,
}

impl Presence {
    pub fn start(url: &str) -> Result<Presence, Error> {
        static SESSIONS: AtomicU64 = AtomicU64::new(0);
        // Two processes of two hosts may have the same PID, but not the same clock reading.
        let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let own = now_ns() as u64 ^ (u64::from(process::id()) << 40) ^ (session << 32);
        let processes = Mutex::new(HashMap::from([(
            own,
            Process { heard: Instant::now(), lines: Vec::new() },
        )]));
        let shared = Arc::new(Shared {
            instance: sys::Instance::open(url)?,
            own,
            processes,
            ended: AtomicBool::new(false),
        });
        let context = Arc::as_ptr(&shared).cast_mut().cast();
        // SAFETY: `shared` lives until the thread has ended, and only that thread handles messages.
        let subscription = unsafe { shared.instance.subscribe(CHANNEL, heard, context, 0) };
        // It ends with the instance.
        subscription.ok_or_else(|| {
            Error::failed(
                "presence",
                "LCM does not hear its own multicast; see its messages in the log",
            )
        })?;
        let theirs = shared.clone();
        let thread = thread::Builder::new().name("presence".into()).spawn(move || theirs.run());
        Ok(Presence { shared, thread: Some(thread.map_err(|e| Error::failed("presence", e))?) })
    }

    pub fn enter(&self, entry: Entry) -> Entered {
        let entered =
            Entered { line: entry.line(), peer: entry.peer().line(), shared: self.shared.clone() };
        self.shared.change(|lines| lines.push(entered.line.clone()));
        entered
    }

    /// How many such endpoints there are.
    pub fn count(&self, line: &str) -> u32 {
        let processes = self.shared.lock();
        let there = processes
            .iter()
            .filter(|(id, process)| **id == self.shared.own || process.heard.elapsed() < GONE);
        there.flat_map(|(_, process)| &process.lines).filter(|known| *known == line).count() as u32
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.shared.change(|lines| {
            if let Some(place) = lines.iter().position(|line| *line == self.line) {
                lines.swap_remove(place);
            }
        });
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        self.shared.announce(); // it is received here, too, which wakes the thread
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Process>> {
        self.processes.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn change(&self, change: impl FnOnce(&mut Vec<String>)) {
        change(&mut self.lock().get_mut(&self.own).expect("entered in start").lines);
        self.announce();
    }

    fn announce(&self) {
        let list = self.lock()[&self.own].lines.join("\n");
        // A list that is lost is sent again.
        let _ = self.instance.publish(CHANNEL, format!("{:016x}\n{list}", self.own).as_bytes());
    }

    fn run(&self) {
        let mut announced_at = Instant::now();
        while !self.ended.load(Ordering::Acquire) {
            self.instance.handle(PERIOD.as_millis() as i32);
            if announced_at.elapsed() >= PERIOD {
                announced_at = Instant::now();
                self.lock().retain(|id, process| *id == self.own || process.heard.elapsed() < GONE);
                self.announce();
            }
        }
    }

    fn hear(&self, list: &str) {
        let mut lines = list.lines();
        let Some(id) = lines
            .next()
            .and_then(|id| u64::from_str_radix(id, 16).ok())
            .filter(|id| *id != self.own)
        else {
            return;
        };
        let process = Process { heard: Instant::now(), lines: lines.map(str::to_string).collect() };
        let is_new = self.lock().insert(id, process).is_none();
        if is_new {
            self.announce();
        }
    }
}

unsafe extern "C" fn heard(
    buffer: *const ReceiveBuffer,
    _channel: *const c_char,
    context: *mut c_void,
) {
    // SAFETY: the context of `start`, and a buffer that is valid during this call.
    let (shared, message) = unsafe { (&*context.cast::<Shared>(), (*buffer).bytes()) };
    if let Ok(list) = std::str::from_utf8(message) {
        shared.hear(list);
    }
}
