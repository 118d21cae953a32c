use rmwbench_conformance::Arm;

const LATCHED: &str = "a latched topic keeps the last message alone, whatever the depth";

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-roscpp"),
        &rmwbench_roscpp::Roscpp,
        &[Arm::profile("untouched").fault("transient_local", LATCHED), Arm::profile("tuned").fault("transient_local", LATCHED)],
    )
}
