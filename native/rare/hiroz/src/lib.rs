//! hiroz: ROS 2 over Zenoh in Rust, with the wire protocol of rmw_zenoh.
//!
//! Messages are serialised CDR with ROS 2's encapsulation header under the key that rmw_zenoh uses:
//! domain, topic, type and the type's RIHS01 hash. The hashes are those that ROS 2 Jazzy generates
//! for the types of this benchmark ([`types`]).
//!
//! `block` and `poll` read hiroz's own queue of each subscription, which the harness's receive loop
//! empties ([`readers`]); `callback` is called in Zenoh's receiving thread. Peers need a router to
//! find each other, as those of rmw_zenoh do.

mod endpoints;
mod readers;
mod session;
mod types;

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{
    capabilities, modes, Daemon, Description, Error, Middleware, OneHost, Profile, Session,
    SessionConfig,
};
use serde_json::json;

pub struct Hiroz;

const NO_MODE: &str = "no: not mapped; a profile of your own is Zenoh's JSON5, where it can be set";

impl Middleware for Hiroz {
    fn describe(&self) -> Description {
        Description {
            middleware: "hiroz".into(),
            layer: "native".into(),
            version: "0.2.1".into(),
            release_date: "2026-10-24".into(), // crates.io publication
            build: BTreeMap::from([("source".into(), json!("crate hiroz 0.2.1")), ("features".into(), json!(["config-builders", "jazzy", "rmw-zenoh", "rmw"]))]),
            capabilities: capabilities(&[
                ("reliable", "yes"),
                ("best_effort", "yes"),
                ("keep_last", "partly: a queue at the reader; a callback has none"),
                ("keep_all", "partly: a queue without bounds at the reader; for late joiners the last 42, as in rmw_zenoh"),
                ("transient_local", "partly: keep_all keeps 42 messages for late joiners"),
                ("loan", "no: a publisher of hiroz serialises into a buffer of its own making"),
                ("zero_copy", "no: a callback of hiroz gets what its deserialiser copied"),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "yes"),
                ("publish_sync", "no: a put hands the message to the link's sending task"),
                ("publish_async", "yes"),
                ("intra_process", "yes"),
                ("inter_process", "yes"),
                ("inter_host", "yes"),
                ("content_filter", "no: hiroz has none"),
                ("instance_key", "no: ROS 2 topics have none"),
                ("services", "no: hiroz's clients call from async code alone and take typed messages; not carried by this worker"),
                ("evidence", "no: hiroz does not say which way a message came"),
            ]),
            modes: modes(&[
                ("transport", "no: a profile of your own is Zenoh's JSON5; this worker maps no mode to it"),
                ("batching", NO_MODE),
                ("congestion", "no: hiroz blocks where reliable and drops where best effort"),
                ("shm_pool_bytes", NO_MODE),
                ("discovery", "server"),
                ("threads", NO_MODE),
                ("executor", "no: hiroz has no executors"),
                ("security", NO_MODE),
                ("compression", NO_MODE),
            ]),
            profiles: vec![Profile {
                name: session::UNTOUCHED.into(),
                format: "json5".into(),
                text: String::new(),
                summary: "as installed: rmw_zenoh's session, peers that a router tells of each other, no shared memory".into(),
            }],
        }
    }

    fn one_host(&self, profile: &str) -> Option<OneHost> {
        (profile == session::UNTOUCHED).then_some(OneHost {
            reason: "it looks for a router on its own host; take a profile file of your own that names the router's address",
            unless: &[],
        })
    }

    fn daemons(&self, profile: &str) -> &'static [&'static str] {
        if profile == session::UNTOUCHED {
            &[session::ROUTER]
        } else {
            &[]
        }
    }

    fn daemon(&self, name: &str, _: &SessionConfig) -> Result<Box<dyn Daemon>, Error> {
        match name {
            session::ROUTER => Ok(Box::new(session::Router::start()?)),
            other => Err(Error::unsupported(
                format!("daemon {other}"),
                format!("unknown, expected {}", session::ROUTER),
            )),
        }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::HirozSession::open(config)?))
    }
}
