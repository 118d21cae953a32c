//! iceoryx2 0.10: payloads stay in the publisher's shared memory, readers get an offset, no daemon.
//!
//! The decisions, each in the module that implements it:
//! - [`service`]: each topic has one publish-subscribe service and one event service of the same
//!   name. Publish-subscribe alone can only be polled, so even the `untouched` profile needs the
//!   event service; both ends derive its settings from the QoS alone.
//! - [`publisher`]: reliable means a queue that does not overflow and a call that waits, for a
//!   bounded time, for room.
//! - [`late`]: history reaches a late joiner by an event to the publisher's process; iceoryx2
//!   leaves this to its users.
//! - [`requests`]: a service is a request-response service, an event service that wakes it, and one
//!   that wakes each client.
//! - [`wait_set`]: the harness's receive loop blocks on it for all readers of a session.
//! - [`dead_nodes`]: living processes remove what a killed one left, when they look for peers or
//!   have waited in vain.
//!
//! Ports are those of `ipc::Service`, whose users keep each port in one thread: the thread-safe
//! variant would put three mutex operations into every publish call. [`exclusive`] states why
//! moving them between threads is sound here.
//!
//! The payload is at an offset of 8 bytes in its chunk (`[u8]` needs no alignment), which costs a
//! copy nothing measurable.

mod client;
mod dead_nodes;
mod exclusive;
mod late;
mod modes;
mod profile;
mod publisher;
mod requests;
mod server;
mod service;
mod session;
mod shared;
mod subscription;
mod wait_set;

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{
    capabilities, Description, Error, Middleware, Session, SessionConfig, SharedHost, SharedMemory,
};
use serde_json::{json, Value};

pub struct Iceoryx2;

impl Middleware for Iceoryx2 {
    fn describe(&self) -> Description {
        let build: [(&str, Value); 3] = [
            ("source", "crate iceoryx2 0.10.0".into()),
            ("compiler", env!("RMWBENCH_RUSTC").into()),
            ("features", json!(["console", "std"])),
        ];
        Description {
            middleware: "iceoryx2".into(),
            layer: "native".into(),
            version: "0.10.0".into(),
            release_date: "2026-09-18".into(), // crates.io publication
            build: build.into_iter().map(|(k, v)| (k.to_string(), v)).collect::<BTreeMap<_, _>>(),
            capabilities: capabilities(&[
                ("reliable", "yes"),
                ("best_effort", "yes"),
                ("keep_last", "yes"),
                (
                    "keep_all",
                    "partly: a queue of fixed depth (option keep_all_depth); reliable waits for room, best_effort drops the newest",
                ),
                ("transient_local", "yes"),
                ("loan", "yes"),
                ("zero_copy", "yes"),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "no: iceoryx2 calls nobody back; a thread waits on a listener or a wait set"),
                ("publish_sync", "yes"),
                ("publish_async", "no: publishing hands over an offset in the caller's thread"),
                ("intra_process", "partly: the same shared memory as between processes"),
                ("inter_process", "yes"),
                ("inter_host", "no: shared memory only"),
                ("content_filter", "no: not in iceoryx2"),
                ("instance_key", "no: not in iceoryx2"),
                ("services", "partly: a client has at most depth requests without an answer; one more fails"),
                ("evidence", "yes"),
            ]),
            modes: modes::described(),
            profiles: profile::embedded(),
        }
    }

    fn forced(&self, profile: &str) -> Option<&'static str> {
        (profile == "untouched")
            .then_some("room for 32 publishers and subscribers per topic and 64 clients per service, more than as installed, for fan-outs and many nodes; a queue has the depth that is asked for, where one as installed has 2, and overflows as one as installed does, unless its history is keep_all")
    }

    fn shared_host(&self) -> Option<SharedHost> {
        Some(SharedHost {
            forced: "names of segments and files that begin with the trial's own prefix",
            without: &[],
        })
    }

    fn shared_memory(&self, _profile: &str) -> Option<SharedMemory> {
        Some(SharedMemory { process_bytes: 1 << 20, histories: true })
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::Iceoryx2Session::open(config)?))
    }
}
