use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    let socket = |transport: &str| Arm::profile("untouched").option("transport", transport);
    let arms = [
        Arm::profile("untouched"),
        socket("tcp").lacks("loan", "a socket copies"),
        socket("unix").lacks("loan", "a socket copies"),
        socket("udp").lacks("loan", "a socket copies").lacks("reliable", "no retransmission"),
    ];
    rmwbench_conformance::main(env!("CARGO_BIN_EXE_rmwbench-floor"), &rmwbench_floor::Floor, &arms)
}
