//! A worker that speaks ddsperf's dialect: it publishes and reads ddsperf's own data topic, so that
//! `ddsperf sub` and our ledger count the same messages (docs/other-tools.md).
//!
//! It speaks the worker protocol like every worker: the schedule, the records and thus the truth
//! are the harness's. What goes wrong on purpose is an option (see [`faults`]). Not a middleware to
//! compare: its name keeps `rmwbench` from finding it.

mod endpoints;
mod faults;

use std::ffi::CString;
use std::process::ExitCode;
use std::sync::Arc;

use cyclors::*;
use rmwbench_cyclonedds::CycloneDds;
use rmwbench_harness::middleware::{
    Description, EndpointConfig, Error, Middleware, Node, Publisher, Session, SessionConfig,
};
use rmwbench_harness::middleware::{Sink, Subscription};

use endpoints::{Reader, Writer};
use faults::Faults;

struct Peer;

fn main() -> ExitCode {
    rmwbench_harness::worker::main(&Peer)
}

impl Middleware for Peer {
    fn describe(&self) -> Description {
        Description { middleware: "ddsperf-peer".into(), ..CycloneDds.describe() }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        config.only_options(&faults::OPTIONS)?;
        let faults = Faults::read(config)?;
        let text = CString::new(config.profile.text.as_str())
            .map_err(|e| Error::invalid("profile", e.to_string()))?;
        // SAFETY: plain calls; the string outlives them. The process is one trial, so neither
        // entity is ever deleted before its end.
        let participant = unsafe {
            good(dds_create_domain(config.domain_id, text.as_ptr()), "domain")?;
            good(
                dds_create_participant(config.domain_id, std::ptr::null(), std::ptr::null()),
                "participant",
            )?
        };
        Ok(Box::new(PeerSession(Arc::new(Shared { participant, faults }))))
    }
}

pub struct Shared {
    pub participant: dds_entity_t,
    pub faults: Faults,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: ours; deletes what is left below it.
        unsafe { dds_delete(self.participant) };
    }
}

struct PeerSession(Arc<Shared>);

impl Session for PeerSession {
    fn node(&mut self, _name: &str) -> Result<Box<dyn Node>, Error> {
        Ok(Box::new(PeerNode(self.0.clone())))
    }
}

struct PeerNode(Arc<Shared>);

impl Node for PeerNode {
    fn publisher(&mut self, config: &EndpointConfig) -> Result<Box<dyn Publisher>, Error> {
        Ok(Box::new(Writer::new(config, self.0.clone())?))
    }

    fn subscription(
        &mut self,
        config: &EndpointConfig,
        sink: Arc<dyn Sink>,
    ) -> Result<Box<dyn Subscription>, Error> {
        Ok(Box::new(Reader::new(config, sink, self.0.clone())?))
    }
}

/// A handle, or Cyclone's code as an error.
fn good(handle: dds_return_t, what: &str) -> Result<dds_entity_t, Error> {
    if handle < 0 {
        return Err(Error::failed(what, format!("Cyclone DDS answers {handle}")));
    }
    Ok(handle)
}
