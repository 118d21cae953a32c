//! Memory of a reader's own, into which `take: typed` copies what an API would only lend in its
//! receive buffer.

use std::cell::UnsafeCell;

use crate::message_type::MessageType;

/// One message's place, used again for each: as a program that takes by itself keeps one sample.
/// Touched beforehand, so that the first message does not pay for its pages.
pub struct OwnMemory(UnsafeCell<Box<[u8]>>);

// SAFETY: `copy` is unsafe, and its caller promises one user at a time.
unsafe impl Sync for OwnMemory {}

impl OwnMemory {
    /// Room for a message of this type, its CDR included.
    pub fn of(message_type: &MessageType) -> OwnMemory {
        OwnMemory::of_bytes(message_type.cdr_bytes())
    }

    pub fn of_bytes(bytes: usize) -> OwnMemory {
        // Not zeros, for which the allocator might bring pages that nobody has touched.
        OwnMemory(UnsafeCell::new(vec![0xA5; bytes].into()))
    }

    /// Copies `message`, or of a longer one what fits: it is another type under this name, and is
    /// found not to be ours.
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
