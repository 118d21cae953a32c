use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(env!("CARGO_BIN_EXE_rmwbench-rustdds"), &rmwbench_rustdds::RustDds, &[Arm::profile("untouched")])
}
