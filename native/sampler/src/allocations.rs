//! The library that counts allocations, as a file's content: whoever starts a process hands it over
//! to be preloaded (`allocations/allocations.c`).

pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/librmwbench_allocations.so"));
