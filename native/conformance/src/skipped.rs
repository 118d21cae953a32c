//! A test that cannot run here says so where libtest cannot hide it, and is counted: libtest itself
//! counts it as passed.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::{env, path::Path};

/// The file to which the programs of a run append their skips, a line for each;
/// `setup/count-skipped` sets it.
const COLLECTED_IN: &str = "RMWBENCH_SKIPPED";

/// Says on stderr that `test` cannot run here, and why. Not by `eprintln!`: libtest keeps that back
/// from a test that passes.
pub fn skipped(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {}\n", reason.trim().replace('\n', " "));
    let _ = io::stderr().write_all(line.as_bytes());
    if let Some(path) = env::var_os(COLLECTED_IN) {
        collect(Path::new(&path), &line)
            .unwrap_or_else(|error| panic!("{COLLECTED_IN}={}: {error}", path.display()));
    }
}

fn collect(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_collected_line_by_line() {
        let path = env::temp_dir().join(format!("rmwbench-skipped-{}", std::process::id()));
        collect(&path, "SKIPPED a: no namespaces\n").unwrap();
        collect(&path, "SKIPPED b: no TAP\n").unwrap();
        let collected = std::fs::read_to_string(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(collected.unwrap(), "SKIPPED a: no namespaces\nSKIPPED b: no TAP\n");
    }
}
