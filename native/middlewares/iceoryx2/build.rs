//! Passes the compiler's name to `--describe`: Cargo gives it to build scripts only.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string());
    println!("cargo:rustc-env=RMWBENCH_RUSTC={}", version.unwrap_or_else(|_| "unknown".into()));
    println!("cargo:rerun-if-changed=build.rs");
}
