//! Eclipse iceoryx 2.0 through its own C++ API: shared memory with RouDi, its daemon.
//!
//! - A message is a chunk of shared memory with exactly its payload's size; it is written and read
//!   in place ([`publisher`], [`intake`]).
//! - Reliable means that a publisher waits for room in a full queue, as in iceoryx; otherwise the
//!   oldest message is overwritten ([`qos`]).
//! - Readers wait in one WaitSet, in one spinning thread, or in iceoryx's Listener ([`waiter`]).
//! - A service is iceoryx's Client and Server ([`client`], [`service`]).
//! - RouDi is Debian's own, and a profile is its configuration file ([`roudi`]).

mod client;
mod intake;
mod presence;
mod publisher;
mod qos;
pub mod roudi;
mod service;
mod session;
mod subscription;
mod sys;
mod waiter;

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{
    capabilities, modes, Daemon, Description, Error, Middleware, Profile, Session, SessionConfig,
};
use serde_json::json;

pub struct Iceoryx;

const KEEP_LAST: &str = "partly: at most 256 messages; reliable keep_last waits for room instead of dropping the oldest";
const KEEP_ALL: &str =
    "partly: a queue of 256 messages; then reliable waits for room, best_effort drops the oldest";
const TRANSIENT_LOCAL: &str = "partly: the last 16 messages at most";
const ONE_HOST: &str =
    "no: iceoryx is shared memory; its gateways to DDS are programs of their own";

impl Middleware for Iceoryx {
    fn describe(&self) -> Description {
        let profile = |name: &str, text: &str, summary: &str| Profile {
            name: name.into(),
            format: "toml".into(),
            text: text.into(),
            summary: summary.into(),
        };
        Description {
            middleware: "iceoryx".into(),
            layer: "native".into(),
            version: env!("ICEORYX_VERSION").into(),
            release_date: if env!("ICEORYX_VERSION") == "2.0.3" { "2023-03-17" } else { "" }.into(),
            build: BTreeMap::from([("source".into(), json!(format!("Debian libiceoryx-posh-dev {}", env!("ICEORYX_REVISION"))))]),
            capabilities: capabilities(&[
                ("reliable", "yes"),
                ("best_effort", "yes"),
                ("keep_last", KEEP_LAST),
                ("keep_all", KEEP_ALL),
                ("transient_local", TRANSIENT_LOCAL),
                ("loan", "yes"),
                ("zero_copy", "yes"),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "yes"),
                ("publish_sync", "yes"),
                ("publish_async", "no: the publish call puts the chunk into each reader's queue"),
                ("intra_process", "yes"),
                ("inter_process", "yes"),
                ("inter_host", ONE_HOST),
                ("content_filter", "no: iceoryx moves chunks that it knows nothing of"),
                ("instance_key", "no: iceoryx moves chunks that it knows nothing of"),
                ("services", "partly: one service of a name; at most 16 answers wait for a client, and 4 requests are loaned at once"),
                ("evidence", "yes"),
            ]),
            modes: modes(&[
                ("transport", "shm"),
                ("batching", "no: every message is a chunk of its own"),
                ("congestion", "drop|block"),
                ("shm_pool_bytes", "N"),
                ("discovery", "no: RouDi knows every endpoint of its host, and there is no other way"),
                ("threads", "no: iceoryx has no threads in the path of a message"),
                ("executor", "no: iceoryx has no executor; its WaitSet and Listener are waits (block, callback)"),
                ("security", "no: shared memory is guarded by the system's permissions alone"),
                ("compression", "no: nothing is sent, readers map the message"),
            ]),
            profiles: vec![
                profile("untouched", include_str!("../profiles/untouched.toml"), "as installed: RouDi's own pools, up to 4 MiB a message"),
                profile("tuned", include_str!("../profiles/tuned.toml"), "pools for robots' messages, up to 8 MiB each"),
            ],
        }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        config.only_options(&[roudi::POOLS])?;
        config.only_modes(&["transport", "congestion", roudi::MODE])?;
        if let Some(other) =
            config.mode::<String>("transport")?.filter(|transport| transport != "shm")
        {
            return Err(Error::unsupported(
                "mode transport",
                format!("{other}: iceoryx is shared memory and nothing else"),
            ));
        }
        Ok(Box::new(session::IceoryxSession::open(config)?))
    }

    fn daemons(&self, _profile: &str) -> &'static [&'static str] {
        &[roudi::NAME]
    }

    fn daemon(&self, name: &str, config: &SessionConfig) -> Result<Box<dyn Daemon>, Error> {
        rmwbench_roudi::named(name)?;
        Ok(Box::new(roudi::RouDi::start(config)?))
    }
}
