//! A DDS entity that is deleted when dropped, and Cyclone's return codes as text.

use std::ffi::{CStr, CString};

use rmwbench_harness::middleware::Error;

use crate::sys::{self, Handle};

/// Deleting an entity deletes its children, so entities are dropped children first.
#[derive(Debug)]
pub struct Entity(Handle);

impl Entity {
    /// Takes ownership of a handle that a `dds_create_*` call returned; a negative one is its
    /// error.
    pub fn owned(handle: Handle, what: impl FnOnce() -> String) -> Result<Self, Error> {
        if handle < 0 {
            return Err(Error::failed(what(), words(handle)));
        }
        Ok(Entity(handle))
    }

    #[inline]
    pub fn handle(&self) -> Handle {
        self.0
    }
}

impl Drop for Entity {
    fn drop(&mut self) {
        // SAFETY: the handle is ours; after its parent is deleted, it is only unknown.
        unsafe { sys::dds_delete(self.0) };
    }
}

/// The entity's GUID; zeros if it has none.
pub fn guid(entity: Handle) -> [u8; 16] {
    let mut guid = [0; 16];
    // SAFETY: fills as many bytes as a GUID has.
    unsafe { sys::dds_get_guid(entity, &mut guid) };
    guid
}

/// Cyclone's name for a return code.
pub fn words(code: i32) -> String {
    // SAFETY: dds_strretcode returns a static string for any number.
    unsafe { CStr::from_ptr(sys::dds_strretcode(code)) }.to_string_lossy().into_owned()
}

/// `text` for C; a NUL inside it is the caller's mistake.
pub fn c_string(text: &str, what: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::invalid(what, format!("{text:?} contains a NUL byte")))
}
