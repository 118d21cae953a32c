use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-iceoryx2"),
        &rmwbench_iceoryx2::Iceoryx2,
        &[Arm::profile("untouched")],
    )
}
