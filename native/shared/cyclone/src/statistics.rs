//! Cyclone's own statistics of a reader or writer.

use std::collections::BTreeMap;
use std::ffi::CStr;

use crate::sys::{self, Handle, KeyValue};

/// Counters by Cyclone's names, times with `_ns` appended (a writer: `rexmit_bytes`,
/// `throttle_count`, `time_throttle_ns`, `time_rexmit_ns`; a reader: `discarded_bytes`). Empty when
/// Cyclone has none.
pub fn of(entity: Handle) -> BTreeMap<String, i64> {
    let mut counters = BTreeMap::new();
    // SAFETY: the block is Cyclone's, holds `count` values after its head, and is deleted once.
    unsafe {
        let statistics = sys::dds_create_statistics(entity);
        if statistics.is_null() {
            return counters;
        }
        if sys::dds_refresh_statistics(statistics) == 0 {
            let first = (&raw const (*statistics).values).cast::<KeyValue>();
            for i in 0..(*statistics).count {
                let item = &*first.add(i);
                let name = CStr::from_ptr(item.name).to_string_lossy().into_owned();
                let value = if item.kind == sys::STATISTIC_UINT32 {
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
        sys::dds_delete_statistics(statistics);
    }
    counters
}
