//! The socket buffers that the kernel granted: Cyclone asks, `net.core.rmem_max` decides, and nobody says so aloud.

use std::fs;
use std::os::fd::RawFd;

/// A UDP socket of this process: descriptor, receive and send buffer as the kernel counts them (twice what was asked for).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpSocket {
    fd: RawFd,
    receive_bytes: i32,
    send_bytes: i32,
}

/// The UDP sockets of this process.
pub fn udp() -> Vec<UdpSocket> {
    let Ok(fds) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    fds.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&fd| option(fd, libc::SO_TYPE) == Some(libc::SOCK_DGRAM))
        .filter(|&fd| matches!(option(fd, libc::SO_DOMAIN), Some(libc::AF_INET | libc::AF_INET6)))
        .filter_map(|fd| {
            Some(UdpSocket { fd, receive_bytes: option(fd, libc::SO_RCVBUF)?, send_bytes: option(fd, libc::SO_SNDBUF)? })
        })
        .collect()
}

/// A note on the largest buffers among `sockets`; nothing when there are none.
pub fn describe(sockets: impl Iterator<Item = UdpSocket>) -> Option<String> {
    let largest = sockets.fold(None, |max: Option<(i32, i32)>, s| {
        let (receive, send) = max.unwrap_or_default();
        Some((receive.max(s.receive_bytes), send.max(s.send_bytes)))
    });
    let limit = fs::read_to_string("/proc/sys/net/core/rmem_max").ok();
    let limit = limit.map_or(String::new(), |text| format!(", net.core.rmem_max {} bytes", text.trim()));
    largest.map(|(receive, send)| format!("UDP socket buffers in force: receive {receive} bytes, send {send} bytes{limit}"))
}

fn option(fd: RawFd, name: libc::c_int) -> Option<libc::c_int> {
    let (mut value, mut bytes) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `bytes` bytes into `value`.
    let result = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, name, (&raw mut value).cast(), &raw mut bytes) };
    (result == 0).then_some(value)
}
