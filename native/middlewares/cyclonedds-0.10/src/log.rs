//! Cyclone's warnings and errors, kept while a domain opens: the only place where it says what is
//! wrong with a configuration.

use std::ffi::c_char;
use std::sync::{Mutex, MutexGuard};

use crate::sys;

static KEPT: Mutex<Vec<String>> = Mutex::new(Vec::new());
static OPENING: Mutex<()> = Mutex::new(());

/// While it lives, Cyclone's messages are kept; one at a time in the process, since Cyclone's sink
/// is global.
pub struct Capture(#[allow(dead_code)] MutexGuard<'static, ()>);

impl Capture {
    pub fn begin() -> Self {
        let guard = OPENING.lock().unwrap_or_else(|e| e.into_inner());
        KEPT.lock().unwrap().clear();
        // SAFETY: the function lives as long as the process.
        unsafe { sys::rmwbench_log(Some(keep)) };
        Capture(guard)
    }

    /// What Cyclone said since `begin`, a message per item.
    pub fn lines(&self) -> Vec<String> {
        KEPT.lock().unwrap().clone()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // SAFETY: Cyclone serialises this against running sinks.
        unsafe { sys::rmwbench_log(None) };
    }
}

unsafe extern "C" fn keep(text: *const c_char, size: usize) {
    // SAFETY: so many bytes of text, valid for the call.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), size) };
    KEPT.lock().unwrap().push(String::from_utf8_lossy(bytes).trim().to_string());
}
