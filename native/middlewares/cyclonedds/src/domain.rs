//! A Cyclone domain, made from a profile's text before any participant exists.
//!
//! `dds_create_domain` is used rather than the environment variable: it takes the text itself,
//! holds for exactly one domain id and tells when the text is wrong. A process can have a domain id
//! only once, so sessions of the same domain and text share it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use cyclors::dds_create_domain;
use rmwbench_harness::middleware::{Error, SessionConfig};

use crate::entity::{c_string, words, Entity};
use crate::locals::Locals;
use crate::log::Capture;
use crate::modes::{self, Modes};
use crate::profile;
use crate::roudi;
use crate::sockets;

pub struct Domain {
    /// What Cyclone and the kernel said while it was made, for the notes of its endpoints.
    pub notes: Vec<String>,
    /// Its profile configures Cyclone's shared-memory exchange.
    pub psmx: bool,
    /// With that: the RouDi to which this process belongs.
    roudi: Option<roudi::Serving>,
    pub locals: Arc<Locals>,
    /// The configuration in force: the profile's text and what modes replace in it.
    pub text: String,
    _entity: Entity,
}

static OPEN: Mutex<BTreeMap<u32, Weak<Domain>>> = Mutex::new(BTreeMap::new());

impl Domain {
    pub fn open(config: &SessionConfig) -> Result<Arc<Domain>, Error> {
        let profile = &config.profile;
        let object = || format!("profile {}", profile.name);
        if profile.format != "xml" {
            let message = format!("Cyclone DDS reads xml, the profile is {}", profile.format);
            return Err(Error::invalid(object(), message));
        }
        profile::check(&profile.text, config.domain_id).map_err(|(kind, message)| Error {
            kind,
            object: object(),
            message,
        })?;
        let modes = Modes::asked(config)?;
        let text = modes.apply(&profile.text)?;
        let mut open = OPEN.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(domain) = open.get(&config.domain_id).and_then(Weak::upgrade) {
            if domain.text != text {
                let message = format!(
                    "domain {} is open in this process with another configuration",
                    config.domain_id
                );
                return Err(Error::invalid(object(), message));
            }
            return Ok(domain);
        }
        let domain = Arc::new(Domain::create(config, &modes, text)?);
        open.insert(config.domain_id, Arc::downgrade(&domain));
        Ok(domain)
    }

    fn create(config: &SessionConfig, modes: &Modes, text: String) -> Result<Domain, Error> {
        let profile = &config.profile;
        let c_text = c_string(&text, "profile")?;
        let psmx = modes::exchanges_over_iceoryx(&text);
        let pools_asked = [roudi::POOL_BYTES, roudi::LAYOUT]
            .into_iter()
            .find(|mode| config.modes.contains_key(*mode));
        if let Some(mode) = pools_asked.filter(|_| !psmx) {
            let message = "nothing of this configuration uses shared memory (transport: shm or profile shm does)";
            return Err(Error::unsupported(format!("mode {mode}"), message));
        }
        let serving = if psmx { roudi::serving() } else { None };
        if psmx && serving.is_none() {
            return Err(without_roudi(config, &profile.text));
        }
        let capture = Capture::begin();
        let (sockets_before, threads_before, groups_before) =
            (sockets::udp(), receive_threads(), sockets::multicast_memberships());
        // SAFETY: a plain call with a string that outlives it.
        let handle = unsafe { dds_create_domain(config.domain_id, c_text.as_ptr()) };
        let said = capture.lines();
        if handle < 0 {
            let object = format!("profile {} in domain {}", profile.name, config.domain_id);
            let message = if said.is_empty() { words(handle) } else { said.join("; ") };
            // Cyclone answers ERROR to everything; its own words tell a wrong text from a machine
            // that cannot.
            let wrong_text = said
                .iter()
                .any(|line| line.starts_with("config:") || line.contains("configuration file"));
            return Err(if wrong_text {
                Error::invalid(object, message)
            } else {
                Error::failed(object, message)
            });
        }
        let entity = Entity::owned(handle, String::new)?;
        let mut notes: Vec<String> =
            said.into_iter().map(|line| format!("Cyclone DDS: {line}")).collect();
        let new: Vec<_> =
            sockets::udp().into_iter().filter(|s| !sockets_before.contains(s)).collect();
        if pools_asked.is_some() {
            notes.push(roudi::described(&roudi::pools(config)?));
        }
        modes.check_granted(
            &new,
            || receive_threads() - threads_before,
            sockets::multicast_memberships() > groups_before,
        )?;
        notes.extend(sockets::describe(&new));
        Ok(Domain { notes, psmx, roudi: serving, locals: Arc::default(), text, _entity: entity })
    }
}

impl Domain {
    /// Refuses a further endpoint over shared memory where the RouDi that this process registered
    /// with is gone: iceoryx would end the process, also where another RouDi has come.
    pub fn check_roudi(&self, object: &str) -> Result<(), Error> {
        if self.psmx && roudi::serving() != self.roudi {
            let message = "its RouDi has died: iceoryx connects nothing more in this process, not with another RouDi either";
            return Err(Error::failed(object, message));
        }
        Ok(())
    }
}

/// Shared memory was asked where no RouDi runs; by a mode it is then not to be had here, by a
/// profile something went wrong.
fn without_roudi(config: &SessionConfig, profile: &str) -> Error {
    let message = "its shared memory needs a RouDi, and no RouDi serves this host: an arm starts one with the option daemons: roudi";
    if modes::exchanges_over_iceoryx(profile) {
        Error::failed(format!("profile {}", config.profile.name), message)
    } else {
        Error::unsupported(
            "mode transport",
            format!("shm: {message} (profile shm does so by itself)"),
        )
    }
}

/// Threads of this process that receive for Cyclone, by the name that it gives them.
fn receive_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks
        .filter(|task| {
            std::fs::read_to_string(task.path().join("comm"))
                .is_ok_and(|name| name.starts_with("recv"))
        })
        .count()
}
