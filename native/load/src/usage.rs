//! The load so far. Two readings give a rate; the orchestrator subtracts.

use std::fs;
use std::sync::atomic::Ordering;

use serde::Serialize;

use crate::clock::{now_ns, process_cpu_ns};
use crate::{memory, tcp, traffic};

/// Sums since the start. `wait_ns` is the time that threads waited in a run queue: processor time
/// that they wanted and did not get.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    pub at: &'static str,
    pub time_ns: i64,
    pub cpu_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<i64>,
    pub copied_bytes: u64,
    pub datagrams_sent: u64,
    pub datagrams_received: u64,
    pub tcp_bytes_sent: u64,
    pub tcp_bytes_received: u64,
    pub tcp_flows_open: u64,
}

/// `more_ns` is processor time of another process that belongs to the load.
pub fn snapshot(at: &'static str, more_ns: i64) -> Snapshot {
    Snapshot {
        at,
        time_ns: now_ns(),
        cpu_ns: process_cpu_ns() + more_ns,
        wait_ns: wait_ns(),
        copied_bytes: memory::COPIED_BYTES.load(Ordering::Relaxed),
        datagrams_sent: traffic::SENT.load(Ordering::Relaxed),
        datagrams_received: traffic::RECEIVED.load(Ordering::Relaxed),
        tcp_bytes_sent: tcp::SENT_BYTES.load(Ordering::Relaxed),
        tcp_bytes_received: tcp::RECEIVED_BYTES.load(Ordering::Relaxed),
        tcp_flows_open: tcp::OPEN.load(Ordering::Relaxed),
    }
}

/// The second number of `schedstat` of every thread.
fn wait_ns() -> Option<i64> {
    let mut sum = 0;
    for task in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        sum += text.split_whitespace().nth(1)?.parse::<i64>().ok()?;
    }
    Some(sum)
}
