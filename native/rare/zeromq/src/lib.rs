//! ZeroMQ through libzmq: what a user without a middleware would otherwise choose. There is a
//! socket per endpoint, and one transport for all of them.
//!
//! - A topic is PUB/SUB and a service ROUTER/DEALER, so that requests need not wait for the answers
//!   to others ([`publisher`], [`subscription`], [`client`], [`service`]).
//! - ZeroMQ has addresses and no names: endpoints find each other by files of their host
//!   ([`board`], [`lookout`]).
//! - One thread receives for a session; it blocks or spins ([`waiter`]).
//! - The profile is this worker's own, since libzmq has no configuration file ([`settings`]).

mod board;
mod client;
mod event_fd;
mod link;
mod lookout;
mod publisher;
mod qos;
mod service;
mod session;
mod settings;
mod socket;
mod subscription;
mod waiter;

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{
    capabilities, modes, Description, Error, Middleware, Profile, Session, SessionConfig,
    SharedHost,
};
use serde_json::json;

pub struct ZeroMq;

const NO_HISTORY: &str = "no: PUB keeps nothing for late joiners (an application can build a last-value cache over XPUB)";
const KEEP_LAST: &str = "partly: a full queue drops the newest message and not the oldest; a depth of 1 keeps the latest (CONFLATE)";
const KEEP_ALL: &str = "partly: 1000 messages (libzmq's own high-water mark) on either side; then reliable waits, best_effort drops";
const NO_CURVE: &str = "no: the crate builds libzmq without libsodium, so that it has no CURVE";
const ONE_HOST: &str =
    "no: ZeroMQ has no discovery, and this worker exchanges addresses by files of one host";

impl Middleware for ZeroMq {
    fn describe(&self) -> Description {
        let (major, minor, patch) = zmq::version();
        let version = format!("{major}.{minor}.{patch}");
        let profile = |name: &str, text: &str, summary: &str| Profile {
            name: name.into(),
            format: "json".into(),
            text: text.into(),
            summary: summary.into(),
        };
        Description {
            middleware: "zeromq".into(),
            layer: "native".into(),
            release_date: release_date(&version).into(),
            build: BTreeMap::from([
                ("source".into(), json!(format!("crate zmq 0.10.0 (libzmq {version}, static)"))),
                ("features".into(), json!(["ipc", "draft", "curve"].map(|name| format!("{name}: {}", zmq::has(name).unwrap_or(false))))),
            ]),
            version,
            capabilities: capabilities(&[
                ("reliable", "yes"),
                ("best_effort", "partly: the same sockets, which repeat on their way; only a full queue loses"),
                ("keep_last", KEEP_LAST),
                ("keep_all", KEEP_ALL),
                ("transient_local", NO_HISTORY),
                ("loan", "yes"),
                ("zero_copy", "partly: nodes of one process with transport intra_process share the message; others copy it"),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "no: libzmq calls nobody back, an application waits in zmq_poll"),
                ("publish_sync", "no: zmq_send queues, libzmq's own thread writes to the peer"),
                ("publish_async", "yes"),
                ("intra_process", "yes"),
                ("inter_process", "partly: not with transport intra_process"),
                ("inter_host", ONE_HOST),
                ("content_filter", "no: SUB filters by the first bytes of a message"),
                ("instance_key", "no: messages are bytes"),
                ("services", "yes"),
                ("evidence", "yes"),
            ]),
            modes: modes(&[
                ("transport", "tcp|unix|intra_process"),
                ("batching", "no: libzmq fills each write with what is queued, up to 8 KiB; a release build has no option for it"),
                ("congestion", "drop|block"),
                ("shm_pool_bytes", "no: libzmq has no shared memory"),
                ("discovery", "no: ZeroMQ has no discovery"),
                ("threads", "N"),
                ("executor", "no: libzmq has no executor"),
                ("security", NO_CURVE),
                ("compression", "no: ZeroMQ sends messages as they are"),
            ]),
            profiles: vec![
                profile("untouched", include_str!("../profiles/untouched.json"), "libzmq's defaults over TCP on loopback"),
                profile("tuned", include_str!("../profiles/tuned.json"), "one machine: Unix-domain sockets with larger buffers"),
            ],
        }
    }

    fn forced(&self, profile: &str) -> Option<&'static str> {
        // Both profiles have these settings, but only this one promises libzmq's defaults.
        (profile == "untouched").then_some(socket::FORCED)
    }

    fn shared_host(&self) -> Option<SharedHost> {
        Some(SharedHost {
            forced: "its list of addresses lies below the trial's temporary directory",
            without: &[],
        })
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        config.only_options(&[])?;
        Ok(Box::new(session::ZmqSession::open(config)?))
    }
}

/// The date in libzmq's own list of releases; empty for a version that is not in this table.
fn release_date(version: &str) -> &'static str {
    match version {
        "4.3.4" => "2021-01-17",
        "4.3.5" => "2023-10-09",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_says_what_is_not_as_libzmq_has_it() {
        assert_eq!(ZeroMq.forced("untouched"), Some(socket::FORCED));
        assert_eq!(ZeroMq.forced("tuned"), None);
    }
}
