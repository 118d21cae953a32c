//! How much memory this process may lock: Zenoh locks its pools. If it may not, it works without
//! them and reports it only in its log.

use std::fs;

/// The limit in bytes; None if there is none, or if it does not apply to this process.
pub fn limit_bytes() -> Option<u64> {
    // To the kernel, the root of a user namespace is an ordinary user, whatever its capabilities
    // say.
    let everyone = |map: String| {
        map.split_whitespace().map(str::to_string).eq(["0", "0", "4294967295"].map(str::to_string))
    };
    let whole_machine = fs::read_to_string("/proc/self/uid_map").is_ok_and(everyone);
    if whole_machine && has_ipc_lock(&fs::read_to_string("/proc/self/status").unwrap_or_default()) {
        return None;
    }
    soft_limit(&fs::read_to_string("/proc/self/limits").ok()?)
}

/// The limit in bytes if this process may not lock this many bytes more; else None.
pub fn refuses(bytes: usize) -> Option<u64> {
    let locked = locked_bytes(&fs::read_to_string("/proc/self/status").unwrap_or_default());
    limit_bytes().filter(|limit| locked + bytes as u64 > *limit)
}

/// The kernel writes KiB, and calls them kB.
fn locked_bytes(status: &str) -> u64 {
    let kib = first_word_after("VmLck:", status).and_then(|word| word.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// CAP_IPC_LOCK is capability 14.
fn has_ipc_lock(status: &str) -> bool {
    first_word_after("CapEff:", status)
        .and_then(|mask| u64::from_str_radix(mask, 16).ok())
        .is_some_and(|mask| mask & 1 << 14 != 0)
}

fn soft_limit(limits: &str) -> Option<u64> {
    first_word_after("Max locked memory", limits)?.parse().ok()
}

/// The first word of the line that begins with `name`.
fn first_word_after<'a>(name: &str, text: &'a str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_read_as_it_writes() {
        assert_eq!(soft_limit("Max processes 1 1 processes\nMax locked memory         8388608    8388608    bytes\n"), Some(8_388_608));
        assert_eq!(
            soft_limit(
                "Max locked memory         unlimited            unlimited            bytes\n"
            ),
            None
        );
        assert_eq!(locked_bytes("VmPeak:\t    5 kB\nVmLck:\t    2048 kB\n"), 2 << 20);
        assert!(has_ipc_lock("Name: x\nCapEff:\t000001ffffffffff\n"));
        assert!(!has_ipc_lock("CapEff:\t0000000000000000\n"));
    }
}
