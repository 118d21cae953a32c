//! What the instrument adds to iceoryx2: our worker's path against a program written by hand on the same API, in one process, taking
//! turns. Prints one JSON line per ratio.
//!
//! `rmwbench-bench-iceoryx2 [copy|loan]... [--times N]` (both parts without arguments).

mod bare;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use iceoryx2::prelude::*;
use rmwbench_bench::{take_turns, Asked, Compared, Ours, LOADS};
use rmwbench_harness::middleware::{Middleware, Profile, SessionConfig, Wait};
use rmwbench_iceoryx2::Iceoryx2;

fn main() -> ExitCode {
    rmwbench_bench::main("iceoryx2", &["copy", "loan"], |asked| {
        let root = std::env::temp_dir().join(format!("rmwbench-bench-iceoryx2-{}", std::process::id()));
        let result = run(asked, &root);
        let _ = std::fs::remove_dir_all(&root);
        result
    })
}

fn run(asked: &Asked<'_>, root: &Path) -> Result<(), String> {
    set_log_level(LogLevel::Warn);
    std::fs::create_dir_all(root).map_err(|e| e.to_string())?;
    let untouched = Iceoryx2.describe().profiles.remove(0);
    let own = format!("[global]\nroot-path = \"{}\"\n\n", root.display());
    let profile = Profile { text: own + &untouched.text, ..untouched };
    let file = root.join("iceoryx2.toml");
    std::fs::write(&file, &profile.text).map_err(|e| e.to_string())?;
    let name = FilePath::new(file.as_os_str().as_encoded_bytes()).map_err(|e| format!("{e:?}"))?;
    let config = Config::from_file(&name).map_err(|e| e.to_string())?;
    let session = SessionConfig { profile, options: BTreeMap::new(), modes: Default::default(), domain_id: 0, trial_nonce: 7 };
    for path in &asked.parts {
        let loan = *path == "loan";
        let compared = Compared {
            bench: "iceoryx2",
            name: &format!("our worker's path / bare API, {path}"),
            ours: &|round| {
                let ours = Ours::open(&Iceoryx2, [&session, &session], round, Wait::Block, loan);
                Ok(Box::new(ours.map_err(|e| e.to_string())?))
            },
            bare: &|round| Ok(Box::new(bare::Bare::open(&config, round, loan).map_err(|e| e.to_string())?)),
        };
        take_turns(&compared, &LOADS, asked.times)?;
    }
    Ok(())
}
