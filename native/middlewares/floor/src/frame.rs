//! The common part of stream and datagram channels: the header of a message, and the result of
//! sending one.

use std::os::fd::OwnedFd;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::time::Timespec;

/// The header of each frame of a stream and of each datagram: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The message's number, dense per channel; a message that a full channel skipped leaves a gap.
    pub id: u64,
    pub total: u32,
    /// The offset of this datagram's part; 0 on a stream.
    pub offset: u32,
}

pub const FRAME_HEADER_BYTES: usize = 16;

impl FrameHeader {
    pub fn bytes(self) -> [u8; FRAME_HEADER_BYTES] {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.id.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.total.to_le_bytes());
        bytes[12..].copy_from_slice(&self.offset.to_le_bytes());
        bytes
    }

    pub fn read(bytes: &[u8]) -> Option<FrameHeader> {
        let bytes = bytes.get(..FRAME_HEADER_BYTES)?;
        Some(FrameHeader {
            id: u64::from_le_bytes(bytes[..8].try_into().unwrap()),
            total: u32::from_le_bytes(bytes[8..12].try_into().unwrap()),
            offset: u32::from_le_bytes(bytes[12..].try_into().unwrap()),
        })
    }
}

/// The result of sending one message on one channel.
pub enum Outcome {
    Sent,
    /// No byte of it was sent, because the channel is full.
    Full,
    /// The reader is gone; the control thread will report it.
    Gone,
}

/// Waits until `fd` accepts bytes or its reader is gone; false at the time-out or a signal.
/// `timeout_ns`: None for ever.
pub fn writable(fd: &OwnedFd, timeout_ns: Option<i64>) -> bool {
    let timeout = timeout_ns
        .map(|ns| ns.max(0))
        .map(|ns| Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 });
    matches!(poll(&mut [PollFd::new(fd, PollFlags::OUT)], timeout.as_ref()), Ok(n) if n > 0)
}
