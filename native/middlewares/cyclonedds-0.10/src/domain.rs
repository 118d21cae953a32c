//! A Cyclone domain, made from the effective configuration before any participant exists.
//!
//! `dds_create_domain` is used rather than the environment variable: it takes the text itself,
//! holds for exactly one domain id and tells when the text is wrong. A process can have a domain id
//! only once, so sessions of the same domain and text share it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use rmwbench_harness::middleware::{Error, SessionConfig};

use crate::entity::{c_string, words, Entity};
use crate::log::Capture;
use crate::settings::Settings;
use crate::{roudi, sockets, sys};

pub struct Domain {
    /// What Cyclone and the kernel said while it was made, for the notes of its endpoints.
    pub notes: Vec<String>,
    pub settings: Settings,
    _entity: Entity,
}

static OPEN: Mutex<BTreeMap<u32, Weak<Domain>>> = Mutex::new(BTreeMap::new());

impl Domain {
    pub fn open(config: &SessionConfig) -> Result<Arc<Domain>, Error> {
        let settings = Settings::of(config)?;
        let object = || format!("profile {}", config.profile.name);
        let mut open = OPEN.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(domain) = open.get(&config.domain_id).and_then(Weak::upgrade) {
            if domain.settings.text != settings.text {
                let message = format!(
                    "domain {} is open in this process with another configuration",
                    config.domain_id
                );
                return Err(Error::invalid(object(), message));
            }
            return Ok(domain);
        }
        if settings.shared_memory && !roudi::is_running() {
            let message = "shared memory needs a RouDi, and none serves this host: an arm starts one with the option daemons: roudi";
            return Err(match config.modes.contains_key("transport") {
                true => Error::unsupported("mode transport", message),
                false => Error::failed(object(), message),
            });
        }
        let domain = Arc::new(Domain::create(config, settings)?);
        open.insert(config.domain_id, Arc::downgrade(&domain));
        Ok(domain)
    }

    fn create(config: &SessionConfig, settings: Settings) -> Result<Domain, Error> {
        let text = c_string(&settings.text, "profile")?;
        let capture = Capture::begin();
        let before = sockets::udp();
        // SAFETY: a plain call with a string that outlives it.
        let handle = unsafe { sys::dds_create_domain(config.domain_id, text.as_ptr()) };
        let said = capture.lines();
        if handle < 0 {
            let object = format!("profile {} in domain {}", config.profile.name, config.domain_id);
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
        let new: Vec<_> = sockets::udp().into_iter().filter(|s| !before.contains(s)).collect();
        notes.extend(sockets::describe(&new));
        Ok(Domain { notes, settings, _entity: entity })
    }
}
