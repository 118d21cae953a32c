use rmwbench_conformance::Arm;

const OLDEST_KEPT: &str = "a full queue drops the newest message, so that one that is taken has waited for all that stood before it";
const LARGE_LOST: &str = "LCM sends all datagrams of a message at once: of 32 MiB a reader that pauses loses one, and with it the message";

fn arm(profile: &str) -> Arm {
    Arm::profile(profile).fault("room", OLDEST_KEPT).rare_fault("reliable", LARGE_LOST)
}

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-lcm"),
        &rmwbench_lcm::Lcm,
        &[arm("untouched"), arm("tuned"), arm("lan")],
    )
}
