//! What went wrong in a check, with the worker's own error where it answered one: a refusal is
//! known by its kind, and what a declared fault may explain by what was found, never by a word in a
//! text.

use std::fmt;

use rmwbench_harness::middleware::{Error, ErrorKind};

/// What the suite itself found, where it may be a declared fault's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A signal ended the worker.
    Crashed,
    /// A reader heard no probe of a writer that it had matched.
    Unheard,
    Lost,
    /// A message is corrupt, or none of this trial.
    Damaged,
    Overtaken,
    /// What was granted is not what happens.
    NotAsGranted,
}

impl Finding {
    pub fn failure(self, text: String) -> Failure {
        Failure { answer: None, finding: Some(self), text }
    }
}

#[derive(Clone, Debug)]
pub struct Failure {
    /// What the worker answered; None for what the check itself found.
    pub answer: Option<Error>,
    pub finding: Option<Finding>,
    pub text: String,
}

impl Failure {
    pub fn is(&self, kind: ErrorKind) -> bool {
        self.answer.as_ref().is_some_and(|error| error.kind == kind)
    }

    /// Whether the suite found one of these.
    pub fn is_any(&self, of: &[Finding]) -> bool {
        self.finding.is_some_and(|finding| of.contains(&finding))
    }

    /// Whether an option contradicts itself, or what it stands with.
    pub fn is_invalid_option(&self) -> bool {
        self.is(ErrorKind::Invalid)
            && self.answer.as_ref().is_some_and(|error| error.object.starts_with("option "))
    }

    /// The same, with what was tried before its text.
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
