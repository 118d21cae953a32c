//! The suite for a worker that cargo does not build: `rmwbench-conformance WORKER [--middleware
//! NAME] [--profile NAME]… [--option K=V]… [--mode K=V]… [--lacks CAPABILITY=REASON]… [--fault
//! NAME=REASON]… [--rare-fault NAME=REASON]… [CHECK]…`. A CHECK is a part of a check's title; all
//! run where none is given. A fault that shows in no check fails the run, unless it is a rare one.

use std::process::ExitCode;

use rmwbench_conformance::{run, Arm, External};
use serde_json::Value;

fn main() -> ExitCode {
    match parsed() {
        Ok((worker, external, arms, checks)) => {
            // This comes before any thread; the workers inherit the variables.
            for (name, value) in &external.environment {
                std::env::set_var(name, value);
            }
            run(&worker, &external, &arms, &checks)
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn parsed() -> Result<(String, External, Vec<Arm>, Vec<String>), String> {
    let mut words = std::env::args().skip(1);
    let worker = words.next().ok_or("expected the path of a worker")?;
    let (mut middleware, mut profiles, mut common, mut checks) =
        (None, Vec::new(), Arm::profile(""), Vec::new());
    while let Some(word) = words.next() {
        if !word.starts_with("--") {
            checks.push(word);
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word}: expected a value"))?;
        let pair = || {
            value
                .split_once('=')
                .ok_or_else(|| format!("{word}: expected NAME=VALUE, found {value}"))
        };
        match word.as_str() {
            "--middleware" => middleware = Some(value),
            "--profile" => profiles.push(value),
            "--option" => common = pair().map(|(k, v)| common.option(k, parsed_value(v)))?,
            "--mode" => common = pair().map(|(k, v)| common.mode(k, parsed_value(v)))?,
            "--lacks" => common = pair().map(|(k, v)| common.lacks(k, v))?,
            "--fault" => common = pair().map(|(k, v)| common.fault(k, v))?,
            "--rare-fault" => common = pair().map(|(k, v)| common.rare_fault(k, v))?,
            _ => return Err(format!("unknown option {word}")),
        }
    }
    if profiles.is_empty() {
        profiles.push("untouched".into());
    }
    let arms = profiles.into_iter().map(|profile| Arm { profile, ..common.clone() }).collect();
    Ok((worker.clone(), External::ask(&worker, middleware.as_deref())?, arms, checks))
}

/// A number or a boolean if the text is one, else text.
fn parsed_value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
        _ => Value::String(text.into()),
    }
}
