//! The router of a host, the same as `zenohd` or rmw_zenoh's `rmw_zenohd`, in a process of its own.

use rmwbench_harness::middleware::{Daemon, Error, SessionConfig};
use zenoh::Wait as _;

use crate::profile;
use crate::rendezvous::Rendezvous;

pub const NAME: &str = "router";

/// A router that serves; dropping it closes its links.
pub struct Router {
    session: zenoh::Session,
    /// This is last: sockets are in its directory.
    _rendezvous: Option<Rendezvous>,
}

impl Router {
    /// `config` is that of the workers. Errors: those of the workers' configuration, or an address
    /// that is in use.
    pub fn start(config: &SessionConfig) -> Result<Router, Error> {
        zenoh::init_log_from_env_or("error");
        let prepared = profile::prepare_router(config)?;
        let session =
            zenoh::open(prepared.config).wait().map_err(|e| Error::failed("daemon router", e))?;
        Ok(Router { session, _rendezvous: prepared.rendezvous })
    }
}

impl Daemon for Router {}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = self.session.close().wait();
    }
}
