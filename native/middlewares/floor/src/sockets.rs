//! Socket channels: a connected pair for each publisher and reader; the rendezvous passes the
//! reader's end.
//!
//! The publisher's list of readers is copied into the publishing thread when it changes, so that
//! publishing takes no lock.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmwbench_harness::clock::now_ns;
use rmwbench_harness::middleware::PublishError;
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{
    acceptfrom_with, bind, connect, getsockname, listen, socket_with, socketpair, sockopt,
    AddressFamily, SocketAddrAny, SocketFlags, SocketType,
};

use crate::datagram;
use crate::frame::{writable, Outcome};
use crate::options::{Options, Transport};
use crate::rendezvous::{Acceptance, Outgoing, PeerId};
use crate::stream;

/// A channel to one reader.
pub struct Channel {
    pub fd: OwnedFd,
    peer: PeerId,
    reliable: AtomicBool,
    next_id: AtomicU64,
}

/// The publisher's channels, shared with the control thread.
pub struct SocketWriter {
    transport: Transport,
    buffer_bytes: Option<u32>,
    offered: Mutex<HashMap<PeerId, Arc<Channel>>>,
    channels: Mutex<Vec<Arc<Channel>>>,
    generation: AtomicU64,
    pub timeout_ns: i64,
    pub blocked: AtomicU64,
    /// The number of best-effort messages that a full channel refused.
    pub skipped: AtomicU64,
}

/// The publishing thread's copy of the channels.
#[derive(Default)]
pub struct SocketOutlet {
    channels: Vec<Arc<Channel>>,
    generation: u64,
}

impl SocketWriter {
    pub fn new(options: &Options) -> SocketWriter {
        SocketWriter {
            transport: options.transport,
            buffer_bytes: options.buffer_bytes(),
            offered: Mutex::default(),
            channels: Mutex::default(),
            generation: AtomicU64::new(0),
            timeout_ns: options.publish_timeout_ns,
            blocked: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
        }
    }

    /// Sends one message to every reader. It waits for reliable readers; if there are several, it
    /// waits for all before the first byte goes to any of them.
    pub fn publish(&self, outlet: &mut SocketOutlet, payload: &[u8]) -> Result<(), PublishError> {
        let generation = self.generation.load(Ordering::Acquire);
        if generation != outlet.generation {
            outlet.channels.clone_from(&self.channels.lock().unwrap());
            outlet.generation = generation;
        }
        if outlet.channels.len() > 1 {
            for channel in outlet.channels.iter().filter(|c| c.reliable.load(Ordering::Relaxed)) {
                self.wait_writable(channel)?;
            }
        }
        for channel in &outlet.channels {
            let id = channel.next_id.load(Ordering::Relaxed);
            loop {
                let outcome = match self.transport {
                    Transport::Udp => datagram::send(&channel.fd, id, payload),
                    _ => stream::send(&channel.fd, id, payload, &self.blocked),
                };
                match outcome {
                    Outcome::Full if channel.reliable.load(Ordering::Relaxed) => {
                        self.blocked.fetch_add(1, Ordering::Relaxed);
                        self.wait_writable(channel)?;
                        continue;
                    }
                    Outcome::Full => drop(self.skipped.fetch_add(1, Ordering::Relaxed)),
                    Outcome::Sent | Outcome::Gone => {}
                }
                break;
            }
            channel.next_id.store(id + 1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn wait_writable(&self, channel: &Channel) -> Result<(), PublishError> {
        let deadline = now_ns() + self.timeout_ns;
        loop {
            match writable(&channel.fd, Some(deadline - now_ns())) {
                true => return Ok(()),
                false if now_ns() >= deadline => return Err(PublishError::Timeout),
                false => {}
            }
        }
    }
}

impl SocketWriter {
    /// The channel that was offered to `peer` and not yet accepted.
    pub fn offered_channel(&self, peer: PeerId) -> Option<Arc<Channel>> {
        self.offered.lock().unwrap().get(&peer).cloned()
    }
}

impl Outgoing for SocketWriter {
    fn offer(&self, peer: PeerId) -> Result<OwnedFd, Errno> {
        let (ours, theirs) = pair(self.transport, self.buffer_bytes)?;
        let channel = Channel {
            fd: ours,
            peer,
            reliable: AtomicBool::new(false),
            next_id: AtomicU64::new(0),
        };
        self.offered.lock().unwrap().insert(peer, Arc::new(channel));
        Ok(theirs)
    }

    fn accept(
        &self,
        peer: PeerId,
        acceptance: &Acceptance,
        _fds: Vec<OwnedFd>,
    ) -> Result<(), Errno> {
        let channel = self.offered.lock().unwrap().remove(&peer).ok_or(Errno::PROTO)?;
        channel.reliable.store(acceptance.reliable, Ordering::Relaxed);
        self.channels.lock().unwrap().push(channel);
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    fn remove(&self, peer: PeerId, _accepted: bool) {
        self.offered.lock().unwrap().remove(&peer);
        self.channels.lock().unwrap().retain(|c| c.peer != peer);
        self.generation.fetch_add(1, Ordering::Release);
    }
}

/// A connected pair, both ends non-blocking.
pub fn pair(transport: Transport, buffer_bytes: Option<u32>) -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let inet = |kind| -> Result<OwnedFd, Errno> {
        let socket = socket_with(AddressFamily::INET, kind, flags, None)?;
        set_buffers(&socket, buffer_bytes)?;
        Ok(socket)
    };
    let any_port = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    match transport {
        Transport::ShmRing => Err(Errno::INVAL),
        Transport::Unix => {
            let (a, b) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            set_buffers(&a, buffer_bytes)?;
            set_buffers(&b, buffer_bytes)?;
            Ok((a, b))
        }
        Transport::Udp => {
            let (a, b) = (inet(SocketType::DGRAM)?, inet(SocketType::DGRAM)?);
            bind(&a, &any_port)?;
            bind(&b, &any_port)?;
            connect(&a, &getsockname(&b)?)?;
            connect(&b, &getsockname(&a)?)?;
            Ok((a, b))
        }
        Transport::Tcp => {
            let listener = inet(SocketType::STREAM)?;
            bind(&listener, &any_port)?;
            listen(&listener, 8)?;
            let ours = inet(SocketType::STREAM)?;
            // On loopback the handshake is done when connect returns, also for a non-blocking
            // socket: EINPROGRESS is harmless.
            match connect(&ours, &getsockname(&listener)?) {
                Ok(()) | Err(Errno::INPROGRESS) => {}
                Err(e) => return Err(e),
            }
            let me: SocketAddrAny = getsockname(&ours)?;
            loop {
                match acceptfrom_with(&listener, flags) {
                    Ok((theirs, Some(from))) if from == me => {
                        sockopt::set_tcp_nodelay(&ours, true)?;
                        sockopt::set_tcp_nodelay(&theirs, true)?;
                        return Ok((ours, theirs));
                    }
                    Ok(_) => {} // someone else on this machine connected to our port
                    Err(Errno::AGAIN) => {
                        let _ = poll(&mut [PollFd::new(&listener, PollFlags::IN)], None);
                    }
                    Err(e) => return Err(e),
                }
            }
        }
    }
}

/// Requests buffers beyond the system's limit first, which needs CAP_NET_ADMIN, then within it.
fn set_buffers(socket: impl AsFd, bytes: Option<u32>) -> Result<(), Errno> {
    let Some(bytes) = bytes.map(|b| b as usize) else { return Ok(()) };
    let socket = socket.as_fd();
    sockopt::set_socket_recv_buffer_size_force(socket, bytes)
        .or_else(|_| sockopt::set_socket_recv_buffer_size(socket, bytes))?;
    force_send_buffer(socket, bytes)
        .or_else(|_| sockopt::set_socket_send_buffer_size(socket, bytes))
}

fn force_send_buffer(socket: impl AsFd, bytes: usize) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let value = bytes as libc::c_int;
    // SAFETY: one int is read from a live pointer; rustix has no call for SO_SNDBUFFORCE.
    let result = unsafe {
        let pointer = std::ptr::from_ref(&value).cast();
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDBUFFORCE,
            pointer,
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::PERM)
    }
}

/// The buffers that the kernel grants a new channel: send and receive buffer as it counts them,
/// which is twice the requested size.
pub fn granted_buffers(options: &Options) -> Result<(usize, usize), Errno> {
    let (ours, theirs) = pair(options.transport, options.buffer_bytes())?;
    Ok((sockopt::socket_send_buffer_size(&ours)?, sockopt::socket_recv_buffer_size(&theirs)?))
}
