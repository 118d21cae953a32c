//! Eclipse Cyclone DDS through its own C API, statically linked by the crate cyclors.
//!
//! Messages are raw CDR on keyless "blob" topics with ROS 2's topic and type names: no IDL, no type known by name, and the same
//! bytes on the wire as rmw_cyclonedds sends, so the worker can talk to real ROS 2 nodes and to other vendors. The price: blob
//! topics never use Cyclone's shared-memory exchange (PSMX), so this worker is Cyclone over UDP, and loans are unsupported.
//!
//! QoS is set as rmw_cyclonedds sets it (see [`qos`]) and read back from the created endpoints. One participant serves the
//! process, as in ROS 2; a node is a DDS publisher and subscriber that carry its name.

mod domain;
mod entity;
mod log;
mod node;
mod profile;
mod publisher;
mod qos;
mod session;
mod sockets;
mod statistics;
mod subscription;
mod waiter;

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{capabilities, Description, Error, Middleware, Profile, SessionConfig};
use serde_json::json;

pub struct CycloneDds;

/// The bundled Cyclone DDS; cyclors exports no version to ask.
pub const VERSION: &str = "11.0.1";

const NO_SHARED_MEMORY: &str = "no: raw CDR goes over blob topics, which Cyclone's shared-memory exchange (PSMX) does not carry";

impl Middleware for CycloneDds {
    fn describe(&self) -> Description {
        Description {
            middleware: "cyclonedds".into(),
            layer: "native".into(),
            version: VERSION.into(),
            // The date of tag 11.0.1 in Cyclone's own repository.
            release_date: "2026-03-20".into(),
            build: BTreeMap::from([
                ("source".into(), json!("crate cyclors 0.4.0 (bundled Cyclone DDS 11.0.1, static)")),
                ("features".into(), json!(["no security", "no shared memory"])),
            ]),
            capabilities: capabilities(&[
                ("reliable", "yes"),
                ("best_effort", "yes"),
                ("keep_last", "yes"),
                ("keep_all", "yes"),
                ("transient_local", "yes"),
                ("loan", NO_SHARED_MEMORY),
                ("zero_copy", NO_SHARED_MEMORY),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "yes"),
                ("publish_sync", "yes"),
                ("publish_async", "no: the writing thread sends; Cyclone only batches, by latency budget"),
                ("intra_process", "yes"),
                ("inter_process", "yes"),
                ("inter_host", "yes"),
                ("content_filter", "no: Cyclone filters by a C function on typed samples, not by an expression"),
                ("instance_key", "no: blob topics are keyless"),
                ("services", "no: not implemented in this worker"),
                ("evidence", "no: Cyclone does not tell a message's path; interface counters do"),
            ]),
            profiles: vec![
                Profile {
                    name: "untouched".into(),
                    format: "xml".into(),
                    text: include_str!("../profiles/untouched.xml").into(),
                    summary: "as installed: no configuration".into(),
                },
                Profile {
                    name: "tuned".into(),
                    format: "xml".into(),
                    text: include_str!("../profiles/tuned.xml").into(),
                    summary: "one machine, large messages: loopback, 64 kB datagrams and fragments, larger buffers and writer cache".into(),
                },
            ],
        }
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn rmwbench_harness::middleware::Session>, Error> {
        config.only_options(&[])?;
        Ok(Box::new(session::CycloneSession::open(config)?))
    }
}
