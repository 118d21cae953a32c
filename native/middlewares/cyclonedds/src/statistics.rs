//! Cyclone's own statistics of a reader or writer; the header is not among cyclors' bindings, so
//! its three calls are declared here.

use std::collections::BTreeMap;
use std::ffi::{c_char, CStr};

use cyclors::{dds_entity_t, dds_return_t};

const KIND_UINT32: u32 = 0;

/// `struct dds_stat_keyvalue` of `dds/ddsc/dds_statistics.h`.
#[repr(C)]
struct KeyValue {
    name: *const c_char,
    kind: u32,
    /// A union of a 32-bit and a 64-bit value; `kind` tells which.
    value: u64,
}

/// `struct dds_statistics`; `count` values follow it.
#[repr(C)]
struct Statistics {
    entity: dds_entity_t,
    opaque: u64,
    time: i64,
    count: usize,
    values: [KeyValue; 0],
}

extern "C" {
    fn dds_create_statistics(entity: dds_entity_t) -> *mut Statistics;
    fn dds_refresh_statistics(statistics: *mut Statistics) -> dds_return_t;
    fn dds_delete_statistics(statistics: *mut Statistics);
}

/// Counters by Cyclone's names, times with `_ns` appended (a writer: `rexmit_bytes`,
/// `throttle_count`, `time_throttle_ns`, `time_rexmit_ns`; a reader: `discarded_bytes`). Empty when
/// Cyclone has none.
pub fn of(entity: dds_entity_t) -> BTreeMap<String, i64> {
    let mut counters = BTreeMap::new();
    // SAFETY: the block is Cyclone's, holds `count` values after its head, and is deleted once.
    unsafe {
        let statistics = dds_create_statistics(entity);
        if statistics.is_null() {
            return counters;
        }
        if dds_refresh_statistics(statistics) == 0 {
            let first = (&raw const (*statistics).values).cast::<KeyValue>();
            for i in 0..(*statistics).count {
                let item = &*first.add(i);
                let name = CStr::from_ptr(item.name).to_string_lossy().into_owned();
                let value = if item.kind == KIND_UINT32 {
                    i64::from(item.value as u32)
                } else {
                    item.value as i64
                };
                counters.insert(
                    if name.starts_with("time_") { format!("{name}_ns") } else { name },
                    value,
                );
            }
        }
        dds_delete_statistics(statistics);
    }
    counters
}
