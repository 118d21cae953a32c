//! How a publisher finds a subscription and passes it a channel.
//!
//! A subscription listens on a socket file whose name begins with a hash of its topic, in one
//! directory per domain. A publisher connects to each such file, old and new, and sends an
//! [`Offer`] with the channel's descriptor; the subscription answers, and the publisher sends
//! [`Started`]. The connection then stays open and unused: its end of file shows each side at once
//! that the other left or was killed. Sequenced packets keep message bounds, so no framing is
//! needed.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::net::{
    bind, connect, listen, recvmsg, sendmsg, socket_with, AddressFamily, RecvAncillaryBuffer,
    RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    SocketAddrUnix, SocketFlags, SocketType,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// One reader of one publisher, unique in the publisher's process.
pub type PeerId = u64;

const MAX_PACKET_BYTES: usize = 4096;
const MAX_FDS: usize = 2;

/// The offer of a publisher; its descriptor is the pool (ring) or the reader's end of a socket.
#[derive(Debug, Serialize, Deserialize)]
pub struct Offer {
    pub topic: String,
    /// The type names of both sides must be equal, as in DDS.
    pub type_name: String,
    pub payload_bytes: u32,
    pub transport: String,
    pub reliable: bool,
    /// The slots of the pool; 0 if there is none.
    pub slots: u32,
    /// The most messages that a reader's queue may hold; 0: no bound.
    pub max_queue_depth: u32,
    /// The room for a message in each entry of the queue; 0: messages are in slots.
    pub inline_bytes: u32,
}

/// The publisher's last message: from now on it sends. Only then do both sides know that they are
/// matched.
#[derive(Debug, Serialize, Deserialize)]
pub struct Started {}

#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Accepted(Acceptance),
    Refused(String),
}

/// Its descriptors: for a ring the queue and, unless the reader spins, the word that wakes it; for
/// sockets none.
#[derive(Debug, Serialize, Deserialize)]
pub struct Acceptance {
    pub reliable: bool,
    pub queue_depth: u32,
}

/// A publisher's outlet, as the control thread sees it.
pub trait Outgoing: Send + Sync {
    /// The channel for a new reader: the descriptor that is sent to it.
    fn offer(&self, peer: PeerId) -> Result<OwnedFd, Errno>;
    /// The reader has accepted: from now on it gets every message.
    fn accept(&self, peer: PeerId, acceptance: &Acceptance, fds: Vec<OwnedFd>)
        -> Result<(), Errno>;
    /// The reader refused, left or died; `accepted`: whether it had accepted before.
    fn remove(&self, peer: PeerId, accepted: bool);
}

pub fn directory(domain_id: u32) -> PathBuf {
    std::env::temp_dir().join(format!("rmwbench-floor.{domain_id}"))
}

/// The part of a socket file's name that depends on the topic: FNV-1a, since a topic may be longer
/// than a socket's path can be.
pub fn topic_prefix(topic: &str) -> String {
    let hash = topic.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    format!("{hash:016x}.")
}

/// A listening socket at `directory/name`. It appears under its name only once it listens, so
/// nobody finds it too early.
pub fn listen_at(directory: &Path, name: &str) -> Result<OwnedFd, Errno> {
    let socket = packet_socket()?;
    let hidden = directory.join(format!(".{name}"));
    bind(&socket, &SocketAddrUnix::new(&hidden)?)?;
    listen(&socket, 4096)?;
    rustix::fs::renameat(CWD, &hidden, CWD, directory.join(name))?;
    Ok(socket)
}

pub fn connect_to(path: &Path) -> Result<OwnedFd, Errno> {
    let socket = packet_socket()?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

fn packet_socket() -> Result<OwnedFd, Errno> {
    socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )
}

pub fn send(
    socket: impl AsFd,
    message: &impl Serialize,
    fds: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let bytes = serde_json::to_vec(message).map_err(|_| Errno::INVAL)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::INVAL);
    }
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL).map(drop)
}

/// The next message with its descriptors; None at the end of file, `Errno::AGAIN` if there is none
/// yet.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd) -> Result<Option<(T, Vec<OwnedFd>)>, Errno> {
    let mut bytes = [0; MAX_PACKET_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let length =
        recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?
            .bytes;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    if length == 0 {
        return Ok(None);
    }
    let message = serde_json::from_slice(&bytes[..length]).map_err(|_| Errno::PROTO)?;
    Ok(Some((message, fds)))
}
