//! When each watched thread was made runnable: the kernel's tracepoint `sched_waking`, which it also delivers to the thread that is woken.
//!
//! That delivery goes to events of one thread on one processor, so there is one event for each pair; those of a processor share a ring,
//! and the number of the event says whom a sample is about. Tracepoints need the machine's root: without it there is no data.

use std::collections::{BTreeSet, HashMap};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;

use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use rustix::thread::{unshare_unsafe, UnshareFlags};

use crate::document::{Schedule, ScheduleEvent};

/// About 20 000 wake-ups of one processor between two emptyings.
const RING_BYTES: usize = 1 << 20;
/// Opening more events than this would take longer than the warm-up of a trial.
const MAX_EVENTS: usize = 4096;
const DIRECTORIES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// `PERF_RECORD_LOST` and `PERF_RECORD_SAMPLE`, and the ioctl that lets events share a ring (linux/perf_event.h).
const LOST: u32 = 2;
const SAMPLE: u32 = 9;
const SET_OUTPUT: libc::Ioctl = 0x2405;

pub struct Wakings {
    rings: Vec<Sampler>,
    _events: Vec<Counter>,
    threads: HashMap<u64, (String, i32)>,
}

/// Opens the events of these threads (process, number). Fails with what forbids it.
pub fn open(threads: &[(String, i32)]) -> Result<Wakings, String> {
    let processors = processors();
    if processors.is_empty() || threads.len() * processors.len() > MAX_EVENTS {
        return Err(format!("{} threads on {} processors are too many to watch", threads.len(), processors.len()));
    }
    let id = tracepoint()?;
    let _ = raise_descriptor_limit();
    let failed = |e: io::Error| {
        format!("the kernel forbids tracepoints ({e}): run as the machine's root, or sysctl -w kernel.perf_event_paranoid=-1")
    };
    let mut wakings = Wakings { rings: Vec::new(), _events: Vec::new(), threads: HashMap::new() };
    for processor in processors {
        let mut ring: Option<Sampler> = None;
        for (process, tid) in threads {
            let mut event = match event(id, *tid, processor) {
                Ok(event) => event,
                Err(e) if e.raw_os_error() == Some(libc::ESRCH) => continue, // it ended meanwhile
                Err(e) => return Err(failed(e)),
            };
            wakings.threads.insert(event.id(), (process.clone(), *tid));
            match &ring {
                None => {
                    event.enable().map_err(failed)?;
                    ring = Some(event.sampled(RING_BYTES).map_err(failed)?);
                }
                Some(first) => {
                    // SAFETY: both descriptors are open, and the call touches no memory of ours.
                    if unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, first.as_raw_fd()) } != 0 {
                        return Err(failed(io::Error::last_os_error()));
                    }
                    event.enable().map_err(failed)?;
                    wakings._events.push(event);
                }
            }
        }
        wakings.rings.extend(ring);
    }
    Ok(wakings)
}

impl Wakings {
    /// Takes what the rings hold.
    pub fn empty_into(&mut self, schedule: &mut Schedule) {
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                let bytes: Vec<u8> = record.data().iter().flat_map(|part| part.iter().copied()).collect();
                match record.ty() {
                    SAMPLE => schedule.events.extend(woken(&bytes, &self.threads)),
                    LOST => schedule.lost += eight(&bytes, 8).unwrap_or(1),
                    _ => {}
                }
            }
        }
    }
}

/// A sample: the event's number, process and thread of whoever runs, the time. What the thread itself wakes comes this way too, and is
/// not about it.
fn woken(bytes: &[u8], threads: &HashMap<u64, (String, i32)>) -> Option<ScheduleEvent> {
    let (process, tid) = threads.get(&eight(bytes, 0)?)?;
    let waker = i32::from_ne_bytes(bytes.get(12..16)?.try_into().ok()?);
    (waker != *tid).then_some((eight(bytes, 16)? as i64, process.clone(), *tid, "woken".to_string()))
}

fn eight(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn event(id: u64, tid: i32, processor: usize) -> io::Result<Counter> {
    let mut builder = Builder::new(Tracepoint::with_id(id));
    builder.observe_pid(tid).one_cpu(processor).sample_period(1).clockid(Clock::MONOTONIC).include_kernel();
    builder.sample(SampleFlag::IDENTIFIER | SampleFlag::TID | SampleFlag::TIME);
    builder.build()
}

fn processors() -> BTreeSet<usize> {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok()).collect()
}

fn raise_descriptor_limit() -> Result<(), rustix::io::Errno> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
}

/// The number of the tracepoint. Where tracefs is not mounted it is mounted for a moment, in a mount namespace of a thread's own, so
/// that nobody else sees it.
fn tracepoint() -> Result<u64, String> {
    if let Some(id) = read_id() {
        return Ok(id);
    }
    let found = std::thread::spawn(read_id_mounted).join().map_err(|_| "the thread that looks for it died".to_string())?;
    found
        .map_err(|e| format!("tracepoints are out of reach ({e}): they need the machine's root, and tracefs on {}", DIRECTORIES[0]))?
        .ok_or_else(|| "this kernel has no tracepoint sched_waking (CONFIG_TRACEPOINTS)".into())
}

fn read_id() -> Option<u64> {
    let texts = DIRECTORIES.iter().map(|directory| fs::read_to_string(format!("{directory}/events/sched/sched_waking/id")));
    texts.filter_map(Result::ok).find_map(|text| text.trim().parse().ok())
}

fn read_id_mounted() -> io::Result<Option<u64>> {
    // SAFETY: this thread alone leaves the mounts that the others share, and then ends.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE)?;
    mount(c"tracefs", c"/sys/kernel/tracing", c"tracefs", 0)?;
    Ok(read_id())
}

fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    // SAFETY: strings that end in zero, and no data.
    let done = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(id: u64, waker: i32, time_ns: u64) -> Vec<u8> {
        let mut bytes = id.to_ne_bytes().to_vec();
        bytes.extend(99_i32.to_ne_bytes());
        bytes.extend(waker.to_ne_bytes());
        bytes.extend(time_ns.to_ne_bytes());
        bytes
    }

    #[test]
    fn what_a_thread_wakes_itself_is_not_about_it() {
        let threads = HashMap::from([(7, ("listener".to_string(), 12))]);
        assert_eq!(woken(&sample(7, 3, 1000), &threads), Some((1000, "listener".to_string(), 12, "woken".to_string())));
        assert_eq!(woken(&sample(7, 12, 1000), &threads), None);
        assert_eq!(woken(&sample(8, 3, 1000), &threads), None);
        assert_eq!(woken(&sample(7, 3, 1000)[..20], &threads), None);
    }

    #[test]
    fn too_many_threads_are_refused_with_their_number() {
        let many: Vec<(String, i32)> = (0..5000).map(|tid| ("p".to_string(), tid)).collect();
        assert!(open(&many).err().unwrap().starts_with("5000 threads on "));
    }
}
#[cfg(test)]
mod debug {
    use super::*;
    #[test]
    #[ignore]
    fn debug() {
        let tid = unsafe { libc::gettid() };
        for what in ["sched_waking","sched_wakeup"] {
        let id: u64 = if what == "sched_waking" { tracepoint().unwrap() } else { tracepoint().unwrap() - 1 };
        eprintln!("{what} {id}");
        let mut rings: Vec<Sampler> = Vec::new();
        for cpu in processors() {
            let mut b = Builder::new(Tracepoint::with_id(id));
            b.observe_pid(tid).one_cpu(cpu).sample_period(1).include_kernel().include_hv();
            b.sample(SampleFlag::IDENTIFIER | SampleFlag::TID | SampleFlag::TIME| SampleFlag::CPU);
            let mut c = b.build().unwrap().sampled(1<<20).unwrap();
            c.enable().unwrap();
            rings.push(c);
        }
        for _ in 0..20 { std::thread::sleep(std::time::Duration::from_millis(2)); }
        for (k, ring) in rings.iter_mut().enumerate() {
            let mut n = 0;
            while let Some(r) = ring.next_record() {
                let bytes: Vec<u8> = r.data().iter().flat_map(|part| part.iter().copied()).collect();
                n += 1;
                if n < 4 { eprintln!("cpu {k} type {} misc {} {:?} tid {tid}", r.ty(), r.misc(), bytes.chunks(4).map(|c| u32::from_ne_bytes(c.try_into().unwrap())).collect::<Vec<_>>()); }
            }
            eprintln!("cpu {k}: {n} records; count {:?}", ring.read());
        }
        }
    }
}
