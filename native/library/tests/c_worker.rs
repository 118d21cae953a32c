//! A worker that a C compiler builds from the header and the library alone passes conformance, and
//! also starts with the shared library.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rmwbench_conformance::{skipped, Arm, External};

const NO_QUEUE: &str = "the publish call is the delivery: no message ever waits";

fn main() -> ExitCode {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        skipped("c_worker", &format!("there is no C compiler ({compiler}); apt-get install gcc"));
        return ExitCode::SUCCESS;
    }
    match check(&compiler) {
        Ok(code) => code,
        Err(message) => {
            println!("test c_worker ... FAILED\n{message}");
            ExitCode::FAILURE
        }
    }
}

fn check(compiler: &str) -> Result<ExitCode, String> {
    let library = directory()?;
    let archive = library.join("librmwbench_worker.a");
    let with_archive = build(
        compiler,
        "loopback-static",
        &[archive.as_os_str().to_str().ok_or("a path that is not text")?],
    )?;
    let place = library.to_str().ok_or("a path that is not text")?;
    let with_shared = build(
        compiler,
        "loopback-shared",
        &[&format!("-L{place}"), &format!("-Wl,-rpath,{place}"), "-l:librmwbench_worker.so"],
    )?;
    // The library of this build: cargo's own path lists first the one that a worker's build left,
    // which may be older than the header.
    let described = |worker: &Path| {
        let mut command = Command::new(worker);
        command.arg("--describe").env("LD_LIBRARY_PATH", &library);
        command.output().map_err(|e| e.to_string()).map(|o| (o.status.code(), o.stdout, o.stderr))
    };
    let (alone, shared) = (described(&with_archive)?, described(&with_shared)?);
    if alone != shared || alone.0 != Some(0) {
        return Err(format!("--describe of the two:\n{alone:?}\n{shared:?}"));
    }
    let worker = with_archive.to_str().ok_or("a path that is not text")?;
    let external = External::ask(worker, None)?;
    Ok(rmwbench_conformance::main(
        worker,
        &external,
        &[Arm::profile("untouched").fault("room", NO_QUEUE)],
    ))
}

/// Where cargo put the library that it built for this test.
fn directory() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let places = program.ancestors().skip(1).take(2);
    let found = places.into_iter().find(|place| place.join("librmwbench_worker.a").is_file());
    found
        .map(Path::to_path_buf)
        .ok_or_else(|| format!("no librmwbench_worker.a beside {}", program.display()))
}

fn build(compiler: &str, name: &str, library: &[&str]) -> Result<PathBuf, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new(compiler)
        .args(["-std=c11", "-O1", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here.join("../harness/include"))
        .arg(here.join("tests/loopback.c"))
        .args(library)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .map_err(|e| format!("{compiler}: {e}"))?;
    match output.status.success() {
        true => Ok(program),
        false => Err(format!("{compiler}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
