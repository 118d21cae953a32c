use std::process::ExitCode;

use rmwbench_conformance::Arm;

const POOLS_FOR_32_MIB: &str = "1K:4096 4K:2048 16K:2048 128K:512 1M:48 32M:16";
const KEPT_IN_PART: &str = "over PSMX a reader holds at most 256 messages and loses what comes beyond (reproducer in tests/psmx.rs)";
const NO_HISTORY: &str =
    "over PSMX a late joiner gets no history, although it is granted (reproducer in tests/psmx.rs)";
const DRAINS: &str = "over shared memory the exchange's thread, which calls back, goes on with one reader until that one's queue is empty: a flooded callback keeps all others of the process waiting";
const UDP_LENDS_NOTHING: &str = "over UDP Cyclone DDS has nothing to loan";

fn main() -> ExitCode {
    rmwbench_conformance::main(
        env!("CARGO_BIN_EXE_rmwbench-cyclonedds"),
        &rmwbench_cyclonedds::CycloneDds,
        &[
            Arm::profile("untouched").lacks("loan", UDP_LENDS_NOTHING),
            Arm::profile("tuned").lacks("loan", UDP_LENDS_NOTHING),
            Arm::profile("shm")
                .option("roudi_pools", POOLS_FOR_32_MIB)
                .rare_fault("ledger under overrun, reliable keep all", KEPT_IN_PART)
                .rare_fault("callback turns", DRAINS)
                .fault("transient_local", NO_HISTORY),
        ],
    )
}
