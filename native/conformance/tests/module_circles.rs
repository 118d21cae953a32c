//! No module of a worker, or of a crate that workers share, uses one that uses it, directly or
//! indirectly: so a file can be read after the files that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Workers that still have circles; a worker without one fails here, and must be removed from the
/// list.
const WITH_CIRCLES: [&str; 4] = ["iceoryx", "roscpp", "rustdds", "zeromq"];

type Uses = BTreeMap<String, BTreeSet<String>>;

/// For each module of a crate, the modules that it names by `crate::`.
fn uses(source: &Path) -> Uses {
    let files = fs::read_dir(source).unwrap().map(|file| file.unwrap().path());
    let texts: BTreeMap<String, String> = files
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(|path| {
            (
                path.file_stem().unwrap().to_string_lossy().into_owned(),
                fs::read_to_string(&path).unwrap(),
            )
        })
        .filter(|(module, _)| module != "lib" && module != "main")
        .collect();
    let named = |text: &str| {
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect::<Vec<_>>()
            .join("\n");
        let names = code.split("crate::").skip(1).map(|rest| {
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_string()
        });
        names.filter(|name| texts.contains_key(name)).collect()
    };
    texts.iter().map(|(module, text)| (module.clone(), named(text))).collect()
}

fn reached<'a>(uses: &'a Uses, module: &'a str) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![module]);
    while let Some(next) = open.pop() {
        open.extend(
            uses[next]
                .iter()
                .map(String::as_str)
                .filter(|used| *used != next && reached.insert(*used)),
        );
    }
    reached
}

fn in_circles(uses: &Uses) -> Vec<&str> {
    uses.keys()
        .map(String::as_str)
        .filter(|module| reached(uses, module).contains(module))
        .collect()
}

#[test]
fn workers_have_no_module_circles() {
    let native = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = ["middlewares", "shared"].map(|folder| fs::read_dir(native.join(folder)).unwrap());
    for path in crates.into_iter().flatten().map(|entry| entry.unwrap().path()) {
        let worker = path.file_name().unwrap().to_string_lossy();
        let uses = uses(&path.join("src"));
        let circle = in_circles(&uses);
        match WITH_CIRCLES.contains(&&*worker) {
            true => assert!(
                !circle.is_empty(),
                "{worker} has no module circle any more: take it off the list"
            ),
            false => assert!(
                circle.is_empty(),
                "{worker}: the modules {} use each other in a circle",
                circle.join(", ")
            ),
        }
    }
}

#[test]
fn a_circle_of_three_is_found_and_a_chain_is_not_a_circle() {
    let uses = |pairs: &[(&str, &[&str])]| -> Uses {
        pairs
            .iter()
            .map(|(module, used)| {
                (module.to_string(), used.iter().map(|name| name.to_string()).collect())
            })
            .collect()
    };
    assert!(in_circles(&uses(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
    assert_eq!(
        in_circles(&uses(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"])])),
        ["a", "b", "c"]
    );
}
