//! Starts the program again in network, mount, IPC and PID namespaces of its own, as root or
//! through a user namespace: no middleware is visible outside, and shared memory, sockets and child
//! processes disappear with the program, however it ends.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const INSIDE: &str = "RMWBENCH_BENCH_INSIDE";
/// A program that was built below /tmp must still be found inside.
const ENTER: &str = "mount -t tmpfs tmpfs /dev/shm && case \"$0\" in /tmp/*) ;; *) mount -t tmpfs tmpfs /tmp ;; esac && \
    ip link set lo up && exec \"$0\" \"$@\"";

/// Returns None in the run inside. Outside it returns only if the namespaces cannot be entered.
pub fn enter(bench: &str) -> Option<ExitCode> {
    if std::env::var_os(INSIDE).is_some() {
        return None;
    }
    // Root needs no user namespace, and would lose in it the right to lock memory, without which
    // Zenoh has no shared memory.
    let user: &[&str] =
        if rustix::process::geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    // This replaces the process: killing it kills the processes inside.
    let error = Command::new("unshare")
        .args(user)
        .args(["--net", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", ENTER])
        .args(std::env::current_exe().ok())
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "1")
        .exec();
    eprintln!("rmwbench-bench-{bench}: unshare (util-linux): {error}");
    Some(ExitCode::FAILURE)
}
