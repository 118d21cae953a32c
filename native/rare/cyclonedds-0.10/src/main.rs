fn main() -> std::process::ExitCode {
    rmwbench_harness::worker::main(&rmwbench_cyclonedds_0_10::CycloneDds)
}
