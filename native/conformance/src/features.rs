//! The features with which a library was built, compared with those of users who choose none.
//!
//! A worker chooses features of the crate that it measures. A feature that its users do not have,
//! or that only they have, may change the behaviour of the profile `untouched`: then it is switched
//! off there, or `forced` names it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use rmwbench_harness::middleware::Middleware;
use serde_json::Value;

use crate::skipped;

/// Checks that `describe().build.features` are the features of `library` that `package` requests,
/// and that each difference from the library's defaults is explained: `harmless` says why it
/// changes nothing in `untouched`, or `forced("untouched")` names it. If cargo does not know them,
/// the check is skipped, with a message.
pub fn check(middleware: &dyn Middleware, package: &str, library: &str, harmless: &[(&str, &str)]) {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let packages = metadata(&workspace).expect("cargo reads this workspace");
    let dependency = packages
        .iter()
        .filter(|package_entry| package_entry["name"] == package)
        .flat_map(|package_entry| package_entry["dependencies"].as_array().into_iter().flatten())
        .find(|dependency_entry| dependency_entry["name"] == library)
        .unwrap_or_else(|| panic!("{package} depends on {library}"));
    let version = dependency["req"].as_str().unwrap_or_default().trim_start_matches('=');
    let Some(theirs) = manifest(library, version).and_then(|file| metadata(&file)) else {
        let reason = format!("{library} {version} is not in cargo's registry here");
        return skipped(&format!("the features of {library}"), &reason);
    };
    let features = &theirs[0]["features"];
    let defaults = names(&features["default"]);
    let mut requested = names(&dependency["features"]);
    if dependency["uses_default_features"] == Value::Bool(true) {
        requested.extend(defaults.iter().cloned());
    }
    let described = names(&middleware.describe().build["features"]);
    assert_eq!(
        described, requested,
        "{package}: build.features, and what its Cargo.toml asks of {library}"
    );
    let harmless: BTreeMap<&str, &str> = harmless.iter().copied().collect();
    let forced = middleware.forced("untouched").unwrap_or_default();
    let differs: BTreeSet<&str> =
        requested.symmetric_difference(&defaults).map(String::as_str).collect();
    for feature in &differs {
        assert!(
            harmless.contains_key(feature) || forced.contains(feature),
            "{library}: a default build differs in {feature}: switch it off in untouched, or say it in forced"
        );
    }
    for feature in harmless.keys() {
        assert!(differs.contains(feature), "{library}: {feature} is as in a default build");
    }
}

/// The packages of a manifest without their dependencies: so nothing is downloaded.
fn metadata(manifest: &Path) -> Option<Vec<Value>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let document: Value = serde_json::from_slice(&output.stdout).ok()?;
    document["packages"].as_array().cloned()
}

/// Where cargo unpacked the library that was built.
fn manifest(library: &str, version: &str) -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")))?;
    let registries = std::fs::read_dir(home.join("registry/src")).ok()?;
    registries
        .filter_map(Result::ok)
        .map(|registry| registry.path().join(format!("{library}-{version}/Cargo.toml")))
        .find(|manifest| manifest.exists())
}

fn names(list: &Value) -> BTreeSet<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|name| name.as_str().map(str::to_string)).collect()
}
