use rmwbench_conformance::Arm;

const POOLS_FOR_32_MIB: &str = "1K:4096 4K:2048 16K:2048 128K:512 1M:48 8M:16 32M:16";

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-iceoryx"),
        &rmwbench_iceoryx::Iceoryx,
        &[Arm::profile("tuned").option("roudi_pools", POOLS_FOR_32_MIB)],
    )
}
