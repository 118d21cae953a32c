//! Compiles RouDi's two functions (roudi/) against the iceoryx that cyclors bundles.
//!
//! cyclors has no `links` key: Cargo neither reports where it built iceoryx nor builds it before
//! this script runs. So the headers come from cyclors' source in Cargo's registry, configured with
//! cyclors' own options, and libiceoryx_posh_roudi.a from the search path that Cargo passes to the
//! linker from cyclors' build. Both are of the one version that Cargo.toml pins.

use std::env;
use std::path::PathBuf;
use std::process::{exit, Command};

/// The options of cyclors' build script.
const OPTIONS: [&str; 3] =
    ["-DBUILD_SHARED_LIBS=OFF", "-DTOML_CONFIG=OFF", "-DCMAKE_BUILD_TYPE=Release"];

fn main() {
    println!("cargo:rerun-if-changed=roudi");
    println!("cargo:rerun-if-changed=Cargo.toml");
    println!("cargo:rerun-if-env-changed=CYCLORS_SOURCE");
    println!("cargo:rerun-if-env-changed=CARGO_HOME");

    let build = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("roudi");
    // Another source in the same directory is an error to CMake.
    let _ = std::fs::remove_dir_all(&build);
    let iceoryx = cyclors().join("iceoryx");
    cmake(
        Command::new("cmake")
            .args(["-S", "roudi", "-B"])
            .arg(&build)
            .arg(format!("-DICEORYX={}", iceoryx.display()))
            .args(OPTIONS),
    );
    cmake(Command::new("cmake").arg("--build").arg(&build).args(["--target", "rmwbench_roudi"]));
    println!("cargo:rustc-link-search=native={}", build.display());
    println!("cargo:rustc-link-lib=static=rmwbench_roudi");
    println!("cargo:rustc-link-lib=static=iceoryx_posh_roudi");
}

/// The source of cyclors: CYCLORS_SOURCE, or the one in Cargo's registry. The same version in two
/// registries is the same source, because Cargo.lock has its checksum.
fn cyclors() -> PathBuf {
    if let Some(source) = env::var_os("CYCLORS_SOURCE").filter(|s| !s.is_empty()) {
        return existing(source.into());
    }
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let registries = home.unwrap_or_default().join("registry/src");
    let name = format!("cyclors-{}", pinned());
    let source = registries
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path().join(&name))
        .find(|p| p.is_dir());
    existing(source.unwrap_or_else(|| registries.join("*").join(&name)))
}

fn existing(source: PathBuf) -> PathBuf {
    if !source.join("iceoryx/iceoryx_meta/CMakeLists.txt").is_file() {
        fail(&format!(
            "{} does not hold the source of cyclors with its iceoryx.\nName the place of cyclors {} (a vendored copy, say):\n    \
             CYCLORS_SOURCE=/path/to/cyclors cargo build -p rmwbench-cyclonedds",
            source.display(),
            pinned()
        ));
    }
    source
}

/// The version of cyclors that Cargo.toml pins.
fn pinned() -> String {
    let manifest =
        std::fs::read_to_string("Cargo.toml").expect("cargo runs this beside Cargo.toml");
    let line = manifest.lines().find(|line| line.starts_with("cyclors = ")).unwrap_or_default();
    match line.split_once("version = \"=").and_then(|(_, rest)| rest.split('"').next()) {
        Some(version) => version.to_owned(),
        None => fail("Cargo.toml must pin cyclors to one version (version = \"=…\"), because RouDi has to be of the same build"),
    }
}

fn cmake(command: &mut Command) {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            fail(&format!("cmake: {error}\n    sudo apt-get install cmake g++ make libacl1-dev"))
        }
    };
    if !output.status.success() {
        let words = [&output.stdout, &output.stderr]
            .map(|text| String::from_utf8_lossy(text).into_owned())
            .concat();
        let last: Vec<&str> = words.lines().rev().take(30).collect();
        fail(&format!(
            "{command:?} ended with {}\n{}",
            output.status,
            last.into_iter().rev().collect::<Vec<_>>().join("\n")
        ));
    }
}

fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo::error={line}");
    }
    exit(1)
}
