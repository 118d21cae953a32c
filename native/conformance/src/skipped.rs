//! A test that cannot run here reports it where libtest cannot hide it; `setup/rust-test-summary`
//! counts it, because libtest itself counts it as passed.

use std::io::{self, Write};

/// Prints to stderr that `test` cannot run here, and why. It does not use `eprintln!`, whose output
/// libtest hides for a test that passes.
pub fn skipped(test: &str, reason: &str) {
    let _ = io::stderr().write_all(line(test, reason).as_bytes());
}

fn line(test: &str, reason: &str) -> String {
    format!("SKIPPED {test}: {}\n", reason.trim().replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_several_lines_is_told_in_one() {
        let expected = "SKIPPED floor: no namespaces; no TAP\n";
        assert_eq!(line("floor", "no namespaces;\nno TAP\n"), expected);
    }
}
