//! A socket of an endpoint, shared by the threads that use it: the publisher's, the receiving
//! thread and the lookout.
//!
//! A ZeroMQ socket belongs to one thread at a time; the manual allows passing it on under a lock.
//! The descriptor is edge-triggered: a thread that uses the socket may consume the edge for which
//! another waits, and must wake it.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use zmq::Socket;

use crate::event_fd::EventFd;

pub struct SharedSocket {
    socket: Mutex<Socket>,
    fd: RawFd,
    /// Wakes the receiving thread.
    receiver: Arc<EventFd>,
    /// The number of peers connected now.
    pub peers: AtomicU32,
}

impl SharedSocket {
    pub fn new(socket: Socket, receiver: Arc<EventFd>) -> zmq::Result<Arc<SharedSocket>> {
        let fd = socket.get_fd()?;
        Ok(Arc::new(SharedSocket {
            socket: Mutex::new(socket),
            fd,
            receiver,
            peers: AtomicU32::new(0),
        }))
    }

    /// The descriptor to wait for; it is readable when an event occurred at the socket.
    pub fn fd(&self) -> RawFd {
        self.fd
    }

    /// For the receiving thread, which takes messages until there are none.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, Socket> {
        self.socket.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// For every other thread: afterwards the receiving thread checks again whether there is
    /// something to receive.
    pub fn with_socket<T>(&self, work: impl FnOnce(&Socket) -> T) -> T {
        let socket = self.lock();
        let result = work(&socket);
        let readable = socket.get_events().is_ok_and(|events| events.contains(zmq::POLLIN));
        drop(socket);
        if readable {
            self.receiver.raise();
        }
        result
    }

    pub fn peers(&self) -> u32 {
        self.peers.load(Ordering::SeqCst)
    }
}
