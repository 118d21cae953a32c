use rmwbench_conformance::Arm;

const INPROC: &str = "inproc connects the nodes of one process alone";

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-zeromq"),
        &rmwbench_zeromq::ZeroMq,
        &[
            Arm::profile("untouched"),
            Arm::profile("tuned"),
            Arm::profile("untouched")
                .mode("transport", "intra_process")
                .lacks("inter_process", INPROC),
        ],
    )
}
