//! The resources that the process used. It reads them itself at the window's edges and after the
//! window, never inside it.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::{allocations, clock};

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Interface {
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_packets: u64,
    pub tx_packets: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Udp {
    pub in_datagrams: u64,
    pub in_errors: u64,
    pub rcvbuf_errors: u64,
}

/// Counters since the begin of the process (CPU, switches, faults) or of its network namespace
/// (interfaces, UDP).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Usage {
    /// `steady_begin`, `steady_end` or `now`.
    pub at: String,
    pub time_ns: i64,
    pub cpu_ns: i64,
    pub voluntary_switches: i64,
    pub involuntary_switches: i64,
    pub minor_faults: i64,
    pub major_faults: i64,
    /// The number of calls that gave memory, the bytes that they requested, and the number of calls
    /// that freed memory; only in trials that count allocations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocations: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_bytes: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frees: Option<i64>,
    pub interfaces: BTreeMap<String, Interface>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<Udp>,
}

/// Reads the counters. It takes about 30 µs, most of them for `/proc/self/net`.
pub fn snapshot(at: &str) -> Usage {
    let (time_ns, cpu_ns, allocated) =
        (clock::now_ns(), clock::process_cpu_ns(), allocations::counts());
    // SAFETY: getrusage fills a plain struct.
    let rusage = unsafe {
        let mut rusage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut rusage);
        rusage
    };
    Usage {
        at: at.into(),
        time_ns,
        cpu_ns,
        voluntary_switches: rusage.ru_nvcsw,
        involuntary_switches: rusage.ru_nivcsw,
        minor_faults: rusage.ru_minflt,
        major_faults: rusage.ru_majflt,
        allocations: allocated.map(|counts| counts.allocations),
        allocated_bytes: allocated.map(|counts| counts.bytes),
        frees: allocated.map(|counts| counts.frees),
        interfaces: fs::read_to_string("/proc/self/net/dev")
            .map(|text| interfaces(&text))
            .unwrap_or_default(),
        udp: fs::read_to_string("/proc/self/net/snmp").ok().and_then(|text| udp(&text)),
    }
}

fn interfaces(net_dev: &str) -> BTreeMap<String, Interface> {
    net_dev
        .lines()
        .filter_map(|line| {
            let (name, fields) = line.split_once(':')?;
            let f: Vec<u64> = fields.split_whitespace().filter_map(|w| w.parse().ok()).collect();
            let interface = Interface {
                rx_bytes: *f.first()?,
                rx_packets: *f.get(1)?,
                tx_bytes: *f.get(8)?,
                tx_packets: *f.get(9)?,
            };
            Some((name.trim().to_string(), interface))
        })
        .collect()
}

fn udp(snmp: &str) -> Option<Udp> {
    let mut lines = snmp.lines().filter(|l| l.starts_with("Udp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let value = |name: &str| {
        let place = names.split_whitespace().position(|n| n == name)?;
        values.split_whitespace().nth(place)?.parse().ok()
    };
    Some(Udp {
        in_datagrams: value("InDatagrams")?,
        in_errors: value("InErrors")?,
        rcvbuf_errors: value("RcvbufErrors")?,
    })
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Segment {
    pub name: String,
    pub rss_bytes: u64,
    pub pss_bytes: u64,
    /// Whether this process may write to the segment.
    #[serde(default)]
    pub writable: bool,
}

/// Whether a shared mapping of this name can carry messages: POSIX or System V shared memory, a
/// memfd, or a file in memory whose name was removed. A shared mapping of an ordinary file cannot:
/// every program maps caches of the C library that way.
pub fn is_segment(name: &str) -> bool {
    ["/dev/shm/", "/memfd:", "/SYSV", "/dev/zero (deleted)"]
        .iter()
        .any(|start| name.starts_with(start))
        || name.ends_with(" (deleted)")
}

/// Memory of the process; `rss_bytes` and `pss_bytes` include neither the records file nor the
/// shared segments, which are separate fields. Values from the memory map are absent if the kernel
/// has none (CONFIG_PROC_PAGE_MONITOR).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
    /// VmHWM without the records, which are resident from the start; it includes segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// VmSize without the records: the requested addresses, used or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records_rss_bytes: Option<u64>,
    pub threads: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_segments: Option<Vec<Segment>>,
}

/// Reads the memory map. It takes milliseconds for large processes, so it is read only after the
/// window.
pub fn memory() -> Memory {
    let mut memory = smaps(&fs::read_to_string("/proc/self/smaps").unwrap_or_default());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| -> Option<u64> {
        let line = status.lines().find(|l| l.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let without_records = |name: &str| -> Option<u64> {
        Some((field(name)? * 1024).saturating_sub(memory.records_rss_bytes?))
    };
    (memory.peak_rss_bytes, memory.virtual_bytes) =
        (without_records("VmHWM:"), without_records("VmSize:"));
    memory.threads = field("Threads:").unwrap_or(0);
    memory
}

/// The names of the instrument's memory: the records, and a ring of frames of an outside source.
/// Other memory is called rmwbench, too: the floor's segments.
pub const OWN: [&str; 2] = ["memfd:rmwbench-records", "memfd:rmwbench-frames"];

fn smaps(text: &str) -> Memory {
    if text.is_empty() {
        return Memory::default();
    }
    let (mut rss_bytes, mut pss_bytes, mut records_rss_bytes) = (0, 0, 0);
    let mut segments: BTreeMap<String, Segment> = BTreeMap::new();
    let mut name = String::new();
    let (mut shared, mut writable) = (false, false);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        if first.contains('-') && !first.ends_with(':') {
            // A mapping's first line: range, permissions, offset, device, inode, name.
            let permissions = words.next().unwrap_or_default();
            name = words.skip(3).collect::<Vec<_>>().join(" ");
            shared = permissions.ends_with('s') && is_segment(&name);
            writable = permissions.contains('w');
            continue;
        }
        let bytes = words.next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024;
        let records = OWN.iter().any(|own| name.contains(own));
        match first {
            "Rss:" if records => records_rss_bytes += bytes,
            "Rss:" if shared => {
                let segment = segments.entry(name.clone()).or_default();
                segment.rss_bytes += bytes;
                segment.writable |= writable;
            }
            "Rss:" => rss_bytes += bytes,
            "Pss:" if records => {}
            "Pss:" if shared => segments.entry(name.clone()).or_default().pss_bytes += bytes,
            "Pss:" => pss_bytes += bytes,
            _ => {}
        }
    }
    let segments = segments.into_iter().map(|(name, s)| Segment { name, ..s }).collect();
    Memory {
        rss_bytes: Some(rss_bytes),
        pss_bytes: Some(pss_bytes),
        records_rss_bytes: Some(records_rss_bytes),
        shared_segments: Some(segments),
        ..Memory::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_reads_this_process() {
        let usage = snapshot("now");
        assert!(usage.cpu_ns > 0 && usage.time_ns > 0);
        assert!(usage.interfaces.contains_key("lo"), "{:?}", usage.interfaces);
        assert!(usage.udp.is_some());
        let memory = memory();
        let (rss_bytes, pss_bytes) = (memory.rss_bytes.unwrap(), memory.pss_bytes.unwrap());
        assert!(rss_bytes > 0 && pss_bytes <= rss_bytes && memory.threads >= 1);
        assert!(memory.peak_rss_bytes.is_some() && memory.virtual_bytes.is_some());
    }

    #[test]
    fn without_a_memory_map_no_memory_is_told() {
        let document = serde_json::to_value(smaps("")).unwrap();
        assert_eq!(document, serde_json::json!({"threads": 0}));
    }

    #[test]
    fn shared_segments_and_records_stand_apart() {
        let text = "\
55d0-55d1 r-xp 00000000 08:01 12 /usr/bin/worker\nRss:   8 kB\nPss:   4 kB\n\
7f00-7f01 rw-s 00000000 00:01 99 /dev/shm/iox2 segment\nRss:   100 kB\nPss:   50 kB\n\
7f02-7f03 rw-s 00000000 00:01 98 /memfd:rmwbench-records (deleted)\nRss:   60 kB\nPss:   60 kB\n\
7f03-7f04 rw-s 00000000 00:01 97 /memfd:rmwbench-frames (deleted)\nRss:   4 kB\nPss:   4 kB\n\
7f06-7f07 rw-s 00000000 00:01 96 /memfd:rmwbench-floor-pool (deleted)\nRss:   3 kB\nPss:   3 kB\n\
7f07-7f08 r--s 00000000 00:1c 95 /dev/shm/read only\nRss:   1 kB\nPss:   1 kB\n\
7f08-7f09 r--s 00000000 00:1c 94 /usr/lib/gconv/gconv-modules.cache\nRss:   5 kB\nPss:   1 kB\n\
7f04-7f05 rw-p 00000000 00:00 0 \nRss:   2 kB\nPss:   2 kB\n";
        let memory = smaps(text);
        assert_eq!(
            (memory.rss_bytes, memory.pss_bytes, memory.records_rss_bytes),
            (Some(15 * 1024), Some(7 * 1024), Some(64 * 1024))
        );
        let segments = memory.shared_segments.unwrap();
        assert_eq!(segments.len(), 3);
        assert_eq!(segments[0].name, "/dev/shm/iox2 segment");
        assert!(segments[2].name.contains("rmwbench-floor-pool"));
        assert_eq!(
            segments.iter().map(|segment| segment.writable).collect::<Vec<_>>(),
            [true, false, true]
        );
        assert_eq!(segments[0].rss_bytes, 100 * 1024);
    }
}
