//! One clock for every stamp: CLOCK_MONOTONIC, which all namespaces of a host share and which
//! nobody can set.

use rustix::thread::{clock_nanosleep_absolute, ClockId as SleepClock};
use rustix::time::{clock_gettime, ClockId, Timespec};

/// The name of the clock in `hello`.
pub const CLOCK_NAME: &str = "CLOCK_MONOTONIC";

/// Returns the present time, in nanoseconds of CLOCK_MONOTONIC. It takes about 25 ns through the
/// vDSO.
#[inline]
pub fn now_ns() -> i64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// Returns the CPU time of the whole process so far, in nanoseconds.
pub fn process_cpu_ns() -> i64 {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// Sleeps until `due_ns`; returns at once when that has passed.
pub fn sleep_until(due_ns: i64) {
    let due = Timespec {
        tv_sec: due_ns.div_euclid(1_000_000_000),
        tv_nsec: due_ns.rem_euclid(1_000_000_000),
    };
    // A signal only wakes us early: go on until the time is reached.
    while clock_nanosleep_absolute(SleepClock::Monotonic, &due).is_err() {}
}

/// Sets the calling thread's timer slack to 1 ns: Linux adds 50 µs to every sleep by default.
///
/// For threads of the harness in which no middleware's code runs: slack is inherited, and a
/// middleware must sleep as it does in the field. The schedule's own threads do not use it
/// ([`crate::schedule`]).
pub fn remove_timer_slack() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0) };
}
