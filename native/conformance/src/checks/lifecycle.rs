//! Endpoints and processes come and go.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::protocol::{Command, Event, NodeSpec, Schedule};
use rmwbench_harness::qos::{Durability, History, Qos};

use super::{after_a_kill, lacking};
use crate::failure::Failure;
use crate::rig::{node, periodic, publisher, subscription, Rig, MS};
use crate::{Context, Outcome, Verdict};

/// A volatile reader that joins late gets no message from before it existed, and all later ones.
pub fn late_joiner(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["inter_process"]) {
        return declared;
    }
    let writer = vec![node("talker", vec![publisher(1, "late", 200, periodic(500), 0)])];
    let reader = vec![node("listener", vec![subscription(2, "late", 200, 1)])];
    let mut rig = Rig::empty(context);
    let talker = rig.open(&[&writer])?;
    let listener = rig.open(&[&reader])?;
    rig.create(talker, writer)?;
    rig.start(2_000, 5_000)?;
    sleep(Duration::from_millis(500));
    let created_ns = now_ns();
    rig.create(listener, reader)?;
    let finished = rig.finished()?;
    rig.drain(&finished, Duration::from_secs(2))?;
    let received = rig.received(2)?;
    let Some(first) = received.first() else {
        return Err(
            "a reader that joined 0.5 s after the start heard nothing in the remaining 1.5 s"
                .into(),
        );
    };
    let sent = rig.sent(1)?;
    let returned_ns = sent[first.seq as usize].words[4] as i64;
    if returned_ns < created_ns {
        let early = (created_ns - returned_ns) as f64 / MS as f64;
        return Err(format!(
            "message {} was published {early:.1} ms before the reader existed, yet delivered",
            first.seq
        ));
    }
    let heard: BTreeSet<u64> = received.iter().map(|s| s.seq).collect();
    let missing: Vec<u64> =
        (first.seq..sent.len() as u64).filter(|seq| !heard.contains(seq)).collect();
    if context.lacks("reliable").is_none() && !missing.is_empty() {
        return Err(format!(
            "after its first message ({}) the reader missed {missing:?}",
            first.seq
        ));
    }
    rig.ledger(1, 2)?;
    Ok(Verdict::Passed)
}

/// A reader with transient local that joins after all messages were sent gets the writer's history:
/// with `keep_last` exactly its depth, with `keep_all` all messages, in order.
pub fn late_joiner_with_history(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["transient_local"]) {
        return declared; // "QoS granted is QoS asked" checks the answer `unsupported`
    }
    const MESSAGES: u64 = 50;
    let mut declared = Vec::new();
    for (history, depth, expected) in
        [(History::KeepLast, 1, 1), (History::KeepLast, 7, 7), (History::KeepAll, 0, MESSAGES)]
    {
        let name = if history == History::KeepAll { "keep_all" } else { "keep_last" };
        if let Some(reason) = context.lacks(name) {
            declared.push(format!("{name}: {reason}"));
            continue;
        }
        let topic = format!("kept_{name}{depth}");
        let mut writer = publisher(1, &topic, 200, periodic(500), 0);
        let mut reader = subscription(2, &topic, 200, 1);
        for endpoint in [&mut writer, &mut reader] {
            endpoint.qos =
                Qos { durability: Durability::TransientLocal, history, depth, ..Qos::default() };
        }
        let (talker, listener) =
            (vec![node("talker", vec![writer])], vec![node("listener", vec![reader])]);
        let mut rig = Rig::empty(context);
        let (talking, listening) = if context.lacks("inter_process").is_some() {
            let place = rig.open(&[&talker, &listener])?;
            (place, place)
        } else {
            (rig.open(&[&talker])?, rig.open(&[&listener])?)
        };
        rig.create(talking, talker)?;
        rig.start(100, 5_000)?;
        let finished = rig.finished()?;
        if finished[&1].sent != MESSAGES {
            return Err(format!(
                "{name} {depth}: without a reader the writer sent {:?}",
                finished[&1]
            ));
        }
        rig.create(listening, listener)?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while (rig.received(2)?.len() as u64) < expected && Instant::now() < deadline {
            sleep(Duration::from_millis(20));
        }
        sleep(Duration::from_millis(300)); // time for surplus messages
        let heard: Vec<u64> = rig.received(2)?.iter().map(|s| s.seq).collect();
        if heard != (MESSAGES - expected..MESSAGES).collect::<Vec<u64>>()
            && !context.shows("transient_local")
        {
            return Err(format!("{name} {depth}: expected the last {expected} of {MESSAGES} messages, found {heard:?}"));
        }
    }
    Ok(if declared.is_empty() { Verdict::Passed } else { Verdict::Declared(declared.join("; ")) })
}

/// One of two readers leaves in order: the other misses no message, and the writer neither fails
/// nor waits.
pub fn reader_leaves(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["inter_process"]) {
        return declared;
    }
    let mut rig = Rig::ready(
        context,
        vec![
            vec![node("talker", vec![publisher(1, "leaving", 1000, periodic(500), 2)])],
            vec![node("stays", vec![subscription(2, "leaving", 1000, 1)])],
            vec![node("leaves", vec![subscription(3, "leaving", 1000, 1)])],
        ],
    )?;
    rig.start(2_000, 5_000)?;
    // While a first message is repaired, nothing may be delivered for some hundred milliseconds.
    let deadline = Instant::now() + Duration::from_millis(1_500);
    while rig.received(3)?.len() < 100 && Instant::now() < deadline {
        sleep(Duration::from_millis(20));
    }
    rig.leave(2, "leaves", 3)?;
    let finished = rig.finished()?;
    rig.drain(&finished, Duration::from_secs(2))?;
    if finished[&1].failed + finished[&1].never_sent > 0 {
        return Err(format!("the writer of a reader that left: {:?}", finished[&1]));
    }
    rig.expect_complete(1, 2)?;
    let (stayed, left) = (rig.received(2)?.len(), rig.received(3)?.len());
    if left == 0 || left >= stayed {
        return Err(format!(
            "the reader that left within 1.5 of 2 s has {left} records, the one that stayed {stayed}"
        ));
    }
    Ok(Verdict::Passed)
}

/// A writer is killed: its records survive, and its reader continues with the next writer.
pub fn writer_dies(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["inter_process"]) {
        return declared;
    }
    let first = vec![node("talker", vec![publisher(1, "mortal", 1000, periodic(500), 1)])];
    let reader = vec![node("listener", vec![subscription(2, "mortal", 1000, 1)])];
    let second = vec![node("talker", vec![publisher(3, "mortal", 1000, periodic(500), 1)])];
    let mut rig = Rig::ready(context, vec![first, reader])?;
    rig.start(10_000, 0)?;
    sleep(Duration::from_millis(200));
    rig.workers[0].kill()?;
    rig.ledger_of_killed(1, 2)?;
    if rig.sent(1)?.is_empty() {
        return Err("the killed writer left no records".into());
    }
    after_a_kill(context, next_writer_is_heard(&mut rig, second))
}

/// The reader at place 1, whose writer was killed, receives from the next writer.
fn next_writer_is_heard(rig: &mut Rig<'_>, second: Vec<NodeSpec>) -> Result<(), Failure> {
    let place = rig.open(&[&second])?;
    rig.create(place, second)?;
    rig.workers[place]
        .request(Command::Match { timeout_ns: 10_000 * MS, endpoints: None })
        .map_err(|e| e.about("the second writer"))?;
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        rig.workers[place].request(Command::Probe { endpoints: None })?;
        sleep(Duration::from_millis(20));
        rig.collect(1)?; // the reader reports an unexpected writer only when a command comes
        if rig.workers[1].events.iter().any(|e| matches!(e, Event::FirstMessage { writer: 3, .. }))
        {
            break;
        }
        if Instant::now() > deadline {
            return Err("the reader does not hear the writer that came after the killed one".into());
        }
    }
    let dead = rig.workers.remove(0);
    rig.workers[1].request(start_now())?;
    let finished =
        |events: &[Event]| events.iter().any(|e| matches!(e, Event::Finished { endpoint: 3, .. }));
    rig.workers[1].events_until("finished", Instant::now() + Duration::from_secs(10), finished)?;
    sleep(Duration::from_millis(300));
    let heard = rig.workers[0]
        .slots(rmwbench_harness::records::Kind::Received, 2)?
        .iter()
        .filter(|s| s.peer == 3)
        .count();
    drop(dead);
    if rig.context.lacks("reliable").is_none() && heard != 100 {
        return Err(format!("the second writer sent 100 messages, the reader heard {heard}").into());
    }
    Ok(())
}

fn start_now() -> Command {
    let at_ns = now_ns() + 10 * MS;
    Command::Start(rmwbench_harness::protocol::Start {
        at_ns,
        steady_ns: at_ns,
        end_ns: at_ns + 200 * MS,
        grace_ns: 5_000 * MS,
        endpoints: None,
        schedule: Schedule::Own,
    })
}

/// The remains of killed processes do not prevent a new pair from working on the same topic. A
/// history of 10 at 50 Hz holds twice the delay that a machine may have without being starved: with
/// a shorter one, a reader without a processor misses messages that keep last allows it to miss.
pub fn after_kill(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["inter_process"]) {
        return declared;
    }
    let processes = |base: u32| {
        vec![
            vec![node("talker", vec![publisher(base, "again", 100_000, periodic(50), 1)])],
            vec![node("listener", vec![subscription(base + 1, "again", 100_000, 1)])],
        ]
    };
    let mut rig = Rig::ready(context, processes(1))?;
    rig.start(10_000, 0)?;
    sleep(Duration::from_millis(100));
    for worker in &mut rig.workers {
        worker.kill()?;
    }
    let mut rig = Rig::ready(context, processes(3))?;
    rig.play(400)?;
    rig.expect_complete(3, 4)?;
    Ok(Verdict::Passed)
}
