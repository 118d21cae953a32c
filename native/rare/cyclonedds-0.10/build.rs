//! Compiles the shim against Debian's Cyclone DDS 0.10 and the C binding of its iceoryx.

use std::path::PathBuf;
use std::process::{exit, Command};

const HELP: &str = "Cyclone DDS 0.10's headers were not found:\n    sudo apt-get install gcc g++ cyclonedds-dev libiceoryx-posh-dev";

fn main() {
    println!("cargo:rerun-if-changed=shim");
    let Some(iceoryx) = iceoryx() else { fail("no iceoryx below /usr/include/iceoryx") };
    let version = output_of("pkg-config", &["--modversion", "CycloneDDS"]);
    if !version.starts_with("0.10.") {
        fail(&format!("pkg-config knows CycloneDDS {version:?}, expected 0.10"));
    }
    let revision = output_of("dpkg-query", &["-W", "-f=${Version}", "cyclonedds-dev"]);
    println!("cargo:rustc-env=CYCLONEDDS_VERSION={version}");
    println!("cargo:rustc-env=CYCLONEDDS_REVISION={revision}");
    let mut build = cc::Build::new();
    build
        .std("gnu11")
        .warnings(true)
        .include("shim")
        .flag("-isystem")
        .flag(&iceoryx)
        .define("DDS_NDEBUG", None);
    build.file("shim/type.c").file("shim/blob.c").compile("rmwbench_cyclonedds_0_10_shim");
    println!("cargo:rustc-link-lib=ddsc");
}

/// The directory of iceoryx's headers, which has its version in its name.
fn iceoryx() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/include/iceoryx").ok()?;
    versions
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("iceoryx_binding_c/chunk.h").is_file())
}

fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output
        .ok()
        .filter(|o| o.status.success())
        .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string())
        .unwrap_or_default()
}

fn fail(message: &str) -> ! {
    for line in HELP.lines().chain([message]) {
        println!("cargo::error={line}");
    }
    exit(1)
}
