fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("--truth") => rmwbench_synthetic::truth::print(&arguments[1..]),
        _ => rmwbench_harness::worker::main(&rmwbench_synthetic::Synthetic),
    }
}
