//! The library that counts allocations, as a file's content: the starter of a process has it
//! preloaded (`allocations/allocations.c`).

pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/librmwbench_allocations.so"));
