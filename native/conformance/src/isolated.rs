//! A process and namespaces of its own for one test of libtest, for middlewares that announce themselves on every interface or keep
//! state for a whole process. The test starts itself again inside, so that libtest's threads do not stand in the way.

use std::env;
use std::process::Command;

const INSIDE: &str = "RMWBENCH_TEST_INSIDE";
const ENTER: &str = "mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /tmp && ip link set lo up && exec \"$0\" \"$@\"";

/// Runs `body` in a process of its own, in fresh network, mount, PID and IPC namespaces; `test` is the test's full name.
pub fn isolated(test: &str, body: impl FnOnce()) {
    if env::var(INSIDE).is_ok_and(|name| name == test) {
        return body();
    }
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", ENTER])
        .arg(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(INSIDE, test)
        .output()
        .expect("util-linux's unshare is needed");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "inside its namespaces {test} failed:\n{out}\n{err}");
    assert!(out.contains("1 passed"), "{test} is not the name of a test:\n{out}\n{err}");
}
