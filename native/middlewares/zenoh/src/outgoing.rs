//! Payloads that are passed to Zenoh: written in place, moved into Zenoh, and used again when Zenoh
//! and its readers have released them.
//!
//! A put of a slice would copy it, since Zenoh must own the memory that it sends; its users pass it
//! memory instead. Its examples make a `Vec` for each message; rmw_zenoh serialises into a buffer of
//! a pool, moves it into the put and gets it back when Zenoh drops it. This module has such a pool,
//! whose buffers are written once before a message needs them.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use zenoh::bytes::ZBytes;

/// The most free buffers that a sender keeps. More are on their way only if readers of the same
/// session hold them; then each message has new memory, as in Zenoh's examples.
const KEPT: usize = 16;

pub const NOTE: &str =
    "a message is written into a buffer that the put takes over, as in Zenoh's examples and rmw_zenoh; it comes back when Zenoh drops it, and while all are away a new one is made";

/// The memory of one payload, shared with Zenoh, which sends it.
type Buffer = Arc<Box<[u8]>>;

/// Zenoh's handle of a buffer.
struct Given(Buffer);

impl AsRef<[u8]> for Given {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The buffers of one sender.
#[derive(Default)]
pub struct Outgoing {
    sent: Vec<Buffer>,
    /// The buffer of the message that is being written.
    message: Option<Buffer>,
}

impl Outgoing {
    /// The payload of the next message; the caller writes it until [`Outgoing::payload`] is called
    /// with it. None: an empty payload needs no memory.
    pub fn message(&mut self, bytes: usize) -> Option<NonNull<[u8]>> {
        if bytes == 0 {
            return None;
        }
        if self.message.as_ref().is_none_or(|message| message.len() != bytes) {
            self.message = Some(self.buffer(bytes));
        }
        let message = Arc::get_mut(self.message.as_mut()?)?;
        Some(NonNull::from(&mut message[..]))
    }

    /// A buffer that came back, the last one first since it may still be in the cache; else a new
    /// one.
    fn buffer(&mut self, bytes: usize) -> Buffer {
        let is_back = |buffer: &mut Buffer| buffer.len() == bytes && Arc::get_mut(buffer).is_some();
        match self.sent.iter_mut().rposition(is_back) {
            Some(place) => self.sent.remove(place),
            // Not zeros, for which the allocator might supply pages that nobody has touched.
            None => Arc::new(vec![0xA5; bytes].into()),
        }
    }

    /// `payload` in the form that Zenoh takes: the message itself if the payload was written into
    /// it, else a copy.
    #[inline]
    pub fn payload(&mut self, payload: &[u8]) -> ZBytes {
        match self.message.take_if(|message| std::ptr::eq(&message[..], payload)) {
            None => payload.into(),
            Some(message) => {
                if self.sent.len() == KEPT {
                    self.sent.remove(0);
                }
                self.sent.push(message.clone());
                bytes::Bytes::from_owner(Given(message)).into()
            }
        }
    }
}

thread_local! {
    static SENDING: Cell<bool> = const { Cell::new(false) };
}

/// Makes a call that sends, during which Zenoh itself calls the readers of this session.
#[inline]
pub fn sending<T>(call: impl FnOnce() -> T) -> T {
    let outer = SENDING.replace(true);
    let result = call();
    SENDING.set(outer);
    result
}

/// Whether this thread is in such a call: then a reader gets the sender's own memory.
#[inline]
pub fn is_sending() -> bool {
    SENDING.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `value` into the next message; returns where it was written and the value that Zenoh
    /// gets.
    fn send(outgoing: &mut Outgoing, value: u8) -> (usize, ZBytes) {
        let mut message = outgoing.message(100).unwrap();
        // SAFETY: nothing else uses it until `payload`.
        let message = unsafe { message.as_mut() };
        message.fill(value);
        let address = message.as_ptr().addr();
        (address, outgoing.payload(message))
    }

    #[test]
    fn what_was_written_is_what_is_given_and_it_comes_back() {
        let mut outgoing = Outgoing::default();
        let (first, payload) = send(&mut outgoing, 1);
        assert_eq!(payload.to_bytes().as_ptr().addr(), first);
        let (second, next) = send(&mut outgoing, 2);
        assert_ne!(first, second, "the first is still away");
        assert_eq!((*payload.to_bytes())[0], 1);
        drop(next);
        assert_eq!(send(&mut outgoing, 3).0, second, "what came back is used again");
        drop(payload);
        let away: Vec<_> = (0..2 * KEPT).map(|_| send(&mut outgoing, 4)).collect();
        assert!(outgoing.sent.len() <= KEPT && away.iter().all(|(_, z)| z.len() == 100));
    }

    #[test]
    fn what_was_not_written_here_is_copied() {
        let mut outgoing = Outgoing::default();
        outgoing.message(3);
        let payload = outgoing.payload(&[7, 8, 9]);
        assert_eq!(*payload.to_bytes(), [7, 8, 9]);
        assert!(outgoing.message(0).is_none());
    }
}
