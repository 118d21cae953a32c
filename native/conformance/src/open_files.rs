//! The number of files that a process may open: as many as the orchestrator's workers
//! (`rmwbench/lab/host/host.py`), which is more than the 1 024 that are a common default.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

use crate::skipped;

const ENOUGH: u64 = 65_536;

/// Raises the limit for this process and those that it starts from now on, as far as the hard limit
/// allows.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let attainable = maximum.map_or(ENOUGH, |hard| hard.min(ENOUGH));
    if current.is_some_and(|soft| soft < attainable) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(attainable), maximum });
    }
}

/// Whether a process may open this many; if not, `test` is [`skipped`].
pub fn may_open(test: &str, files: u64) -> bool {
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if limit < files {
        skipped(test, &format!("it opens up to {files} files, and may open {limit} (ulimit -Hn)"));
    }
    limit >= files
}
