//! Which process holds which socket: the links in `/proc/PID/fd`. A socket that several processes
//! hold (after a fork) has its first owner.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Inode of a socket → name of the process.
pub type Owners = HashMap<u64, String>;

/// Adds the sockets of one process; false if its descriptors may not be read. It takes about 1 µs
/// per descriptor.
pub fn add(owners: &mut Owners, name: &str, directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory.join("fd")) else { return false };
    for inode in entries.filter_map(|entry| socket_inode(&fs::read_link(entry.ok()?.path()).ok()?))
    {
        owners.entry(inode).or_insert_with(|| name.to_string());
    }
    true
}

fn socket_inode(link: &Path) -> Option<u64> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    #[test]
    fn our_sockets_are_ours() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let mut owners = Owners::new();
        assert!(add(&mut owners, "first", Path::new("/proc/self")));
        assert!(add(&mut owners, "second", Path::new("/proc/self")));
        assert_eq!(owners[&socket_inode(&link).unwrap()], "first");
        assert!(!add(&mut owners, "gone", Path::new("/proc/1073741824")));
    }
}
