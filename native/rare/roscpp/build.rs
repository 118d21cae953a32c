//! Compiles the shim against an installed roscpp.

use std::process::{exit, Command};

const HELP: &str =
    "roscpp's headers were not found:\n    sudo apt-get install g++ pkg-config libroscpp-dev libstd-msgs-dev python3-rosmaster";

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-changed=../../harness/include");
    let version = output_of("pkg-config", &["--modversion", "roscpp"]);
    if version.is_empty() {
        for line in HELP.lines() {
            println!("cargo::error={line}");
        }
        exit(1);
    }
    println!("cargo:rustc-env=ROSCPP_VERSION={version}");
    println!(
        "cargo:rustc-env=ROSCPP_REVISION={}",
        output_of("dpkg-query", &["-W", "-f=${Version}", "libroscpp-dev"])
    );
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").warnings(true).include("../../harness/include");
    for flag in
        output_of("pkg-config", &["--cflags-only-I", "roscpp", "std_msgs"]).split_whitespace()
    {
        // To the compiler it is a system directory, so that the library's own warnings are not
        // shown.
        build.flag("-isystem").flag(flag.trim_start_matches("-I"));
    }
    build.file("shim/roscpp.cpp").compile("rmwbench_roscpp_shim");
    for library in
        ["roscpp", "rosconsole", "roscpp_serialization", "rostime", "xmlrpcpp", "boost_thread"]
    {
        println!("cargo:rustc-link-lib={library}");
    }
}

fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output
        .ok()
        .filter(|o| o.status.success())
        .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string())
        .unwrap_or_default()
}
