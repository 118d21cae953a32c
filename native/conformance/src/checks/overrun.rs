//! A writer that floods: whichever messages are lost, the ledger knows each of them.

use std::time::Duration;

use rmwbench_harness::middleware::ErrorKind;
use rmwbench_harness::protocol::Arrival;
use rmwbench_harness::qos::{History, Qos, Reliability};

use crate::failure::{Failure, Finding};
use crate::rig::{node, publisher, subscription, Rig};
use crate::{Context, Outcome, Verdict};

const MESSAGES: u64 = 2_000;
const BYTES: u32 = 16_384;

/// What the suite finds of a library that does not behave as it grants.
const FAULTS: [Finding; 3] = [Finding::Crashed, Finding::Damaged, Finding::Overtaken];

/// The check, and the fault of a library whose reader may lose messages here although it is granted
/// `reliable`; its full queue behaves as was granted (`equal::when_full`).
const KEPT_ALL: &str = "ledger under overrun, reliable keep all";

pub fn reliable_keep_last(context: &Context<'_>) -> Outcome {
    flood(context, Reliability::Reliable, History::KeepLast)
}

pub fn reliable_keep_all(context: &Context<'_>) -> Outcome {
    flood(context, Reliability::Reliable, History::KeepAll)
}

pub fn best_effort_keep_last(context: &Context<'_>) -> Outcome {
    flood(context, Reliability::BestEffort, History::KeepLast)
}

pub fn best_effort_keep_all(context: &Context<'_>) -> Outcome {
    flood(context, Reliability::BestEffort, History::KeepAll)
}

fn flood(context: &Context<'_>, reliability: Reliability, history: History) -> Outcome {
    match attempt(context, reliability, history) {
        // A declared fault may be a crash of the library, or a reader that gets memory which is
        // being written again.
        Err(error) if error.is_any(&FAULTS) && context.shows(name_of(history)) => {
            Ok(Verdict::Passed)
        }
        outcome => Ok(outcome?),
    }
}

fn name_of(history: History) -> &'static str {
    if history == History::KeepAll {
        "keep_all"
    } else {
        "keep_last"
    }
}

fn attempt(
    context: &Context<'_>,
    reliability: Reliability,
    history: History,
) -> Result<Verdict, Failure> {
    let qos = Qos { reliability, history, ..Qos::default() };
    let mut writer = publisher(1, "flood", BYTES, Arrival::Saturation { limit: MESSAGES }, 1);
    let mut reader = subscription(2, "flood", BYTES, 1);
    (writer.qos, reader.qos) = (qos.clone(), qos);
    let rig = Rig::ready_exactly(
        context,
        vec![vec![node("talker", vec![writer])], vec![node("listener", vec![reader])]],
    );
    let lacks = [
        context.lacks(if reliability == Reliability::Reliable {
            "reliable"
        } else {
            "best_effort"
        }),
        context.lacks(name_of(history)),
    ];
    if let Some(reason) = lacks.into_iter().flatten().next() {
        return match rig {
            Err(error) if error.is(ErrorKind::Unsupported) => Ok(Verdict::Declared(reason)),
            Err(error) => Err(format!("expected unsupported, found {error}").into()),
            Ok(_) => {
                Err(format!("declared as lacking ({reason}), yet the worker granted it").into())
            }
        };
    }
    let mut rig = rig?;
    rig.start(15_000, 0)?;
    let finished = rig.finished()?;
    // If messages may be lost, the drain cannot complete.
    let patience = if (reliability, history) == (Reliability::Reliable, History::KeepAll) {
        5_000
    } else {
        500
    };
    rig.drain(&finished, Duration::from_millis(patience))?;
    let end = &finished[&1];
    let ledger = rig.ledger(1, 2)?;
    if end.sent + end.failed != rig.sent(1)?.len() as u64
        || end.sent != ledger.accepted as u64
        || end.never_sent != 0
    {
        return Err(format!(
            "the publisher counts {end:?}, its records {} accepted",
            ledger.accepted
        )
        .into());
    }
    if ledger.arrived == 0 {
        return Err(format!("nothing of {} messages arrived", ledger.accepted).into());
    }
    if ledger.arrived + ledger.lost.len() != ledger.accepted {
        // This is only possible if a message arrived whose publish call failed: then the ledger
        // cannot be trusted.
        return Err(format!(
            "{} accepted, {} arrived, {} lost do not add up",
            ledger.accepted,
            ledger.arrived,
            ledger.lost.len()
        )
        .into());
    }
    if (reliability, history) == (Reliability::Reliable, History::KeepAll) {
        rig.expect_complete(1, 2).or_else(|error| {
            if context.shows(name_of(history)) || context.shows(KEPT_ALL) {
                Ok(())
            } else {
                Err(error)
            }
        })?;
    }
    let drops =
        rig.collect(rig.workers.len() - 1)?.endpoints.get(&2).and_then(|e| e.account.reader_drops);
    if drops.is_some_and(|drops| drops > ledger.lost.len() as u64) {
        return Err(format!(
            "the reader says that it dropped {drops:?}, the ledger lost {}",
            ledger.lost.len()
        )
        .into());
    }
    Ok(Verdict::Passed)
}
