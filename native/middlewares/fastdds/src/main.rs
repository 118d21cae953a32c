//! The Fast DDS worker.

fn main() -> std::process::ExitCode {
    rmwbench_harness::worker::main(&rmwbench_fastdds::FastDds::new())
}
