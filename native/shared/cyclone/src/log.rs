//! Cyclone's warnings and errors, kept while a domain opens: only its log shows what is wrong with
//! a configuration.
//!
//! Everything still goes to stderr, which the orchestrator captures.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard};

use crate::sys;

static KEPT: Mutex<Vec<String>> = Mutex::new(Vec::new());
static OPENING: Mutex<()> = Mutex::new(());

/// Keeps Cyclone's messages while it lives; only one exists at a time in the process, since
/// Cyclone's sink is global.
pub struct Capture(#[allow(dead_code)] MutexGuard<'static, ()>);

impl Capture {
    pub fn begin() -> Self {
        let guard = OPENING.lock().unwrap_or_else(|e| e.into_inner());
        KEPT.lock().unwrap().clear();
        // SAFETY: the sink is a function that lives as long as the process and takes no user data.
        unsafe { sys::dds_set_log_sink(Some(keep), std::ptr::null_mut()) };
        Capture(guard)
    }

    /// Cyclone's messages since `begin`, one per item.
    pub fn lines(&self) -> Vec<String> {
        KEPT.lock().unwrap().clone()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // SAFETY: restores the default sink; Cyclone serialises this against running sinks.
        unsafe { sys::dds_set_log_sink(None, std::ptr::null_mut()) };
    }
}

unsafe extern "C" fn keep(_: *mut c_void, data: *const sys::LogData) {
    // SAFETY: Cyclone passes a message of `size` bytes.
    let line = unsafe { std::slice::from_raw_parts((*data).message.cast::<u8>(), (*data).size) };
    let line = String::from_utf8_lossy(line).trim().to_string();
    eprintln!("cyclonedds: {line}");
    if let Ok(mut kept) = KEPT.lock() {
        kept.push(line);
    }
}
