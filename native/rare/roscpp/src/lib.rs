//! ROS 1: roscpp over TCPROS, with its master.
//!
//! - Messages are std_msgs/UInt8MultiArray on the wire; a publisher makes one copy, which is
//!   roscpp's own into the buffer that it sends (`shim/bytes.hpp`).
//! - A loan is a message that is published by its shared_ptr: nodes of one process get the same
//!   object ([`publisher`]).
//! - A session has a queue of callbacks, which a blocked thread, a spinning one or roscpp's own
//!   AsyncSpinner calls ([`session`]).
//! - A service call blocks its thread in ROS 1, so a client has its own thread ([`client`]).
//! - The master is Debian's rosmaster ([`master`]).

mod client;
mod master;
mod publisher;
mod qos;
mod service;
mod session;
mod settings;
mod subscription;
#[doc(hidden)]
pub mod sys; // for the test of exceptions in its functions

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{
    capabilities, modes, Daemon, Description, Error, Middleware, Profile, Session, SessionConfig,
};
use serde_json::json;

pub struct Roscpp;

const BEST_EFFORT: &str = "partly: TCPROS, which is reliable, except with transport udp (UDPROS)";
const TRANSIENT_LOCAL: &str =
    "partly: a latched topic: a late joiner gets the last message, whatever the depth";
const KEEP_ALL: &str =
    "partly: queues without a limit, which never make a publisher wait: memory is the limit";
const ONE_HOST: &str = "no: this worker announces itself as 127.0.0.1 (ROS_IP)";
const FORCED: &str =
    "ROS_IP=127.0.0.1, because nothing resolves the host's name in the isolation of trials";

impl Middleware for Roscpp {
    fn describe(&self) -> Description {
        let profile = |name: &str, text: &str, summary: &str| Profile {
            name: name.into(),
            format: "json".into(),
            text: text.into(),
            summary: summary.into(),
        };
        Description {
            middleware: "roscpp".into(),
            layer: "native".into(),
            version: env!("ROSCPP_VERSION").into(),
            // These are the dates of the tags in ros_comm's own repository.
            release_date: if env!("ROSCPP_VERSION") == "1.15.15" { "2022-11-23" } else { "" }.into(),
            build: BTreeMap::from([("source".into(), json!(format!("Debian libroscpp-dev {}", env!("ROSCPP_REVISION"))))]),
            capabilities: capabilities(&[
                ("reliable", "yes"),
                ("best_effort", BEST_EFFORT),
                ("keep_last", "yes"),
                ("keep_all", KEEP_ALL),
                ("transient_local", TRANSIENT_LOCAL),
                ("loan", "yes"),
                ("zero_copy", "partly: nodes of one process, with loan: true; others get a copy"),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "yes"),
                ("publish_sync", "no: publish queues, roscpp's own thread writes to the sockets"),
                ("publish_async", "yes"),
                ("intra_process", "yes"),
                ("inter_process", "yes"),
                ("inter_host", ONE_HOST),
                ("content_filter", "no: ROS 1 has none"),
                ("instance_key", "no: ROS 1 has none"),
                ("services", "partly: a call blocks its thread, so the calls of one client follow each other"),
                ("evidence", "yes"),
            ]),
            modes: modes(&[
                ("transport", "tcp|udp"),
                ("batching", "true|false"),
                ("congestion", "no: a full queue drops its oldest message, nobody ever waits"),
                ("shm_pool_bytes", "no: ROS 1 has no shared memory"),
                ("discovery", "server"),
                ("threads", "no: roscpp has one thread for all of its sockets"),
                ("executor", "no: how callbacks are called is the wait (block, poll, callback)"),
                ("security", "no: ROS 1 has none"),
                ("compression", "no: ROS 1 sends messages as they are"),
            ]),
            profiles: vec![
                profile(
                    "untouched",
                    include_str!("../profiles/untouched.json"),
                    "as installed: TCPROS with Nagle's algorithm, a connection per call",
                ),
                profile("tuned", include_str!("../profiles/tuned.json"), "low latency: TCP_NODELAY, connections to services are kept"),
            ],
        }
    }

    fn forced(&self, _profile: &str) -> Option<&'static str> {
        Some(FORCED)
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        config.only_options(&[])?;
        Ok(Box::new(session::RosSession::open(config)?))
    }

    fn daemons(&self, _profile: &str) -> &'static [&'static str] {
        &[master::NAME]
    }

    fn daemon(&self, name: &str, _config: &SessionConfig) -> Result<Box<dyn Daemon>, Error> {
        match name {
            master::NAME => Ok(Box::new(master::Master::start()?)),
            other => Err(Error::unsupported(
                format!("daemon {other}"),
                format!("unknown `{other}`, expected `{}`", master::NAME),
            )),
        }
    }
}
