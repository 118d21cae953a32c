fn main() -> std::process::ExitCode {
    rmwbench_harness::worker::main(&rmwbench_roscpp::Roscpp)
}
