//! A process and namespaces of its own for one test of libtest, for middlewares that announce
//! themselves on every interface or keep state for a whole process. The test starts itself again
//! inside, because of libtest's threads.
//!
//! Where no namespaces can be made, as in an ordinary container, such a test is [`skipped`].

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::OnceLock;

use rustix::process::Signal;

use crate::{open_files, skipped};

const INSIDE: &str = "RMWBENCH_TEST_INSIDE";
const ENTER: &str = "mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /tmp && ip link set lo up && exec \"$0\" \"$@\"";

const NAMESPACES: [&str; 9] = [
    "--user",
    "--map-root-user",
    "--net",
    "--mount",
    "--ipc",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
];

/// Why no namespaces can be made here, in the text of util-linux's unshare; None if they can.
pub fn why_not() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    let reason = FOUND.get_or_init(|| {
        let tried =
            Command::new("unshare").args(NAMESPACES).args(["sh", "-c", ENTER, "true"]).output();
        let output = tried.expect("util-linux's unshare is needed");
        (!output.status.success())
            .then(|| String::from_utf8_lossy(&output.stderr).trim().to_string())
    });
    reason.as_deref()
}

/// Runs `body` in a process of its own, in fresh network, mount, PID and IPC namespaces; `test` is
/// the test's full name.
pub fn isolated(test: &str, body: impl FnOnce()) {
    if let Some(output) = inside(test, &["unshare"], body) {
        must_have_passed(test, &output);
    }
}

/// Ends a process that does not end by itself; far longer than any of these tests takes, even on a
/// busy machine.
const WITHIN_60_S: [&str; 4] = ["timeout", "--signal=KILL", "60", "unshare"];

/// As [`isolated`], for a body in which the middleware may crash or never return: `fault` describes
/// it, and a line that begins `DECLARED FAULT` reports that it occurred. A failed assertion is
/// never tolerated.
pub fn isolated_but_may_crash(test: &str, fault: &str, body: impl FnOnce()) {
    match inside(test, &WITHIN_60_S, body) {
        Some(output) if was_ended_by(&output, Signal::SEGV) => {
            eprintln!("DECLARED FAULT {test}: {fault}")
        }
        Some(output) if was_ended_by(&output, Signal::KILL) => {
            eprintln!("DECLARED FAULT {test}, which did not end within 60 s: {fault}")
        }
        Some(output) => must_have_passed(test, &output),
        None => {}
    }
}

fn was_ended_by(output: &Output, signal: Signal) -> bool {
    let status = output.status;
    status.signal() == Some(signal.as_raw()) || status.code() == Some(128 + signal.as_raw())
}

/// The output of the process inside; None in that process itself, and if no namespaces can be made.
/// `starter` is unshare, and the commands that run it.
fn inside(test: &str, starter: &[&str], body: impl FnOnce()) -> Option<Output> {
    if env::var(INSIDE).is_ok_and(|name| name == test) {
        body();
        return None;
    }
    if let Some(reason) = why_not() {
        skipped(test, &format!("no namespaces can be made here: {reason}"));
        return None;
    }
    open_files::raise_limit();
    let output = Command::new(starter[0])
        .args(&starter[1..])
        .args(NAMESPACES)
        .args(["sh", "-c", ENTER])
        .arg(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(INSIDE, test)
        .output();
    Some(output.expect("util-linux's unshare is needed"))
}

fn must_have_passed(test: &str, output: &Output) {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        output.status.success(),
        "inside its namespaces {test} failed ({}):\n{out}\n{err}",
        output.status
    );
    assert!(out.contains("1 passed"), "{test} is not the name of a test:\n{out}\n{err}");
}
