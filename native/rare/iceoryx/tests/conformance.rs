use rmwbench_conformance::Arm;

const POOLS_FOR_32_MIB: &str = "1K:4096 4K:1024 16K:1024 128K:256 1M:24 8M:8 32M:4";
const SIXTEEN_KEPT: &str = "iceoryx keeps 16 messages for late joiners, also where keep_all asks for all (IOX_MAX_PUBLISHER_HISTORY)";
const DRAINS: &str =
    "a callback takes until none is left, and iceoryx's one thread calls no other meanwhile";

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-iceoryx"),
        &rmwbench_iceoryx::Iceoryx,
        &[Arm::profile("tuned")
            .option("roudi_pools", POOLS_FOR_32_MIB)
            .rare_fault("callback turns", DRAINS)
            .fault("transient_local", SIXTEEN_KEPT)],
    )
}
