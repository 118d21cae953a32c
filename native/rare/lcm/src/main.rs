use std::process::ExitCode;

fn main() -> ExitCode {
    rmwbench_harness::worker::main(&rmwbench_lcm::Lcm)
}
