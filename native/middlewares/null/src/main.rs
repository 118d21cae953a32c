fn main() -> std::process::ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("--clock-cost") => rmwbench_null::clock_cost::print(),
        _ => rmwbench_harness::worker::main(&rmwbench_null::Null),
    }
}
