//! Equal work: what a comparison assumes of every middleware's reader.
//!
//! One message has one stamp, taken after the message before it was returned; a depth means the
//! same room; one topic does not starve another; a reader can be destroyed during its traffic;
//! publishers of one process send at the same time, each in its thread; and a full queue behaves as
//! was granted.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rmwbench_harness::middleware::{ErrorKind, Granted, Take, TakenAs, Wait, WhenFull};
use rmwbench_harness::protocol::{Arrival, Command, EndpointSpec};
use rmwbench_harness::qos::{History, Qos, Reliability};

use super::lacking;
use crate::failure::{Failure, Finding};
use crate::process::Slot;
use crate::rig::{node, periodic, publisher, subscription, Rig, MS};
use crate::{Context, Outcome, Verdict};

const BYTES: u32 = 2_000;

fn deep(mut endpoint: EndpointSpec, depth: u32) -> EndpointSpec {
    endpoint.qos = Qos { depth, ..Qos::default() };
    endpoint
}

/// The settings that an endpoint was granted, from the answer to `create`.
fn granted(reply: &serde_json::Value, endpoint: u32) -> Result<Granted, String> {
    let value = reply["endpoints"][endpoint.to_string()].clone();
    serde_json::from_value(value).map_err(|e| format!("endpoint {endpoint}: {e}"))
}

/// A writer and a reader that keeps each message for `hold`, in processes of their own if possible,
/// with their granted settings: (rig, writer's, reader's).
fn slow_reader<'a>(
    context: &'a Context<'a>,
    writer: EndpointSpec,
    reader: EndpointSpec,
) -> Result<(Rig<'a>, Granted, Granted), Failure> {
    let numbers = (writer.endpoint, reader.endpoint);
    let (talker, listener) =
        (vec![node("talker", vec![writer])], vec![node("listener", vec![reader])]);
    let mut rig = Rig::empty(context);
    let places = if context.lacks("inter_process").is_some() {
        let place = rig.open(&[&talker, &listener])?;
        (place, place)
    } else {
        (rig.open(&[&talker])?, rig.open(&[&listener])?)
    };
    let first = rig.create(places.0, talker)?;
    let second = rig.create(places.1, listener)?;
    rig.barrier()?;
    Ok((rig, granted(&first, numbers.0)?, granted(&second, numbers.1)?))
}

const TAKEN: usize = 2;
const CONSUMED: usize = 4;
const RETURNED: usize = 4;

/// In a burst, each message is taken after the message before it was returned: several messages do
/// not share a stamp, and no waiting time is left out.
pub fn one_stamp(context: &Context<'_>) -> Outcome {
    let burst = Arrival::Burst { period_ns: 200 * MS, count: 10, phase_ns: 0 };
    let mut reader = deep(subscription(2, "burst", BYTES, 1), 50);
    reader.hold_ns = 5 * MS;
    let (mut rig, ..) =
        slow_reader(context, deep(publisher(1, "burst", BYTES, burst, 1), 50), reader)?;
    rig.play(500)?;
    rig.expect_complete(1, 2)?;
    let received = rig.received(2)?;
    let mut before: Option<&Slot> = None;
    for slot in &received {
        if let Some(before) = before.filter(|before| slot.words[TAKEN] < before.words[CONSUMED]) {
            let early = (before.words[CONSUMED] - slot.words[TAKEN]) as f64 / MS as f64;
            return Err(format!(
                "message {} was taken {early:.3} ms before message {} was given back",
                slot.seq, before.seq
            ));
        }
        before = Some(slot);
    }
    if received.len() < 20 {
        return Err(format!(
            "{} messages of three bursts of 10 arrived: too few to tell",
            received.len()
        ));
    }
    Ok(Verdict::Passed)
}

const DEPTH: u32 = 10;

/// Plays traffic that a reader cannot follow for a while; if messages are dropped, a drain cannot
/// complete.
fn overrun(rig: &mut Rig<'_>) -> Result<(), Failure> {
    rig.start(600, 500)?;
    let finished = rig.finished()?;
    rig.drain(&finished, Duration::from_secs(1)).map(|_| ())
}

/// While a reader is slower than its writer, as many messages wait between the two as the depth
/// says: a reader that takes several at once would have its history and the taken messages.
pub fn room(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["keep_last"]) {
        return declared;
    }
    let mut reader = deep(subscription(2, "room", BYTES, 1), DEPTH);
    reader.hold_ns = 20 * MS;
    let (mut rig, _, reader_granted) =
        slow_reader(context, deep(publisher(1, "room", BYTES, periodic(1000), 1), DEPTH), reader)?;
    overrun(&mut rig)?;
    let sent: Vec<(u64, u64)> =
        rig.sent(1)?.iter().map(|slot| (slot.seq, slot.words[RETURNED])).collect();
    let last_sent = sent.iter().map(|(_, returned)| *returned).max().unwrap_or(0);
    // How many newer messages were published when one was taken: those behind it in the queue,
    // whichever side drops or waits.
    let mut behind: Vec<usize> = rig
        .received(2)?
        .iter()
        .map(|slot| (slot.seq, slot.words[TAKEN]))
        .filter(|(_, taken)| *taken < last_sent)
        .map(|(seq, taken)| {
            sent.iter().filter(|(newer, returned)| *newer > seq && *returned < taken).count()
        })
        .collect();
    behind.drain(..behind.len().min(5)); // the queue fills first
    behind.sort_unstable();
    let Some(&median) = behind.get(behind.len() / 2) else {
        if context.shows("room") {
            return Ok(Verdict::Passed);
        }
        return Err(format!(
            "{} messages arrived while the writer was sending: too few to tell",
            behind.len()
        ));
    };
    let room = reader_granted.qos.depth as usize;
    // The taken message is one of a full queue; one or two more or fewer are on their way.
    if (median + 3 < room.min(DEPTH as usize) || median > room + 2) && !context.shows("room") {
        let of = behind.len();
        return Err(format!("with a depth of {room} granted, {median} messages stand behind the one that is taken (median of {of})"));
    }
    Ok(Verdict::Passed)
}

/// A topic whose reader never finds it empty does not prevent another topic of the process from
/// being read.
pub fn nobody_starves(context: &Context<'_>) -> Outcome {
    let mut flooded = deep(subscription(2, "flooded", BYTES, 1), DEPTH);
    flooded.hold_ns = MS;
    let quiet = subscription(4, "quiet", 200, 1);
    // Three times as many messages as are read in the time of the other topic.
    let flood = deep(publisher(1, "flooded", BYTES, periodic(3_000), 1), DEPTH);
    let beside = publisher(3, "quiet", 200, periodic(20), 1);
    let processes = vec![
        vec![node("talker", vec![flood])],
        vec![node("other_talker", vec![beside])],
        vec![node("listener", vec![flooded, quiet])],
    ];
    let mut rig = Rig::ready(context, processes)?;
    overrun(&mut rig)?;
    if let Err(error) = rig.expect_complete(3, 4) {
        return if context.shows("turns") { Ok(Verdict::Passed) } else { Err(error.text) };
    }
    let flooded: Vec<u64> = rig.received(2)?.iter().map(|slot| slot.words[TAKEN]).collect();
    let sent: BTreeMap<u64, u64> =
        rig.sent(3)?.iter().map(|slot| (slot.seq, slot.words[RETURNED])).collect();
    // This counts messages of the other topic, and not time: a machine that is busy elsewhere slows
    // both.
    let mut passed: Vec<usize> = rig
        .received(4)?
        .iter()
        .map(|slot| {
            let published = sent.get(&slot.seq).copied().unwrap_or(0);
            flooded.iter().filter(|at| **at > published && **at < slot.words[TAKEN]).count()
        })
        .collect();
    passed.sort_unstable();
    let median = passed.get(passed.len() / 2).copied().unwrap_or(0);
    // A turn, the turn that was under way, and the messages that came while this one was still on
    // its way.
    if median > 4 * rmwbench_harness::pump::TURN && !context.shows("turns") {
        return Err(format!("{median} messages of a flooded topic were taken before one of another topic (median of {})", passed.len()));
    }
    Ok(Verdict::Passed)
}

/// A callback may take all messages of its reader at once, as its notes say: the middleware's
/// thread still serves the other topics of the process while the flood goes on.
pub fn callbacks_end(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["callback"]) {
        return declared;
    }
    let called = |mut reader: EndpointSpec| {
        reader.wait = Wait::Callback;
        reader
    };
    let mut flooded = called(deep(subscription(2, "flooded_call", BYTES, 1), DEPTH));
    flooded.hold_ns = MS;
    let quiet = called(subscription(4, "quiet_call", 200, 1));
    let mut flood = deep(publisher(1, "flooded_call", BYTES, periodic(3_000), 1), DEPTH);
    // A reliable reader may make its writer wait instead.
    flood.qos.reliability = Reliability::BestEffort;
    flooded.qos.reliability = Reliability::BestEffort;
    let beside = publisher(3, "quiet_call", 200, periodic(50), 1);
    let processes = vec![
        vec![node("talker", vec![flood])],
        vec![node("other_talker", vec![beside])],
        vec![node("listener", vec![flooded, quiet])],
    ];
    let mut rig = Rig::ready(context, processes)?;
    rig.start(600, 500)?;
    let finished = rig.finished()?;
    let last_sent = rig.sent(1)?.iter().map(|slot| slot.words[RETURNED]).max().unwrap_or(0);
    rig.drain(&finished, Duration::from_secs(5))?;
    // A message behind all earlier messages of the flood is taken three times as late as it was
    // sent: a third of them are in time. A message that waits for the flood's end is not.
    let in_time = rig.received(4)?.iter().filter(|slot| slot.words[TAKEN] < last_sent).count();
    let sent = rig.sent(3)?.len();
    if in_time * 8 < sent && !context.shows("callback turns") {
        return Err(format!(
            "{in_time} of {sent} messages of another topic were taken while a callback was flooded"
        ));
    }
    Ok(Verdict::Passed)
}

/// A reader is destroyed during the flood of another topic of its process, and so is the flooded
/// reader itself: neither waits for the end of the flood.
pub fn destroyed_in_traffic(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["inter_process"]) {
        return declared;
    }
    let mut flooded = deep(subscription(2, "endless", BYTES, 1), DEPTH);
    flooded.hold_ns = 2 * MS;
    let processes = vec![
        vec![node("talker", vec![deep(publisher(1, "endless", BYTES, periodic(2_000), 1), DEPTH)])],
        vec![node("flooded", vec![flooded]), node("idle", vec![subscription(4, "idle", 200, 0)])],
    ];
    let mut rig = Rig::ready(context, processes)?;
    rig.start(6_000, 0)?;
    sleep(Duration::from_millis(300));
    for (name, reader) in [("idle", 4), ("flooded", 2)] {
        let begun = Instant::now();
        rig.leave(1, name, reader)?;
        // A third of the traffic's time: the destruction needs some milliseconds, and the traffic
        // ends after seconds.
        if begun.elapsed() > Duration::from_secs(2) {
            return Err(format!(
                "destroying the {name} reader took {:?}, while traffic went on",
                begun.elapsed()
            ));
        }
    }
    let at_ns = None;
    rig.workers[0].request(Command::Stop { endpoints: vec![1], at_ns })?;
    rig.finished()?;
    let after = rig.received(2)?.len();
    sleep(Duration::from_millis(100));
    match rig.received(2)?.len() {
        same if same == after && after > 0 => Ok(Verdict::Passed),
        later => Err(format!("the destroyed reader had {after} records, then {later}")),
    }
}

const AT_ONCE: u32 = 6;

/// Publishers of one process are due at the same times, and each has a thread of its own: their
/// common session and node allow that, and no message of theirs is mixed up or lost. The messages
/// are small, so that all of one time fit into the shortest queue: a session that drops messages
/// which wait for a millisecond (rmw_zenoh's) then loses none for that reason.
pub fn at_once(context: &Context<'_>) -> Outcome {
    let bursts = Arrival::Burst { period_ns: 20 * MS, count: 5, phase_ns: 0 };
    let (mut talker, mut listener) = (Vec::new(), Vec::new());
    for number in 1..=AT_ONCE {
        let topic = format!("at_once_{number}");
        talker.push(publisher(number, &topic, 500, bursts.clone(), 1));
        listener.push(subscription(AT_ONCE + number, &topic, 500, 1));
    }
    let mut rig =
        Rig::ready(context, vec![vec![node("talker", talker)], vec![node("listener", listener)]])?;
    rig.play(400)?;
    for number in 1..=AT_ONCE {
        rig.expect_complete(number, AT_ONCE + number)?;
    }
    Ok(Verdict::Passed)
}

const FLOOD: u64 = 300;

/// A full queue behaves as was granted. The reader keeps each message for 5 ms, and the writer
/// sends as fast as it can: either it waits, and all of its messages arrive, or it does not wait,
/// and the excess is lost.
pub fn when_full(context: &Context<'_>) -> Outcome {
    let mut declared = Vec::new();
    for (history, name) in [(History::KeepLast, "keep_last"), (History::KeepAll, "keep_all")] {
        if let Some(reason) = context.lacks(name).or_else(|| context.rare_fault(name)) {
            declared.push(format!("{name}: {reason}"));
            continue;
        }
        match full(context, history, name) {
            // A fault of the history itself certainly shows here, since this reader is slow.
            Err(error)
                if error.is_any(&[Finding::NotAsGranted])
                    && (context.shows(name) || context.shows("when_full")) => {}
            outcome => outcome?,
        }
    }
    Ok(if declared.is_empty() { Verdict::Passed } else { Verdict::Declared(declared.join("; ")) })
}

fn full(context: &Context<'_>, history: History, name: &str) -> Result<(), Failure> {
    let topic = format!("full_{name}");
    // The room that such a fault leaves (256 messages in a reader of iceoryx) is at most half of
    // the messages.
    let limit = if context.fault(name).is_some() { 2 * FLOOD } else { FLOOD };
    let mut writer = deep(publisher(1, &topic, BYTES, Arrival::Saturation { limit }, 1), DEPTH);
    let mut reader = deep(subscription(2, &topic, BYTES, 1), DEPTH);
    reader.hold_ns = 5 * MS;
    for endpoint in [&mut writer, &mut reader] {
        endpoint.qos.history = history;
        endpoint.qos.reliability = Reliability::Reliable;
    }
    let (mut rig, writer_granted, reader_granted) = slow_reader(context, writer, reader)?;
    rig.start(20_000, 0)?;
    let finished = rig.finished()?;
    let patience_s = if reader_granted.when_full == Some(WhenFull::DropsAtReader) { 1 } else { 10 };
    rig.drain(&finished, Duration::from_secs(patience_s))?;
    let ledger = rig.ledger(1, 2)?;
    let lost = ledger.lost.len();
    let answers = [writer_granted.when_full, reader_granted.when_full];
    let keeps = |answer: &WhenFull| matches!(answer, WhenFull::Blocks | WhenFull::NeverFull);
    let drops = !answers.iter().flatten().all(keeps);
    match (reader_granted.when_full, drops) {
        (None, _) => return Err(format!("{name}: the reader was granted no when_full").into()),
        // The reader makes the writer wait, or has room for all: in both cases no accepted message
        // is lost.
        (Some(answer), _) if keeps(&answer) && lost > 0 => {
            return Err(Finding::NotAsGranted.failure(format!(
                "{name}: granted {answers:?}, yet {lost} of {} accepted messages were lost",
                ledger.accepted
            )));
        }
        (Some(WhenFull::DropsAtReader), _) if lost == 0 => {
            return Err(Finding::NotAsGranted.failure(format!(
                "{name}: granted {answers:?}, yet all of {} messages arrived",
                ledger.accepted
            )));
        }
        _ => {}
    }
    if let Some(Some(WhenFull::DropsAtReader)) = drops.then_some(reader_granted.when_full) {
        // The writer does not wait for such a reader: it ends long before the reader could have
        // consumed as many messages.
        let sent = rig.sent(1)?;
        let (first, last) =
            (sent.first().map_or(0, |s| s.words[3]), sent.last().map_or(0, |s| s.words[RETURNED]));
        let consumed =
            rig.received(2)?.iter().filter(|slot| slot.words[CONSUMED] < last).count() as u64;
        if consumed * 2 > limit {
            let length = (last - first) / MS as u64;
            return Err(Finding::NotAsGranted.failure(format!(
                "{name}: granted {answers:?}, yet the writer waited: {consumed} of {limit} were consumed in its {length} ms"
            )));
        }
    }
    Ok(())
}

/// `take: raw` is granted as raw if the description has it, and is else refused; `typed` is never
/// granted as raw.
pub fn take(context: &Context<'_>) -> Outcome {
    let run = |take: Take| -> Result<Granted, Failure> {
        let mut reader = subscription(2, "take", BYTES, 1);
        reader.take = take;
        let (mut rig, _, typed_granted) =
            slow_reader(context, publisher(1, "take", BYTES, periodic(200), 1), reader)?;
        rig.play(100)?;
        rig.expect_complete(1, 2)?;
        Ok(typed_granted)
    };
    let typed = run(Take::Typed)?;
    if !matches!(typed.take, Some(TakenAs::Typed | TakenAs::Lent)) {
        return Err(format!("asked to take typed, granted {:?}", typed.take));
    }
    if let Some(reason) = context.lacks("take_raw") {
        return match run(Take::Raw) {
            Err(error) if error.is(ErrorKind::Unsupported) => {
                Ok(Verdict::Declared(format!("take_raw: {reason}")))
            }
            Err(error) => Err(format!("take_raw: expected unsupported, found {error}")),
            Ok(_) => Err("take_raw is declared as lacking, yet granted".into()),
        };
    }
    match run(Take::Raw)?.take {
        Some(TakenAs::Raw) => Ok(Verdict::Passed),
        // A lent message is lent, whatever was requested: nothing is serialised.
        Some(TakenAs::Lent) if typed.take == Some(TakenAs::Lent) => Ok(Verdict::Passed),
        other => Err(format!("asked to take raw, granted {other:?}")),
    }
}
