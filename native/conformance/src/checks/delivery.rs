//! Messages arrive: complete, once, in order, from every writer at every reader.

use std::collections::BTreeSet;

use rmwbench_harness::middleware::{ErrorKind, Wait};
use rmwbench_harness::protocol::{Arrival, NodeSpec};

use super::{each_size, lacking};
use crate::failure::{Failure, Finding};
use crate::rig::{node, periodic, publisher, subscription, Rig};
use crate::{Context, Outcome, Verdict};

fn talker(topic: &str, bytes: u32, rate_hz: i64, matches: u32) -> Vec<NodeSpec> {
    vec![node("talker", vec![publisher(1, topic, bytes, periodic(rate_hz), matches)])]
}

fn listener(endpoint: u32, topic: &str, bytes: u32, matches: u32) -> Vec<NodeSpec> {
    vec![node(&format!("listener{endpoint}"), vec![subscription(endpoint, topic, bytes, matches)])]
}

pub fn order(context: &Context<'_>) -> Outcome {
    let mut rig =
        Rig::ready(context, vec![talker("order", 320, 1000, 1), listener(2, "order", 320, 1)])?;
    let finished = rig.play(500)?;
    // On a busy machine the schedule may be late, but it never loses a message.
    if finished[&1].sent != 500 {
        return Err(format!("expected 500 messages of 1 kHz for 0.5 s, found {:?}", finished[&1]));
    }
    rig.expect_complete(1, 2)?;
    for slot in rig.received(2)? {
        let [_, notified, taken, callback, consumed, _] = slot.words;
        if !(0 < notified && notified <= taken && taken <= callback && callback <= consumed) {
            return Err(format!("message {}: stamps out of order: {:?}", slot.seq, slot.words));
        }
    }
    for slot in rig.sent(1)? {
        let [_, intended, begun, call, returned, _] = slot.words;
        if !(intended <= begun && begun <= call && call <= returned) {
            return Err(format!("message {}: stamps out of order: {:?}", slot.seq, slot.words));
        }
    }
    Ok(Verdict::Passed)
}

pub fn wait_modes(context: &Context<'_>) -> Outcome {
    let mut declared = Vec::new();
    for (name, wait) in [("block", Wait::Block), ("poll", Wait::Poll), ("callback", Wait::Callback)]
    {
        let mut listener = listener(2, name, 1000, 1);
        listener[0].endpoints[0].wait = wait;
        let rig = Rig::ready(context, vec![talker(name, 1000, 500, 1), listener]);
        if let Some(reason) = context.lacks(name) {
            match rig {
                Err(error) if error.is(ErrorKind::Unsupported) => {
                    declared.push(format!("{name}: {reason}"))
                }
                Err(error) => return Err(format!("{name}: expected unsupported, found {error}")),
                Ok(_) => {
                    return Err(format!("{name}: declared as lacking, yet the worker granted it"))
                }
            }
            continue;
        }
        let mut rig = rig.map_err(|e| format!("{name}: {e}"))?;
        rig.play(100)?;
        rig.expect_complete(1, 2).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(if declared.is_empty() { Verdict::Passed } else { Verdict::Declared(declared.join("; ")) })
}

pub fn integrity(context: &Context<'_>) -> Outcome {
    each_size(&[64, 65, 71, 1500, 65_000, 65_536, 1 << 20, 6_220_800, 32 << 20], |bytes| {
        let rate_hz = if bytes > 1 << 20 { 10 } else { 100 };
        let topic = format!("size{bytes}");
        let run = || -> Result<(), Failure> {
            let mut rig = Rig::ready(
                context,
                vec![talker(&topic, bytes, rate_hz, 1), listener(2, &topic, bytes, 1)],
            )?;
            rig.play(if rate_hz == 10 { 300 } else { 50 })?;
            rig.expect_complete(1, 2)?;
            Ok(())
        };
        // An arm that repeats nothing may lose all three while the machine is busy; this check is
        // about content.
        let attempts = if context.lacks("reliable").is_some() { 4 } else { 1 };
        let mut outcome = run();
        for _ in 1..attempts {
            if !matches!(&outcome, Err(e) if e.is_any(&[Finding::Lost])) {
                break;
            }
            outcome = run();
        }
        match outcome {
            Err(e) if e.is_any(&[Finding::Lost, Finding::Unheard]) && context.shows("reliable") => {
                Ok(())
            }
            outcome => outcome,
        }
    })
}

pub fn two_writers(context: &Context<'_>) -> Outcome {
    let second = vec![node("talker2", vec![publisher(3, "shared", 500, periodic(700), 1)])];
    let mut rig = Rig::ready(
        context,
        vec![talker("shared", 500, 500, 1), listener(2, "shared", 500, 2), second],
    )?;
    rig.play(200)?;
    rig.expect_complete(1, 2)?;
    rig.expect_complete(3, 2)?;
    Ok(Verdict::Passed)
}

pub fn fan_out(context: &Context<'_>) -> Outcome {
    let mut processes = vec![talker("fan", 5000, 500, 3)];
    processes.extend((2..5).map(|endpoint| listener(endpoint, "fan", 5000, 1)));
    let mut rig = Rig::ready(context, processes)?;
    rig.play(200)?;
    for reader in 2..5 {
        rig.expect_complete(1, reader)?;
    }
    Ok(Verdict::Passed)
}

fn relay(name: &str, input: u32, from: &str, output: u32, to: &str) -> NodeSpec {
    node(
        name,
        vec![
            subscription(input, from, 400, 1),
            publisher(output, to, 400, Arrival::Relay { from: input }, 1),
        ],
    )
}

fn chain() -> Vec<NodeSpec> {
    vec![
        node("source", vec![publisher(1, "a", 400, periodic(200), 1)]),
        relay("first", 2, "a", 3, "b"),
        relay("second", 4, "b", 5, "c"),
        relay("third", 6, "c", 7, "d"),
        node("end", vec![subscription(8, "d", 400, 1)]),
    ]
}

pub fn relay_processes(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["inter_process"]) {
        return declared;
    }
    relayed(Rig::ready(context, chain().into_iter().map(|n| vec![n]).collect())?)
}

pub fn relay_in_process(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["intra_process"]) {
        return declared;
    }
    relayed(Rig::ready(context, vec![chain()])?)
}

/// Every message passes the whole chain, and each copy names the message that caused it.
fn relayed(mut rig: Rig<'_>) -> Outcome {
    rig.start(200, 500)?;
    let finished = rig.finished()?;
    rig.drain(&finished, std::time::Duration::from_secs(5))?;
    for (writer, reader) in [(1, 2), (3, 4), (5, 6), (7, 8)] {
        rig.expect_complete(writer, reader)?;
    }
    for (cause, relay) in [(1, 3), (3, 5), (5, 7)] {
        let causes: BTreeSet<u64> = rig.sent(cause)?.iter().map(|s| s.seq).collect();
        let mut named = BTreeSet::new();
        for slot in rig.sent(relay)? {
            let cause_seq = slot.words[5];
            if slot.peer != cause || !causes.contains(&cause_seq) || !named.insert(cause_seq) {
                return Err(format!(
                    "relay {relay}, message {}: cause {}/{cause_seq} is not a message of {cause}",
                    slot.seq, slot.peer
                ));
            }
        }
        if named != causes && rig.is_reliable() {
            return Err(format!(
                "relay {relay} forwarded {} of {} messages",
                named.len(),
                causes.len()
            ));
        }
    }
    Ok(Verdict::Passed)
}

pub fn twenty_nodes(context: &Context<'_>) -> Outcome {
    if let Some(declared) = lacking(context, &["intra_process"]) {
        return declared;
    }
    let pair = |i: u32| {
        let topic = format!("pair{i}");
        [
            node(&format!("talker{i}"), vec![publisher(2 * i + 1, &topic, 300, periodic(100), 1)]),
            node(&format!("listener{i}"), vec![subscription(2 * i + 2, &topic, 300, 1)]),
        ]
    };
    let mut one = Rig::ready(context, vec![pair(0).to_vec()])?;
    let threads_of_two_nodes = one.collect(0)?.memory.threads;
    drop(one);
    let mut rig = Rig::ready(context, vec![(0..10).flat_map(pair).collect()])?;
    rig.play(200)?;
    for i in 0..10 {
        rig.expect_complete(2 * i + 1, 2 * i + 2)?;
    }
    let threads = rig.collect(0)?.memory.threads;
    // 200 nodes must not need 200 threads: 18 more nodes may not bring 18 more.
    if threads >= threads_of_two_nodes + 18 {
        return Err(format!(
            "2 nodes run on {threads_of_two_nodes} threads, 20 nodes on {threads}"
        ));
    }
    Ok(Verdict::Passed)
}
