use rmwbench_conformance::Arm;

const POOLS_FOR_32_MIB: &str = "1K:4096 4K:1024 16K:1024 128K:256 1M:24 8M:8 32M:4";
const NO_HISTORY: &str =
    "in shared memory Cyclone DDS 0.10.2 throws away what arrives before discovery has named its writer: all of a history";
const DRAINS: &str = "over shared memory iceoryx's thread, which calls back, goes on with one reader until that one's queue is empty: a flooded callback keeps all others of the process waiting";
const UDP_LENDS_NOTHING: &str = "over UDP Cyclone DDS has nothing to loan";

fn main() -> std::process::ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-cyclonedds-0-10"),
        &rmwbench_cyclonedds_0_10::CycloneDds,
        &[
            Arm::profile("untouched").lacks("loan", UDP_LENDS_NOTHING),
            Arm::profile("tuned").lacks("loan", UDP_LENDS_NOTHING),
            Arm::profile("shm")
                .option("roudi_pools", POOLS_FOR_32_MIB)
                .rare_fault("callback turns", DRAINS)
                .fault("transient_local", NO_HISTORY),
        ],
    )
}
