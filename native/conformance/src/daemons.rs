//! The daemons that a profile needs, started as by the orchestrator: before the workers, in order,
//! and ended after them.

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{Middleware, Profile};
use rmwbench_harness::protocol::{Command, Open};
use serde_json::Value;

use crate::failure::Failure;
use crate::process::Worker;
use crate::Context;

/// Running daemons; dropping this ends them in order, the last one first.
pub struct Daemons(Vec<Worker>);

impl Daemons {
    /// Starts those of `worker`'s daemons that `profile` needs; most profiles need none.
    pub fn start(
        worker: &str,
        middleware: &dyn Middleware,
        profile: &Profile,
        options: &BTreeMap<String, Value>,
    ) -> Result<Daemons, String> {
        Daemons::start_with_modes(worker, middleware, profile, options, &BTreeMap::new())
    }

    /// As [`Daemons::start`], for an arm with modes.
    pub fn start_with_modes(
        worker: &str,
        middleware: &dyn Middleware,
        profile: &Profile,
        options: &BTreeMap<String, Value>,
        modes: &BTreeMap<String, Value>,
    ) -> Result<Daemons, String> {
        let mut names = middleware.daemons(&profile.name).to_vec();
        names.extend(
            of_modes(middleware, modes)
                .filter(|name| !middleware.daemons(&profile.name).contains(name)),
        );
        Ok(Daemons::serve(worker, &names, profile, options, modes)?)
    }

    /// Starts the further daemons that the level of a mode needs; those of the profile are already
    /// running.
    pub(crate) fn start_for_mode(
        context: &Context<'_>,
        name: &str,
        level: &Value,
    ) -> Result<Daemons, Failure> {
        let modes = BTreeMap::from([(name.to_string(), level.clone())]);
        let serving = context.middleware.daemons(&context.profile.name);
        let names: Vec<&str> =
            of_modes(context.middleware, &modes).filter(|name| !serving.contains(name)).collect();
        Daemons::serve(context.worker, &names, &context.profile, &context.arm.options, &modes)
    }

    fn serve(
        worker: &str,
        names: &[&str],
        profile: &Profile,
        options: &BTreeMap<String, Value>,
        modes: &BTreeMap<String, Value>,
    ) -> Result<Daemons, Failure> {
        let mut daemons = Daemons(Vec::new());
        for name in names {
            let open = Open {
                trial_nonce: "0".into(),
                domain_id: 0,
                profile: profile.clone(),
                options: options.clone(),
                modes: modes.clone(),
            };
            daemons.0.push(Worker::daemon(worker, name, open)?);
        }
        Ok(daemons)
    }

    /// Ends them as a crash would.
    pub fn kill(mut self) -> Result<(), String> {
        self.0.drain(..).try_for_each(|mut daemon| daemon.kill())
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

fn of_modes<'a>(
    middleware: &'a dyn Middleware,
    modes: &'a BTreeMap<String, Value>,
) -> impl Iterator<Item = &'static str> + 'a {
    let is_set = |mode: &str, level: &str| modes.get(mode).is_some_and(|value| value == level);
    middleware
        .mode_daemons()
        .iter()
        .filter(move |(mode, level, _)| is_set(mode, level))
        .flat_map(|(_, _, names)| names.iter().copied())
}
