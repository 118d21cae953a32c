//! Cyclone's own statistics of a reader or writer.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_void, CStr};

use crate::sys::{self, Handle};

/// Counters by Cyclone's names, times with `_ns` appended. Empty when Cyclone has none.
pub fn of(entity: Handle) -> BTreeMap<String, i64> {
    let mut counters = BTreeMap::new();
    // SAFETY: the map outlives the call, which hands it to `insert` alone.
    unsafe { sys::rmwbench_statistics(entity, (&raw mut counters).cast(), insert) };
    counters
}

unsafe extern "C" fn insert(counters: *mut c_void, name: *const c_char, value: u64) {
    // SAFETY: the map of `of`, and a string of Cyclone's.
    let (counters, name) =
        unsafe { (&mut *counters.cast::<BTreeMap<String, i64>>(), CStr::from_ptr(name)) };
    let name = name.to_string_lossy().into_owned();
    counters
        .insert(if name.starts_with("time_") { format!("{name}_ns") } else { name }, value as i64);
}
