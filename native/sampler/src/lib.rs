//! Reads the resources that other processes of its host use, without disturbing them
//! (docs/formats/sampler.md).
//!
//! Two decisions keep it light. Files of `/proc` are opened once and read again from their
//! beginning, which saves most of the cost of a reading; and expensive data (lists of threads,
//! sockets, memory maps) are read just before the window begins and after it ended, so that only
//! clocks and a few small files are read at its very edges.

pub mod allocations;
pub mod canary;
pub mod cpu_clock;
pub mod document;
pub mod energy;
pub mod kept;
pub mod machine;
pub mod memory;
pub mod neighbours;
pub mod network;
pub mod owners;
pub mod processes;
pub mod protocol;
pub mod schedule;
pub mod sockets;
pub mod threads;
pub mod wakings;
pub mod window;
