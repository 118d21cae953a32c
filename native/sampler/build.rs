//! Compiles the library that counts allocations (allocations/). It is preloaded into workers, so it
//! cannot be part of the sampler's own program; the sampler contains it as data.
//!
//! It is one C file without headers, compiled by the compiler with which Rust links: no crate is
//! needed for that.

use std::env;
use std::path::PathBuf;
use std::process::{exit, Command};

const SOURCE: &str = "allocations/allocations.c";

fn main() {
    println!("cargo:rerun-if-changed={SOURCE}");
    println!("cargo:rerun-if-env-changed=CC");
    let library = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"))
        .join("librmwbench_allocations.so");
    let compiler =
        linker_of_another_machine().or_else(|| env::var("CC").ok()).unwrap_or_else(|| "cc".into());
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words);
    // Without -fno-builtin the compiler takes malloc and calloc for the functions that it knows,
    // and may call one from the other.
    command.args([
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fno-builtin",
        "-fPIC",
        "-fvisibility=hidden",
        "-shared",
    ]);
    command.args(["-Wl,-soname,librmwbench_allocations.so", SOURCE, "-o"]).arg(&library);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => fail(&format!("{compiler}: {error}\n    sudo apt-get install gcc")),
    };
    if !output.status.success() {
        fail(&format!(
            "{command:?} ended with {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
}

/// The linker that cargo uses when it builds for another kind of machine than this one: otherwise
/// the library would be for this machine, and no loader would report that before a trial counts
/// allocations.
fn linker_of_another_machine() -> Option<String> {
    if env::var_os("TARGET") == env::var_os("HOST") {
        return None;
    }
    env::var("RUSTC_LINKER").ok()
}

fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo::error={line}");
    }
    exit(1)
}
