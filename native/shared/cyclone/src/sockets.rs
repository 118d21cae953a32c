//! The sockets of a domain: the address that Cyclone selected and the buffers that the kernel
//! granted.
//!
//! Cyclone selects an interface by its own rules and requests buffers that `net.core.rmem_max`
//! limits; it reports neither in a form that a program can read, but the process can ask its own
//! sockets.

use std::collections::BTreeSet;
use std::fs;
use std::mem::ManuallyDrop;
use std::net::IpAddr;
use std::os::fd::{FromRawFd, RawFd};

/// A UDP socket of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    pub fd: RawFd,
    /// None if it listens on every address.
    pub address: Option<IpAddr>,
    /// The size as the kernel counts buffers: twice the requested one.
    pub receive_bytes: i32,
    pub send_bytes: i32,
}

/// The UDP sockets of this process.
pub fn udp() -> Vec<Socket> {
    let Ok(fds) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    fds.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&fd| option(fd, libc::SO_TYPE) == Some(libc::SOCK_DGRAM))
        .filter(|&fd| matches!(option(fd, libc::SO_DOMAIN), Some(libc::AF_INET | libc::AF_INET6)))
        .filter_map(|fd| {
            // SAFETY: borrowed, never closed here.
            let socket = ManuallyDrop::new(unsafe { std::net::UdpSocket::from_raw_fd(fd) });
            Some(Socket {
                fd,
                address: socket.local_addr().ok().map(|a| a.ip()).filter(|ip| !ip.is_unspecified()),
                receive_bytes: option(fd, libc::SO_RCVBUF)?,
                send_bytes: option(fd, libc::SO_SNDBUF)?,
            })
        })
        .collect()
}

/// A note on `sockets`: the addresses to which they are bound and their largest buffers; None if
/// there are none.
pub fn describe(sockets: &[Socket]) -> Option<String> {
    let receive = sockets.iter().map(|s| s.receive_bytes).max()?;
    let send = sockets.iter().map(|s| s.send_bytes).max()?;
    let addresses: BTreeSet<String> =
        sockets.iter().filter_map(|s| s.address).map(|a| a.to_string()).collect();
    let addresses = addresses.into_iter().collect::<Vec<_>>().join(", ");
    let limit = limit("rmem_max");
    Some(format!("UDP on {addresses}; socket buffers in force: receive {receive} bytes (net.core.rmem_max {limit}), send {send} bytes"))
}

/// How many times groups were joined in this network namespace, by all of its processes.
pub fn multicast_memberships() -> u32 {
    let table = fs::read_to_string("/proc/self/net/igmp").unwrap_or_default();
    // A group's line: its address, the number of sockets that joined it, its timer, and a flag.
    let users = table
        .lines()
        .filter(|line| line.starts_with('\t'))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u32>().ok());
    users.sum()
}

/// The kernel's limit with this name in `net.core`.
fn limit(name: &str) -> String {
    fs::read_to_string(format!("/proc/sys/net/core/{name}"))
        .map_or("unknown".into(), |text| text.trim().to_string())
}

fn option(fd: RawFd, name: libc::c_int) -> Option<libc::c_int> {
    let (mut value, mut bytes) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `bytes` bytes into `value`.
    let result = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, name, (&raw mut value).cast(), &raw mut bytes)
    };
    (result == 0).then_some(value)
}
