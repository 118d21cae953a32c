use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-roscpp"),
        &rmwbench_roscpp::Roscpp,
        &[Arm::profile("untouched"), Arm::profile("tuned")],
    )
}
