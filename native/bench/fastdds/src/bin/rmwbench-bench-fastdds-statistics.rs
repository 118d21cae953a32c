//! Prints what Fast DDS's statistics module tells of a domain, until it is ended:
//! `rmwbench-bench-fastdds-statistics DOMAIN`. The first line says whether this library has the
//! module; exit code 2 where it has not (docs/other-tools.md).

use std::process::ExitCode;

// For the library that it links.
use rmwbench_fastdds as _;

extern "C" {
    fn statistics_watch(domain: u32) -> i32;
}

fn main() -> ExitCode {
    let Some(domain) = std::env::args().nth(1).and_then(|domain| domain.parse().ok()) else {
        eprintln!("usage: rmwbench-bench-fastdds-statistics DOMAIN");
        return ExitCode::from(2);
    };
    // SAFETY: a plain call, once.
    if unsafe { statistics_watch(domain) } != 0 {
        return ExitCode::from(2);
    }
    loop {
        std::thread::park();
    }
}
