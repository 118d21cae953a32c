use rmwbench_conformance::Arm;

const KEPT: &str = "keep_all keeps 42 messages for late joiners, as in rmw_zenoh";

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-hiroz"),
        &rmwbench_hiroz::Hiroz,
        &[Arm::profile("untouched").fault("transient_local", KEPT)],
    )
}
