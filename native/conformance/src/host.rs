//! Namespaces for a conformance run: nothing that it sends or leaves can affect another program on
//! the machine.
//!
//! Simpler than the orchestrator's host (Python, `rmwbench/lab/host`): the whole run has one set,
//! which the test process itself enters.

use std::io::Write;
use std::process::{Command, Stdio};

use rustix::thread::{unshare_unsafe, UnshareFlags};

use crate::open_files;

/// Enters new network, mount and IPC namespaces; it must run before the first thread starts.
pub fn isolate() -> Result<(), String> {
    open_files::raise_limit();
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mut flags = UnshareFlags::NEWNET | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    if uid != 0 {
        flags |= UnshareFlags::NEWUSER;
    }
    // SAFETY: the process is single-threaded here.
    unsafe { unshare_unsafe(flags) }.map_err(|e| format!("unshare: {e}"))?;
    if uid != 0 {
        let write = |file: &str, text: String| {
            std::fs::write(file, text).map_err(|e| format!("{file}: {e}"))
        };
        write("/proc/self/setgroups", "deny".into())?;
        write("/proc/self/uid_map", format!("0 {uid} 1"))?;
        write("/proc/self/gid_map", format!("0 {gid} 1"))?;
    }
    run("mount", &["--make-rprivate", "/"], "")?;
    for directory in ["/dev/shm", "/tmp"] {
        run("mount", &["-t", "tmpfs", "tmpfs", directory], "")?;
    }
    // As on a connected machine: an interface with multicast, and a default route that leads
    // nowhere.
    run(
        "ip",
        &["-batch", "-"],
        "link set lo up\nlink add eth0 type veth peer name nowhere\naddress add 10.77.0.1/24 dev eth0\n\
         link set nowhere up\nlink set eth0 up\nroute add default dev eth0\n",
    )
}

/// Removes the files that killed workers left in shared memory, which is memory: the segments of
/// one check must not add to those of the next. Files that this process maps stay: a middleware
/// that was opened in it (payloads below the recorder) may keep segments for ever.
pub fn sweep() {
    let own = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for entry in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
        let path = entry.path();
        if !own.contains(&*path.to_string_lossy()) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn run(program: &str, arguments: &[&str], input: &str) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{program}: {e}");
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    child.stdin.take().expect("piped").write_all(input.as_bytes()).map_err(failed)?;
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ))
    }
}
