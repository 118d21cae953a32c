//! The reader's own memory. With `take: typed`, a message is copied into it if the API would only
//! lend its receive buffer.

use std::cell::UnsafeCell;

use crate::message_type::MessageType;

/// Room for one message, used again for each: a program that copies each message keeps one sample.
/// Its pages are touched beforehand, so that the first message does not pay for them.
pub struct OwnMemory(UnsafeCell<Box<[u8]>>);

// SAFETY: `copy` is unsafe, and its caller promises one user at a time.
unsafe impl Sync for OwnMemory {}

impl OwnMemory {
    /// Room for a message of this type, its CDR included.
    pub fn of(message_type: &MessageType) -> OwnMemory {
        OwnMemory::of_bytes(message_type.cdr_bytes())
    }

    pub fn of_bytes(bytes: usize) -> OwnMemory {
        // Not zeros, for which the allocator might supply pages that nobody has touched.
        OwnMemory(UnsafeCell::new(vec![0xA5; bytes].into()))
    }

    /// Copies `message`. A longer message is cut: it has another type under this name, and the
    /// harness finds that it is not of this trial.
    ///
    /// # Safety
    /// One user at a time: nobody else calls this while the result is in use.
    #[inline]
    pub unsafe fn copy(&self, message: &[u8]) -> &[u8] {
        // SAFETY: promised by the caller.
        let own = unsafe { &mut *self.0.get() };
        let bytes = message.len().min(own.len());
        own[..bytes].copy_from_slice(&message[..bytes]);
        &own[..bytes]
    }
}
