//! CLOCK_MONOTONIC, as every stamp of rmwbench, and the processor time of one thread.

use rustix::thread::{clock_nanosleep_absolute, ClockId as SleepClock};
use rustix::time::{clock_gettime, ClockId, Timespec};

pub fn now_ns() -> i64 {
    read(ClockId::Monotonic)
}

pub fn thread_cpu_ns() -> i64 {
    read(ClockId::ThreadCPUTime)
}

pub fn process_cpu_ns() -> i64 {
    read(ClockId::ProcessCPUTime)
}

/// Of another process, in nanoseconds; 0 where it is gone.
pub fn process_cpu_ns_of(pid: i32) -> i64 {
    // SAFETY: both calls fill plain values that live here.
    unsafe {
        let (mut clock, mut t) = (0, std::mem::zeroed::<libc::timespec>());
        if libc::clock_getcpuclockid(pid, &mut clock) != 0 || libc::clock_gettime(clock, &mut t) != 0 {
            return 0;
        }
        t.tv_sec * 1_000_000_000 + t.tv_nsec
    }
}

pub fn sleep_until(due_ns: i64) {
    let due = timespec(due_ns);
    while clock_nanosleep_absolute(SleepClock::Monotonic, &due).is_err() {}
}

pub fn timespec(ns: i64) -> Timespec {
    Timespec { tv_sec: ns.div_euclid(1_000_000_000), tv_nsec: ns.rem_euclid(1_000_000_000) }
}

fn read(clock: ClockId) -> i64 {
    let t = clock_gettime(clock);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}
