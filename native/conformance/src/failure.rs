//! A failure of a check, with the worker's own error if it answered one: a refusal is recognised by
//! its kind, and a failure that a declared fault may explain by its finding, never by a word in a
//! text.

use std::fmt;

use rmwbench_harness::middleware::{Error, ErrorKind};

/// A finding of the suite itself that may be due to a declared fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A signal ended the worker.
    Crashed,
    /// A reader received no probe of a writer with which it had matched.
    Unheard,
    Lost,
    /// A message is corrupt, or is not of this trial.
    Damaged,
    Overtaken,
    /// The behaviour differs from what was granted.
    NotAsGranted,
}

impl Finding {
    pub fn failure(self, text: String) -> Failure {
        Failure { answer: None, finding: Some(self), text }
    }
}

#[derive(Clone, Debug)]
pub struct Failure {
    /// The worker's answer; None for a finding of the check itself.
    pub answer: Option<Error>,
    pub finding: Option<Finding>,
    pub text: String,
}

impl Failure {
    pub fn is(&self, kind: ErrorKind) -> bool {
        self.answer.as_ref().is_some_and(|error| error.kind == kind)
    }

    /// Whether the suite's finding is one of these.
    pub fn is_any(&self, of: &[Finding]) -> bool {
        self.finding.is_some_and(|finding| of.contains(&finding))
    }

    /// Whether an option contradicts itself, or another setting.
    pub fn is_invalid_option(&self) -> bool {
        self.is(ErrorKind::Invalid)
            && self.answer.as_ref().is_some_and(|error| error.object.starts_with("option "))
    }

    /// The same failure, with a description of the attempt before its text.
    pub fn about(self, what: impl fmt::Display) -> Failure {
        Failure { text: format!("{what}: {}", self.text), ..self }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let text = format!("{:?}: {error}", error.kind);
        Failure { answer: Some(error), finding: None, text }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure { answer: None, finding: None, text }
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Failure {
        text.to_string().into()
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> String {
        failure.text
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
