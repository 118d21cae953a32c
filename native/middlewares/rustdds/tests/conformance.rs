use rmwbench_conformance::Arm;

// The reproducers are in tests/traits.rs.
const SLOW_REPAIR: &str = "fragments that the reader's socket has no room for are repaired at 8 kB per 10 ms: half a minute for 32 MiB";
const KEEPS_MORE: &str =
    "a writer trims its history every 6 s: a late joiner may get more than the depth";

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-rustdds"),
        &rmwbench_rustdds::RustDds,
        &[Arm::profile("untouched")
            .rare_fault("reliable", SLOW_REPAIR)
            .rare_fault("keep_all", SLOW_REPAIR)
            .rare_fault("transient_local", KEEPS_MORE)],
    )
}
