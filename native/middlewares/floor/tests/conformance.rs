use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    let socket = |transport: &str| Arm::profile("untouched").option("transport", transport);
    const IN_BYTES: &str =
        "a socket's room is counted in bytes, by the kernel; the depth has no effect";
    const NO_ANSWER: &str = "UDP is asked for no reliable delivery, and the kernel's buffer holds all of so small a flood";
    const ONE_WAY: &str = "a ring has one direction";
    let arms = [
        Arm::profile("untouched").lacks("services", ONE_WAY),
        // Every message goes through one of few slots and is copied out.
        Arm::profile("untouched")
            .option("inline_bytes", 0)
            .option("slots", 16)
            .option("zero_copy", false)
            .lacks("services", ONE_WAY),
        socket("tcp").lacks("loan", "a socket copies").fault("room", IN_BYTES),
        socket("unix").lacks("loan", "a socket copies").fault("room", IN_BYTES),
        socket("udp")
            .lacks("loan", "a socket copies")
            .lacks("reliable", "no retransmission")
            .fault("room", IN_BYTES)
            .rare_fault("when_full", NO_ANSWER),
    ];
    rmwbench_conformance::main(env!("CARGO_BIN_EXE_rmwbench-floor"), &rmwbench_floor::Floor, &arms)
}
