//! When each watched thread was made runnable: the kernel's tracepoint `sched_waking`, of the whole
//! machine.
//!
//! It occurs in the thread that wakes another, not in the one that is woken, so there is one event
//! per processor for all threads, and every waking of the machine is recorded. It names threads by
//! the machine's numbers, which a host does not know; each watched thread therefore has one more
//! event, `sched_switch`, which occurs once, when the thread first gives its processor up, and
//! reports its number. This requires root on the machine: without it there is no data.

use std::collections::{BTreeSet, HashMap};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;

use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use rustix::thread::{unshare_unsafe, UnshareFlags};

use crate::document::Schedule;

/// Room for about 30 000 wake-ups of one processor between two readings.
const RING_BYTES: usize = 2 << 20;
const ONE_RECORD_BYTES: usize = 4096;
/// The most wakings of the machine that are kept; further ones are counted as lost.
const MAX_SEEN: usize = 20_000_000;
const DIRECTORIES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// `PERF_RECORD_LOST` and `PERF_RECORD_SAMPLE`, and the ioctl that enables an event for this many
/// times (linux/perf_event.h).
const LOST: u32 = 2;
const SAMPLE: u32 = 9;
const REFRESH: libc::Ioctl = 0x2402;
/// Where `sched_waking` has the number of the woken thread, and `sched_switch` that of the thread
/// that gives up its processor: after eight bytes that all tracepoints share and sixteen of the
/// command.
const NUMBER_AT: usize = 24;

pub struct Wakings {
    rings: Vec<Sampler>,
    watched: Vec<(String, i32, Sampler)>,
    /// The time, and the machine's number of the thread.
    seen: Vec<(i64, i32)>,
}

/// Opens the events for these threads (process, number). An error names what forbids it.
pub fn open(threads: &[(String, i32)]) -> Result<Wakings, String> {
    let ids = tracepoints()?;
    let _ = raise_descriptor_limit();
    let failed = |e: io::Error| {
        format!("the kernel forbids tracepoints ({e}): run as the machine's root, or sysctl -w kernel.perf_event_paranoid=-1")
    };
    let mut watched = Vec::new();
    for (process, tid) in threads {
        match tells_number(ids.switch, *tid) {
            Ok(event) => watched.push((process.clone(), *tid, event)),
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {} // it ended meanwhile
            Err(e) => return Err(failed(e)),
        }
    }
    let rings = processors()
        .into_iter()
        .map(|processor| tells_wakings(ids.waking, processor))
        .collect::<io::Result<_>>();
    Ok(Wakings { rings: rings.map_err(failed)?, watched, seen: Vec::new() })
}

impl Wakings {
    /// Reads the rings; returns how many records were lost.
    pub fn empty(&mut self) -> u64 {
        let mut lost = 0;
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                let bytes: Vec<u8> =
                    record.data().iter().flat_map(|part| part.iter().copied()).collect();
                match record.ty() {
                    SAMPLE if self.seen.len() < MAX_SEEN => self.seen.extend(sample(&bytes)),
                    SAMPLE => lost += 1,
                    LOST => lost += eight(&bytes, 8).unwrap_or(1),
                    _ => {}
                }
            }
        }
        lost
    }

    /// Adds the wakings of the watched threads. A thread that never gave its processor up was never
    /// woken.
    pub fn finish(mut self, schedule: &mut Schedule) {
        schedule.lost += self.empty();
        let mut threads: HashMap<i32, (String, i32)> = HashMap::new();
        for (process, tid, event) in &mut self.watched {
            while let Some(record) = event.next_record() {
                let bytes: Vec<u8> =
                    record.data().iter().flat_map(|part| part.iter().copied()).collect();
                if let Some((_, number)) = sample(&bytes).filter(|_| record.ty() == SAMPLE) {
                    threads.insert(number, (process.clone(), *tid));
                }
            }
        }
        let concerned = self.seen.iter().filter_map(|(time_ns, number)| {
            let (process, tid) = threads.get(number)?;
            Some((*time_ns, process.clone(), *tid, "woken".to_string()))
        });
        schedule.events.extend(concerned);
    }
}

/// The time, and the number in the tracepoint's own data, whose length precedes it.
fn sample(bytes: &[u8]) -> Option<(i64, i32)> {
    let raw = bytes.get(12..)?;
    Some((
        eight(bytes, 0)? as i64,
        i32::from_ne_bytes(raw.get(NUMBER_AT..NUMBER_AT + 4)?.try_into().ok()?),
    ))
}

fn eight(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn tells_number(switch: u64, tid: i32) -> io::Result<Sampler> {
    let mut builder = with_raw(switch);
    let event = builder.observe_pid(tid).any_cpu().build()?.sampled(ONE_RECORD_BYTES)?;
    // SAFETY: the descriptor is open, and the call touches no memory of ours.
    if unsafe { libc::ioctl(event.as_raw_fd(), REFRESH, 1) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(event)
}

fn tells_wakings(waking: u64, processor: usize) -> io::Result<Sampler> {
    let mut builder = with_raw(waking);
    let mut event = builder.any_pid().one_cpu(processor).build()?.sampled(RING_BYTES)?;
    event.enable()?;
    Ok(event)
}

fn with_raw(tracepoint: u64) -> Builder<'static> {
    let mut builder = Builder::new(Tracepoint::with_id(tracepoint));
    builder
        .sample_period(1)
        .clockid(Clock::MONOTONIC)
        .include_kernel()
        .include_hv()
        .sample(SampleFlag::TIME | SampleFlag::RAW);
    builder
}

fn processors() -> BTreeSet<usize> {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    text.lines()
        .filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok())
        .collect()
}

fn raise_descriptor_limit() -> Result<(), rustix::io::Errno> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
}

#[derive(Clone, Copy)]
struct Tracepoints {
    waking: u64,
    switch: u64,
}

/// The numbers of the tracepoints. If tracefs is not mounted, it is mounted for a moment, in a
/// mount namespace of one thread, so that nobody else sees it.
fn tracepoints() -> Result<Tracepoints, String> {
    if let Some(ids) = read_ids() {
        return Ok(ids);
    }
    let tracepoints = std::thread::spawn(read_ids_mounted)
        .join()
        .map_err(|_| "the thread that looks for it died".to_string())?;
    tracepoints
        .map_err(|e| format!("tracepoints are out of reach ({e}): they need the machine's root, and tracefs on {}", DIRECTORIES[0]))?
        .ok_or_else(|| "this kernel has no tracepoints of its scheduler (CONFIG_TRACEPOINTS)".into())
}

fn read_ids() -> Option<Tracepoints> {
    let read = |directory: &str, name: &str| -> Option<u64> {
        fs::read_to_string(format!("{directory}/events/sched/{name}/id")).ok()?.trim().parse().ok()
    };
    DIRECTORIES.iter().find_map(|d| {
        Some(Tracepoints { waking: read(d, "sched_waking")?, switch: read(d, "sched_switch")? })
    })
}

fn read_ids_mounted() -> io::Result<Option<Tracepoints>> {
    // SAFETY: only this thread leaves the mounts that the others share, and then it ends.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE)?;
    mount(c"tracefs", c"/sys/kernel/tracing", c"tracefs", 0)?;
    Ok(read_ids())
}

fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the strings end in zero, and there is no data.
    let done = unsafe {
        libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, std::ptr::null())
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_number_behind_the_command() {
        let mut bytes = 1000_u64.to_ne_bytes().to_vec();
        bytes.extend(36_u32.to_ne_bytes());
        bytes.extend([0; 24]);
        bytes.extend(4711_i32.to_ne_bytes());
        assert_eq!(sample(&bytes), Some((1000, 4711)));
        assert_eq!(sample(&bytes[..38]), None);
    }
}
