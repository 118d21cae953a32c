//! Probes from inside the hosts: datagrams through the real devices, before the workers open. One end sends at a pace and says how
//! long sending blocked; the other counts, and reads the one-way delay from the stamps inside (one kernel, one clock).

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmwbench_harness::clock::{now_ns, remove_timer_slack, sleep_until};
use rmwbench_harness::control::{exit_now, Control, Woken};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use crate::protocol::{self, hello};
use crate::quantiles::Histogram;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Send,
    Receive,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub id: u64,
    #[serde(flatten)]
    pub command: Command,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case")]
pub enum Command {
    /// `interval_ns` 0: as fast as the socket takes them.
    Send {
        to: SocketAddr,
        count: u64,
        bytes: usize,
        interval_ns: i64,
    },
    /// Counts what comes to this port from now on; `group`: a multicast group to join first.
    Listen {
        port: u16,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<Ipv4Addr>,
    },
    /// What came since `listen`.
    Received {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
    },
    Exit {},
}

/// Magic, number, time of sending: 24 bytes, little endian; then zeros.
const STAMP_BYTES: usize = 24;
const MAGIC: u64 = 0x7265_626f_7270_6c6b;
const LARGEST_BYTES: usize = 65_507;
const RECEIVE_BUFFER_BYTES: libc::c_int = 16 << 20;

pub fn serve(control: OwnedFd, role: Role) -> ExitCode {
    let control = Control::new(control).and_then(|control| control.exit_at_end_of_file().map(|()| control));
    let mut control = match control {
        Ok(control) => control,
        Err(error) => {
            eprintln!("control socket: {error}");
            return ExitCode::from(2);
        }
    };
    remove_timer_slack();
    let (tool, known): (_, &[&str]) = match role {
        Role::Send => ("probe-send", &["send", "exit"]),
        Role::Receive => ("probe-receive", &["listen", "received", "exit"]),
    };
    control.send(&hello(tool));
    let mut listeners: BTreeMap<u16, Arc<Mutex<Received>>> = BTreeMap::new();
    loop {
        let line = match control.wait(None) {
            Woken::Line(line) => line,
            Woken::Closed => exit_now(),
            _ => continue,
        };
        let request = match protocol::parse::<Request>(&line, known) {
            Ok(request) => request,
            Err(answer) => {
                answer.map(|answer| control.send(&answer));
                continue;
            }
        };
        let id = request.id;
        let answer = match (role, request.command) {
            (_, Command::Exit {}) => {
                control.send(&protocol::ok(id, json!({})));
                exit_now();
            }
            (Role::Send, Command::Send { to, count, bytes, interval_ns }) => {
                send(to, count, bytes, interval_ns).map_err(|why| ("send", why))
            }
            (Role::Receive, Command::Listen { port, group }) => listen(port, group, &mut listeners).map_err(|why| ("listen", why)),
            (Role::Receive, Command::Received { port }) => received(port, &listeners).map_err(|why| ("received", why)),
            (_, command) => {
                let value = serde_json::to_value(command).unwrap_or_default();
                let name = value["cmd"].as_str().unwrap_or_default();
                control.send(&protocol::error(id, "unsupported", &format!("cmd {name}"), &format!("{tool} knows {}", known.join(", "))));
                continue;
            }
        };
        control.send(&match answer {
            Ok(value) => protocol::ok(id, value),
            Err((name, (kind, why))) => protocol::error(id, kind, &format!("cmd {name}"), &why),
        });
    }
}

type Answer = Result<Value, (&'static str, String)>;

/// A send that the system refuses (no route, no carrier) is counted; the others go on.
fn send(to: SocketAddr, count: u64, bytes: usize, interval_ns: i64) -> Answer {
    if !(STAMP_BYTES..=LARGEST_BYTES).contains(&bytes) || !(0..=1_000_000_000).contains(&interval_ns) {
        return Err((
            "invalid",
            format!("expected {STAMP_BYTES} to {LARGEST_BYTES} bytes and an interval up to a second, found {bytes} and {interval_ns}"),
        ));
    }
    let socket = UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).map_err(|e| ("failed", format!("bind: {e}")))?;
    let mut datagram = vec![0; bytes];
    datagram[..8].copy_from_slice(&MAGIC.to_le_bytes());
    let (mut sent, mut blocked_ns, mut refused) = (0_u64, 0, None);
    let first_ns = now_ns();
    let mut last_ns = first_ns;
    for number in 0..count {
        sleep_until(first_ns + number as i64 * interval_ns);
        let begin_ns = now_ns();
        datagram[8..16].copy_from_slice(&number.to_le_bytes());
        datagram[16..24].copy_from_slice(&begin_ns.to_le_bytes());
        match socket.send_to(&datagram, to) {
            Ok(_) => sent += 1,
            Err(error) => refused = Some(error.to_string()),
        }
        last_ns = now_ns();
        blocked_ns += last_ns - begin_ns;
    }
    Ok(json!({"sent": sent, "blocked_ns": blocked_ns, "first_ns": first_ns, "last_ns": last_ns, "refused": count - sent, "error": refused}))
}

#[derive(Default)]
struct Received {
    count: u64,
    bytes: u64,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    delays: Histogram,
    shortest_ns: Option<i64>,
    seen: HashSet<(SocketAddr, u64)>,
    highest: Option<u64>,
    duplicates: u64,
    overtaken: u64,
    /// Datagrams that are no probes, or whose stamp came damaged.
    foreign: u64,
}

fn listen(port: u16, group: Option<Ipv4Addr>, listeners: &mut BTreeMap<u16, Arc<Mutex<Received>>>) -> Answer {
    let failed = |what: &str, e: std::io::Error| ("failed", format!("{what}: {e}"));
    if let Some(known) = listeners.get(&port).filter(|_| group.is_none()) {
        *lock(known) = Received::default();
        return Ok(json!({"port": port}));
    }
    let socket = UdpSocket::bind((IpAddr::V4(Ipv4Addr::UNSPECIFIED), port)).map_err(|e| failed("bind", e))?;
    let port = socket.local_addr().map_err(|e| failed("bind", e))?.port();
    if let Some(group) = group {
        socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED).map_err(|e| failed("join", e))?;
    }
    // As large as we may have it; with the capability the first call goes beyond the limit of ordinary users.
    for option in [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF] {
        let size = RECEIVE_BUFFER_BYTES;
        // SAFETY: the kernel reads one int.
        let done = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const size).cast(), 4) };
        if done == 0 {
            break;
        }
    }
    let counts = Arc::new(Mutex::new(Received::default()));
    listeners.insert(port, counts.clone());
    let body = move || loop {
        let mut buffer = [0; LARGEST_BYTES + 1];
        match socket.recv_from(&mut buffer) {
            Ok((count, from)) => lock(&counts).take(&buffer[..count], from, now_ns()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    std::thread::Builder::new().name("listen".into()).spawn(body).map_err(|e| failed("thread", e))?;
    Ok(json!({"port": port}))
}

fn received(port: Option<u16>, listeners: &BTreeMap<u16, Arc<Mutex<Received>>>) -> Answer {
    let found = match port {
        Some(port) => listeners.get(&port),
        None if listeners.len() == 1 => listeners.values().next(),
        None => None,
    };
    let known: Vec<String> = listeners.keys().map(u16::to_string).collect();
    let counts = found.ok_or_else(|| ("invalid", format!("expected the port of a listen before it, one of: {}", known.join(", "))))?;
    let counts = lock(counts);
    let delays = counts.delays.quantiles();
    Ok(json!({
        "count": counts.count, "bytes": counts.bytes, "first_ns": counts.first_ns, "last_ns": counts.last_ns,
        "delay_ns": {"count": delays.count, "min": counts.shortest_ns, "p50": delays.p50, "p99": delays.p99, "p999": delays.p999, "max": delays.max},
        "duplicates": counts.duplicates, "overtaken": counts.overtaken, "foreign": counts.foreign,
    }))
}

fn lock(counts: &Mutex<Received>) -> std::sync::MutexGuard<'_, Received> {
    counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Received {
    fn take(&mut self, datagram: &[u8], from: SocketAddr, now_ns: i64) {
        let word = |at: usize| datagram.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        let (Some(MAGIC), Some(number), Some(sent_ns)) = (word(0), word(8), word(16)) else {
            self.foreign += 1;
            return;
        };
        if !self.seen.insert((from, number)) {
            self.duplicates += 1;
            return;
        }
        let delay_ns = now_ns - sent_ns as i64;
        self.count += 1;
        self.bytes += datagram.len() as u64;
        self.first_ns = self.first_ns.or(Some(now_ns));
        self.last_ns = Some(now_ns);
        self.delays.add(delay_ns);
        self.shortest_ns = Some(self.shortest_ns.map_or(delay_ns, |least| least.min(delay_ns)));
        self.overtaken += u64::from(self.highest.is_some_and(|highest| number < highest));
        self.highest = Some(self.highest.map_or(number, |highest| highest.max(number)));
    }
}
