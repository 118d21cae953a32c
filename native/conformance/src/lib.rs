//! One suite that every middleware passes, driven as a trial by the orchestrator: real worker
//! processes over the protocol, their records read from the memfd, inside namespaces of their own.
//!
//! A middleware's crate runs it from `tests/conformance.rs` (without libtest, because namespaces
//! are made before any thread):
//!
//! ```text
//! fn main() -> std::process::ExitCode {
//!     rmwbench_conformance::main(env!("CARGO_BIN_EXE_rmwbench-floor"), &rmwbench_floor::Floor, &[Arm::profile("untouched")])
//! }
//! ```
//!
//! Tests of properties of one middleware alone are in its crate, on the traits; [`pair`] and
//! [`isolated`] are for them.
//!
//! What a middleware lacks it declares as a capability (`no: REASON`); the suite then checks that
//! the worker *answers* `unsupported` and reports the check as declared, never as passed. A check
//! that fails is run once more only if [`starved`] proves that the machine did not run threads that
//! were ready.

mod checks;
mod daemons;
mod external;
mod failure;
pub mod features;
mod host;
mod in_process;
mod isolated;
pub mod open_files;
pub mod pair;
mod process;
mod rig;
mod skipped;
mod starved;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

pub use daemons::Daemons;
pub use external::External;
pub use isolated::{isolated, isolated_but_may_crash};
use rmwbench_harness::middleware::{Description, Middleware, Profile};
use serde_json::Value;
pub use skipped::skipped;

/// One configuration for a run of the whole suite.
#[derive(Clone, Debug)]
pub struct Arm {
    pub profile: String,
    pub options: BTreeMap<String, Value>,
    /// Modes with which every session opens, besides the mode that a check is about.
    pub modes: BTreeMap<String, Value>,
    /// Capabilities that this arm lacks although the middleware has them: (name, reason).
    pub lacks: Vec<(String, String)>,
    pub faults: Vec<Fault>,
    /// The checks to run if the arguments select none, as parts of their titles; all checks if this
    /// is empty, too.
    pub checks: Vec<String>,
}

/// A property that an arm grants and does not fully have, because of a fault of its library that
/// has a reproducer.
#[derive(Clone, Debug)]
pub struct Fault {
    /// A capability, a level of a mode (`mode transport tcp`), a check, [`MATCH`], or [`SURVIVE`].
    pub name: String,
    pub reason: String,
    /// Whether it shows in every run of the suite: if it then does not, the fault is gone, and its
    /// declaration fails. Otherwise it shows now and then.
    pub always: bool,
}

/// The fault of an arm whose endpoints may fail to match although nothing separates them.
pub const MATCH: &str = "match";

/// The fault of an arm whose processes may crash because another process was killed.
pub const SURVIVE: &str = "survive";

impl Arm {
    pub fn profile(name: &str) -> Arm {
        Arm {
            profile: name.into(),
            options: BTreeMap::new(),
            modes: BTreeMap::new(),
            lacks: Vec::new(),
            faults: Vec::new(),
            checks: Vec::new(),
        }
    }

    pub fn option(mut self, key: &str, value: impl Into<Value>) -> Arm {
        self.options.insert(key.into(), value.into());
        self
    }

    pub fn mode(mut self, name: &str, level: impl Into<Value>) -> Arm {
        self.modes.insert(name.into(), level.into());
        self
    }

    pub fn checks(mut self, titles: &[&str]) -> Arm {
        self.checks = titles.iter().map(ToString::to_string).collect();
        self
    }

    pub fn lacks(mut self, capability: &str, reason: &str) -> Arm {
        self.lacks.push((capability.into(), reason.into()));
        self
    }

    /// Declares a fault that shows whenever the suite runs.
    pub fn fault(self, name: &str, reason: &str) -> Arm {
        self.with_fault(name, reason, true)
    }

    /// Declares a fault that shows now and then.
    pub fn rare_fault(self, name: &str, reason: &str) -> Arm {
        self.with_fault(name, reason, false)
    }

    fn with_fault(mut self, name: &str, reason: &str, always: bool) -> Arm {
        self.faults.push(Fault { name: name.into(), reason: reason.into(), always });
        self
    }

    fn name(&self) -> String {
        let options: Vec<String> =
            self.options.iter().chain(&self.modes).map(|(k, v)| format!("{k}={v}")).collect();
        [vec![self.profile.clone()], options].concat().join(" ")
    }
}

/// The result of a check.
pub enum Verdict {
    Passed,
    /// The middleware declares that it lacks this, and why; the worker answered `unsupported` if
    /// this was requested. Or a declared fault showed.
    Declared(String),
}

/// The data for a check.
pub struct Context<'a> {
    pub worker: &'a str,
    pub middleware: &'a dyn Middleware,
    pub description: Description,
    pub profile: Profile,
    pub arm: Arm,
    /// The declared faults that showed in the present check, by name.
    shown: Mutex<BTreeSet<String>>,
}

impl Context<'_> {
    /// The reason why this arm lacks a capability, or None if it has it (fully or partly).
    pub fn lacks(&self, capability: &str) -> Option<String> {
        let own = self
            .arm
            .lacks
            .iter()
            .find(|(name, _)| name == capability)
            .map(|(_, reason)| reason.clone());
        let declared = || {
            self.description
                .capabilities
                .get(capability)
                .and_then(|a| a.strip_prefix("no: "))
                .map(str::to_string)
        };
        own.or_else(declared)
    }

    /// The reason why this arm does not behave as it grants, or None.
    pub fn fault(&self, name: &str) -> Option<String> {
        self.arm.faults.iter().find(|fault| fault.name == name).map(|fault| fault.reason.clone())
    }

    /// The same for a fault that shows only now and then.
    pub fn rare_fault(&self, name: &str) -> Option<String> {
        self.arm
            .faults
            .iter()
            .find(|fault| fault.name == name && !fault.always)
            .map(|fault| fault.reason.clone())
    }

    /// Whether the failure that a check has just found is a declared fault; the check is then
    /// passed as declared. Call it only then.
    pub fn shows(&self, name: &str) -> bool {
        let declared = self.fault(name).is_some();
        if declared {
            self.shown().insert(name.into());
        }
        declared
    }

    fn shown(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.shown.lock().unwrap_or_else(|e| e.into_inner())
    }
}

pub(crate) type Outcome = Result<Verdict, String>;

/// Runs every check with every arm; arguments are substrings that select checks. Exit code 1 if one
/// fails; 0, and a line that begins `SKIPPED`, if no namespaces can be made.
///
/// Several arms are run by this program again, each in a process and namespaces of its own,
/// `AT_A_TIME` of them at once: a middleware may keep state for a whole process, and checks mostly
/// wait.
pub fn main(worker: &str, middleware: &dyn Middleware, arms: &[Arm]) -> ExitCode {
    let arm_number = env::var(ARM).ok().and_then(|number| number.parse::<usize>().ok());
    if let Some(arm) = arm_number.and_then(|number| arms.get(number)) {
        return alone(worker, middleware, arm);
    }
    if said_why_not(middleware) {
        return ExitCode::SUCCESS;
    }
    let part = part(arms.len());
    if part.is_empty() {
        println!("{} has one arm, and its checks are run by `make test`", arms[0].name());
        return ExitCode::SUCCESS;
    }
    if let [arm] = arms {
        return alone(worker, middleware, arm);
    }
    let (name, filters) = (middleware.describe().middleware, filters());
    let chosen: Vec<usize> = part
        .filter(|number| {
            let arm = &arms[*number];
            checks::ALL.iter().any(|(check, _)| selects(&filters, &title(&name, arm, check)))
        })
        .collect();
    if chosen.is_empty() {
        eprintln!("no check has one of {filters:?} in its title");
    }
    let this = env::current_exe().expect("/proc is mounted");
    let succeeds = |number: usize| {
        let mut command = Command::new(&this);
        command.args(env::args_os().skip(1)).env(ARM, number.to_string());
        command.status().expect("this program starts").success()
    };
    let (next, succeeded) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(number) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    succeeded.fetch_add(usize::from(succeeds(*number)), Ordering::Relaxed);
                }
            });
        }
    });
    let all = !chosen.is_empty() && succeeded.into_inner() == chosen.len();
    ExitCode::from(u8::from(!all))
}

fn alone(worker: &str, middleware: &dyn Middleware, arm: &Arm) -> ExitCode {
    let mut checks = filters();
    if checks.is_empty() {
        checks = arm.checks.clone();
    }
    run(worker, middleware, std::slice::from_ref(arm), &checks)
}

/// Which of `arms` to run: `make test` runs the first of every worker, and CI the others after it;
/// without the variable all.
fn part(arms: usize) -> Range<usize> {
    match env::var(PART).as_deref() {
        Ok("first") => 0..1,
        Ok("rest") => 1..arms,
        _ => 0..arms,
    }
}

const PART: &str = "RMWBENCH_CONFORMANCE";
/// The number of the only arm to run.
const ARM: &str = "RMWBENCH_CONFORMANCE_ARM";
/// An arm's checks mostly wait: two of Zenoh's take a fifth of a processor each.
const AT_A_TIME: usize = 2;

fn title(middleware: &str, arm: &Arm, check: &str) -> String {
    format!("{middleware} {}: {check}", arm.name())
}

/// Whether a check with this title is to run.
fn selects(filters: &[String], title: &str) -> bool {
    filters.is_empty() || filters.iter().any(|part| title.contains(part.as_str()))
}

/// Whether the suite cannot run here; it is then skipped, and the reason is printed.
fn said_why_not(middleware: &dyn Middleware) -> bool {
    let reason = isolated::why_not();
    if let Some(reason) = reason {
        let test = format!("conformance of {}", middleware.describe().middleware);
        skipped(&test, &format!("no namespaces can be made here: {reason}"));
    }
    reason.is_some()
}

fn filters() -> Vec<String> {
    env::args().skip(1).filter(|a| !a.starts_with('-')).collect()
}

/// Runs the checks whose titles contain one of `filters`, all checks if there are none; exit code 1
/// also if no namespaces can be made.
pub fn run(
    worker: &str,
    middleware: &dyn Middleware,
    arms: &[Arm],
    filters: &[String],
) -> ExitCode {
    if let Err(error) = host::isolate() {
        eprintln!("conformance needs namespaces of its own: {error}\n  do: run as root, or allow unprivileged user namespaces");
        return ExitCode::FAILURE;
    }
    let description = middleware.describe();
    let (mut passed, mut starved, mut declared, mut failed) = (0, 0, 0, 0);
    for arm in arms {
        let Some(profile) = description.profiles.iter().find(|p| p.name == arm.profile).cloned()
        else {
            println!(
                "test {} {} ... FAILED\n    the worker embeds no profile of this name",
                description.middleware,
                arm.name()
            );
            failed += 1;
            continue;
        };
        let shown = Mutex::default();
        let context = Context {
            worker,
            middleware,
            description: description.clone(),
            profile,
            arm: arm.clone(),
            shown,
        };
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut ran = 0;
        for (name, check) in checks::ALL {
            let title = title(&description.middleware, arm, name);
            if !selects(filters, &title) {
                continue;
            }
            ran += 1;
            let mut tried = attempt(&context, *check);
            if let (Err(message), true) = (&tried.outcome, tried.machine.starved()) {
                println!(
                    "test {title} ... STARVED, and is run again: {}\n    {}",
                    tried.machine,
                    indented(message)
                );
                starved += 1;
                tried = attempt(&context, *check);
            }
            let seconds = tried.seconds;
            let shown = std::mem::take(&mut *context.shown());
            let reasons: Vec<String> =
                shown.iter().filter_map(|name| context.fault(name)).collect();
            shown.into_iter().for_each(|name| *seen.entry(name).or_default() += 1);
            match tried.outcome {
                Ok(Verdict::Passed) if !reasons.is_empty() => {
                    println!("test {title} ... declared fault: {}", reasons.join("; "));
                    declared += 1;
                }
                Ok(Verdict::Passed) => {
                    println!("test {title} ... ok ({seconds:.1} s)");
                    passed += 1;
                }
                Ok(Verdict::Declared(reason)) => {
                    println!("test {title} ... declared: {reason}");
                    declared += 1;
                }
                Err(message) => {
                    println!(
                        "test {title} ... FAILED ({seconds:.1} s; {})\n    {}",
                        tried.machine,
                        indented(&message)
                    );
                    failed += 1;
                }
            }
        }
        for fault in &arm.faults {
            let title = title(&description.middleware, arm, &format!("fault {:?}", fault.name));
            match seen.get(&fault.name) {
                Some(checks) if !fault.always && *checks > 1 + ran / 4 => {
                    println!("test {title} ... FAILED\n    it showed in {checks} of {ran} checks, and is declared as a rare one");
                    failed += 1;
                }
                Some(checks) => println!("{title} showed in {checks} checks"),
                // Only a whole run shows that a fault is gone.
                None if !filters.is_empty() => {}
                None if fault.always => {
                    println!("test {title} ... FAILED\n    it showed in no check: remove the declaration ({})", fault.reason);
                    failed += 1;
                }
                None => println!("{title} did not show this time"),
            }
        }
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; {declared} declared as lacking; {starved} run again on a starved machine"
    );
    if failed == 0 && passed + declared > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// One run of a check: its result, its duration, and whether the machine let it run.
struct Attempt {
    outcome: Outcome,
    seconds: f64,
    machine: starved::Machine,
}

/// The daemons belong to the attempt, since a state that one check leaves in a daemon must not
/// explain another's failure.
fn attempt(context: &Context<'_>, check: fn(&Context<'_>) -> Outcome) -> Attempt {
    context.shown().clear();
    let began = Instant::now();
    let watch = starved::Watch::start();
    let outcome = Daemons::start_with_modes(
        context.worker,
        context.middleware,
        &context.profile,
        &context.arm.options,
        &context.arm.modes,
    )
    .and_then(|_daemons| caught(|| check(context)))
    .or_else(|message| match context.shown().contains(MATCH) {
        true => Ok(Verdict::Passed),
        false => Err(message),
    });
    let machine = watch.stop();
    let seconds = began.elapsed().as_secs_f64();
    host::sweep();
    Attempt { outcome, seconds, machine }
}

/// A panic is a failure of its check: the processes that it started are gone by then, and the next
/// check begins.
fn caught(check: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(check))
        .unwrap_or_else(|_| Err("the check panicked, as is told above".into()))
}

fn indented(message: &str) -> String {
    message.replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_panics_has_failed() {
        assert!(caught(|| panic!("as this test means it")).is_err());
        assert!(matches!(caught(|| Ok(Verdict::Passed)), Ok(Verdict::Passed)));
    }
}
