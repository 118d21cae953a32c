//! Passes the version of LCM's header to the worker. LCM's own pkg-config file requires GLib's
//! headers, which are not needed here.

use std::fs::read_to_string;
use std::process::exit;

const DIRECTORIES: [&str; 2] = ["/usr/local/include", "/usr/include"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let header = DIRECTORIES
        .iter()
        .find_map(|directory| read_to_string(format!("{directory}/lcm/lcm_version.h")).ok());
    let header = header.or_else(|| {
        DIRECTORIES
            .iter()
            .find_map(|directory| read_to_string(format!("{directory}/lcm/lcm.h")).ok())
    });
    let Some(header) = header else {
        println!("cargo::error=lcm/lcm.h was not found: sudo apt-get install liblcm-dev");
        exit(1)
    };
    let part = |name: &str| {
        header.lines().find_map(|line| {
            line.strip_prefix("#define ")?.strip_prefix(name)?.split_whitespace().next()
        })
    };
    let version = ["LCM_MAJOR_VERSION ", "LCM_MINOR_VERSION ", "LCM_MICRO_VERSION "]
        .map(|name| part(name).unwrap_or("?"))
        .join(".");
    println!("cargo:rustc-env=LCM_VERSION={version}");
}
