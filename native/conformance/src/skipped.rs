//! A test that cannot run here says so where libtest cannot hide it; `setup/rust-test-summary`
//! counts it: libtest itself counts it as passed.

use std::io::{self, Write};

/// Says on stderr that `test` cannot run here, and why. Not by `eprintln!`: libtest keeps that back
/// from a test that passes.
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
