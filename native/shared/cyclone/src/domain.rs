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
use crate::sockets::{self, Socket};
use crate::sys;

/// What profile and modes come to.
pub trait Settings: Send + Sync + Sized + 'static {
    /// The domains that are open in this process.
    fn domains() -> &'static Domains<Self>;

    /// `config` has a profile of Cyclone's format.
    fn asked(config: &SessionConfig) -> Result<Self, Error>;

    /// The configuration in force, as Cyclone takes it.
    fn text(&self) -> &str;

    /// It configures shared memory, so that a RouDi must serve.
    fn shared_memory(&self) -> bool;

    /// Called before the domain is made. Errors: what would not work.
    fn begin(&mut self, config: &SessionConfig) -> Result<(), Error>;

    /// Called with the sockets of the domain that was made: notes on it. Errors: what was not
    /// granted.
    fn made(&self, config: &SessionConfig, sockets: &[Socket]) -> Result<Vec<String>, Error>;
}

pub type Domains<S> = Mutex<BTreeMap<u32, Weak<Domain<S>>>>;

pub struct Domain<S> {
    /// What Cyclone and the kernel said while it was made, for the notes of its endpoints.
    pub notes: Vec<String>,
    pub settings: S,
    _entity: Entity,
}

impl<S: Settings> Domain<S> {
    pub fn open(config: &SessionConfig) -> Result<Arc<Self>, Error> {
        let profile = &config.profile;
        let object = || format!("profile {}", profile.name);
        if profile.format != "xml" {
            let message = format!("Cyclone DDS reads xml, the profile is {}", profile.format);
            return Err(Error::invalid(object(), message));
        }
        let settings = S::asked(config)?;
        let mut open = S::domains().lock().unwrap_or_else(|e| e.into_inner());
        if let Some(domain) = open.get(&config.domain_id).and_then(Weak::upgrade) {
            if domain.settings.text() != settings.text() {
                let message = format!(
                    "domain {} is open in this process with another configuration",
                    config.domain_id
                );
                return Err(Error::invalid(object(), message));
            }
            return Ok(domain);
        }
        let domain = Arc::new(Domain::create(config, settings)?);
        open.insert(config.domain_id, Arc::downgrade(&domain));
        Ok(domain)
    }

    fn create(config: &SessionConfig, mut settings: S) -> Result<Self, Error> {
        let text = c_string(settings.text(), "profile")?;
        settings.begin(config)?;
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
        notes.extend(settings.made(config, &new)?);
        notes.extend(sockets::describe(&new));
        Ok(Domain { notes, settings, _entity: entity })
    }
}
