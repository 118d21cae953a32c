use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-iceoryx2"),
        &rmwbench_iceoryx2::Iceoryx2,
        &[
            Arm::profile("untouched"),
            // What a full queue does is all that differs.
            Arm::profile("untouched").option("reliable_keep_last", "block").checks(&[
                "ledger under overrun, reliable keep last",
                "a depth is the same room",
                "a full queue does what was granted",
                "QoS granted is QoS asked",
            ]),
        ],
    )
}
