//! Gives each side a core: two threads on one core would measure the scheduler's slices.

use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

/// The cores that this process may use.
pub fn cores() -> Vec<usize> {
    sched_getaffinity(None)
        .map(|set| (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
        .unwrap_or_default()
}

/// Keeps the calling thread on the `side`-th core, if there are that many.
pub fn pin(side: usize) {
    if let Some(&core) = cores().get(side) {
        let mut set = CpuSet::new();
        set.set(core);
        let _ = sched_setaffinity(None, &set);
    }
}
