//! The threads of a process. Context switches and the wait for a processor are known only per
//! thread, so they are added here.
//!
//! The counters of a thread disappear with it. The counters of a process are therefore carried from
//! one reading to the next: each reading adds the increase of each living thread, and the whole of
//! new ones. Threads that publish end with the window, so the values that are cheap to read are
//! read once more just before its end ([`Last`]); the increase after a thread's last reading is
//! lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::document::Thread;
use crate::kept::Kept;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    pub name: String,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// CPU time and wait for a processor; None if the kernel does not account for them.
    pub scheduled: Option<(u64, u64)>,
}

/// Thread → counters since it began.
pub type Tasks = BTreeMap<i32, Task>;

/// Counters of a process, summed over its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub run_delay_ns: Option<u64>,
}

/// Reads every thread of the process below this directory of `/proc`; empty when it is gone. About
/// 20 µs per thread.
pub fn read(directory: &Path) -> Tasks {
    let Ok(entries) = fs::read_dir(directory.join("task")) else { return Tasks::new() };
    entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let tid = path.file_name()?.to_str()?.parse().ok()?;
            let status = String::from_utf8_lossy(&fs::read(path.join("status")).ok()?).into_owned();
            let scheduled = fs::read_to_string(path.join("schedstat"))
                .ok()
                .and_then(|text| parse_schedstat(&text));
            Some((tid, Task { scheduled, ..parse_status(&status)? }))
        })
        .collect()
}

/// The kernel's accounts per thread, kept open: a reading takes about 1 µs per thread.
#[derive(Debug, Default)]
pub struct Last {
    files: Vec<(String, i32, Kept)>,
}

impl Last {
    /// Opens the files for the threads of this reading; threads that ended meanwhile are left out.
    pub fn open(processes: &[(&str, &Path, &Tasks)]) -> Last {
        let mut files = Vec::new();
        for (name, directory, tasks) in processes {
            for tid in tasks.keys() {
                let file = Kept::small(directory.join(format!("task/{tid}/schedstat")));
                files.extend(file.ok().map(|file| (name.to_string(), *tid, file)));
            }
        }
        Last { files }
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// (process, thread) → CPU time and wait now.
    pub fn read(&mut self) -> Vec<(&str, i32, (u64, u64))> {
        self.files
            .iter_mut()
            .filter_map(|(name, tid, file)| {
                Some((name.as_str(), *tid, parse_schedstat(file.read().ok()?)?))
            })
            .collect()
    }
}

/// Adds to `later` the threads that ended before it, with their last values; their context switches
/// are those of `earlier`.
pub fn add_ended(
    later: &mut Tasks,
    earlier: &Tasks,
    last_seen: impl Iterator<Item = (i32, (u64, u64))>,
) {
    for (tid, scheduled) in last_seen {
        if let (false, Some(known)) = (later.contains_key(&tid), earlier.get(&tid)) {
            later.insert(tid, Task { scheduled: Some(scheduled), ..known.clone() });
        }
    }
}

/// The sums at the first reading.
pub fn sums(tasks: &Tasks) -> Sums {
    advanced(Sums::default(), &Tasks::new(), tasks)
}

/// The sums at a later reading, `before` being the sums at `earlier`.
pub fn advanced(before: Sums, earlier: &Tasks, later: &Tasks) -> Sums {
    let mut after = before;
    for (tid, task) in later {
        let known = earlier.get(tid).cloned().unwrap_or_default();
        after.voluntary_switches +=
            task.voluntary_switches.saturating_sub(known.voluntary_switches);
        after.involuntary_switches +=
            task.involuntary_switches.saturating_sub(known.involuntary_switches);
        if let Some((_, delay)) = task.scheduled {
            let waited = delay.saturating_sub(known.scheduled.map_or(0, |(_, delay)| delay));
            after.run_delay_ns = Some(after.run_delay_ns.unwrap_or(0) + waited);
        }
    }
    after
}

/// The use of each thread that still lives between two readings.
pub fn used(earlier: &Tasks, later: &Tasks) -> Vec<Thread> {
    later
        .iter()
        .filter_map(|(&tid, task)| {
            let (cpu_ns, run_delay_ns) = task.scheduled?;
            let (cpu_before, delay_before) =
                earlier.get(&tid).and_then(|t| t.scheduled).unwrap_or((0, 0));
            let (cpu_ns, run_delay_ns) =
                (cpu_ns.saturating_sub(cpu_before), run_delay_ns.saturating_sub(delay_before));
            Some(Thread { tid, name: task.name.clone(), cpu_ns, run_delay_ns })
        })
        .collect()
}

/// A kernel without this account writes three zeros; a thread that has run has others.
fn parse_schedstat(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_whitespace().map(|word| word.parse::<u64>().ok());
    let (cpu_ns, delay_ns, slices) = (words.next()??, words.next()??, words.next()??);
    ((cpu_ns, delay_ns, slices) != (0, 0, 0)).then_some((cpu_ns, delay_ns))
}

fn parse_status(text: &str) -> Option<Task> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    Some(Task {
        name: field("Name:")?.trim().to_string(),
        voluntary_switches: field("voluntary_ctxt_switches:")?.trim().parse().ok()?,
        involuntary_switches: field("nonvoluntary_ctxt_switches:")?.trim().parse().ok()?,
        scheduled: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(switches: u64, scheduled: Option<(u64, u64)>) -> Task {
        Task {
            name: "t".into(),
            voluntary_switches: switches,
            involuntary_switches: 2 * switches,
            scheduled,
        }
    }

    #[test]
    fn a_thread_that_ends_does_not_make_counters_run_backwards() {
        let earlier =
            Tasks::from([(1, task(10, Some((100, 5)))), (2, task(1000, Some((900, 50))))]);
        let later = Tasks::from([(1, task(13, Some((150, 6)))), (3, task(7, Some((40, 4))))]);
        let begin = sums(&earlier);
        assert_eq!(
            begin,
            Sums { voluntary_switches: 1010, involuntary_switches: 2020, run_delay_ns: Some(55) }
        );
        let end = advanced(begin, &earlier, &later);
        assert_eq!(
            end,
            Sums { voluntary_switches: 1020, involuntary_switches: 2040, run_delay_ns: Some(60) }
        );
        let used = used(&earlier, &later);
        assert_eq!(
            used.iter().map(|t| (t.tid, t.cpu_ns, t.run_delay_ns)).collect::<Vec<_>>(),
            [(1, 50, 1), (3, 40, 4)]
        );
    }

    #[test]
    fn a_thread_that_ended_counts_as_last_seen() {
        let earlier = Tasks::from([(1, task(10, Some((100, 5)))), (2, task(20, Some((900, 50))))]);
        let mut later = Tasks::from([(1, task(11, Some((101, 6))))]);
        add_ended(&mut later, &earlier, [(1, (0, 0)), (2, (950, 57)), (9, (1, 1))].into_iter());
        assert_eq!(advanced(sums(&earlier), &earlier, &later).run_delay_ns, Some(55 + 1 + 7));
        assert_eq!(
            used(&earlier, &later).iter().map(|t| (t.tid, t.cpu_ns)).collect::<Vec<_>>(),
            [(1, 1), (2, 50)]
        );
    }

    #[test]
    fn a_last_look_reads_what_lives() {
        let tasks = read(Path::new("/proc/self"));
        let mut last = Last::open(&[("me", Path::new("/proc/self"), &tasks)]);
        assert!(!last.is_empty() && last.len() <= tasks.len());
        assert!(last.read().iter().any(|(name, _, (cpu_ns, _))| *name == "me" && *cpu_ns > 0));
    }

    #[test]
    fn a_kernel_that_does_not_account_is_absent_and_not_zero() {
        assert_eq!(parse_schedstat("0 0 0\n"), None);
        assert_eq!(parse_schedstat("0 0 1\n"), Some((0, 0)));
        assert_eq!(parse_schedstat("junk"), None);
        assert_eq!(sums(&Tasks::from([(1, task(1, None))])).run_delay_ns, None);
    }

    #[test]
    fn our_own_threads_are_there_by_name() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("a name".into())
            .spawn(move || stopped.recv())
            .unwrap();
        let named = || read(Path::new("/proc/self")).values().any(|t| t.name == "a name");
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while !named() && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        assert!(named());
        drop(stop);
        let _ = thread.join().unwrap();
        assert!(read(Path::new("/proc/1073741824")).is_empty());
    }
}
