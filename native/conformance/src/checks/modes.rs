//! Modes: each level in the description works or is refused with a reason, and the worker reports
//! the configuration in force.

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{Configuration, ErrorKind};
use rmwbench_harness::modes::{Levels, MODES};
use serde_json::{json, Value};

use crate::failure::Failure;
use crate::rig::{node, periodic, publisher, subscription, Rig};
use crate::{Context, Daemons, Outcome, Verdict};

/// Modes whose levels need more than a worker to carry messages: a server, keys.
const OPENED_ONLY: [&str; 2] = ["discovery", "security"];

pub fn accepted_or_refused(context: &Context<'_>) -> Outcome {
    refused(context, "speed", json!(1), ErrorKind::Invalid)?;
    let mut refusals = Vec::new();
    for (name, levels) in MODES {
        refused(context, name, json!({}), ErrorKind::Invalid)?;
        let described =
            context.description.modes.get(name).map_or("no: not described", String::as_str);
        for level in levels_of(name, levels) {
            let words = level.as_str().map_or_else(|| level.to_string(), str::to_owned);
            if described.starts_with("no: ")
                || !described.split('|').any(|d| d == words || d == "N")
            {
                refused(context, name, level, ErrorKind::Unsupported)?;
                continue;
            }
            match carries(context, name, &level) {
                Ok(()) => {}
                // The arm's own options may contradict the mode.
                Err(error) if error.is(ErrorKind::Unsupported) || error.is_invalid_option() => {
                    refusals.push(format!("{name} {words}: {error}"))
                }
                Err(_) if context.shows(&format!("mode {name} {words}")) => {}
                Err(error) => return Err(format!("mode {name} {words}: {error}")),
            }
        }
    }
    if let Some((name, _)) = context
        .description
        .modes
        .iter()
        .find(|(name, _)| !MODES.iter().any(|(known, _)| known == name))
    {
        return Err(format!(
            "the description names mode {name}, which the vocabulary does not know"
        ));
    }
    Ok(if refusals.is_empty() {
        Verdict::Passed
    } else {
        Verdict::Declared(format!("with this profile, {}", refusals.join("; ")))
    })
}

fn levels_of(name: &str, levels: Levels) -> Vec<Value> {
    match levels {
        Levels::Named(names) => names.iter().map(|name| json!(name)).collect(),
        Levels::TrueOrFalse => vec![json!(true), json!(false)],
        Levels::Number => vec![json!(match name {
            "threads" => 2,
            _ => 64 << 20,
        })],
    }
}

fn one_mode(name: &str, level: &Value) -> BTreeMap<String, Value> {
    BTreeMap::from([(name.to_string(), level.clone())])
}

fn refused(context: &Context<'_>, name: &str, level: Value, kind: ErrorKind) -> Result<(), String> {
    match Rig::empty(context).open_with_modes(&[], one_mode(name, &level)) {
        Err(error) if error.is(kind) && error.text.contains(&format!("mode {name}: ")) => Ok(()),
        other => Err(format!(
            "mode {name} {level}: expected {kind:?} about mode {name}, found {other:?}"
        )),
    }
}

/// Opens with the mode and lets a pair exchange messages; an arm may refuse the level, or the
/// pair's QoS with it.
fn carries(context: &Context<'_>, name: &str, level: &Value) -> Result<(), Failure> {
    let topic = format!("mode_{name}");
    let talker = vec![node("talker", vec![publisher(1, &topic, 1000, periodic(200), 1)])];
    let listener = vec![node("listener", vec![subscription(2, &topic, 1000, 1)])];
    let _daemons = Daemons::start_for_mode(context, name, level)?;
    let mut rig = Rig::empty(context);
    let apart = context.lacks("inter_process").is_none() && level != "intra_process";
    let processes = if apart { vec![talker, listener] } else { vec![[talker, listener].concat()] };
    for nodes in &processes {
        let (_, opened) = rig.open_with_modes(&[nodes], one_mode(name, level))?;
        let configuration: Option<Configuration> = opened
            .get("configuration")
            .map(|c| serde_json::from_value(c.clone()))
            .transpose()
            .map_err(|e| format!("configuration: {e}"))?;
        if configuration.is_none_or(|c| c.format.is_empty() || c.text.trim().is_empty())
            && context.profile.format != "none"
        {
            return Err(format!("opened without telling its configuration ({opened})").into());
        }
    }
    if OPENED_ONLY.contains(&name) {
        return Ok(());
    }
    for (place, nodes) in processes.into_iter().enumerate() {
        rig.create(place, nodes)?;
    }
    rig.barrier()?;
    rig.play(100)?;
    match rig.ledger(1, 2)?.arrived {
        0 => Err("no message arrived".into()),
        _ => Ok(()),
    }
}
