//! Profiles are iceoryx2's own configuration files (TOML).
//!
//! The machine's own files (`~/.config/iceoryx2`, `/etc/iceoryx2`) are never read: an arm is its
//! profile, on every machine.

use std::sync::atomic::{AtomicU32, Ordering};

use iceoryx2::config::ConfigCreationError;
use iceoryx2::prelude::*;
use rmwbench_harness::middleware::{Error, Profile};
use rmwbench_harness::shared_host;

pub fn embedded() -> Vec<Profile> {
    vec![Profile {
        name: "untouched".into(),
        format: "toml".into(),
        text: include_str!("../profiles/untouched.toml").into(),
        summary: "as installed, with room for 32 publishers and subscribers per topic; block waits need an event service beside it".into(),
    }]
}

/// Parses a profile. iceoryx2 reads configurations only from files, so the text is written to one
/// in the temporary directory.
pub fn parse(profile: &Profile) -> Result<Config, Error> {
    let object = || format!("profile {}", profile.name);
    if profile.format != "toml" && !(profile.format == "none" && profile.text.is_empty()) {
        return Err(Error::invalid(
            object(),
            format!("expected format toml, found {}", profile.format),
        ));
    }
    static OPENED: AtomicU32 = AtomicU32::new(0);
    let file = format!(
        "rmwbench-iceoryx2-{}-{}.toml",
        std::process::id(),
        OPENED.fetch_add(1, Ordering::Relaxed)
    );
    let path = std::env::temp_dir().join(file);
    std::fs::write(&path, &profile.text)
        .map_err(|e| Error::failed(object(), format!("{}: {e}", path.display())))?;
    let name = FilePath::new(path.as_os_str().as_encoded_bytes())
        .map_err(|e| Error::failed(object(), format!("{e:?}")))?;
    let parsed = Config::from_file(&name);
    let _ = std::fs::remove_file(&path);
    let parsed = parsed.map_err(|e| match e {
        ConfigCreationError::UnableToDeserializeContents => Error::invalid(
            object(),
            format!(
                "iceoryx2 could not parse it ({e}): expected its configuration file, e.g. [defaults.publish-subscribe] max-subscribers = 8"
            ),
        ),
        e => Error::failed(object(), e),
    })?;
    apart(parsed).map_err(|e| Error::failed(object(), e))
}

/// On a shared host the names of segments and files are the host's own, whatever the profile says,
/// so that no other application is met.
fn apart(mut config: Config) -> Result<Config, String> {
    if let Some(host) = shared_host::name() {
        config.global.prefix = FileName::new(format!("{host}_").as_bytes())
            .map_err(|e| format!("{}: {e:?}", shared_host::NAME))?;
        let directory = std::env::temp_dir().join("iceoryx2");
        let root = iceoryx2::prelude::Path::new(directory.as_os_str().as_encoded_bytes())
            .map_err(|e| format!("TMPDIR: {e:?}"))?;
        config.global.set_root_path(&root);
    }
    Ok(config)
}
