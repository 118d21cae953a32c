//! Compiles the bare program with the flags of the worker's shim, against the headers that the
//! worker found.

use std::env;
use std::path::Path;
use std::process::{exit, Command};

const FLAGS: [&str; 8] = [
    "-O3",
    "-std=c++17",
    "-fPIC",
    "-ffunction-sections",
    "-fdata-sections",
    "-Wall",
    "-Wextra",
    "-c",
];

fn main() {
    println!("cargo:rerun-if-changed=bare");
    println!("cargo:rerun-if-env-changed=CXX");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let archive = Path::new(&out).join("libfastdds_bare.a");
    let object = Path::new(&out).join("bare.o");
    let mut compile = Command::new(env::var("CXX").unwrap_or_else(|_| "c++".into()));
    compile
        .args(FLAGS)
        .args(["-I", "bare", "-I", "../../middlewares/fastdds/shim", "bare/bare.cpp", "-o"])
        .arg(&object);
    for include in listed("DEP_FASTDDS_INCLUDES") {
        compile.args(["-isystem", &include]);
    }
    run(compile);
    for directory in listed("DEP_FASTDDS_LIBRARIES") {
        println!("cargo:rustc-link-arg=-Wl,--disable-new-dtags,-rpath,{directory}");
    }
    let mut pack = Command::new("ar");
    pack.arg("crs").arg(&archive).arg(&object);
    run(pack);
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=fastdds_bare");
    println!("cargo:rustc-link-lib=stdc++");
}

/// The directories that the worker's build script passed on.
fn listed(variable: &str) -> Vec<String> {
    env::var(variable)
        .unwrap_or_default()
        .split(':')
        .filter(|d| !d.is_empty())
        .map(str::to_string)
        .collect()
}

fn run(mut command: Command) {
    match command.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            words.lines().take(40).for_each(|line| println!("cargo::error={line}"));
            exit(1);
        }
        Err(error) => {
            println!(
                "cargo::error={command:?}: {error}; Debian: sudo apt-get install g++ binutils"
            );
            exit(1);
        }
    }
}
