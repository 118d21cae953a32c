//! A Cyclone domain, made from the effective configuration before any participant exists.
//!
//! `dds_create_domain` is used rather than the environment variable: it takes the text itself,
//! applies to exactly one domain id and reports a wrong text. A process can have a domain id only
//! once, so sessions of the same domain and text share it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use rmwbench_harness::middleware::{Error, SessionConfig};

use crate::entity::{c_string, words, Entity};
use crate::log::Capture;
use crate::sockets::{self, Socket};
use crate::sys;

/// The settings of profile and modes together.
pub trait Settings: Send + Sync + Sized + 'static {
    /// The domains that are open in this process.
    fn domains() -> &'static Domains<Self>;

    /// Reads the settings; `config` has a profile in Cyclone's format.
    fn from_config(config: &SessionConfig) -> Result<Self, Error>;

    /// The configuration in force, in the form that Cyclone takes.
    fn text(&self) -> &str;

    /// Whether it configures shared memory, so that a RouDi must serve.
    fn shared_memory(&self) -> bool;

    /// Called before the domain is made. Errors: settings that cannot work.
    fn begin(&mut self, config: &SessionConfig) -> Result<(), Error>;

    /// Called with the sockets of the new domain; returns notes on it. Errors: settings that were
    /// not granted.
    fn after_creation(
        &self,
        config: &SessionConfig,
        sockets: &[Socket],
    ) -> Result<Vec<String>, Error>;
}

pub type Domains<S> = Mutex<BTreeMap<u32, Weak<Domain<S>>>>;

pub struct Domain<S> {
    /// The messages of Cyclone and the kernel while the domain was made, for the notes of its
    /// endpoints.
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
        let settings = S::from_config(config)?;
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
        let log_lines = capture.lines();
        if handle < 0 {
            let object = format!("profile {} in domain {}", config.profile.name, config.domain_id);
            let message = if log_lines.is_empty() { words(handle) } else { log_lines.join("; ") };
            // Cyclone returns ERROR for every failure; its log shows whether the text is wrong or
            // the machine lacks something.
            let wrong_text = log_lines
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
            log_lines.into_iter().map(|line| format!("Cyclone DDS: {line}")).collect();
        let new: Vec<_> = sockets::udp().into_iter().filter(|s| !before.contains(s)).collect();
        notes.extend(settings.after_creation(config, &new)?);
        notes.extend(sockets::describe(&new));
        Ok(Domain { notes, settings, _entity: entity })
    }
}
