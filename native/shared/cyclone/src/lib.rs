//! The common part of the workers for both releases of Cyclone DDS.
//!
//! `middlewares/cyclonedds` (11, through the crate cyclors) and `rare/cyclonedds-0.10` (Debian's)
//! link different libraries with the same C functions ([`sys`]); each implements what differs as a
//! type with the traits [`Settings`](domain::Settings) (the configuration),
//! [`Message`](intake::Message) (taking), [`Types`](session::Types) and
//! [`Release`](release::Release) (topics, writing, QoS, shared memory). All of it is generic:
//! nothing in the path of a message is looked up.
//!
//! QoS is set as rmw_cyclonedds sets it ([`qos`]) and read back from the created endpoints. One
//! participant serves the process, as in ROS 2; a node is a DDS publisher and subscriber that carry
//! its name. Services are pairs of topics ([`service`]).

pub mod domain;
pub mod entity;
pub mod intake;
mod log;
pub mod node;
pub mod qos;
mod reader;
pub mod release;
pub mod service;
pub mod session;
pub mod sockets;
mod statistics;
pub mod sys;
mod topic;
mod wait_set;
pub mod wire;
mod writer;
