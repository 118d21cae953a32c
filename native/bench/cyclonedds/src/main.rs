//! What the instrument adds to Cyclone DDS, as ratios of programs that run beside each other.
//!
//! `rmwbench-bench-cyclonedds [bare|ddsperf]... [--times N]` (both parts without arguments) prints
//! one JSON line per ratio. `bare`: our worker's path against a program written by hand on the same
//! C API, in one process, taking turns every 100 messages. `ddsperf`: our worker against Cyclone's
//! own benchmark, built from the source that cyclors ships, two processes each, taking turns.
//!
//! Messages stay on loopback, and a discovery tag keeps them apart from any other Cyclone on this
//! machine.

mod bare;
mod ddsperf;
mod network;
mod worker;

use std::process::ExitCode;

use rmwbench_bench::{take_turns, Compared, Limit, Ours, LOADS};
use rmwbench_cyclonedds::CycloneDds;
use rmwbench_harness::middleware::{Middleware, Wait};

use network::{session, READING, WRITING};

fn main() -> ExitCode {
    rmwbench_bench::main("cyclonedds", &["bare", "ddsperf"], |selection| {
        selection.parts.iter().try_for_each(|part| {
            if *part == "bare" {
                against_bare(selection.times)
            } else {
                ddsperf::run(selection.times)
            }
        })
    })
}

fn against_bare(times: usize) -> Result<(), String> {
    let [writing, reading] = [session(WRITING, 7), session(READING, 7)];
    // The bare program joins existing domains, which these sessions keep.
    let open = |session| CycloneDds.open(session).map_err(|e| e.to_string());
    let _domains = (open(&writing)?, open(&reading)?);
    let compared = Compared {
        bench: "cyclonedds",
        limit: Limit::EQUIVALENT,
        name: "our worker's path / bare C API",
        ours: &|round| {
            let ours = Ours::open(&CycloneDds, [&writing, &reading], round, Wait::Block, false);
            Ok(Box::new(ours.map_err(|e| e.to_string())?))
        },
        bare: &|round| Ok(Box::new(bare::Bare::open(round)?)),
    };
    take_turns(&compared, &LOADS, times)
}
