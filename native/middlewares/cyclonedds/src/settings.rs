//! A session's configuration: the profile with the settings that modes replace, and the conditions
//! for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rmwbench_cyclone::domain::{self, Domains};
use rmwbench_cyclone::sockets::{self, Socket};
use rmwbench_harness::middleware::{Error, SessionConfig};

use crate::locals::Locals;
use crate::modes::{self, Modes};
use crate::profile;
use crate::roudi;

pub struct Settings {
    text: String,
    modes: Modes,
    /// Cyclone's shared-memory exchange is configured.
    pub psmx: bool,
    /// If so, the RouDi to which this process belongs.
    roudi: Option<roudi::Serving>,
    pub locals: Arc<Locals>,
    /// The number of receive threads before the domain was made.
    receive_threads: usize,
    memberships: u32,
}

impl domain::Settings for Settings {
    fn domains() -> &'static Domains<Settings> {
        static OPEN: Domains<Settings> = Mutex::new(BTreeMap::new());
        &OPEN
    }

    fn from_config(config: &SessionConfig) -> Result<Settings, Error> {
        let profile = &config.profile;
        profile::check(&profile.text, config.domain_id).map_err(|(kind, message)| Error {
            kind,
            object: format!("profile {}", profile.name),
            message,
        })?;
        let modes = Modes::from_config(config)?;
        let text = modes.apply(&profile.text)?;
        Ok(Settings {
            psmx: modes::exchanges_over_iceoryx(&text),
            text,
            modes,
            roudi: None,
            locals: Arc::default(),
            receive_threads: 0,
            memberships: 0,
        })
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn shared_memory(&self) -> bool {
        self.psmx
    }

    fn begin(&mut self, config: &SessionConfig) -> Result<(), Error> {
        if self.psmx {
            self.roudi = Some(roudi::serving().ok_or_else(|| without_roudi(config))?);
        } else if pools_asked(config) {
            let message = "nothing of this configuration uses shared memory (transport: shm or profile shm does)";
            return Err(Error::unsupported(format!("mode {}", roudi::MODE), message));
        }
        self.receive_threads = receive_threads();
        self.memberships = sockets::multicast_memberships();
        Ok(())
    }

    fn after_creation(&self, config: &SessionConfig, _: &[Socket]) -> Result<Vec<String>, Error> {
        self.modes.check_granted(
            || receive_threads() - self.receive_threads,
            sockets::multicast_memberships() > self.memberships,
        )?;
        Ok(match pools_asked(config) {
            true => vec![roudi::described(&roudi::pools(config)?)],
            false => Vec::new(),
        })
    }
}

impl Settings {
    /// Refuses a further endpoint over shared memory if the RouDi with which this process
    /// registered is gone: iceoryx would end the process, even if another RouDi serves now.
    pub fn check_roudi(&self, object: &str) -> Result<(), Error> {
        if self.psmx && roudi::serving() != self.roudi {
            let message = "its RouDi has died: iceoryx connects nothing more in this process, not with another RouDi either";
            return Err(Error::failed(object, message));
        }
        Ok(())
    }
}

fn pools_asked(config: &SessionConfig) -> bool {
    config.modes.contains_key(roudi::MODE)
}

/// The error if shared memory was requested and no RouDi runs: unsupported if a mode requested it,
/// failed if the profile did.
fn without_roudi(config: &SessionConfig) -> Error {
    let message = "its shared memory needs a RouDi, and no RouDi serves this host: an arm starts one with the option daemons: roudi";
    let profile = &config.profile;
    if modes::exchanges_over_iceoryx(&profile.text) {
        Error::failed(format!("profile {}", profile.name), message)
    } else {
        Error::unsupported(
            "mode transport",
            format!("shm: {message} (profile shm does so by itself)"),
        )
    }
}

/// The number of this process's threads that receive for Cyclone, by the name that it gives them.
fn receive_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks
        .filter(|task| {
            std::fs::read_to_string(task.path().join("comm"))
                .is_ok_and(|name| name.starts_with("recv"))
        })
        .count()
}
