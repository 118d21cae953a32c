use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    let arms = [
        Arm::profile("untouched"),
        // Every message held for its time, on the delivery thread; nothing lost, nothing out of order.
        Arm::profile("untouched").option("latency", "uniform min_ns=0 max_ns=2000000").option("reply_latency", "constant ns=500000"),
        Arm::profile("untouched").option("transport", "tcp").lacks("loan", "a socket copies"),
    ];
    rmwbench_conformance::main(env!("CARGO_BIN_EXE_rmwbench-synthetic"), &rmwbench_synthetic::Synthetic, &arms)
}
