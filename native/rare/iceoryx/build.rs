//! Compiles the shim against an installed iceoryx 2.0.

use std::path::PathBuf;
use std::process::{exit, Command};

const HELP: &str =
    "iceoryx's headers were not found:\n    sudo apt-get install g++ libiceoryx-posh-dev";

fn main() {
    println!("cargo:rerun-if-changed=shim");
    let Some((include, version)) = installed() else {
        for line in HELP.lines() {
            println!("cargo::error={line}");
        }
        exit(1)
    };
    let query =
        Command::new("dpkg-query").args(["-W", "-f=${Version}", "libiceoryx-posh-dev"]).output();
    let revision = query
        .ok()
        .filter(|o| o.status.success())
        .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string());
    println!("cargo:rustc-env=ICEORYX_VERSION={version}");
    println!("cargo:rustc-env=ICEORYX_REVISION={}", revision.unwrap_or_default());
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").warnings(true).flag("-isystem").flag(&include);
    build.file("shim/iceoryx.cpp").file("shim/roudi.cpp").compile("rmwbench_iceoryx_shim");
    for library in [
        "iceoryx_posh_roudi",
        "iceoryx_posh_config",
        "iceoryx_posh",
        "iceoryx_hoofs",
        "iceoryx_platform",
    ] {
        println!("cargo:rustc-link-lib={library}");
    }
}

/// The directory of the headers, and the version, which is its name.
fn installed() -> Option<(PathBuf, String)> {
    let versions = std::fs::read_dir("/usr/include/iceoryx").ok()?;
    let include = versions
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("iceoryx_posh/popo/listener.hpp").is_file())?;
    let version = include.file_name()?.to_str()?.trim_start_matches('v').to_string();
    Some((include, version))
}
