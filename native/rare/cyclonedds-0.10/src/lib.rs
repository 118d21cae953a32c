//! Eclipse Cyclone DDS 0.10 as Debian packages it, with iceoryx 2.0.3: the release on which ROS 2
//! Humble's default RMW was built.
//!
//! Messages are raw CDR under ROS 2's topic and type names, written by one copy, through a type of
//! this worker's own (`shim/type.c`): the same bytes on the wire as any other DDS with these names,
//! and in shared memory the body in place. Code that release 11 shares is in [`rmwbench_cyclone`];
//! [`release`] implements what differs in this release.

mod release;
mod security;
mod settings;
mod shared_memory;
mod sys;

use std::collections::BTreeMap;

use rmwbench_cyclone::node::CycloneSession;
use rmwbench_harness::middleware::{
    capabilities, modes, Daemon, Description, Error, Middleware, OneHost, Profile, Session,
    SessionConfig,
};
use rmwbench_iceoryx::roudi;
use serde_json::json;

pub struct CycloneDds;

const WITH_SHARED_MEMORY: &str = "partly: with shared memory (profile shm), not over UDP";
const KEEP_ALL: &str = "partly: over UDP; with shared memory configured such endpoints leave it";
const TRANSIENT_LOCAL: &str =
    "partly: wholly over UDP; in shared memory a late joiner gets no history";
/// The profile that needs RouDi.
const SHM: &str = "shm";

impl Middleware for CycloneDds {
    fn describe(&self) -> Description {
        let profile = |name: &str, text: &str, summary: &str| Profile {
            name: name.into(),
            format: "xml".into(),
            text: text.into(),
            summary: summary.into(),
        };
        Description {
            middleware: "cyclonedds-0.10".into(),
            layer: "native".into(),
            version: env!("CYCLONEDDS_VERSION").into(),
            release_date: release_date(env!("CYCLONEDDS_VERSION")).into(),
            build: BTreeMap::from([
                ("source".into(), json!(format!("Debian cyclonedds {}", env!("CYCLONEDDS_REVISION")))),
                ("features".into(), json!(["iceoryx 2.0.3", "DDS Security"])),
            ]),
            capabilities: capabilities(&[
                ("reliable", "yes"),
                ("best_effort", "yes"),
                ("keep_last", "yes"),
                ("keep_all", KEEP_ALL),
                ("transient_local", TRANSIENT_LOCAL),
                ("loan", WITH_SHARED_MEMORY),
                ("zero_copy", WITH_SHARED_MEMORY),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "yes"),
                ("publish_sync", "yes"),
                ("publish_async", "no: the writing thread sends; Cyclone only batches, by latency budget"),
                ("intra_process", "yes"),
                ("inter_process", "yes"),
                ("inter_host", "yes"),
                ("content_filter", "no: Cyclone filters by a C function on typed samples, not by an expression"),
                ("instance_key", "no: the topics of this worker are keyless"),
                ("services", "yes"),
                ("evidence", "partly: messages read in shared memory are counted; of the others only interface counters tell the path"),
                ("take_raw", "yes"),
            ]),
            modes: modes(&settings::MODES),
            profiles: vec![
                profile("untouched", include_str!("../profiles/untouched.xml"), "as installed: no configuration"),
                profile(
                    "tuned",
                    include_str!("../profiles/tuned.xml"),
                    "one machine, large messages: loopback, 64 kB datagrams and fragments, larger buffers",
                ),
                profile(SHM, include_str!("../profiles/shm.xml"), "as installed, and shared memory through iceoryx; needs RouDi"),
            ],
        }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        config.only_options(&[roudi::POOLS])?;
        roudi::pools(config)?;
        Ok(Box::new(CycloneSession::<release::ThisRelease>::open(config)?))
    }

    fn one_host(&self, profile: &str) -> Option<OneHost> {
        (profile == "tuned").then_some(OneHost {
            reason: "it uses loopback alone; take untouched, or a file of your own",
            unless: &[],
        })
    }

    fn daemons(&self, profile: &str) -> &'static [&'static str] {
        if profile == SHM {
            &[roudi::NAME]
        } else {
            &[]
        }
    }

    fn daemon(&self, name: &str, config: &SessionConfig) -> Result<Box<dyn Daemon>, Error> {
        rmwbench_roudi::named(name)?;
        Ok(Box::new(roudi::RouDi::start(config)?))
    }
}

/// The dates of the tags in Cyclone's own repository; empty for a version that is not in this
/// table.
fn release_date(version: &str) -> &'static str {
    match version {
        "0.10.2" => "2022-08-26",
        "0.10.3" => "2023-03-22",
        "0.10.4" => "2023-08-28",
        "0.10.5" => "2024-05-17",
        _ => "",
    }
}
