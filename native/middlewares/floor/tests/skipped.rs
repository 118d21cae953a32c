//! Where no namespaces can be made, the suite is skipped once, and does not fail. Here they cannot
//! be made because `unshare` is another program.

use std::fs;
use std::os::unix::fs::{symlink, DirBuilderExt};
use std::process::{exit, Command, ExitCode};

use rmwbench_conformance::Arm;

const INSIDE: &str = "RMWBENCH_TEST_SKIPPED";
const WORKER: &str = env!("CARGO_BIN_EXE_rmwbench-floor");

fn skips(which: &str) {
    let place = std::env::temp_dir().join(format!("rmwbench-{which}-{}", std::process::id()));
    fs::DirBuilder::new().mode(0o700).create(&place).unwrap();
    symlink("/bin/false", place.join("unshare")).unwrap();
    let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_program", "--nocapture"])
        .env(INSIDE, which)
        .env("PATH", path)
        .output()
        .unwrap();
    fs::remove_dir_all(&place).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let skips: Vec<&str> = errors.lines().filter(|line| line.starts_with("SKIPPED ")).collect();
    assert_eq!(skips.len(), 1, "{errors}");
    assert!(skips[0].contains("conformance of floor: no namespaces can be made here"), "{errors}");
}

#[test]
fn the_program() {
    let Ok(which) = std::env::var(INSIDE) else { return };
    let (floor, arm) = (&rmwbench_floor::Floor, Arm::profile("untouched"));
    let code = match which.as_str() {
        "one" => rmwbench_conformance::main(WORKER, floor, &[arm]),
        _ => rmwbench_conformance::main(WORKER, floor, &[arm.clone(), arm]),
    };
    exit(i32::from(code != ExitCode::SUCCESS));
}

#[test]
fn in_one_process() {
    skips("one");
}

#[test]
fn in_a_process_for_each_arm() {
    skips("each");
}
