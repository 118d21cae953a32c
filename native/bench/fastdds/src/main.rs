//! What the instrument adds to Fast DDS: our worker's path against a program written by hand on the
//! same API, in one process, taking turns every 100 messages. It prints one JSON line per ratio:
//! `rmwbench-bench-fastdds [--times N]`.

mod bare;
mod profile;

use std::process::ExitCode;

use rmwbench_bench::{take_turns, Compared, Limit, Load, Ours};
use rmwbench_fastdds::FastDds;
use rmwbench_harness::middleware::Wait;

/// Slower than the other benches' loads, and more of them: Fast DDS needs more time for a message,
/// and varies more.
const LOADS: [Load; 3] = [
    Load { payload_bytes: 320, period_ns: 400_000, batch: 100, pairs: 10, rounds: 5 },
    Load { payload_bytes: 524_288, period_ns: 3_000_000, batch: 100, pairs: 6, rounds: 5 },
    Load { payload_bytes: 6_220_800, period_ns: 20_000_000, batch: 20, pairs: 6, rounds: 5 },
];
const OUR_DOMAIN: u32 = 1;
const BARE_DOMAIN: u32 = 2;

fn main() -> ExitCode {
    rmwbench_bench::main("fastdds", &["bare"], |selection| {
        let session = profile::session(OUR_DOMAIN, 7);
        take_turns(
            &Compared {
                bench: "fastdds",
                limit: Limit::EQUIVALENT,
                name: "our worker's path / bare C++ program",
                // This comes first in the first round: its session loads the profile that the bare
                // program uses.
                ours: &|round| {
                    let ours = Ours::open(
                        &FastDds::new(),
                        [&session, &session],
                        round,
                        Wait::Block,
                        false,
                    );
                    Ok(Box::new(ours.map_err(|e| e.to_string())?))
                },
                bare: &|round| Ok(Box::new(bare::Bare::open(BARE_DOMAIN, round)?)),
            },
            &LOADS,
            selection.times,
        )
    })
}
