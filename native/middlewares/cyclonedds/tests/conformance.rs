use std::process::ExitCode;

use rmwbench_conformance::Arm;

const UDP_LENDS_NOTHING: &str = "over UDP Cyclone DDS has nothing to loan";

fn main() -> ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-cyclonedds"),
        &rmwbench_cyclonedds::CycloneDds,
        &[
            Arm::profile("untouched").lacks("loan", UDP_LENDS_NOTHING),
            Arm::profile("tuned").lacks("loan", UDP_LENDS_NOTHING),
            Arm::profile("shm").option("roudi_pools", "1K:4096 4K:2048 16K:2048 64K:512 256K:64 1M:48 32M:24"),
        ],
    )
}
