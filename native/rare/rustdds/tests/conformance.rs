use rmwbench_conformance::Arm;

// The reproducers are in tests/traits.rs.
const SLOW_REPAIR: &str = "a datagram of 64 kB that the reader's socket has no room for takes 0.7 s and 50 000 others to repair: a minute and more for 32 MiB";
const KEEPS_MORE: &str =
    "a writer trims its history every 6 s: a late joiner may get more than the depth";

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-rustdds"),
        &rmwbench_rustdds::RustDds,
        &[Arm::profile("untouched")
            .rare_fault("reliable", SLOW_REPAIR)
            .rare_fault("keep_all", SLOW_REPAIR)
            .rare_fault("services", SLOW_REPAIR)
            .rare_fault("transient_local", KEEPS_MORE)],
    )
}
