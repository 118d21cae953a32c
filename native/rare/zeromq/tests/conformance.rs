use rmwbench_conformance::Arm;

const INPROC: &str = "inproc connects the nodes of one process alone";
const OLDEST_KEPT: &str = "a full queue drops the newest message, so that one that is taken has waited for all that stood before it";

fn arm(profile: &str) -> Arm {
    Arm::profile(profile).fault("room", OLDEST_KEPT)
}

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-zeromq"),
        &rmwbench_zeromq::ZeroMq,
        &[
            arm("untouched"),
            arm("tuned"),
            arm("untouched").mode("transport", "intra_process").lacks("inter_process", INPROC),
        ],
    )
}
