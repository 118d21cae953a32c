//! RustDDS: DDS in Rust, over UDP, with the wire protocol of other vendors.
//!
//! Messages are raw CDR on keyless topics with ROS 2's names, so the worker talks to real ROS 2
//! nodes and to the other DDS workers. RustDDS has no listeners; it announces data by mio sources
//! and wakers. The decisions, each in the module that implements it:
//! - [`raw`]: a writer's message is built once, a reader's is copied out once, as a deserialiser
//!   does.
//! - [`wait_set`]: the harness's receive loop waits on RustDDS's event sources.
//! - [`history`]: a reader's depth is kept as in RustDDS's `DataReader`.
//! - [`watch`]: a thread of the session reads the status of all endpoints.
//! - [`service`]: a pair of topics, with rmw_cyclonedds's header, or with identities beside the
//!   data, as in rmw_fastrtps.
//!
//! One participant serves the process, as in ROS 2; RustDDS has no nodes.

mod history;
mod peers;
mod qos;
mod raw;
mod reader;
mod service;
mod session;
mod wait_set;
mod watch;
mod writer;

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{
    capabilities, modes, Description, Error, Middleware, Profile, Session, SessionConfig,
};
use serde_json::json;

pub struct RustDds;

const KEEP_ALL: &str = "partly: a writer waits for what its readers have not received; a reader that takes too slowly loses what exceeds its limit (option max_samples)";

impl Middleware for RustDds {
    fn describe(&self) -> Description {
        Description {
            middleware: "rustdds".into(),
            layer: "native".into(),
            version: "0.15.1".into(),
            release_date: session::RELEASE_DATE.into(),
            build: BTreeMap::from([
                ("source".into(), json!("crate rustdds 0.15.1")),
                ("features".into(), json!(["mio_06"])),
            ]),
            capabilities: capabilities(&[
                ("reliable", "partly: a datagram of 64 kB that the reader's socket has no room for takes 0.7 s to repair"),
                ("best_effort", "yes"),
                ("keep_last", "yes"),
                ("keep_all", KEEP_ALL),
                ("transient_local", "partly: a writer trims its history every 6 s, a late joiner may get more than the depth"),
                ("loan", "no: RustDDS serialises into a buffer of its own making, and lends none"),
                ("zero_copy", "no: messages come by UDP"),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "no: RustDDS has wakers and event sources, no listeners"),
                ("publish_sync", "no: a write stores the message, RustDDS's own thread sends it"),
                ("publish_async", "yes"),
                ("intra_process", "partly: nodes of one process talk over UDP"),
                ("inter_process", "yes"),
                ("inter_host", "yes"),
                ("content_filter", "no: RustDDS has no content-filtered topics"),
                ("instance_key", "no: the topics of this worker are keyless"),
                ("services", "yes"),
                ("evidence", "partly: messages are counted; RustDDS has no transport but UDP"),
            ]),
            modes: modes(&[
                ("transport", "udp"),
                ("batching", "no: RustDDS packs what is due into a datagram by itself, without a setting"),
                ("congestion", "drop|block"),
                ("shm_pool_bytes", "no: RustDDS has no shared memory"),
                ("discovery", "multicast"),
                ("threads", "no: RustDDS has one thread for all traffic and one for discovery"),
                ("executor", "no: RustDDS has no executors"),
                ("security", "no: this build of RustDDS is without its feature security"),
                ("compression", "no: RustDDS compresses nothing"),
            ]),
            profiles: vec![Profile {
                name: "untouched".into(),
                format: "none".into(),
                text: String::new(),
                summary: "as installed: RustDDS has no configuration file".into(),
            }],
        }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::RustDdsSession::open(config)?))
    }
}
