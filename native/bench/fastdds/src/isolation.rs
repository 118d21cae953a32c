//! Starts this program again in fresh network, mount, IPC and PID namespaces, as root or through a user namespace.

use std::process::{Command, ExitCode};

const INSIDE: &str = "RMWBENCH_BENCH_INSIDE";
const ENTER: &str = "mount -t tmpfs tmpfs /dev/shm && ip link set lo up && exec \"$0\" \"$@\"";

/// The exit code of the run inside; None when this is the run inside.
pub fn enter() -> Option<ExitCode> {
    if std::env::var_os(INSIDE).is_some() {
        return None;
    }
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", ENTER])
        .args(std::env::current_exe().ok())
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "1")
        .status();
    Some(match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rmwbench-bench-fastdds: unshare (util-linux): {error}");
            ExitCode::FAILURE
        }
    })
}
