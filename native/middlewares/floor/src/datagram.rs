//! Messages as UDP datagrams on the loopback interface: parts of at most 60 kB, which are
//! reassembled and never sent again.
//!
//! The kernel drops datagrams that the reader's buffer cannot hold, and notifies nobody; the reader
//! sees the gap in the channel's dense message numbers, so its count is exact up to the last
//! message that it received.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;

use rmwbench_harness::middleware::Delivery;
use rustix::io::Errno;
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags,
};

use crate::frame::{writable, FrameHeader, Outcome, FRAME_HEADER_BYTES};
use crate::outlet::Outlet;

/// Below the 65 507 bytes that a datagram can carry, and whole pages less a header.
const PART_BYTES: usize = 60_000;

pub fn send(fd: &OwnedFd, id: u64, payload: &[u8]) -> Outcome {
    let mut offset = 0;
    loop {
        let part = &payload[offset..payload.len().min(offset + PART_BYTES)];
        let header = FrameHeader { id, total: payload.len() as u32, offset: offset as u32 }.bytes();
        match sendmsg(
            fd,
            &[IoSlice::new(&header), IoSlice::new(part)],
            &mut SendAncillaryBuffer::default(),
            SendFlags::NOSIGNAL,
        ) {
            Ok(_) => offset += part.len().max(1),
            Err(Errno::INTR) => continue,
            // The send buffer is full, which does not depend on the reader: the loopback interface
            // empties it at once.
            Err(Errno::AGAIN) => drop(writable(fd, Some(1_000_000))),
            Err(_) => return Outcome::Gone,
        }
        if offset >= payload.len() {
            return Outcome::Sent;
        }
    }
}

pub struct DatagramReader {
    fd: OwnedFd,
    buffer: Vec<u8>,
    payload_bytes: usize,
    /// The number of the message that is being assembled, and how much of it has come; None once a
    /// part of it is missing.
    id: u64,
    got: Option<usize>,
    drops: u64,
}

impl DatagramReader {
    pub fn new(fd: OwnedFd, payload_bytes: u32) -> DatagramReader {
        let payload_bytes = payload_bytes as usize;
        DatagramReader {
            fd,
            buffer: vec![0xA5; payload_bytes + PART_BYTES],
            payload_bytes,
            id: 0,
            got: Some(0),
            drops: 0,
        }
    }

    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Delivers one message, if its parts have come; `notified_ns` as for a stream.
    pub fn receive(&mut self, outlet: &Outlet, notified_ns: i64) -> bool {
        loop {
            match self.read() {
                Ok(None) => {}
                Ok(Some(total)) => {
                    let payload = &self.buffer[..total];
                    outlet.deliver(&Delivery::taken(notified_ns, payload, false));
                    return true;
                }
                Err(Errno::AGAIN) => return false,
                // An error of our own sending direction; the control connection shows when a peer
                // left.
                Err(_) => {}
            }
        }
    }

    /// Reads one datagram to the place where the next part is expected; Some(total) if it completes
    /// a message.
    fn read(&mut self) -> Result<Option<usize>, Errno> {
        let at = self.got.unwrap_or(0);
        let mut header = [0; FRAME_HEADER_BYTES];
        let mut parts =
            [IoSliceMut::new(&mut header), IoSliceMut::new(&mut self.buffer[at..at + PART_BYTES])];
        let bytes =
            recvmsg(&self.fd, &mut parts, &mut RecvAncillaryBuffer::default(), RecvFlags::empty())?
                .bytes;
        let Some(h) = FrameHeader::read(&header[..bytes.min(FRAME_HEADER_BYTES)]) else {
            return Ok(None);
        };
        let (offset, total, part) =
            (h.offset as usize, h.total as usize, bytes - FRAME_HEADER_BYTES);
        if h.id < self.id || total > self.payload_bytes || offset + part > total {
            return Ok(None);
        }
        if h.id > self.id {
            self.drops += h.id - self.id;
            self.id = h.id;
            self.got = (offset == 0).then_some(0);
            if offset == 0 {
                self.buffer.copy_within(at..at + part, 0);
            }
        }
        self.got = self.got.filter(|&got| got == offset).map(|got| got + part);
        if self.got != Some(total) {
            return Ok(None);
        }
        (self.id, self.got) = (h.id + 1, Some(0));
        Ok(Some(total))
    }

    pub fn new_drops(&mut self) -> u64 {
        std::mem::take(&mut self.drops)
    }
}
