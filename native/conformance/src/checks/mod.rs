//! The checks, one function each, in an order in which a failure explains the later ones.

mod delivery;
mod equal;
mod lifecycle;
mod modes;
mod overrun;
mod protocol;
mod qos;
mod services;

use rmwbench_harness::middleware::ErrorKind;

use crate::failure::{Failure, Finding};
use crate::in_process::small_payloads;
use crate::{Context, Outcome, Verdict, SURVIVE};

type Check = fn(&Context<'_>) -> Outcome;

pub const ALL: &[(&str, Check)] = &[
    ("protocol manners", protocol::manners),
    ("exits on end of file", protocol::end_of_file),
    ("order per writer", delivery::order),
    ("wait modes", delivery::wait_modes),
    ("payloads of 0 to 63 bytes, below the recorder", small_payloads),
    ("payload integrity, 64 B to 32 MiB", delivery::integrity),
    ("two writers on one topic", delivery::two_writers),
    ("fan-out 3", delivery::fan_out),
    ("relay chain of 3, a process each", delivery::relay_processes),
    ("relay chain of 3 in one process", delivery::relay_in_process),
    ("20 nodes in one process", delivery::twenty_nodes),
    ("loan path equals copy path", qos::loan),
    ("QoS granted is QoS asked", qos::granted),
    ("ledger under overrun, reliable keep last", overrun::reliable_keep_last),
    ("ledger under overrun, reliable keep all", overrun::reliable_keep_all),
    ("ledger under overrun, best effort keep last", overrun::best_effort_keep_last),
    ("ledger under overrun, best effort keep all", overrun::best_effort_keep_all),
    ("take typed or raw, as granted", equal::take),
    ("one stamp for one message", equal::one_stamp),
    ("a depth is the same room", equal::room),
    ("a flooded topic starves no other", equal::nobody_starves),
    ("a flooded callback lets other topics through", equal::callbacks_end),
    ("a reader is destroyed in traffic", equal::destroyed_in_traffic),
    ("publishers of one process send at once", equal::at_once),
    ("a full queue does what was granted", equal::when_full),
    ("late joiner, volatile", lifecycle::late_joiner),
    ("late joiner, transient local", lifecycle::late_joiner_with_history),
    ("reader leaves", lifecycle::reader_leaves),
    ("writer dies", lifecycle::writer_dies),
    ("a fresh pair after SIGKILL of both", lifecycle::after_kill),
    ("services answer each request once", services::answers),
    ("services, integrity, 64 B to 1 MiB", services::integrity),
    ("services, several clients", services::several_clients),
    ("services, concurrent calls", services::concurrent_calls),
    ("services, requests before the service", services::before_the_service),
    ("services, the service dies", services::service_dies),
    ("modes are granted or refused", modes::accepted_or_refused),
];

/// The reasons for all capabilities that a check needs and the arm lacks; None if it has them all.
fn lacking(context: &Context<'_>, capabilities: &[&str]) -> Option<Outcome> {
    let reason =
        capabilities.iter().find_map(|name| Some(format!("{name}: {}", context.lacks(name)?)))?;
    Some(Ok(Verdict::Declared(reason)))
}

/// Runs a check with each size, from the smallest. An arm may refuse sizes from one on as
/// unsupported, because of a limit of this machine. The smallest must work.
fn each_size(sizes: &[u32], check: impl Fn(u32) -> Result<(), Failure>) -> Outcome {
    for (place, bytes) in sizes.iter().enumerate() {
        match check(*bytes) {
            Err(refusal) if place > 0 && refusal.is(ErrorKind::Unsupported) => {
                return Ok(Verdict::Declared(format!("from {bytes} bytes: {refusal}")))
            }
            outcome => outcome.map_err(|e| format!("{bytes} bytes: {e}"))?,
        }
    }
    Ok(Verdict::Passed)
}

/// For a check that killed a process: how the others continued. A declared fault may end one of
/// them.
fn after_a_kill(context: &Context<'_>, others: Result<(), Failure>) -> Outcome {
    match others {
        Err(error) if error.is_any(&[Finding::Crashed]) && context.shows(SURVIVE) => {
            Ok(Verdict::Passed)
        }
        others => Ok(others.map(|()| Verdict::Passed)?),
    }
}

#[cfg(test)]
mod tests {
    use rmwbench_harness::middleware::{Error, Middleware};
    use serde_json::json;

    use super::*;
    use crate::external::External;
    use crate::Arm;

    #[test]
    fn after_a_kill_a_crash_passes_where_it_is_declared() {
        let external = External::read(&json!({"middleware": "m", "layer": "native",
            "version": "1", "release_date": "2026-01-01", "build": {}, "capabilities": {},
            "profiles": [{"name": "p", "format": "none", "text": ""}]}))
        .unwrap();
        let description = external.describe();
        let undeclared = Arm::profile("p");
        let declared = Arm::profile("p").rare_fault(SURVIVE, "x");
        let outcome = |arm: &Arm, others| {
            let context = Context {
                worker: "",
                middleware: &external,
                description: description.clone(),
                profile: description.profiles[0].clone(),
                arm: arm.clone(),
                shown: Default::default(),
            };
            let passed = after_a_kill(&context, others).is_ok();
            let shown = context.shown().contains(SURVIVE);
            (passed, shown)
        };
        let crash = || Err(Finding::Crashed.failure("x".into()));
        assert_eq!(outcome(&declared, crash()), (true, true));
        assert_eq!(outcome(&undeclared, crash()), (false, false));
        assert_eq!(outcome(&declared, Err("x".into())), (false, false));
        assert_eq!(outcome(&declared, Ok(())), (true, false));
    }

    #[test]
    fn sizes_beyond_what_the_machine_lets_an_arm_have_are_declared() {
        let refusing = |from: u32, failure: &Failure| {
            each_size(&[1, 2, 3], |bytes| match bytes >= from {
                true => Err(failure.clone()),
                false => Ok(()),
            })
        };
        let refusal = Failure::from(Error::unsupported("endpoint 1", "x"));
        let error = Failure::from(Error::failed("endpoint 1", "Unsupported: x"));
        assert!(matches!(refusing(4, &refusal), Ok(Verdict::Passed)));
        assert!(
            matches!(refusing(2, &refusal), Ok(Verdict::Declared(why)) if why == "from 2 bytes: Unsupported: endpoint 1: x")
        );
        assert!(matches!(refusing(1, &refusal), Err(why) if why.starts_with("1 bytes: ")));
        assert!(
            matches!(refusing(3, &error), Err(why) if why == "3 bytes: Failed: endpoint 1: Unsupported: x"),
            "the word alone makes no refusal"
        );
        assert!(refusing(3, &"Unsupported: x".into()).is_err());
    }
}
