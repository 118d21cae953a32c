//! Each arm in a process of its own: Fast DDS keeps profiles for the whole process, and one check opens sessions in this one.

use std::process::{Command, ExitCode};

use rmwbench_conformance::Arm;

const NO_LOAN: &str = "Fast DDS lends memory of plain types only, and this arm's have no fixed size";
const NO_ZERO_COPY: &str = "a transport copies; data sharing would not";
const ARM: &str = "RMWBENCH_CONFORMANCE_ARM";

fn copying(profile: &str) -> Arm {
    Arm::profile(profile).lacks("loan", NO_LOAN).lacks("zero_copy", NO_ZERO_COPY)
}

fn arms() -> Vec<Arm> {
    vec![copying("untouched"), copying("tuned"), copying("shm"), Arm::profile("data_sharing"), copying("discovery_server")]
}

fn main() -> ExitCode {
    let arms = arms();
    if let Some(number) = std::env::var(ARM).ok().and_then(|text| text.parse::<usize>().ok()) {
        let worker = env!("CARGO_BIN_EXE_rmwbench-fastdds");
        return rmwbench_conformance::main(worker, &rmwbench_fastdds::FastDds::new(), &arms[number..=number]);
    }
    let this = std::env::current_exe().expect("/proc is mounted");
    let failed = (0..arms.len()).filter(|number| {
        let status = Command::new(&this).args(std::env::args_os().skip(1)).env(ARM, number.to_string()).status();
        !status.expect("this program starts").success()
    });
    ExitCode::from(u8::from(failed.count() > 0))
}
