use rmwbench_conformance::Arm;

fn main() -> std::process::ExitCode {
    const BELOW: &str = "the channel below is deep and reliable whatever was asked: no message is lost but by injection";
    const BY_TIME: &str = "the delivery thread releases messages by their time, whose reader they are for, and holds any number";
    let arms = [
        Arm::profile("untouched").fault("room", BELOW),
        // The delivery thread holds every message for its time; none is lost or out of order.
        Arm::profile("untouched")
            .option("latency", "uniform min_ns=0 max_ns=2000000")
            .option("reply_latency", "constant ns=500000")
            .fault("room", BELOW)
            .rare_fault("turns", BY_TIME),
        Arm::profile("untouched")
            .option("transport", "tcp")
            .lacks("loan", "a socket copies")
            .fault("room", BELOW),
    ];
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-synthetic"),
        &rmwbench_synthetic::Synthetic,
        &arms,
    )
}
