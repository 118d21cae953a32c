//! The cost of a message besides its time in flight: CPU, memory, a publish call that blocks.

use std::hint;

use rmwbench_harness::clock::{now_ns, sleep_until};
use rustix::time::{clock_gettime, ClockId};

/// The CPU time of the calling thread: `cpu_burn_ns` promises CPU time, which unlike wall time
/// holds on a busy machine, too.
fn thread_cpu_ns() -> i64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// Spends `ns` of the calling thread's CPU time.
pub fn burn(ns: u64) {
    if ns == 0 {
        return;
    }
    let end = thread_cpu_ns() + ns as i64;
    while thread_cpu_ns() < end {
        hint::spin_loop();
    }
}

/// Sleeps until `spin_ns` before `due_ns` and spins for the rest.
pub fn wait_until(due_ns: i64, spin_ns: i64) {
    sleep_until(due_ns - spin_ns);
    while now_ns() < due_ns {
        hint::spin_loop();
    }
}

/// Memory that is taken and not given back while its endpoint lives.
#[derive(Default)]
pub struct Hoard(Vec<Box<[u8]>>);

impl Hoard {
    /// Takes `bytes` more and touches every page, so that the pages are resident.
    pub fn grow(&mut self, bytes: u64) {
        if bytes > 0 {
            self.0.push(vec![0xA5; bytes as usize].into_boxed_slice());
        }
    }
}
