//! What the instrument adds to iceoryx2: our worker's path against a program written by hand on the
//! same API, in one process, taking turns. Prints one JSON line per ratio.
//!
//! `rmwbench-bench-iceoryx2 [copy|loan|listener]... [--times N]` (all parts without arguments).
//! `listener` is `copy` against a program that waits in its one listener, where the others and the
//! worker wait on a wait set: what the worker's way of waiting costs a user with one subscription.

mod bare;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use iceoryx2::prelude::*;
use rmwbench_bench::{take_turns, Compared, Limit, Ours, Selection, LOADS};
use rmwbench_harness::middleware::{Middleware, Profile, SessionConfig, Wait};
use rmwbench_iceoryx2::Iceoryx2;

use bare::{Bare, Waits};

fn main() -> ExitCode {
    rmwbench_bench::main("iceoryx2", &["copy", "loan", "listener"], |selection| {
        let root =
            std::env::temp_dir().join(format!("rmwbench-bench-iceoryx2-{}", std::process::id()));
        let result = run(selection, &root);
        let _ = std::fs::remove_dir_all(&root);
        result
    })
}

fn run(selection: &Selection<'_>, root: &Path) -> Result<(), String> {
    set_log_level(LogLevel::Warn);
    std::fs::create_dir_all(root).map_err(|e| e.to_string())?;
    let untouched = Iceoryx2.describe().profiles.remove(0);
    let own = format!("[global]\nroot-path = \"{}\"\n\n", root.display());
    let profile = Profile { text: own + &untouched.text, ..untouched };
    let file = root.join("iceoryx2.toml");
    std::fs::write(&file, &profile.text).map_err(|e| e.to_string())?;
    let name = FilePath::new(file.as_os_str().as_encoded_bytes()).map_err(|e| format!("{e:?}"))?;
    let config = Config::from_file(&name).map_err(|e| e.to_string())?;
    let session = SessionConfig {
        profile,
        options: BTreeMap::new(),
        modes: Default::default(),
        domain_id: 0,
        trial_nonce: 7,
    };
    for path in &selection.parts {
        let loan = *path == "loan";
        let waits = if *path == "listener" { Waits::InListener } else { Waits::OnWaitSet };
        let limit = if *path == "listener" { Limit::None } else { Limit::EQUIVALENT };
        let compared = Compared {
            bench: "iceoryx2",
            limit,
            name: &format!("our worker's path / bare API, {path}"),
            ours: &|round| {
                let ours = Ours::open(&Iceoryx2, [&session, &session], round, Wait::Block, loan);
                Ok(Box::new(ours.map_err(|e| e.to_string())?))
            },
            bare: &|round| {
                Ok(Box::new(Bare::open(&config, round, loan, waits).map_err(|e| e.to_string())?))
            },
        };
        take_turns(&compared, &LOADS, selection.times)?;
    }
    Ok(())
}
