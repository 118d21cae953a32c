//! The daemons that a profile needs, started as the orchestrator starts them: before the workers, in order, and ended after them.

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{Middleware, Profile};
use rmwbench_harness::protocol::{Command, Open};
use serde_json::Value;

use crate::process::Worker;

/// Serving daemons; dropped, they end in order, the last one first.
pub struct Daemons(Vec<Worker>);

impl Daemons {
    /// Starts what `profile` needs of `worker`'s daemons: none for most.
    pub fn start(
        worker: &str,
        middleware: &dyn Middleware,
        profile: &Profile,
        options: &BTreeMap<String, Value>,
    ) -> Result<Daemons, String> {
        Daemons::start_with_modes(worker, middleware, profile, options, &BTreeMap::new())
    }

    /// As [`Daemons::start`], where the arm has modes.
    pub fn start_with_modes(
        worker: &str,
        middleware: &dyn Middleware,
        profile: &Profile,
        options: &BTreeMap<String, Value>,
        modes: &BTreeMap<String, Value>,
    ) -> Result<Daemons, String> {
        let mut daemons = Daemons(Vec::new());
        for name in middleware.daemons(&profile.name) {
            let open =
                Open { trial_nonce: "0".into(), domain_id: 0, profile: profile.clone(), options: options.clone(), modes: modes.clone() };
            daemons.0.push(Worker::daemon(worker, name, open)?);
        }
        Ok(daemons)
    }

    /// Ends them as a crash would.
    pub fn kill(mut self) -> Result<(), String> {
        self.0.drain(..).try_for_each(|mut daemon| daemon.kill().map(|_| ()))
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        while let Some(mut daemon) = self.0.pop() {
            if daemon.request(Command::Exit {}).is_ok() {
                daemon.exited();
            }
        }
    }
}
