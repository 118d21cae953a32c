//! The processor time of one thread, and of another process; every time stamp is from the harness's
//! clock.

pub use rmwbench_harness::clock::{now_ns, process_cpu_ns, sleep_until};

use rustix::time::{clock_gettime, ClockId};

pub fn thread_cpu_ns() -> i64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// The processor time of another process, in nanoseconds; 0 if it is gone.
pub fn process_cpu_ns_of(pid: i32) -> i64 {
    // SAFETY: both calls fill local plain values.
    unsafe {
        let (mut clock, mut t) = (0, std::mem::zeroed::<libc::timespec>());
        if libc::clock_getcpuclockid(pid, &mut clock) != 0
            || libc::clock_gettime(clock, &mut t) != 0
        {
            return 0;
        }
        t.tv_sec * 1_000_000_000 + t.tv_nsec
    }
}
