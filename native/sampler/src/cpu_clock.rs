//! The CPU clock of another process: it gives nanoseconds of all its threads, including those that
//! ended, for the cost of one system call.

/// No process has a higher number (proc(5), pid_max).
const PID_MAX: i32 = 1 << 22;

/// `CPUCLOCK_SCHED` of the kernel's posix-timers.h: the scheduler's measurement, not ticks.
const SCHEDULER: u32 = 2;

/// The CPU time that process `pid` has used so far, in ns; None if there is no such process.
pub fn cpu_ns(pid: i32) -> Option<i64> {
    if !(1..=PID_MAX).contains(&pid) {
        return None; // 0 is this process, and a number too large gives another clock
    }
    // The same as clock_getcpuclockid(3) gives, without its system call: clock_gettime also refuses
    // a process that does not exist.
    let clock = (!(pid as u32) << 3 | SCHEDULER) as libc::clockid_t;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes to the variable given.
    let read = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    read.then(|| time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmwbench_harness::clock::process_cpu_ns;

    #[test]
    fn agrees_with_the_own_clock() {
        let before = process_cpu_ns();
        let read = cpu_ns(std::process::id() as i32).unwrap();
        assert!(before <= read && read <= process_cpu_ns());
    }

    #[test]
    fn is_the_clock_that_the_library_names() {
        let mut clock = 0;
        let pid = std::process::id() as i32;
        // SAFETY: the call only writes to the variable given.
        assert_eq!(unsafe { libc::clock_getcpuclockid(pid, &mut clock) }, 0);
        assert_eq!(clock, (!(pid as u32) << 3 | SCHEDULER) as libc::clockid_t);
    }

    #[test]
    fn nobody_has_no_clock() {
        assert_eq!(cpu_ns(0), None);
        assert_eq!(cpu_ns(-1), None);
        assert_eq!(cpu_ns(i32::MAX), None);
    }
}
