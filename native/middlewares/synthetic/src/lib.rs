//! The synthetic middleware: its messages have known fates, by which the instrument is tested.
//!
//! It carries messages over the floor and applies exactly the effects in its settings: it delays
//! messages by a law, loses, doubles, reorders and damages them, blocks in the publish call, and
//! uses CPU and memory. The fate of a message is a pure function of the seed, the trial, the writer
//! and the sequence number ([`truth`]), so a test can compute beforehand what the pipeline must
//! report. Probes of the match barrier pass unchanged.

mod cost;
mod delivery;
mod endpoints;
pub mod law;
mod reader;
mod service;
mod session;
pub mod settings;
pub mod truth;

use std::collections::BTreeMap;

use rmwbench_floor::Floor;
use rmwbench_harness::middleware::{
    capabilities, Description, Error, Middleware, Profile, Session, SessionConfig, SharedHost,
};

pub use law::Law;
pub use settings::Settings;
pub use truth::{truth, Truth, TruthStream};

const RELEASE_DATE: &str = "2026-11-21";

pub struct Synthetic;

impl Middleware for Synthetic {
    fn describe(&self) -> Description {
        let build = BTreeMap::from([(
            "source".to_string(),
            format!("crate rmwbench-synthetic {}", env!("CARGO_PKG_VERSION")).into(),
        )]);
        let profile = |name: &str, text: &str, summary: &str| Profile {
            name: name.into(),
            format: "json".into(),
            text: text.into(),
            summary: summary.into(),
        };
        Description {
            middleware: "synthetic".into(),
            layer: "native".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            release_date: RELEASE_DATE.into(),
            build,
            capabilities: capabilities(&[
                ("reliable", "yes"),
                ("best_effort", "yes"),
                ("keep_last", "partly: the channel below holds 1024 messages or 256 MiB whatever the depth, then publishing blocks"),
                ("keep_all", "partly: 1024 messages or 256 MiB, then publishing blocks"),
                ("transient_local", "no: nothing is kept for late joiners"),
                ("loan", "partly: over shm_ring only"),
                ("zero_copy", "partly: over shm_ring without latency; what is held back is copied"),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "yes"),
                ("publish_sync", "yes"),
                ("publish_async", "no: the publish call hands the message over itself"),
                ("intra_process", "yes"),
                ("inter_process", "yes"),
                ("inter_host", "no: it rides on channels of one machine"),
                ("services", "yes"),
                ("evidence", "yes"),
            ]),
            // There are no portable modes: this middleware's settings are its own and are options.
            modes: BTreeMap::new(),
            profiles: vec![
                profile("untouched", include_str!("../profiles/untouched.json"), "nothing is done to any message"),
                profile(
                    "demo",
                    include_str!("../profiles/demo.json"),
                    "lognormal latency with a median of 300 µs, and one loss in a hundred in bursts",
                ),
            ],
        }
    }

    fn shared_host(&self) -> Option<SharedHost> {
        Some(SharedHost {
            forced: "socket files below the trial's temporary directory",
            without: &[],
        })
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        config.only_modes(&[])?;
        let settings = Settings::read(config)?;
        let floor = SessionConfig {
            profile: Profile {
                name: "untouched".into(),
                format: "none".into(),
                text: String::new(),
                summary: String::new(),
            },
            options: BTreeMap::from([("transport".to_string(), settings.transport.clone().into())]),
            modes: BTreeMap::new(),
            // It has a domain of its own: floor and synthetic must not meet on one topic.
            domain_id: config.domain_id ^ 0x5353_0000,
            trial_nonce: config.trial_nonce,
        };
        Ok(Box::new(session::SyntheticSession::new(
            Floor.open(&floor)?,
            settings,
            config.trial_nonce,
        )))
    }
}
