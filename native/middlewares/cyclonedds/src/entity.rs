//! A DDS entity that is deleted when dropped, and Cyclone's return codes as words.

use std::ffi::{CStr, CString};

use cyclors::{dds_delete, dds_entity_t, dds_return_t, dds_strretcode};
use rmwbench_harness::middleware::Error;

/// Deleting an entity deletes its children, so entities are dropped children first.
#[derive(Debug)]
pub struct Entity(dds_entity_t);

impl Entity {
    /// Takes ownership of a handle that a `dds_create_*` call returned; a negative one is its
    /// error.
    pub fn owned(handle: dds_return_t, what: impl FnOnce() -> String) -> Result<Self, Error> {
        if handle < 0 {
            return Err(Error::failed(what(), words(handle)));
        }
        Ok(Entity(handle))
    }

    #[inline]
    pub fn handle(&self) -> dds_entity_t {
        self.0
    }
}

impl Drop for Entity {
    fn drop(&mut self) {
        // SAFETY: the handle is ours; a handle whose parent went first is only reported as unknown.
        unsafe { dds_delete(self.0) };
    }
}

/// Cyclone's name for a return code.
pub fn words(code: dds_return_t) -> String {
    // SAFETY: dds_strretcode returns a static string for any number.
    unsafe { CStr::from_ptr(dds_strretcode(code)) }.to_string_lossy().into_owned()
}

/// `text` for C; a NUL inside it is the caller's mistake.
pub fn c_string(text: &str, what: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::invalid(what, format!("{text:?} contains a NUL byte")))
}
