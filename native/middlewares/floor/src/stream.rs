//! Messages on a stream (TCP or Unix socket): a 16-byte header, then the payload.
//!
//! A message is refused or sent as a whole: once its first byte was sent, the sender waits until it
//! can send the rest, however long the reader takes, because a part of a message would make the
//! rest of the stream unreadable.

use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rmwbench_harness::middleware::Delivery;
use rustix::io::Errno;
use rustix::net::{sendmsg, SendAncillaryBuffer, SendFlags};

use crate::frame::{writable, FrameHeader, Outcome, FRAME_HEADER_BYTES};
use crate::outlet::Outlet;

/// One system call reads several small messages.
const MIN_BUFFER_BYTES: usize = 64 << 10;

/// `blocked` counts how many times it waited in the middle of a message.
pub fn send(fd: &OwnedFd, id: u64, payload: &[u8], blocked: &AtomicU64) -> Outcome {
    let header = FrameHeader { id, total: payload.len() as u32, offset: 0 }.bytes();
    let total = FRAME_HEADER_BYTES + payload.len();
    let mut sent = 0;
    while sent < total {
        let parts = [
            IoSlice::new(header.get(sent..).unwrap_or(&[])),
            IoSlice::new(&payload[sent.saturating_sub(FRAME_HEADER_BYTES)..]),
        ];
        match sendmsg(fd, &parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL) {
            Ok(n) => sent += n,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if sent == 0 => return Outcome::Full,
            Err(Errno::AGAIN) => {
                blocked.fetch_add(1, Ordering::Relaxed);
                writable(fd, None);
            }
            Err(_) => return Outcome::Gone,
        }
    }
    Outcome::Sent
}

pub struct StreamReader {
    fd: OwnedFd,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    next_id: u64,
    drops: u64,
    ended: bool,
}

impl StreamReader {
    pub fn new(fd: OwnedFd, payload_bytes: u32) -> StreamReader {
        let bytes = (FRAME_HEADER_BYTES + payload_bytes as usize).max(MIN_BUFFER_BYTES);
        StreamReader {
            fd,
            buffer: vec![0xA5; bytes],
            start: 0,
            end: 0,
            next_id: 0,
            drops: 0,
            ended: false,
        }
    }

    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The writer is gone and all of its messages were delivered.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Delivers one message, if a whole one has come. `notified_ns` as for [`Delivery::taken`].
    pub fn receive(&mut self, outlet: &Outlet, notified_ns: i64) -> bool {
        while !self.has_whole() && !self.ended {
            match self.read() {
                Ok(0) => self.ended = true,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                Err(_) => self.ended = true,
            }
        }
        if self.ended {
            return false;
        }
        let header = self.header().expect("a whole message has a header");
        let body = self.start + FRAME_HEADER_BYTES;
        let next = body + header.total as usize;
        self.drops += header.id.saturating_sub(self.next_id);
        self.next_id = header.id + 1;
        self.start = next;
        let payload = &self.buffer[body..next];
        outlet.deliver(&Delivery::taken(notified_ns, payload, false));
        true
    }

    /// Whether a further message was already read: no wait on the socket would report it.
    pub fn has_whole(&self) -> bool {
        self.header()
            .is_some_and(|h| self.start + FRAME_HEADER_BYTES + h.total as usize <= self.end)
    }

    fn header(&self) -> Option<FrameHeader> {
        FrameHeader::read(&self.buffer[self.start..self.end])
    }

    fn read(&mut self) -> Result<usize, Errno> {
        if self.start > 0 {
            // The rest is the beginning of one message: it moves to the front, where a whole one
            // fits.
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            return Err(Errno::MSGSIZE); // longer than the type allows: another protocol
        }
        let (bytes, _) = rustix::net::recv(
            &self.fd,
            &mut self.buffer[self.end..],
            rustix::net::RecvFlags::empty(),
        )?;
        self.end += bytes;
        Ok(bytes)
    }

    /// The number of messages that the sender skipped since the last call; they appear as gaps.
    pub fn new_drops(&mut self) -> u64 {
        std::mem::take(&mut self.drops)
    }
}
