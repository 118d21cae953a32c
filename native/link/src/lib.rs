//! The network between the hosts of a trial: a switch in user space over TAP devices, with links
//! that have rate, queue, delay, loss and outages (docs/formats/link.md).
//!
//! Every decision about a frame is made in virtual time ([`network`]) and is tested without
//! devices; only [`engine`] knows descriptors and the real clock. If a wake-up is late, frames are
//! delivered late, and this is recorded, but no frame's fate changes.

pub mod change;
pub mod classify;
pub mod codel;
pub mod counters;
pub mod datagrams;
pub mod direction;
pub mod document;
pub mod effects;
pub mod engine;
pub mod frame;
pub mod headers;
pub mod jitter;
pub mod log;
pub mod loss;
pub mod medium;
pub mod memory;
pub mod multicast;
pub mod network;
pub mod policer;
pub mod priority;
pub mod protocol;
pub mod quantiles;
pub mod queue;
pub mod random;
pub mod rtps;
pub mod spec;
pub mod tap;
pub mod totals;
pub mod trace;
pub mod tries;
pub mod watch;
