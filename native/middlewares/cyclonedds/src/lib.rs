//! Eclipse Cyclone DDS through its own C API, statically linked by the crate cyclors.
//!
//! Messages are raw CDR on keyless "blob" topics with ROS 2's topic and type names: no IDL, no type
//! known by name, and the same bytes on the wire as rmw_cyclonedds sends, so the worker can talk to
//! real ROS 2 nodes and to other vendors. Blob topics never use Cyclone's shared-memory exchange
//! (PSMX); if a profile configures that, topics get a descriptor instead (see [`topic`]) and RouDi
//! must run (see [`roudi`]). The option `topic` (`blob` or `descriptor`) selects the kind
//! explicitly.
//!
//! Modes become a second document of configuration (see [`modes`]). Code that release 0.10 shares
//! is in [`rmwbench_cyclone`]; [`release`] implements what differs in this release.

// This is named before `rmwbench_cyclone`, because rustc passes the crates to its linker in the
// reverse order, and a linker that only looks forward must find Cyclone's library after its
// callers.
extern crate cyclors;

mod batch;
mod filter;
mod limits;
mod locals;
mod modes;
mod profile;
mod psmx;
mod release;
mod roudi;
mod sample;
mod settings;
mod topic;
mod xml;

use std::collections::BTreeMap;

use rmwbench_cyclone::node::CycloneSession;
use rmwbench_harness::middleware::{
    capabilities, Daemon, Description, Error, Middleware, OneHost, Profile, Session, SessionConfig,
    SharedHost,
};
use serde_json::json;

pub struct CycloneDds;

/// The version of the bundled Cyclone DDS; cyclors exports none.
pub const VERSION: &str = "11.0.1";

const WITH_SHARED_MEMORY: &str =
    "partly: with a profile that configures Cyclone's shared-memory exchange (shm), not over UDP";
const KEEP_ALL: &str = "partly: wholly over UDP; over shared memory a reader holds 256 messages and loses what comes beyond";
const TRANSIENT_LOCAL: &str =
    "partly: wholly over UDP; over shared memory a late joiner gets no history";
const FILTER: &str = "partly: the reader filters after it received; writers send everything";
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
            middleware: "cyclonedds".into(),
            layer: "native".into(),
            version: VERSION.into(),
            // This is the date of tag 11.0.1 in Cyclone's own repository.
            release_date: "2026-03-20".into(),
            build: BTreeMap::from([
                ("source".into(), json!("crate cyclors 0.4.0 (bundled Cyclone DDS 11.0.1, static)")),
                ("features".into(), json!(["iceoryx"])),
                ("bundled".into(), json!("PSMX iceoryx 2.95.8; without DDS Security")),
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
                ("content_filter", FILTER),
                ("instance_key", "no: the topics of this worker are keyless"),
                ("services", "yes"),
                ("evidence", "partly: messages read in shared memory and messages of the own process are counted; of the others only interface counters tell"),
                ("take_raw", "yes"),
            ]),
            modes: modes::described(),
            profiles: vec![
                profile(
                    "untouched",
                    include_str!("../profiles/untouched.xml"),
                    "as installed: no configuration",
                ),
                profile(
                    "tuned",
                    include_str!("../profiles/tuned.xml"),
                    "one machine, large messages: loopback, 64 kB datagrams and fragments, a larger receive buffer",
                ),
                profile(
                    SHM,
                    include_str!("../profiles/shm.xml"),
                    "as installed, and shared memory through iceoryx between the processes of one host; needs RouDi",
                ),
            ],
        }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        config.only_options(&[
            "topic",
            roudi::POOLS,
            batch::PERIOD,
            limits::MAX_BLOCKING,
            limits::MAX_SAMPLES,
        ])?;
        roudi::pools(config)?;
        Ok(Box::new(CycloneSession::<release::ThisRelease>::open(config)?))
    }

    fn one_host(&self, profile: &str) -> Option<OneHost> {
        (profile == "tuned").then_some(OneHost {
            reason: "it uses loopback alone; take untouched, or a file of your own",
            unless: &[],
        })
    }

    fn shared_host(&self) -> Option<SharedHost> {
        let forced = "General/Interfaces is lo alone, and the domain is the trial's own";
        Some(SharedHost { forced, without: &[(roudi::NAME, roudi::ONE_PER_MACHINE)] })
    }

    fn daemons(&self, profile: &str) -> &'static [&'static str] {
        if profile == SHM {
            &[roudi::NAME]
        } else {
            &[]
        }
    }

    fn mode_daemons(&self) -> &'static [(&'static str, &'static str, &'static [&'static str])] {
        &[("transport", "shm", &[roudi::NAME])]
    }

    /// Shared memory ends at its host, and so does its daemon.
    fn daemons_each_host(&self) -> &'static [&'static str] {
        &[roudi::NAME]
    }

    fn daemon(&self, name: &str, config: &SessionConfig) -> Result<Box<dyn Daemon>, Error> {
        rmwbench_roudi::named(name)?;
        Ok(Box::new(roudi::RouDi::start(config)?))
    }
}
