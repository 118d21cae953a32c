//! The memory of a process that is not a worker (workers report their own): reading it takes
//! milliseconds for a large process, so it is done after the window.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use rmwbench_harness::usage::{is_segment, OWN};

use crate::document::{Memory, Segment};

/// Private and shared memory separately; the records file of a trial is left out, as in the
/// worker's own account.
pub fn read(directory: &Path) -> io::Result<Memory> {
    let mut memory = parse_smaps(&fs::read_to_string(directory.join("smaps"))?);
    let status = fs::read_to_string(directory.join("status")).unwrap_or_default();
    let bytes = |name: &str| -> Option<u64> {
        let kib = status.lines().find_map(|line| {
            line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok()
        });
        kib.map(|kib| kib * 1024)
    };
    (memory.peak_rss_bytes, memory.virtual_bytes) = (bytes("VmHWM:"), bytes("VmSize:"));
    Ok(memory)
}

fn parse_smaps(text: &str) -> Memory {
    let mut memory = Memory::default();
    let mut segments: BTreeMap<&str, Segment> = BTreeMap::new();
    let (mut name, mut shared, mut writable) = ("", false, false);
    for line in text.lines() {
        let Some((first, rest)) = line.split_once(' ') else { continue };
        if !first.ends_with(':') {
            // A mapping's first line: range, permissions, offset, device, inode, name.
            let permissions = rest.split(' ').next().unwrap_or_default();
            let after_fields = rest.splitn(5, ' ').nth(4).unwrap_or("");
            name = after_fields.trim_start();
            shared = permissions.ends_with('s') && is_segment(name);
            writable = permissions.contains('w');
            continue;
        }
        let (rss, pss) = (first == "Rss:", first == "Pss:");
        if !(rss || pss) || OWN.iter().any(|own| name.contains(own)) {
            continue;
        }
        let bytes = rest.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024;
        let segment = if shared { Some(segments.entry(name).or_default()) } else { None };
        match (segment, rss) {
            (Some(segment), true) => {
                segment.rss_bytes += bytes;
                segment.writable |= writable;
            }
            (Some(segment), false) => segment.pss_bytes += bytes,
            (None, true) => memory.rss_bytes += bytes,
            (None, false) => memory.pss_bytes += bytes,
        }
    }
    memory.shared_segments = segments
        .into_iter()
        .map(|(name, segment)| Segment { name: name.into(), ..segment })
        .collect();
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_stand_apart_and_records_are_not_counted() {
        let text = "\
55d0-55d1 r-xp 00000000 08:01 12                       /usr/bin/router\nRss:                   8 kB\nPss:                   4 kB\nPss_Dirty: 9 kB\n\
7f00-7f01 rw-s 00000000 00:01 99                       /dev/shm/iox segment\nRss:                 100 kB\nPss:                  50 kB\n\
7f02-7f03 rw-s 00000000 00:01 99                       /dev/shm/iox segment\nRss:                  10 kB\nPss:                   5 kB\n\
7f04-7f05 rw-s 00000000 00:01 98                       /memfd:rmwbench-records (deleted)\nRss: 64 kB\nPss: 64 kB\n\
7f05-7f06 rw-s 00000000 00:01 97                       /memfd:rmwbench-frames (deleted)\nRss: 4 kB\nPss: 4 kB\n\
7f07-7f08 r--s 00000000 08:01 96                       /usr/lib/gconv-modules.cache\nRss: 5 kB\nPss: 1 kB\n\
7f06-7f07 rw-p 00000000 00:00 0 \nRss:                   2 kB\nPss:                   2 kB\n";
        let memory = parse_smaps(text);
        assert_eq!((memory.rss_bytes, memory.pss_bytes), (15 * 1024, 7 * 1024));
        let segment = Segment {
            name: "/dev/shm/iox segment".into(),
            rss_bytes: 110 * 1024,
            pss_bytes: 55 * 1024,
            writable: true,
        };
        assert_eq!(memory.shared_segments, [segment]);
    }

    #[test]
    fn reads_ourselves() {
        let memory = read(Path::new("/proc/self")).unwrap();
        assert!(
            memory.rss_bytes > 0 && memory.pss_bytes > 0 && memory.pss_bytes <= memory.rss_bytes
        );
        assert!(memory.peak_rss_bytes.unwrap() >= memory.rss_bytes / 2);
        assert!(memory.virtual_bytes.unwrap() > memory.rss_bytes);
        assert!(read(Path::new("/proc/1073741824")).is_err());
    }
}
