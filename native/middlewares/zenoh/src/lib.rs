//! Zenoh 1.10 through its Rust API: one session per process, as in an rmw.
//!
//! The decisions, each in the module that implements it:
//! - [`publisher`]: reliable blocks on congestion, best effort drops; a loan comes from a
//!   shared-memory provider. Late joiners get history by zenoh-ext, as in rmw_zenoh.
//! - [`client`] and [`service`]: queries and queryables.
//! - [`modes`]: the portable vocabulary in Zenoh's settings; [`profile`] combines both, [`router`]
//!   serves a host.
//! - [`queue`]: `block` and `poll` put samples into a queue per subscription that the session's
//!   receive loop empties, as rmw_zenoh does with its wait set; `callback` delivers in Zenoh's own
//!   receiving thread, without a queue.
//! - [`graph`]: Zenoh reports only *whether* a publisher has subscribers; liveliness tokens give
//!   their number, in both directions.
//! - [`rendezvous`]: fixed endpoints make a full mesh, whichever session starts first.
//!
//! A publisher and a subscription of one session meet inside the session: Zenoh calls the
//! subscriber in the publisher's own thread, without a link. Nodes do not exist in Zenoh; a node's
//! name appears in its liveliness tokens.

mod client;
mod graph;
mod locked;
mod modes;
mod outgoing;
mod profile;
mod publisher;
mod queue;
mod reading;
mod rendezvous;
mod router;
mod service;
mod session;
mod shared;
mod subscription;

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{
    capabilities, Daemon, Description, Error, Middleware, OneHost, Session, SessionConfig,
    SharedHost, SharedMemory,
};
use serde_json::{json, Value};

pub struct Zenoh;

impl Middleware for Zenoh {
    fn describe(&self) -> Description {
        let features = [
            "transport_tcp",
            "transport_udp",
            "transport_unixsock-stream",
            "transport_tls",
            "transport_compression",
            "shared-memory",
            "unstable",
        ];
        let build: [(&str, Value); 4] = [
            ("source", "crate zenoh 1.10.2".into()),
            ("compiler", env!("RMWBENCH_RUSTC").into()),
            ("features", json!(features)),
            ("extensions", "crate zenoh-ext 1.10.2".into()),
        ];
        Description {
            middleware: "zenoh".into(),
            layer: "native".into(),
            version: "1.10.2".into(),
            release_date: "2026-10-28".into(), // crates.io publication
            build: build.into_iter().map(|(k, v)| (k.to_string(), v)).collect::<BTreeMap<_, _>>(),
            capabilities: capabilities(&[
                ("reliable", "partly: over stream links (TCP, Unix sockets); UDP links resend nothing and are refused"),
                ("best_effort", "yes"),
                ("keep_last", "partly: a queue at the reader (block, poll); a callback has no queue, and the publisher keeps history for late joiners only"),
                ("keep_all", "partly: a queue of fixed size at the reader (option keep_all_depth) that blocks when reliable"),
                ("transient_local", "yes"), // by zenoh-ext
                ("loan", "partly: with shared memory enabled in the profile"),
                ("zero_copy", "partly: payloads in shared memory, and between endpoints of one session"),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "yes"),
                ("publish_sync", "no: a put hands the message to the link's sending task"),
                ("publish_async", "yes"),
                ("intra_process", "yes"),
                ("inter_process", "yes"),
                ("inter_host", "yes"),
                ("content_filter", "no: Zenoh filters by key expression, not by content"),
                ("instance_key", "no: an instance would be a key expression of its own"),
                ("services", "yes"),
                ("evidence", "yes"),
                ("take_raw", "yes"),
            ]),
            modes: modes::described(),
            profiles: profile::embedded(),
        }
    }

    fn one_host(&self, profile: &str) -> Option<OneHost> {
        match profile {
            profile::RMW_ZENOH => Some(OneHost {
                reason: "it looks for a router on its own host; take the mode discovery: server, or profile router",
                unless: &["discovery"],
            }),
            other if profile::uses_unix_sockets(other) => {
                Some(OneHost { reason: "its links are Unix sockets; take untouched, or the mode transport: tcp", unless: &["transport"] })
            }
            _ => None,
        }
    }

    fn shared_host(&self) -> Option<SharedHost> {
        let forced =
            "no multicast: what would be found by it is found through a list of the trial's processes; TCP on addresses of 127.0.0.0/8";
        Some(SharedHost { forced, without: &[] })
    }

    fn shared_memory(&self, profile: &str) -> Option<SharedMemory> {
        const POOL: u64 = 16 << 20;
        let process_bytes = match profile {
            profile::IMPLICIT_SHM => POOL,
            profile::SHM | profile::TUNED => {
                return Some(SharedMemory { process_bytes: 1 << 20, histories: true })
            }
            _ => return None,
        };
        Some(SharedMemory { process_bytes, histories: false })
    }

    fn daemons(&self, profile: &str) -> &'static [&'static str] {
        match profile {
            profile::RMW_ZENOH | profile::ROUTER => &[router::NAME],
            _ => &[],
        }
    }

    fn mode_daemons(&self) -> &'static [(&'static str, &'static str, &'static [&'static str])] {
        &[("discovery", "server", &[router::NAME])]
    }

    fn daemon(&self, name: &str, config: &SessionConfig) -> Result<Box<dyn Daemon>, Error> {
        match name {
            router::NAME => Ok(Box::new(router::Router::start(config)?)),
            other => Err(Error::unsupported(
                format!("daemon {other}"),
                format!("unknown, expected {}", router::NAME),
            )),
        }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::ZenohSession::open(config)?))
    }
}
