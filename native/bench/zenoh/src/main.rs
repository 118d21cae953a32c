//! What the instrument adds to Zenoh: our worker's path against a program written by hand on the
//! same API, in one process, taking turns. Prints one JSON line per ratio.
//!
//! `rmwbench-bench-zenoh [block|callback]... [--times N]` (both parts without arguments). Each path
//! has two sessions of the `unixsock` profile with Zenoh's implicit shared memory: nothing leaves the
//! machine.

mod bare;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use rmwbench_bench::{take_turns, Compared, Limit, Ours, Selection, LOADS};
use rmwbench_harness::middleware::{Middleware, Profile, SessionConfig, Wait};
use rmwbench_zenoh::Zenoh;
use zenoh::Config;

fn main() -> ExitCode {
    rmwbench_bench::main("zenoh", &["block", "callback"], |selection| {
        let root =
            std::env::temp_dir().join(format!("rmwbench-bench-zenoh-{}", std::process::id()));
        let result = run(selection, &root);
        let _ = std::fs::remove_dir_all(&root);
        result
    })
}

fn run(selection: &Selection<'_>, root: &Path) -> Result<(), String> {
    std::fs::create_dir_all(root).map_err(|e| e.to_string())?;
    let profile = Zenoh
        .describe()
        .profiles
        .into_iter()
        .find(|p| p.name == "unixsock")
        .ok_or("no profile unixsock")?;
    let off = "shared_memory: { enabled: false }";
    let text = profile.text.replace(off, "shared_memory: { enabled: true, mode: \"init\" }");
    if text == profile.text {
        return Err(format!("the profile unixsock has no {off}"));
    }
    let profile = Profile { text, ..profile };
    let nonce = u64::from(std::process::id());
    let session = SessionConfig {
        profile: profile.clone(),
        options: BTreeMap::new(),
        modes: Default::default(),
        domain_id: 0,
        trial_nonce: nonce,
    };
    for name in &selection.parts {
        let wait = if *name == "callback" { Wait::Callback } else { Wait::Block };
        let compared = Compared {
            bench: "zenoh",
            limit: Limit::EQUIVALENT,
            name: &format!("our worker's path / bare API, {name}"),
            ours: &|round| {
                let ours = Ours::open(&Zenoh, [&session, &session], round, wait, false);
                Ok(Box::new(ours.map_err(|e| e.to_string())?))
            },
            bare: &|round| {
                let configs = pair(&profile.text, root).map_err(|e| e.to_string())?;
                Ok(Box::new(bare::Bare::open(configs, round, wait).map_err(|e| e.to_string())?))
            },
        };
        take_turns(&compared, &LOADS, selection.times)?;
    }
    Ok(())
}

/// The profile's text for two sessions, with sockets of their own: this fills in the words that the
/// worker would fill in.
fn pair(text: &str, root: &Path) -> zenoh::Result<[Config; 2]> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let socket = || {
        format!(
            "unixsock-stream/{}/{}.sock",
            root.display(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        )
    };
    let (first, second) = (socket(), socket());
    let fill = |own: &str, peers: &str| {
        Config::from_json5(&text.replace("{unix}", own).replace("\"{peers}\"", peers))
    };
    Ok([fill(&first, "")?, fill(&second, &format!("\"{first}\""))?])
}
