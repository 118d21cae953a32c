use std::process::ExitCode;

use rmwbench_conformance::Arm;

fn main() -> ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-cyclonedds"),
        &rmwbench_cyclonedds::CycloneDds,
        &[Arm::profile("untouched"), Arm::profile("tuned")],
    )
}
