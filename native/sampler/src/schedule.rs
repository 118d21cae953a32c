//! When each watched thread was woken, got a processor and lost it, from the kernel's own records
//! (perf_event_open(2)).
//!
//! Every switch costs the watched thread about a microsecond more, so this is for traced trials
//! only. One ring per thread, since the kernel shares none between threads; a thread that starts
//! within the window is not seen. The times of waking come from another source with other
//! requirements ([`crate::wakings`]); without it there are only the switches.

use std::collections::BTreeMap;
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use perf_event::events::Software;
use perf_event::{Builder, Clock, Record, SampleFlag, Sampler};
use rmwbench_harness::clock::now_ns;

use crate::document::{Schedule, ScheduleEvent};
use crate::processes::{Process, HARNESS};
use crate::threads;
use crate::wakings::{self, Wakings};

/// Room for about 5000 switches of one thread between two readings.
const RING_BYTES: usize = 256 << 10;
/// The size if the process may not lock more memory.
const SMALL_RING_BYTES: usize = 16 << 10;
const EMPTY_EVERY: Duration = Duration::from_millis(100);

/// `PERF_RECORD_LOST` and `PERF_RECORD_SWITCH`, and the meaning of their `misc`
/// (linux/perf_event.h).
const LOST: u32 = 2;
const SWITCH: u32 = 14;
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

struct Watched {
    process: String,
    tid: i32,
    sampler: Sampler,
}

pub struct Recorder {
    thread: JoinHandle<Schedule>,
    unseen: BTreeMap<String, String>,
}

/// Begins to record. An error names what forbids it and how to allow it.
pub fn start(processes: &[Process], end_ns: i64) -> Result<Recorder, String> {
    let (mut watched, mut unseen) = (Vec::new(), BTreeMap::new());
    for process in processes.iter().filter(|p| p.role != HARNESS) {
        for tid in threads::read(&process.directory).into_keys() {
            match open(tid) {
                Ok(sampler) => {
                    watched.push(Watched { process: process.name.clone(), tid, sampler })
                }
                Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {} // it ended meanwhile
                Err(e) => drop(unseen.insert(format!("schedule.{}", process.name), explained(&e))),
            }
        }
    }
    if watched.is_empty() {
        return Err(unseen.into_values().next().unwrap_or_else(|| "no thread to watch".into()));
    }
    let named: Vec<(String, i32)> =
        watched.iter().map(|one| (one.process.clone(), one.tid)).collect();
    let wakings =
        wakings::open(&named).map_err(|reason| unseen.insert("schedule.woken".into(), reason)).ok();
    let builder = std::thread::Builder::new().name("schedule".into());
    let thread = builder
        .spawn(move || record(watched, wakings, end_ns))
        .map_err(|e| format!("no thread for it: {e}"))?;
    Ok(Recorder { thread, unseen })
}

impl Recorder {
    pub fn finish(self, no_data: &mut BTreeMap<String, String>) -> Result<Schedule, String> {
        no_data.extend(self.unseen);
        let schedule: Schedule =
            self.thread.join().map_err(|_| "the recording thread died".to_string())?;
        if let Some(reason) = few_wakings(&schedule) {
            no_data.entry("schedule.woken".into()).or_insert(reason);
        }
        Ok(schedule)
    }
}

/// A thread that gets a processor after it had blocked was woken in between. A virtual machine was
/// observed that reports hardly any wake-up on one of its processors: then only a part of the waits
/// after a wake-up is visible, and a reader must know that.
fn few_wakings(schedule: &Schedule) -> Option<String> {
    let mut blocked: BTreeMap<i32, bool> = BTreeMap::new();
    let mut ran = 0;
    let mut in_order: Vec<&ScheduleEvent> = schedule.events.iter().collect();
    in_order.sort_by_key(|event| event.0);
    for event in in_order {
        match event.3.as_str() {
            "out_blocked" => drop(blocked.insert(event.2, true)),
            "in" if blocked.insert(event.2, false) == Some(true) => ran += 1,
            _ => {}
        }
    }
    let woken = schedule.events.iter().filter(|event| event.3 == "woken").count();
    (woken * 10 < ran * 9).then(|| format!("the kernel told {woken} of {ran} wake-ups: waits that begin with one are seen in part only"))
}

fn open(tid: i32) -> io::Result<Sampler> {
    let build = |bytes: usize| {
        let mut builder = Builder::new(Software::DUMMY);
        builder
            .observe_pid(tid)
            .any_cpu()
            .context_switch(true)
            .sample_id_all(true)
            .sample(SampleFlag::TID | SampleFlag::TIME);
        builder.clockid(Clock::MONOTONIC).exclude_kernel(true).exclude_hv(true);
        let mut sampler = builder.build()?.sampled(bytes)?;
        sampler.enable()?;
        Ok(sampler)
    };
    build(RING_BYTES).or_else(|_: io::Error| build(SMALL_RING_BYTES))
}

fn explained(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => format!(
            "the kernel forbids it ({error}): sysctl -w kernel.perf_event_paranoid=1, or in a container --cap-add PERFMON with a seccomp profile that \
             allows perf_event_open"
        ),
        Some(libc::ENOSYS) => "this kernel has no perf_event_open (CONFIG_PERF_EVENTS)".into(),
        _ => format!("perf_event_open: {error}"),
    }
}

fn record(mut watched: Vec<Watched>, mut wakings: Option<Wakings>, end_ns: i64) -> Schedule {
    let mut schedule = Schedule::default();
    loop {
        let over = now_ns() >= end_ns;
        for one in &mut watched {
            while let Some(record) = one.sampler.next_record() {
                take(&record, &one.process, one.tid, &mut schedule);
            }
        }
        schedule.lost += wakings.as_mut().map_or(0, Wakings::empty);
        if over {
            break;
        }
        std::thread::sleep(
            EMPTY_EVERY.min(Duration::from_nanos((end_ns - now_ns()).max(0) as u64)),
        );
    }
    if let Some(wakings) = wakings {
        wakings.finish(&mut schedule);
    }
    schedule.events.sort_by_key(|event| event.0);
    schedule
}

fn take(record: &Record<'_>, process: &str, tid: i32, schedule: &mut Schedule) {
    let bytes: Vec<u8> = record.data().iter().flat_map(|part| part.iter().copied()).collect();
    let number = |at: usize| {
        bytes.get(at..at + 8).and_then(|eight| Some(u64::from_ne_bytes(eight.try_into().ok()?)))
    };
    match record.ty() {
        // The identifier is at the end of every record: process and thread, then the time.
        SWITCH => {
            let Some(time_ns) = bytes.len().checked_sub(8).and_then(number) else { return };
            let what = match record.misc() {
                misc if misc & SWITCH_OUT == 0 => "in",
                misc if misc & SWITCH_OUT_PREEMPT != 0 => "out_runnable",
                _ => "out_blocked",
            };
            let event: ScheduleEvent = (time_ns as i64, process.to_string(), tid, what.to_string());
            schedule.events.push(event);
        }
        LOST => schedule.lost += number(8).unwrap_or(1),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbours::find;

    #[test]
    fn wake_ups_that_nobody_told_are_missed() {
        let event = |time_ns: i64, what: &str| (time_ns, "p".to_string(), 7, what.to_string());
        let slept = |woken: bool| {
            let mut events = Vec::new();
            for n in 0..10 {
                events.extend([event(n * 100, "out_blocked"), event(n * 100 + 9, "in")]);
                events.extend(woken.then(|| event(n * 100 + 5, "woken")));
            }
            Schedule { events, ..Schedule::default() }
        };
        assert_eq!(few_wakings(&slept(true)), None);
        assert!(few_wakings(&slept(false)).unwrap().contains("0 of 10"));
        assert_eq!(few_wakings(&Schedule::default()), None);
    }

    #[test]
    fn our_own_sleeps_are_seen_or_the_reason_is_told() {
        let me = Process::open("me", "worker", &find(std::process::id() as i32).unwrap()).unwrap();
        let recorder = match start(&[me], now_ns() + 800_000_000) {
            Ok(recorder) => recorder,
            Err(reason) => {
                assert!(
                    reason.contains("sysctl") || reason.contains("CONFIG_PERF_EVENTS"),
                    "{reason}"
                );
                return eprintln!("not tested here: {reason}");
            }
        };
        let begin_ns = now_ns();
        // SAFETY: gettid has no arguments.
        let tid = unsafe { libc::gettid() };
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(4));
        }
        let mut no_data = BTreeMap::new();
        let schedule = recorder.finish(&mut no_data).unwrap();
        let mut mine: Vec<&ScheduleEvent> =
            schedule.events.iter().filter(|e| e.2 == tid && e.0 >= begin_ns).collect();
        if let (true, Some(reason)) = (mine.is_empty(), no_data.get("schedule.me")) {
            return eprintln!("not tested here: {reason}"); // buffers of other suites took what is allowed
        }
        let count = |what: &str| mine.iter().filter(|e| e.3 == what).count();
        assert!(
            count("out_blocked") >= 5 && count("in") >= 5,
            "{mine:?} of {} events; {no_data:?}",
            schedule.events.len()
        );
        let woken = count("woken");
        // Fewer than five are allowed: a kernel was observed to leave one out, which `few_wakings`
        // allows.
        assert!(
            (1..200).contains(&woken) || no_data.contains_key("schedule.woken"),
            "{mine:?} {no_data:?}"
        );
        mine.retain(|e| e.3 != "woken");
        let blocked = mine.iter().position(|e| e.3 == "out_blocked").unwrap();
        let slept_ns = mine[blocked + 1].0 - mine[blocked].0;
        assert!(
            mine[blocked + 1].3 == "in" && slept_ns >= 3_900_000,
            "slept {slept_ns} ns of 4 ms"
        );
    }
}
