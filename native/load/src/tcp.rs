//! TCP between two hosts of a network: downloads of other users on the robot's radio network. The
//! sockets are the kernel's, with its own congestion control, so they react to a loss or a queue as
//! the traffic of others does.
//!
//! Two processes: one listens in its host and counts what it reads, which is the goodput; the other
//! connects and writes, all the time or one piece per period, as a video player fetches its pieces.
//! A late piece does not delay the later ones: a player catches up.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde::Deserialize;

use crate::clock::{now_ns, sleep_until};

const BUFFER_BYTES: usize = 1 << 16;
const CONNECT_S: u64 = 8;
const NAME_BYTES: usize = 16;

/// Counts over all flows of this process: bytes that the kernel took to send, bytes that the
/// receiver read, and flows that are still open.
pub static SENT_BYTES: AtomicU64 = AtomicU64::new(0);
pub static RECEIVED_BYTES: AtomicU64 = AtomicU64::new(0);
pub static OPEN: AtomicU64 = AtomicU64::new(0);

/// The sender's part of `start`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    pub to: SocketAddr,
    pub flows: NonZeroUsize,
    /// None: the host's default.
    pub congestion_control: Option<String>,
    /// None: without end.
    pub piece: Option<Piece>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    pub bytes: u64,
    pub every_ns: i64,
}

/// Listens, and returns the port.
pub fn receive() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let port = listener.local_addr()?.port();
    let accept = move || {
        for stream in listener.incoming().flatten() {
            // Without a thread the flow is closed, and its sender reports that.
            let _ = thread::Builder::new().name("load-receiver".into()).spawn(move || take(stream));
        }
    };
    thread::Builder::new().name("load-listener".into()).spawn(accept)?;
    Ok(port)
}

fn take(mut stream: TcpStream) {
    OPEN.fetch_add(1, Ordering::Relaxed);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => drop(RECEIVED_BYTES.fetch_add(count as u64, Ordering::Relaxed)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    OPEN.fetch_sub(1, Ordering::Relaxed);
}

/// Connects all flows, begins to send, and returns the congestion control in force.
pub fn send(flows: &Flows) -> io::Result<String> {
    let streams: Vec<TcpStream> =
        (0..flows.flows.get()).map(|_| connect(flows)).collect::<io::Result<_>>()?;
    let in_force = congestion_control(&streams[0])?;
    for stream in streams {
        let piece = flows.piece.clone();
        OPEN.fetch_add(1, Ordering::Relaxed);
        thread::Builder::new().name("load-sender".into()).spawn(move || {
            // A broken flow is counted as no longer open.
            let _ = give(stream, piece);
            OPEN.fetch_sub(1, Ordering::Relaxed);
        })?;
    }
    Ok(in_force)
}

fn connect(flows: &Flows) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&flows.to, Duration::from_secs(CONNECT_S))?;
    if let Some(name) = &flows.congestion_control {
        let (fd, size) = (stream.as_raw_fd(), name.len() as u32);
        // SAFETY: the kernel reads as many bytes of the name as the length says.
        let set = unsafe {
            libc::setsockopt(
                fd,
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                name.as_ptr().cast(),
                size,
            )
        };
        if set != 0 {
            let error = io::Error::last_os_error();
            return Err(io::Error::new(
                error.kind(),
                format!("congestion control {name}: {error}"),
            ));
        }
    }
    Ok(stream)
}

fn congestion_control(stream: &TcpStream) -> io::Result<String> {
    let (mut name, mut length) = ([0_u8; NAME_BYTES], NAME_BYTES as u32);
    // SAFETY: the kernel writes at most `length` bytes.
    let got = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast(),
            &mut length,
        )
    };
    if got != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(name.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect())
}

fn give(mut stream: TcpStream, piece: Option<Piece>) -> io::Result<()> {
    let buffer = vec![0xC3; BUFFER_BYTES];
    let Some(Piece { bytes, every_ns }) = piece else {
        loop {
            SENT_BYTES.fetch_add(stream.write(&buffer)? as u64, Ordering::Relaxed);
        }
    };
    let mut due_ns = now_ns();
    loop {
        let mut left = bytes;
        while left > 0 {
            let count = stream.write(&buffer[..left.min(BUFFER_BYTES as u64) as usize])? as u64;
            left -= count;
            SENT_BYTES.fetch_add(count, Ordering::Relaxed);
        }
        due_ns += every_ns;
        sleep_until(due_ns);
    }
}
