use rmwbench_conformance::Arm;

const LATCHED: &str = "a latched topic keeps the last message alone, whatever the depth";
const CALLS_FAIL: &str = "a call over a connection of its own now and then comes back without an answer (ServiceClient::call is false)";

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-roscpp"),
        &rmwbench_roscpp::Roscpp,
        &[
            Arm::profile("untouched")
                .fault("transient_local", LATCHED)
                .rare_fault("services", CALLS_FAIL),
            Arm::profile("tuned").fault("transient_local", LATCHED),
        ],
    )
}
