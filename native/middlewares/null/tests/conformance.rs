use rmwbench_conformance::Arm;

const NO_QUEUE: &str = "the publish call is the delivery: no message ever waits";

fn main() -> std::process::ExitCode {
    let arms = [Arm::profile("untouched").fault("room", NO_QUEUE)];
    rmwbench_conformance::main(env!("CARGO_BIN_EXE_rmwbench-null"), &rmwbench_null::Null, &arms)
}
