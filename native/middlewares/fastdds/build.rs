//! Compiles the C++ shim against an installed Fast DDS: Debian's, or that of the ROS 2 installation
//! that FASTDDS_PREFIX names.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

const SOURCES: [&str; 20] = [
    "arm_settings",
    "configuration",
    "description",
    "discovery",
    "features",
    "filter",
    "flow",
    "profile",
    "profile_names",
    "pumps",
    "qos",
    "raw_type",
    "reader",
    "server",
    "server_list",
    "service",
    "session",
    "table",
    "transports",
    "writer",
];
const HELP: &str = "Fast DDS's headers were not found. Either install them:\n    \
    sudo apt-get install g++ libfastrtps-dev libfastcdr-dev\n\
    or name an install that has them, for example a ROS 2 distribution's:\n    \
    FASTDDS_PREFIX=/opt/ros/jazzy cargo build -p rmwbench-fastdds";

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-changed=../../harness/include");
    println!("cargo:rerun-if-env-changed=FASTDDS_PREFIX");

    let prefix = env::var("FASTDDS_PREFIX").ok().filter(|p| !p.is_empty()).map(PathBuf::from);
    let includes = includes(prefix.as_deref());
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").warnings(true).include("../../harness/include");
    for include in &includes {
        // To the compiler it is a system directory, so that the library's own warnings are not
        // shown.
        build.flag("-isystem").flag(include);
    }
    let Some((version, library)) = version_and_library(&build) else { fail(prefix.as_deref()) };
    let source = match &prefix {
        Some(prefix) => match origin(prefix) {
            Some(origin) => format!("{library} {version} ({origin})"),
            None => format!("{library} {version} of {}", prefix.display()),
        },
        None => format!("{library} {version}{}", debian_revision()),
    };
    build.define("RMWBENCH_FASTDDS_SOURCE", quoted(&source).as_str());
    build.define("RMWBENCH_FASTDDS_COMPILER", quoted(&compiler(&build)).as_str());
    for name in SOURCES {
        build.file(format!("shim/{name}.cpp"));
    }
    build.compile("rmwbench_fastdds_shim");
    let libraries = prefix.as_deref().map(libraries).unwrap_or_default();
    for directory in &libraries {
        println!("cargo:rustc-link-search=native={}", directory.display());
        // RPATH and not RUNPATH: it also applies to the libraries that Fast DDS needs itself.
        println!("cargo:rustc-link-arg=-Wl,--disable-new-dtags,-rpath,{}", directory.display());
    }
    println!("cargo:rustc-link-lib={library}");
    println!("cargo:rustc-link-lib=fastcdr");
    // For the bench, whose bare program uses the same installation (read as DEP_FASTDDS_INCLUDES
    // and DEP_FASTDDS_LIBRARIES).
    let joined = |paths: &[PathBuf]| {
        paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(":")
    };
    println!("cargo:includes={}", joined(&includes));
    println!("cargo:libraries={}", joined(&libraries));
}

/// The directories to search besides the compiler's own: PREFIX/include, and the nested ones that
/// ROS 2 uses (include/fastcdr/fastcdr/…).
fn includes(prefix: Option<&Path>) -> Vec<PathBuf> {
    let Some(prefix) = prefix else { return Vec::new() };
    let include = prefix.join("include");
    let places = ["", "fastrtps", "fastdds", "fastcdr", "foonathan_memory"]
        .iter()
        .map(|nested| include.join(nested));
    let directories: Vec<PathBuf> =
        places.chain(multiarch(&include)).filter(|d| d.is_dir()).collect();
    // Otherwise the compiler would silently take another installation's headers from its own
    // directories.
    if !directories
        .iter()
        .any(|d| d.join("fastdds/config.hpp").is_file() || d.join("fastrtps/config.h").is_file())
    {
        fail(Some(prefix));
    }
    // The compiler's own directory must keep its place: libstdc++ searches the C headers after its
    // own.
    directories.into_iter().filter(|d| d != Path::new("/usr/include")).collect()
}

fn libraries(prefix: &Path) -> Vec<PathBuf> {
    let lib = prefix.join("lib");
    std::iter::once(lib.clone()).chain(multiarch(&lib)).filter(|d| d.is_dir()).collect()
}

/// The directories below `directory` such as Debian's `x86_64-linux-gnu`.
fn multiarch(directory: &Path) -> Vec<PathBuf> {
    let entries = directory.read_dir().into_iter().flatten().flatten().map(|e| e.path());
    entries.filter(|p| p.to_string_lossy().ends_with("-linux-gnu")).collect()
}

/// The version and the library's name, from the preprocessor, because the place of the
/// configuration header differs between 2.x, 3.x and Debian.
fn version_and_library(build: &cc::Build) -> Option<(String, &'static str)> {
    let probe = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("probe.cpp");
    let text = "#if __has_include(<fastdds/config.hpp>)\n#include <fastdds/config.hpp>\nfound fastdds FASTDDS_VERSION_STR\n\
                #elif __has_include(<fastrtps/config.h>)\n#include <fastrtps/config.h>\nfound fastrtps FASTRTPS_VERSION_STR\n#endif\n\
                #if !__has_include(<fastcdr/Cdr.h>)\nno fastcdr\n#endif\n";
    std::fs::write(&probe, text).expect("OUT_DIR is writable");
    let output = build.get_compiler().to_command().arg("-E").arg(&probe).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || text.lines().any(|l| l.trim() == "no fastcdr") {
        return None;
    }
    // The preprocessor may put a line marker between the words of a line.
    let mut words = text
        .lines()
        .filter(|l| !l.starts_with('#'))
        .flat_map(str::split_whitespace)
        .skip_while(|w| *w != "found")
        .skip(1);
    let library = if words.next()? == "fastdds" { "fastdds" } else { "fastrtps" };
    Some((words.next()?.trim_matches('"').to_string(), library))
}

/// The source from which a prefix was built: the first line of a file that `rmwbench middlewares
/// build fastdds --newest` writes into it.
fn origin(prefix: &Path) -> Option<String> {
    let text = std::fs::read_to_string(prefix.join("share/rmwbench/origin")).ok()?;
    text.lines().next().map(str::to_string)
}

/// ` (Debian 2.9.1+ds-1+deb12u2)`, so that a report can name the exact build; empty if there is no
/// dpkg. If the package is installed for several kinds of machine, it has a line for each, all with
/// one version.
fn debian_revision() -> String {
    let query =
        Command::new("dpkg-query").args(["-W", "-f=${Version}\\n", "libfastrtps-dev"]).output();
    match query {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            format!(" (Debian {})", text.lines().next().unwrap_or_default())
        }
        _ => String::new(),
    }
}

fn compiler(build: &cc::Build) -> String {
    let output = build.get_compiler().to_command().arg("--version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_string()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn fail(prefix: Option<&Path>) -> ! {
    let looked = prefix.map_or("the compiler's include directories".to_string(), |p| {
        format!("FASTDDS_PREFIX={}", p.display())
    });
    for line in HELP.lines().chain([format!("(looked in {looked})").as_str()]) {
        println!("cargo::error={line}");
    }
    exit(1)
}
