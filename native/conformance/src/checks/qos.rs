//! The granted QoS is the requested one, and a loan carries the same bytes as a copy.

use std::collections::BTreeSet;

use rmwbench_harness::middleware::{ErrorKind, Granted};
use rmwbench_harness::qos::{Durability, History, Qos, Reliability};

use super::{each_size, lacking};
use crate::failure::Failure;
use crate::rig::{node, periodic, publisher, subscription, Rig};
use crate::{Context, Outcome, Verdict};

pub fn granted(context: &Context<'_>) -> Outcome {
    let mut declared = BTreeSet::new();
    let mut endpoint = 0;
    for (reliability, reliability_name) in
        [(Reliability::Reliable, "reliable"), (Reliability::BestEffort, "best_effort")]
    {
        for (history, history_name, depth) in [
            (History::KeepLast, "keep_last", 1),
            (History::KeepLast, "keep_last", 7),
            (History::KeepAll, "keep_all", 10),
        ] {
            for (durability, durability_name) in
                [(Durability::Volatile, ""), (Durability::TransientLocal, "transient_local")]
            {
                endpoint += 2;
                let requested = Qos { reliability, durability, history, depth, ..Qos::default() };
                let what = format!("{reliability_name} {history_name} {depth} {durability_name}");
                let topic = format!("qos{endpoint}");
                let mut writer = publisher(endpoint, &topic, 100, periodic(10), 0);
                let mut reader = subscription(endpoint + 1, &topic, 100, 0);
                (writer.qos, reader.qos) = (requested.clone(), requested.clone());
                let nodes = vec![node("talker", vec![writer]), node("listener", vec![reader])];
                let mut rig = Rig::empty(context);
                rig.open(&[&nodes])?;
                let reply = rig.create_exactly(0, nodes);
                let lacks = [reliability_name, history_name, durability_name]
                    .iter()
                    .find_map(|name| Some(format!("{name}: {}", context.lacks(name)?)));
                match (reply, lacks) {
                    (Err(error), Some(reason)) if error.is(ErrorKind::Unsupported) => {
                        declared.insert(reason);
                    }
                    (Err(error), _) => return Err(format!("{what}: {error}")),
                    (Ok(_), Some(reason)) => {
                        return Err(format!("{what}: declared as lacking ({reason}), yet granted"))
                    }
                    (Ok(reply), None) => {
                        for endpoint in [endpoint, endpoint + 1] {
                            let granted: Granted = serde_json::from_value(
                                reply["endpoints"][endpoint.to_string()].clone(),
                            )
                            .map_err(|e| format!("{what}: endpoint {endpoint}: {e}"))?;
                            expect_same(&requested, &granted)
                                .map_err(|e| format!("{what}: endpoint {endpoint}: {e}"))?;
                        }
                    }
                }
            }
        }
    }
    let declared: Vec<String> = declared.into_iter().collect();
    Ok(if declared.is_empty() { Verdict::Passed } else { Verdict::Declared(declared.join("; ")) })
}

fn expect_same(requested: &Qos, granted: &Granted) -> Result<(), String> {
    let same = requested.reliability == granted.qos.reliability
        && requested.durability == granted.qos.durability
        && requested.history == granted.qos.history
        && (requested.history == History::KeepAll || requested.depth == granted.qos.depth);
    if same {
        Ok(())
    } else {
        Err(format!("asked {requested:?}, granted {:?}", granted.qos))
    }
}

pub fn loan(context: &Context<'_>) -> Outcome {
    let run = |bytes: u32| -> Result<(), Failure> {
        let topic = format!("loan{bytes}");
        let mut writer = publisher(1, &topic, bytes, periodic(100), 1);
        writer.loan = true;
        let reader = subscription(2, &topic, bytes, 1);
        let mut rig = Rig::ready(
            context,
            vec![vec![node("talker", vec![writer])], vec![node("listener", vec![reader])]],
        )?;
        let finished = rig.play(100)?;
        if finished[&1].failed > 0 {
            return Err(format!("{:?}", finished[&1]).into());
        }
        rig.expect_complete(1, 2)?;
        Ok(())
    };
    if let Some(declared) = lacking(context, &["loan"]) {
        return match run(1000) {
            Err(error) if error.is(ErrorKind::Unsupported) => declared,
            Err(error) => Err(format!("expected unsupported, found {error}")),
            Ok(()) => Err("declared as lacking, yet loans work".into()),
        };
    }
    each_size(&[64, 1000, 1 << 20], run)
}
