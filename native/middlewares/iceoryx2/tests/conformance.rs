use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-iceoryx2"),
        &rmwbench_iceoryx2::Iceoryx2,
        &[
            Arm::profile("untouched"),
            // The only difference is the behaviour of a full queue.
            Arm::profile("untouched").option("reliable_keep_last", "block").checks(&[
                "ledger under overrun, reliable keep last",
                "a depth is the same room",
                "a full queue does what was granted",
                "QoS granted is QoS asked",
            ]),
        ],
    )
}
