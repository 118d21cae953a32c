//! The code that every worker shares: the protocol, the schedule, the payload, the recorder, and
//! the traits that a middleware implements.
//!
//! One worker binary per middleware links this crate and calls [`worker::main`]. The measuring code
//! is therefore the same for all of them, and the middleware's own code is behind a few small
//! traits in [`middleware`]. Everything is `dyn`: a virtual call costs about a nanosecond, and the
//! hot path stays one readable function for every middleware.
//!
//! The formats are specified in `docs/formats/worker-protocol.md` and `docs/formats/records.md`.

pub mod allocations;
pub mod c_api;
pub mod clock;
pub mod control;
pub mod daemon;
pub mod frames;
pub mod keystore;
pub mod message_type;
pub mod middleware;
pub mod modes;
pub mod own_memory;
pub mod payload;
pub mod protocol;
pub mod publisher;
pub mod pump;
pub mod qos;
pub mod records;
pub mod schedule;
pub mod service;
pub mod shared_host;
pub mod sink;
pub mod tool;
pub mod trial;
pub mod usage;
pub mod worker;
