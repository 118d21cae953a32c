use rmwbench_conformance::Arm;

/// See docs/middlewares/zenoh.md.
const AS_RMW_ZENOH: &str = "as in rmw_zenoh, a reliable message may be dropped on congestion unless its history is keep_all";
const HISTORY_LOST: &str = "zenoh-ext: with two ways to a publisher (the router and the direct link) a late joiner may lose the oldest of its history (reproducer in tests/history.rs)";

fn main() -> std::process::ExitCode {
    let no_shm = |arm: Arm| arm.lacks("loan", "the profile has shared memory disabled");
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-zenoh"),
        &rmwbench_zenoh::Zenoh,
        &[
            no_shm(Arm::profile("untouched")),
            Arm::profile("implicit_shm"),
            Arm::profile("tuned"),
            no_shm(Arm::profile("tcp")),
            no_shm(Arm::profile("unixsock")),
            Arm::profile("shm"),
            // A campaign's router has the arm's modes; the one of this check serves the whole arm
            // and has none.
            no_shm(Arm::profile("router"))
                .fault("mode security true", "the check's router listens without TLS"),
            no_shm(Arm::profile("rmw_zenoh"))
                .rare_fault("reliable", AS_RMW_ZENOH)
                .rare_fault("transient_local", HISTORY_LOST),
        ],
    )
}
