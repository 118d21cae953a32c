//! TAP devices that the hosts made: one whole Ethernet frame per read or write, without the
//! device's own header before it.
//!
//! The descriptor alone is enough: only the process that attached it needed a capability in the
//! host's namespaces.

use std::io::Error;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::network::Refused;

const TUNGETIFF: libc::Ioctl = 0x8004_54d2_u32 as libc::Ioctl;
const TUNSETIFF: libc::Ioctl = 0x4004_54ca_u32 as libc::Ioctl;
const TUNSETCARRIER: libc::Ioctl = 0x4004_54e2_u32 as libc::Ioctl;

pub const LARGEST_FRAME_BYTES: usize = 65_536 + 64;

pub struct Tap {
    fd: OwnedFd,
    pub name: String,
}

impl Tap {
    /// Takes over a descriptor that is attached to a TAP device; refuses any other descriptor.
    pub fn adopt(fd: OwnedFd) -> Result<Tap, String> {
        // SAFETY: all zeros is a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel fills in one ifreq.
        if unsafe { libc::ioctl(fd.as_raw_fd(), TUNGETIFF, &raw mut request) } != 0 {
            return Err(format!("no TAP device: {}", Error::last_os_error()));
        }
        // SAFETY: TUNGETIFF fills in the flags.
        let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
        let required = libc::IFF_TAP | libc::IFF_NO_PI;
        if flags & required != required || flags & libc::IFF_VNET_HDR != 0 {
            return Err(format!("expected a TAP device with IFF_NO_PI and without IFF_VNET_HDR, found flags {flags:#x}"));
        }
        // SAFETY: only the flags of a descriptor of our own.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } != 0 {
            return Err(format!("O_NONBLOCK: {}", Error::last_os_error()));
        }
        let name = request
            .ifr_name
            .iter()
            .take_while(|byte| **byte != 0)
            .map(|byte| *byte as u8 as char)
            .collect();
        Ok(Tap { fd, name })
    }

    /// Makes a device in this process's network namespace.
    pub fn make(name: &str) -> Result<OwnedFd, String> {
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun")
            .map_err(|e| format!("/dev/net/tun: {e}"))?;
        // SAFETY: all zeros is a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request
            .ifr_name
            .iter_mut()
            .zip(name.bytes().take(libc::IFNAMSIZ - 1))
            .for_each(|(to, byte)| *to = byte as libc::c_char);
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the kernel reads one ifreq.
        if unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) } != 0 {
            return Err(format!("TUNSETIFF {name}: {}", Error::last_os_error()));
        }
        Ok(OwnedFd::from(file))
    }

    /// The next frame, if one is waiting.
    pub fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        // SAFETY: the kernel writes into the buffer, no more than its length.
        let count =
            unsafe { libc::read(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        if count >= 0 {
            return Ok(Some(count as usize));
        }
        let error = Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(None),
            _ => Err(error),
        }
    }

    pub fn write(&self, frame: &[u8]) -> Result<(), Refused> {
        // SAFETY: the kernel reads the slice.
        let count = unsafe { libc::write(self.fd.as_raw_fd(), frame.as_ptr().cast(), frame.len()) };
        if count == frame.len() as isize {
            return Ok(());
        }
        let error = Error::last_os_error();
        Err(if error.raw_os_error() == Some(libc::EIO) {
            Refused::Down
        } else {
            Refused::Error(format!("write: {error}"))
        })
    }

    /// Switches the device's carrier on or off; without it, the host sees NO-CARRIER.
    pub fn carrier(&self, on: bool) -> Result<(), String> {
        let value = libc::c_int::from(on);
        // SAFETY: the kernel reads one int.
        match unsafe { libc::ioctl(self.fd.as_raw_fd(), TUNSETCARRIER, &raw const value) } {
            0 => Ok(()),
            _ => Err(format!("TUNSETCARRIER: {}", Error::last_os_error())),
        }
    }
}

impl AsRawFd for Tap {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}
