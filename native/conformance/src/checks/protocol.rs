//! The worker answers every line that it must answer, including invalid ones.

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::ErrorKind;
use rmwbench_harness::protocol::{ClockRead, Command, Open, Reply};

use crate::process::Worker;
use crate::rig::{node, periodic, publisher, subscription, Rig};
use crate::{Context, Outcome, Verdict};

pub fn manners(context: &Context<'_>) -> Outcome {
    let nodes = vec![node("talker", vec![publisher(1, "manners", 64, periodic(100), 0)])];
    let mut rig = Rig::empty(context);
    rig.open(&[&nodes])?;
    let again = Open { trial_nonce: "0".into(), ..rig.open_with(Default::default()) };
    let worker = &mut rig.workers[0];
    tells_the_time(worker)?;

    worker.post_line(r#"{"id": 1000, "cmd": "frobnicate"}"#)?;
    expect_error(worker.answer(1000)?, ErrorKind::Unsupported, "an unknown command")?;
    worker.post_line(r#"{"id": 1001, "cmd": "match"}"#)?;
    expect_error(worker.answer(1001)?, ErrorKind::Invalid, "a command without its field")?;
    worker.post_line("this is not JSON")?;
    worker.post_line(r#"{"id": 1002, "cmd": "probe", "added_in_a_later_version": 1}"#)?;
    let Reply::Ok(_) = worker.answer(1002)? else {
        return Err("an unknown field must be ignored".into());
    };

    let id = worker.post(Command::Open(again))?;
    expect_error(worker.answer(id)?, ErrorKind::Invalid, "a second open")?;

    let mut small = nodes.clone();
    small[0].endpoints[0].message_type.payload_bytes = 63;
    let id = worker.post(Command::Create { nodes: small, at_ns: None })?;
    expect_error(worker.answer(id)?, ErrorKind::Invalid, "a payload smaller than the header")?;
    let id = worker.post(Command::Destroy {
        nodes: vec!["nobody".into()],
        endpoints: vec![],
        at_ns: None,
    })?;
    expect_error(worker.answer(id)?, ErrorKind::Invalid, "destroying a node that does not exist")?;

    let worker = &mut rig.workers[0];
    worker.request(Command::Exit {})?;
    match worker.exited() {
        Some(status) if status.success() => Ok(Verdict::Passed),
        status => Err(format!("after exit: expected exit code 0, found {status:?}")),
    }
}

/// All have one clock here: the four stamps of an exchange are in order.
fn tells_the_time(worker: &mut Worker) -> Result<(), String> {
    let asked_ns = now_ns();
    let read: ClockRead = serde_json::from_value(worker.request(Command::Clock {})?)
        .map_err(|e| format!("clock: {e}"))?;
    let stamps = [asked_ns, read.received_ns, read.sent_ns, now_ns()];
    if stamps.is_sorted() {
        return Ok(());
    }
    Err(format!("clock: expected asked, received, sent, answered in this order, found {stamps:?}"))
}

fn expect_error(reply: Reply, kind: ErrorKind, what: &str) -> Result<(), String> {
    match reply {
        Reply::Error(error) if error.kind == kind => Ok(()),
        other => Err(format!("{what}: expected an error of kind {kind:?}, found {other:?}")),
    }
}

/// A worker whose orchestrator died ends by itself, even during traffic.
pub fn end_of_file(context: &Context<'_>) -> Outcome {
    let mut rig = Rig::ready(
        context,
        vec![
            vec![node("talker", vec![publisher(1, "orphan", 1000, periodic(1000), 1)])],
            vec![node("listener", vec![subscription(2, "orphan", 1000, 1)])],
        ],
    )?;
    rig.start(10_000, 0)?;
    std::thread::sleep(std::time::Duration::from_millis(50));
    for worker in std::mem::take(&mut rig.workers) {
        match worker.exits_on_end_of_file() {
            Some(status) if status.success() => {}
            status => {
                return Err(format!(
                    "after the control socket closed: expected exit code 0, found {status:?}"
                ))
            }
        }
    }
    Ok(Verdict::Passed)
}
