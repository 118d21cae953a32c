use std::process::ExitCode;

use rmwbench_conformance::{Arm, MATCH, SURVIVE};
use rmwbench_harness::middleware::Middleware;

const NO_LOAN: &str =
    "Fast DDS lends memory of plain types only, and this arm's have no fixed size";
const NO_ZERO_COPY: &str = "a transport copies; data sharing would not";
const OVERRUN: &str =
    "an overrun data-sharing reader may read what is being written again, and 2.9.1's may crash";
const ABANDONED_MUTEX: &str =
    "a process that is killed while it holds the mutex of a peer's data-sharing notification takes the peer with it: an exception that nobody catches ends it";
const STALE_PORT: &str =
    "2.x makes a killed process's shared-memory ports anew for its successor, and a process that goes on writing into the deleted ones is not heard (eProsima/Fast-DDS#4728)";
const RETURN: &str =
    "2.9.1 with security may not know a killed participant's successor again within seconds";
const UNMATCHED: &str =
    "2.9.1 with security leaves a writer and a reader of two processes unmatched, now and then, for a minute at least";
const SILENT_TCP: &str =
    "a reader over TCP may hear nothing for half a minute at least, though both sides are matched and one connection with empty queues stands between them (on a busy machine 5 of 240 pairs of 2.9.1, and of 3.6.2)";
const SLOW_REPAIR: &str = "3.1.2 as installed, with a heartbeat of 3 s, does not repair an overrun keep_all history within 30 s; with heartbeats of 2 ms nothing is missing";

/// The checks whose result could differ between arms that differ in discovery or transport.
const ESSENTIALS: &[&str] = &[
    "order per writer",
    "payload integrity",
    "two writers",
    "relay chain of 3, a process each",
    "late joiner",
    "a fresh pair",
    "services",
    "modes are",
];

fn lending(profile: &str) -> Arm {
    Arm::profile(profile).rare_fault("mode transport tcp", SILENT_TCP)
}

fn copying(profile: &str) -> Arm {
    lending(profile).lacks("loan", NO_LOAN).lacks("zero_copy", NO_ZERO_COPY)
}

fn shares_memory(arm: Arm) -> Arm {
    arm.rare_fault("services, the service dies", STALE_PORT)
}

/// An arm with the heartbeat of Fast DDS as installed.
fn as_installed(profile: &str) -> Arm {
    let version = rmwbench_fastdds::FastDds::new().describe().version;
    let arm = copying(profile);
    if version.starts_with("3.1.") {
        arm.fault("keep_all", SLOW_REPAIR)
    } else {
        arm
    }
}

fn main() -> ExitCode {
    let arms = [
        shares_memory(as_installed("untouched")),
        shares_memory(copying("tuned")),
        shares_memory(copying("shm")),
        shares_memory(lending("data_sharing"))
            .rare_fault("keep_last", OVERRUN)
            .rare_fault("keep_all", OVERRUN)
            .rare_fault(SURVIVE, ABANDONED_MUTEX),
        shares_memory(copying("discovery_server")).checks(ESSENTIALS),
        shares_memory(copying("untouched")).mode("discovery", "peers").checks(ESSENTIALS),
        copying("tuned")
            .mode("security", true)
            .rare_fault("services, the service dies", RETURN)
            .rare_fault(MATCH, UNMATCHED)
            .checks(ESSENTIALS),
    ];
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-fastdds"),
        &rmwbench_fastdds::FastDds::new(),
        &arms,
    )
}
