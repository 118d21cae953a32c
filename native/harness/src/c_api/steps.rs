//! Steps of a manager of lifecycle nodes, from middlewares in C or C++: each becomes an event of
//! the protocol at once, from any thread. A manager makes a few calls for each node, so an event
//! per step costs little, and its progress is known even if it stops early.

use std::ffi::{c_char, CStr};
use std::sync::OnceLock;

use crate::control::Reporter;
use crate::protocol::{Event, Step, StepOutcome};

static REPORTER: OnceLock<Reporter> = OnceLock::new();

/// Sets where this process reports. A process runs one trial: only the first call counts.
pub(crate) fn remember(reporter: &Reporter) {
    let _ = REPORTER.set(reporter.clone());
}

/// # Safety
/// `node` is text that ends with a NUL.
#[no_mangle]
unsafe extern "C" fn rmwbench_step(
    node: *const c_char,
    step: i32,
    outcome: i32,
    asked_ns: i64,
    answered_ns: i64,
) {
    let (Some(reporter), Some(step), Some(outcome)) =
        (REPORTER.get(), step_of(step), outcome_of(outcome))
    else {
        return;
    };
    let node = CStr::from_ptr(node).to_string_lossy().into_owned();
    reporter.report(Event::Step { node, step, outcome, asked_ns, time_ns: answered_ns });
}

/// The step with this number in the header; None for a number that the header does not have.
fn step_of(number: i32) -> Option<Step> {
    [Step::Service, Step::Configure, Step::Activate].get(usize::try_from(number).ok()?).copied()
}

fn outcome_of(number: i32) -> Option<StepOutcome> {
    [StepOutcome::Done, StepOutcome::TimedOut, StepOutcome::Refused]
        .get(usize::try_from(number).ok()?)
        .copied()
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::control::{Control, Woken};

    #[test]
    fn a_step_is_an_event_and_a_number_that_the_header_lacks_is_not() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut control = Control::new(OwnedFd::from(ours)).unwrap();
        remember(&control.reporter());
        // SAFETY: the text ends with a NUL.
        unsafe {
            rmwbench_step(c"amcl".as_ptr(), 3, 0, 1, 2);
            rmwbench_step(c"amcl".as_ptr(), 1, 1, 5, 7);
        }
        let Woken::Event(event) = control.wait(Some(0)) else { panic!("nothing was reported") };
        let event_text = serde_json::to_string(&event).unwrap();
        assert_eq!(
            event_text,
            r#"{"event":"step","node":"amcl","step":"configure","outcome":"timed_out","asked_ns":5,"time_ns":7}"#
        );
        assert!(matches!(control.wait(Some(0)), Woken::TimedOut), "step 3 does not exist");
    }
}
