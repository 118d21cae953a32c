use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-zeromq"),
        &rmwbench_zeromq::ZeroMq,
        &[Arm::profile("untouched"), Arm::profile("tuned")],
    )
}
