//! Each arm in a process of its own: Fast DDS keeps profiles for the whole process, and one check
//! opens sessions in this one.

use std::process::ExitCode;

use rmwbench_conformance::Arm;
use rmwbench_harness::middleware::Middleware;

const NO_LOAN: &str =
    "Fast DDS lends memory of plain types only, and this arm's have no fixed size";
const NO_ZERO_COPY: &str = "a transport copies; data sharing would not";
const OVERRUN: &str =
    "an overrun data-sharing reader may read what is being written again, and 2.9.1's may crash";
const RETURN: &str =
    "2.9.1 with security may not know a killed participant's successor again within seconds";
const SLOW_REPAIR: &str = "3.1.2 as installed, with a heartbeat of 3 s, does not repair an overrun keep_all history within 30 s; with heartbeats of 2 ms nothing is missing";

/// Of arms that differ in how participants meet or bytes travel, what could differ with that.
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

fn copying(profile: &str) -> Arm {
    Arm::profile(profile).lacks("loan", NO_LOAN).lacks("zero_copy", NO_ZERO_COPY)
}

/// One with the heartbeat that Fast DDS is installed with.
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
    const ALL: &[&str] = &[];
    let arms = [
        (as_installed("untouched"), ALL),
        (copying("tuned"), ALL),
        (copying("shm"), ALL),
        (
            Arm::profile("data_sharing")
                .rare_fault("keep_last", OVERRUN)
                .rare_fault("keep_all", OVERRUN),
            ALL,
        ),
        (copying("discovery_server"), ESSENTIALS),
        (copying("untouched").mode("discovery", "peers"), ESSENTIALS),
        (
            copying("tuned")
                .mode("security", true)
                .rare_fault("services, the service dies", RETURN),
            ESSENTIALS,
        ),
    ];
    rmwbench_conformance::main_of_processes(
        env!("CARGO_BIN_EXE_rmwbench-fastdds"),
        &rmwbench_fastdds::FastDds::new(),
        &arms,
    )
}
