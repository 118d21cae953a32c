//! The CPU clock of another process: nanoseconds, all its threads, those that ended included, for the price of one system call.

/// No process has a higher number (proc(5), pid_max).
const PID_MAX: i32 = 1 << 22;

/// CPU time that process `pid` has used so far, in ns; None when there is no such process.
pub fn cpu_ns(pid: i32) -> Option<i64> {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls only write to the variables given. Process 0 would be ourselves, and a number too large wraps round to another clock.
    let read = (1..=PID_MAX).contains(&pid)
        && unsafe { libc::clock_getcpuclockid(pid, &mut clock) == 0 && libc::clock_gettime(clock, &mut time) == 0 };
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
    fn nobody_has_no_clock() {
        assert_eq!(cpu_ns(0), None);
        assert_eq!(cpu_ns(-1), None);
        assert_eq!(cpu_ns(i32::MAX), None);
    }
}
