//! Threads that sleep until fixed times and record how late they woke: any thread of this machine
//! could have been as late.
//!
//! The times are absolute and none is left out: after a long stall every wake-up that was due in it
//! is late by its own amount, so the quantiles are those of an arrival at any of these times. One
//! thread is bound to each processor and they take turns, since a thread that may move would hide
//! that one processor is busy; their number does not change how often one of them wakes.

use std::collections::BTreeMap;
use std::thread::JoinHandle;

use rmwbench_harness::clock::{now_ns, remove_timer_slack, sleep_until};
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

use crate::document::{Canary, CanaryProcessor};

/// A wake-up later than this is listed by itself.
const LATE_NS: i64 = 1_000_000;
/// Ordinary competition for a processor hardly delays a wake-up this much; a thread that does not
/// give the processor back does.
const STALLED_NS: i64 = 10_000_000;
/// How many values must be beyond a quantile before it is reported.
const BEYOND: f64 = 10.0;

/// More threads than this would cost more to start than they show.
const MAX_PROCESSORS: usize = 256;

type Wakes = Vec<(i64, i64)>;

/// The running canary; call `finish` after `end_ns`.
#[derive(Debug)]
pub struct Canaries {
    period_ns: i64,
    threads: Vec<(usize, JoinHandle<Wakes>)>,
}

/// Starts a wake-up every `period_ns` from `begin_ns` to `end_ns`, each on the next of the
/// processors that this process may use.
pub fn start(begin_ns: i64, end_ns: i64, period_ns: i64) -> std::io::Result<Canaries> {
    let allowed = sched_getaffinity(None)?;
    let processors: Vec<usize> =
        (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).take(MAX_PROCESSORS).collect();
    let step_ns = period_ns * processors.len() as i64;
    let mut threads = Vec::new();
    for (place, processor) in processors.into_iter().enumerate() {
        let first_ns = begin_ns + period_ns * (place as i64 + 1);
        let watch = move || {
            let mut only = CpuSet::new();
            only.set(processor);
            // A thread that may not be bound still measures how late it wakes.
            let _ = sched_setaffinity(None, &only);
            watch(first_ns, end_ns, step_ns)
        };
        let thread = std::thread::Builder::new()
            .name(format!("canary {processor}"))
            .stack_size(64 << 10)
            .spawn(watch)?;
        threads.push((processor, thread));
    }
    Ok(Canaries { period_ns, threads })
}

impl Canaries {
    pub fn finish(self) -> Canary {
        let wakes = self
            .threads
            .into_iter()
            .map(|(processor, thread)| (processor, thread.join().unwrap_or_default()));
        summary(self.period_ns, &wakes.collect())
    }
}

/// Sleeps until `due_ns` and every `step_ns` after it, up to `end_ns`; removes the calling thread's
/// timer slack.
fn watch(mut due_ns: i64, end_ns: i64, step_ns: i64) -> Wakes {
    remove_timer_slack();
    let mut wakes =
        Vec::with_capacity(((end_ns - due_ns) / step_ns).clamp(0, 1 << 20) as usize + 1);
    while due_ns <= end_ns {
        sleep_until(due_ns);
        wakes.push((due_ns, now_ns() - due_ns));
        due_ns += step_ns;
    }
    wakes
}

fn summary(period_ns: i64, wakes: &BTreeMap<usize, Wakes>) -> Canary {
    let mut all: Wakes = wakes.values().flatten().copied().collect();
    all.sort_unstable();
    let mut sorted: Vec<i64> = all.iter().map(|&(_, late)| late).collect();
    sorted.sort_unstable();
    let is_late = |&(_, late): &(i64, i64)| late > LATE_NS;
    let processors = wakes.iter().map(|(processor, wakes)| {
        let beyond =
            |limit_ns: i64| wakes.iter().filter(|&&(_, late)| late > limit_ns).count() as u64;
        let processor_summary = CanaryProcessor {
            count: wakes.len() as u64,
            late: beyond(LATE_NS),
            stalled: beyond(STALLED_NS),
        };
        (processor.to_string(), processor_summary)
    });
    Canary {
        period_ns,
        count: all.len() as u64,
        p50_ns: quantile(&sorted, 0.5),
        p99_ns: quantile(&sorted, 0.99),
        p999_ns: quantile(&sorted, 0.999),
        max_ns: sorted.last().copied(),
        processors: processors.collect(),
        late: all.iter().copied().filter(is_late).collect(),
    }
}

/// The smallest value that at least the fraction `q` of all does not exceed; None without ten
/// values beyond it.
fn quantile(sorted: &[i64], q: f64) -> Option<i64> {
    let count = sorted.len() as f64;
    // (1 - q) is not exact in binary: 1000 values are enough for q = 0.99.
    (count * (1.0 - q) + 1e-6 >= BEYOND)
        .then(|| sorted[((q * count - 1e-6).ceil() as usize).saturating_sub(1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_need_values_beyond_them() {
        let sorted: Vec<i64> = (1..=1000).collect();
        assert_eq!(quantile(&sorted, 0.5), Some(500));
        assert_eq!(quantile(&sorted, 0.99), Some(990));
        assert_eq!(quantile(&sorted, 0.999), None);
        assert_eq!(quantile(&sorted[..999], 0.99), None);
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn late_wake_ups_are_listed_with_their_time_and_counted_by_processor() {
        let wakes =
            BTreeMap::from([(0, vec![(10, 5), (30, LATE_NS)]), (3, vec![(20, LATE_NS + 1)])]);
        let canary = summary(10, &wakes);
        assert_eq!((canary.count, canary.max_ns, canary.p50_ns), (3, Some(LATE_NS + 1), None));
        assert_eq!(canary.late, [(20, LATE_NS + 1)]);
        assert_eq!((canary.processors["0"].count, canary.processors["0"].late), (2, 0));
        assert_eq!((canary.processors["3"].count, canary.processors["3"].late), (1, 1));
        assert_eq!(summary(1, &BTreeMap::new()).max_ns, None);
    }

    #[test]
    fn wakes_at_every_due_time_even_after_a_stall() {
        let begin = now_ns() - 20_000_000; // the first twenty are overdue, as after a stall of 20 ms
        let canary = start(begin, begin + 30_000_000, 1_000_000).unwrap().finish();
        assert_eq!(canary.count, 30);
        assert_eq!(canary.processors.values().map(|p| p.count).sum::<u64>(), 30);
        assert!(canary.max_ns.unwrap() >= 18_000_000 && canary.p50_ns.is_some());
        assert!(canary.late.len() >= 17 && canary.late[0].0 == begin + 1_000_000);
    }
}
