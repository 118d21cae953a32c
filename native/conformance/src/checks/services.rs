//! Requests and replies: every request is answered once, to the client that sent it, even if others
//! send requests at the same time.
//!
//! Services promise no order, so that a pool of threads may serve them; the checks compare which
//! request caused which reply.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rmwbench_harness::message_type::MessageType;
use rmwbench_harness::middleware::ErrorKind;
use rmwbench_harness::protocol::{Arrival, EndpointKind, EndpointSpec, NodeSpec};
use rmwbench_harness::records::{received_flag, sent_flag};

use super::after_a_kill;
use crate::failure::Failure;
use crate::rig::{node, periodic, publisher, Finished, Rig};
use crate::{Context, Outcome, Verdict};

const SERVICE: u32 = 9;

fn endpoint(
    number: u32,
    kind: EndpointKind,
    name: &str,
    bytes: (u32, u32),
    matches: u32,
) -> EndpointSpec {
    let (request, reply) = MessageType::service_bytes(bytes.0, bytes.1);
    let plain = publisher(number, name, bytes.0.max(bytes.1), periodic(1), matches);
    EndpointSpec { kind, message_type: request, reply_type: Some(reply), arrival: None, ..plain }
}

fn client(number: u32, name: &str, bytes: (u32, u32), arrival: Arrival) -> EndpointSpec {
    EndpointSpec {
        arrival: Some(arrival),
        ..endpoint(number, EndpointKind::Client, name, bytes, 1)
    }
}

fn service(name: &str, bytes: (u32, u32), clients: u32) -> EndpointSpec {
    endpoint(SERVICE, EndpointKind::Service, name, bytes, clients)
}

/// The reason why the arm has no services, after the worker has answered `unsupported` to both
/// kinds.
fn lacking(context: &Context<'_>) -> Option<Outcome> {
    let reason = context.lacks("services")?;
    for spec in [client(1, "none", (64, 64), periodic(10)), service("none", (64, 64), 1)] {
        let nodes = vec![node("asker", vec![spec])];
        let mut rig = Rig::empty(context);
        let created = rig.open(&[&nodes]).and_then(|place| rig.create(place, nodes));
        match created {
            Err(error) if error.is(ErrorKind::Unsupported) => {}
            Err(error) => return Some(Err(format!("expected unsupported, found {error}"))),
            Ok(_) => {
                return Some(Err(format!(
                    "declared as lacking ({reason}), yet the worker granted it"
                )))
            }
        }
    }
    Some(Ok(Verdict::Declared(format!("services: {reason}"))))
}

/// A client and a service, each in its own process.
pub fn answers(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context) {
        return declared;
    }
    let processes = vec![
        vec![node("asker", vec![client(1, "sum", (100, 300), periodic(200))])],
        vec![node("adder", vec![service("sum", (100, 300), 1)])],
    ];
    let mut rig = Rig::ready(context, processes)?;
    let finished = rig.play(400)?;
    expect_answered(&rig, &finished, &[1])?;
    for (reader, bytes) in [(1, 300), (SERVICE, 100)] {
        for slot in rig.received(reader)? {
            let [_, notified, taken, callback, consumed, _] = slot.words;
            if slot.bytes != bytes
                || !(0 < notified && notified <= taken && taken <= callback && callback <= consumed)
            {
                return Err(format!(
                    "endpoint {reader}, message {}: {} bytes, stamps {:?}",
                    slot.seq, slot.bytes, slot.words
                ));
            }
        }
    }
    let account = rig
        .collect(rig.workers.len() - 1)?
        .endpoints
        .remove(&SERVICE)
        .ok_or("the service has no account")?;
    if account.publish_failures != Some(0) {
        return Err(format!("the service counts {:?} failed replies", account.publish_failures));
    }
    Ok(Verdict::Passed)
}

/// Contents of small and large requests and replies.
pub fn integrity(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context) {
        return declared;
    }
    for bytes in [(64, 64), (71, 65_536), (65_536, 71), (64, 1 << 20), (1 << 20, 64)] {
        let name = format!("size{}_{}", bytes.0, bytes.1);
        let asker = vec![node("asker", vec![client(1, &name, bytes, periodic(50))])];
        let adder = vec![node("adder", vec![service(&name, bytes, 1)])];
        let mut rig = Rig::ready(context, vec![asker, adder])?;
        let finished = rig.play(100)?;
        expect_answered(&rig, &finished, &[1])
            .map_err(|e| format!("{} and {} bytes: {e}", bytes.0, bytes.1))?;
    }
    Ok(Verdict::Passed)
}

/// Clients of three processes, and two of one process, send requests at the same time: each
/// receives its own answers.
pub fn several_clients(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context) {
        return declared;
    }
    let asker = |number: u32| {
        node(&format!("asker{number}"), vec![client(number, "shared", (200, 400), periodic(300))])
    };
    let processes = vec![
        vec![asker(1)],
        vec![asker(2)],
        vec![asker(3), asker(4)],
        vec![node("adder", vec![service("shared", (200, 400), 4)])],
    ];
    let mut rig = Rig::ready(context, processes)?;
    let finished = rig.play(300)?;
    expect_answered(&rig, &finished, &[1, 2, 3, 4])?;
    Ok(Verdict::Passed)
}

/// Ten requests at once, again and again: a client need not wait for one answer before its next
/// request.
pub fn concurrent_calls(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context) {
        return declared;
    }
    let bursts = Arrival::Burst { period_ns: 20_000_000, count: 10, phase_ns: 0 };
    let processes = vec![
        vec![node("asker", vec![client(1, "burst", (100, 100), bursts)])],
        vec![node("adder", vec![service("burst", (100, 100), 1)])],
    ];
    let mut rig = Rig::ready(context, processes)?;
    let finished = rig.play(300)?;
    expect_answered(&rig, &finished, &[1])?;
    Ok(Verdict::Passed)
}

/// Requests from before the service exists are answered later or never, and never wrongly; later
/// requests are answered.
pub fn before_the_service(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context) {
        return declared;
    }
    let asker = vec![node("asker", vec![client(1, "later", (100, 100), periodic(200))])];
    let adder = vec![node("adder", vec![service("later", (100, 100), 1)])];
    let mut rig = Rig::empty(context);
    let (asking, adding) = if context.lacks("inter_process").is_some() {
        let place = rig.open(&[&asker, &adder])?;
        (place, place)
    } else {
        (rig.open(&[&asker])?, rig.open(&[&adder])?)
    };
    rig.create(asking, asker)?;
    // Fast DDS as installed can need three seconds to discover a participant whose first
    // announcement it missed.
    rig.start(4_500, 7_000)?;
    sleep(Duration::from_millis(300));
    rig.create(adding, adder)?;
    // Its schedule began without it: a service also answers before its own `start`, which only sets
    // when it ends.
    rig.start_late(adding, 7_000)?;
    let mut finished = rig.finished()?;
    let last = finished[&1].last_seq.ok_or("the client sent nothing")?;
    let deadline = Instant::now() + Duration::from_secs(5);
    while !rig.answered(1)?.contains_key(&last) && Instant::now() < deadline {
        sleep(Duration::from_millis(20));
    }
    rig.end_services(&mut finished)?;
    expect_right(&rig, &[1])?;
    let answered = rig.answered(1)?;
    // Four seconds after the start, and after the service came.
    let unanswered: Vec<u64> =
        (last.saturating_sub(99)..=last).filter(|seq| !answered.contains_key(seq)).collect();
    if context.lacks("reliable").is_none() && !unanswered.is_empty() {
        return Err(format!("of the last 100 requests, sent long after the service came, {unanswered:?} were never answered"));
    }
    Ok(Verdict::Passed)
}

/// A service is killed: its clients continue, and the next service with that name answers them.
pub fn service_dies(context: &Context<'_>) -> Outcome {
    if let Some(declared) = super::lacking(context, &["inter_process"]).or_else(|| lacking(context))
    {
        return declared;
    }
    let asker = vec![node("asker", vec![client(1, "mortal", (100, 100), periodic(200))])];
    let first = vec![node("adder", vec![service("mortal", (100, 100), 1)])];
    let second = vec![node(
        "adder",
        vec![EndpointSpec { endpoint: 19, ..service("mortal", (100, 100), 1) }],
    )];
    let mut rig = Rig::ready(context, vec![first, asker])?;
    rig.start(5_000, 7_000)?; // as above
    sleep(Duration::from_millis(300));
    rig.workers[0].kill()?;
    after_a_kill(context, next_service_answers(&mut rig, second))
}

/// The next service answers the client at place 1, whose service was killed.
fn next_service_answers(rig: &mut Rig<'_>, second: Vec<NodeSpec>) -> Result<(), Failure> {
    let before = rig.answered(1)?.len();
    // This is long enough for more requests than the client's history holds.
    sleep(Duration::from_millis(300));
    let place = rig.open(&[&second])?;
    rig.create(place, second)?;
    let deadline = Instant::now() + Duration::from_secs(10);
    let finished = |rig: &Rig<'_>| {
        rig.workers[1].events.iter().any(|e| Finished::of(e).is_some_and(|f| f.endpoint == 1))
    };
    while !finished(rig) && Instant::now() < deadline {
        rig.workers[1].pump(Instant::now() + Duration::from_millis(100))?;
    }
    sleep(Duration::from_millis(300));
    let by_second = rig.received(1)?.iter().filter(|s| s.peer == 19).count();
    let unheard = rig.context.lacks("reliable").is_none() && by_second == 0;
    if before == 0 || (unheard && !rig.context.shows("services, the service dies")) {
        let heard = rig.received(19)?.len();
        return Err(format!("{before} answers before the service was killed, {by_second} of the service that came after it, which got {heard} requests").into());
    }
    Ok(())
}

/// All replies are right, and with a reliable arm all requests were answered (unless its fault is
/// known).
fn expect_answered(
    rig: &Rig<'_>,
    finished: &BTreeMap<u32, Finished>,
    clients: &[u32],
) -> Result<(), String> {
    expect_right(rig, clients)?;
    let replies = rig.sent(SERVICE)?.len() as u64;
    let end = &finished[&SERVICE];
    if end.sent + end.failed != replies || end.never_sent != 0 {
        return Err(format!("the service counts {end:?}, its records {replies} replies"));
    }
    for client in clients {
        let request_count =
            rig.sent(*client)?.iter().filter(|s| s.flags & sent_flag::FAILED == 0).count();
        let answered = rig.answered(*client)?.len();
        if request_count == 0
            || answered == 0
            || (rig.is_reliable() && answered != request_count && !rig.context.shows("services"))
        {
            return Err(format!(
                "client {client} asked {request_count} times and was answered {answered} times"
            ));
        }
    }
    Ok(())
}

/// What no service may do wrong, whatever the QoS.
fn expect_right(rig: &Rig<'_>, clients: &[u32]) -> Result<(), String> {
    let replies = dense(SERVICE, rig.sent(SERVICE)?.iter().map(|s| s.seq))?;
    let mut requests = BTreeSet::new();
    for client in clients {
        let request_count = dense(*client, rig.sent(*client)?.iter().map(|s| s.seq))?;
        requests.extend((0..request_count).map(|seq| (*client, seq)));
    }
    let mut handled = BTreeSet::new();
    for slot in rig.received(SERVICE)? {
        intact(SERVICE, slot.flags, slot.seq)?;
        if !requests.contains(&(slot.peer, slot.seq)) {
            return Err(format!(
                "the service got request {} of {}, which was never sent",
                slot.seq, slot.peer
            ));
        }
        if !handled.insert((slot.peer, slot.seq)) {
            return Err(format!("the service got request {} of {} twice", slot.seq, slot.peer));
        }
    }
    let mut causes = BTreeSet::new();
    for slot in rig.sent(SERVICE)? {
        let cause = (slot.peer, slot.words[5]);
        if !handled.contains(&cause) || !causes.insert(cause) {
            return Err(format!("reply {}: its cause {cause:?} is not a request that the service got, or was answered before", slot.seq));
        }
    }
    for client in clients {
        let mut heard = BTreeSet::new();
        for slot in rig.received(*client)? {
            intact(*client, slot.flags, slot.seq)?;
            if slot.peer != SERVICE || slot.seq >= replies || !heard.insert(slot.seq) {
                return Err(format!(
                    "client {client} got reply {} of {}, which was never sent, or got it twice",
                    slot.seq, slot.peer
                ));
            }
        }
        let own: BTreeSet<u64> = rig.answered(*client)?.into_values().collect();
        if let Some(other) = heard.difference(&own).next() {
            return Err(format!("client {client} got reply {other}, which is another client's"));
        }
    }
    Ok(())
}

fn dense(endpoint: u32, seqs: impl Iterator<Item = u64>) -> Result<u64, String> {
    let seqs: BTreeSet<u64> = seqs.collect();
    match seqs.iter().enumerate().find(|(place, seq)| *place as u64 != **seq) {
        None => Ok(seqs.len() as u64),
        Some((place, seq)) => Err(format!(
            "endpoint {endpoint}: sequence number {seq} in place {place}: expected a dense series"
        )),
    }
}

fn intact(reader: u32, flags: u32, seq: u64) -> Result<(), String> {
    match flags & (received_flag::CORRUPT | received_flag::FOREIGN) {
        0 => Ok(()),
        _ => {
            Err(format!("endpoint {reader}, message {seq}: corrupt or foreign (flags {flags:#x})"))
        }
    }
}
