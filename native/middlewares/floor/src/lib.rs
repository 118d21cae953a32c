//! The floor: raw primitives of the operating system, with no middleware above them.
//!
//! The extra time of a middleware is its cost; if one is faster, the floor is not yet the lower
//! bound. Four transports, one per session (option `transport`): a ring in shared memory
//! (`shm_ring`, the default), and loopback `udp`, `tcp` and `unix` sockets. They share one
//! rendezvous ([`control`]): a subscription listens on a socket file named after its topic, each
//! publisher connects to it and hands over the channel as a descriptor. So there is no daemon, no
//! named segment that a killed process could leave behind, and the death of a peer is the end of
//! file of that connection.

mod control;
mod datagram;
mod eventcount;
mod frame;
mod link;
mod memory;
mod options;
mod outlet;
mod pool;
mod queue;
mod rendezvous;
mod ring_reader;
mod ring_writer;
mod service;
mod session;
mod shared;
mod sockets;
mod stream;
mod waiter;
mod wake_word;

use std::collections::BTreeMap;

use rmwbench_harness::middleware::{
    capabilities, modes, Description, Error, Middleware, Profile, Session, SessionConfig,
    SharedHost,
};

pub use options::{Options, Transport, OPTION_NAMES};

/// The date on which this version of the floor was written.
const RELEASE_DATE: &str = "2026-11-21";

pub struct Floor;

impl Middleware for Floor {
    fn describe(&self) -> Description {
        let build = BTreeMap::from([
            (
                "source".to_string(),
                format!("crate rmwbench-floor {}", env!("CARGO_PKG_VERSION")).into(),
            ),
            ("features".to_string(), vec!["shm_ring", "udp", "tcp", "unix"].into()),
        ]);
        Description {
            middleware: "floor".into(),
            layer: "floor".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            release_date: RELEASE_DATE.into(),
            build,
            capabilities: capabilities(&[
                ("reliable", "partly: shm_ring, tcp and unix block the publisher while a reader is full; udp refuses it"),
                ("best_effort", "yes"),
                ("keep_last", "partly: exact on shm_ring; on sockets the history is the kernel's buffer, in bytes"),
                ("keep_all", "partly: on shm_ring bounded to 256 MiB or 1024 messages, then it blocks (reliable) or forgets the oldest"),
                ("transient_local", "no: a raw channel keeps nothing for late joiners"),
                ("loan", "partly: shm_ring only; a socket copies"),
                ("zero_copy", "partly: shm_ring only; a socket copies"),
                ("block", "yes"),
                ("poll", "yes"),
                ("callback", "no: a raw primitive has no threads of its own that could call"),
                ("publish_sync", "yes"),
                ("publish_async", "no: a raw primitive has no queue behind the publish call"),
                ("intra_process", "yes"),
                ("inter_process", "yes"),
                ("inter_host", "no: the rendezvous is a file of this machine"),
                ("content_filter", "no: a raw channel does not know contents"),
                ("instance_key", "no: a raw channel does not know contents"),
                (
                    "services",
                    "partly: over unix, tcp and udp, whose answers come back on the requests' connection; a ring has one direction",
                ),
                ("evidence", "yes"),
            ]),
            modes: modes(&[
                ("transport", "udp|tcp|unix|shm"),
                ("batching", "no: each message is a system call or a ring entry of its own"),
                ("congestion", "no: the QoS decides: reliable blocks, best_effort drops"),
                ("shm_pool_bytes", "no: a publisher's pool has the slots that its depth needs (option slots)"),
                ("discovery", "no: there is one rendezvous, a directory of this machine"),
                ("threads", "no: one thread waits for all subscriptions of a session"),
                ("executor", "no: raw primitives have no executor"),
                ("security", "no: raw primitives neither sign nor encrypt"),
                ("compression", "no: raw primitives compress nothing"),
            ]),
            profiles: vec![Profile {
                name: "untouched".into(),
                format: "none".into(),
                text: String::new(),
                summary: "the primitives as the kernel has them; what there is to choose are options".into(),
            }],
        }
    }

    fn shared_host(&self) -> Option<SharedHost> {
        Some(SharedHost {
            forced: "socket files below the trial's temporary directory",
            without: &[],
        })
    }

    fn open(&self, config: &SessionConfig) -> Result<Box<dyn Session>, Error> {
        if !config.profile.text.trim().is_empty() {
            return Err(Error::invalid(
                format!("profile {}", config.profile.name),
                format!("the floor has no configuration file; expected an empty text, use the options {}", OPTION_NAMES.join(", ")),
            ));
        }
        let options = Options::read(config)?;
        Ok(Box::new(session::FloorSession::open(config.domain_id, options)?))
    }
}
