use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(env!("CARGO_BIN_EXE_rmwbench-null"), &rmwbench_null::Null, &[Arm::profile("untouched")])
}
