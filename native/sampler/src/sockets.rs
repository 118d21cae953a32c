//! The sockets of this network namespace: UDP with its drops, TCP and Unix with the two ends of
//! each connection.
//!
//! The kernel counts a TCP connection's bytes itself and reports them over netlink (sock_diag(7));
//! for UDP `/proc/net/udp` has the drops on every kernel, and netlink only adds the size of the
//! buffer. No counts exist for Unix sockets: only the two ends of each connection are known.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr as Address};

use netlink_packet_core::{
    NetlinkHeader, NetlinkMessage, NetlinkPayload, NLM_F_DUMP, NLM_F_REQUEST,
};
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP, IPPROTO_UDP};
use netlink_packet_sock_diag::inet::{self, ExtensionFlags, InetRequest, InetResponse, SocketId};
use netlink_packet_sock_diag::unix::{ShowFlags, StateFlags, UnixRequest, UnixResponse};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use crate::document::Socket;
use crate::owners::Owners;

/// All sockets as read at one moment, without their owners.
#[derive(Clone, Debug, Default)]
pub struct Sockets {
    udp: Vec<Udp>,
    tcp: Vec<Tcp>,
    unix: Vec<Unix>,
    /// The sources that could not be read, and the reasons.
    pub problems: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Udp {
    inode: u64,
    local: Address,
    remote: Address,
    drops: u64,
    queue_bytes: u64,
    buffer_bytes: Option<u64>,
}

#[derive(Clone, Debug)]
struct Tcp {
    inode: u64,
    local: Address,
    remote: Address,
    info: Option<TcpInfo>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct TcpInfo {
    sent_bytes: u64,
    received_bytes: u64,
    retransmits: u64,
}

#[derive(Clone, Debug)]
struct Unix {
    inode: u64,
    peer: Option<u64>,
    kind: u8,
    queue_bytes: Option<u64>,
}

/// Reads all of them, which takes about 100 µs with a few dozen sockets.
pub fn read() -> Sockets {
    let mut sockets = Sockets::default();
    let files = ["/proc/net/udp", "/proc/net/udp6"]
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    sockets.udp = files.iter().flat_map(|text| parse_udp(text)).collect();
    match diag_udp_buffers() {
        Ok(buffers) => sockets
            .udp
            .iter_mut()
            .for_each(|udp| udp.buffer_bytes = buffers.get(&udp.inode).copied()),
        Err(e) => sockets.problems.push((
            "sockets.udp.receive_buffer_bytes",
            format!("the kernel's sock_diag does not answer for UDP: {e}"),
        )),
    }
    match diag_tcp() {
        Ok(list) => sockets.tcp = list,
        Err(e) => sockets
            .problems
            .push(("sockets.tcp", format!("the kernel's sock_diag does not answer for TCP: {e}"))),
    }
    match diag_unix() {
        Ok(list) => sockets.unix = list,
        Err(e) => sockets.problems.push((
            "sockets.unix",
            format!("the kernel's sock_diag does not answer for Unix sockets: {e}"),
        )),
    }
    sockets
}

impl Sockets {
    /// The sockets with their owners. Unix sockets that no known process holds are left out: their
    /// namespace is the machine's, not the host's.
    pub fn owned(&self, owners: &Owners) -> Vec<Socket> {
        let owner = |inode: u64| owners.get(&inode).cloned();
        let mut sockets: Vec<Socket> = Vec::new();
        sockets.extend(self.udp.iter().map(|udp| Socket::Udp {
            process: owner(udp.inode),
            inode: udp.inode,
            local: udp.local.to_string(),
            remote: udp.remote.to_string(),
            drops: udp.drops,
            receive_queue_bytes: udp.queue_bytes,
            receive_buffer_bytes: udp.buffer_bytes,
        }));
        let ends: HashMap<(Address, Address), u64> =
            self.tcp.iter().map(|tcp| ((tcp.local, tcp.remote), tcp.inode)).collect();
        sockets.extend(self.tcp.iter().map(|tcp| Socket::Tcp {
            process: owner(tcp.inode),
            peer_process: ends.get(&(tcp.remote, tcp.local)).and_then(|&inode| owner(inode)),
            inode: tcp.inode,
            local: tcp.local.to_string(),
            remote: tcp.remote.to_string(),
            sent_bytes: tcp.info.map(|info| info.sent_bytes),
            received_bytes: tcp.info.map(|info| info.received_bytes),
            retransmits: tcp.info.map(|info| info.retransmits),
        }));
        let known = self.unix.iter().filter(|unix| owners.contains_key(&unix.inode));
        sockets.extend(known.map(|unix| Socket::Unix {
            process: owner(unix.inode),
            peer_process: unix.peer.and_then(owner),
            inode: unix.inode,
            r#type: match i32::from(unix.kind) {
                libc::SOCK_STREAM => "stream".into(),
                libc::SOCK_DGRAM => "datagram".into(),
                libc::SOCK_SEQPACKET => "seqpacket".into(),
                other => other.to_string(),
            },
            queue_bytes: unix.queue_bytes,
        }));
        sockets
    }
}

/// `/proc/net/udp` and `udp6`: addresses in hexadecimal words of the machine's byte order.
fn parse_udp(text: &str) -> Vec<Udp> {
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (_, queue) = words.get(4)?.split_once(':')?;
            Some(Udp {
                inode: words.get(9)?.parse().ok()?,
                local: hexadecimal_address(words.get(1)?)?,
                remote: hexadecimal_address(words.get(2)?)?,
                drops: words.get(12)?.parse().ok()?,
                queue_bytes: u64::from_str_radix(queue, 16).ok()?,
                buffer_bytes: None,
            })
        })
        .collect()
}

fn hexadecimal_address(text: &str) -> Option<Address> {
    let (ip, port) = text.split_once(':')?;
    let words: Option<Vec<u32>> = (0..ip.len() / 8)
        .map(|i| u32::from_str_radix(ip.get(8 * i..8 * i + 8)?, 16).ok())
        .collect();
    let bytes: Vec<u8> = words?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let ip: IpAddr = match bytes.len() {
        4 => Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into(),
        16 => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into(),
        _ => return None,
    };
    Some(Address::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// Inode → size of the receive buffer.
fn diag_udp_buffers() -> io::Result<HashMap<u64, u64>> {
    let mut buffers = HashMap::new();
    for response in dump_inet(IPPROTO_UDP, ExtensionFlags::SKMEMINFO)? {
        for attribute in &response.nlas {
            if let inet::nlas::Nla::MemInfo(memory) = attribute {
                buffers
                    .insert(u64::from(response.header.inode), u64::from(memory.receive_queue_max));
            }
        }
    }
    Ok(buffers)
}

/// Connections that a process still holds: neither listening sockets nor those that only wait for
/// their end.
fn diag_tcp() -> io::Result<Vec<Tcp>> {
    let responses =
        dump_inet(IPPROTO_TCP, ExtensionFlags::INFO)?.into_iter().filter(|r| r.header.inode != 0);
    Ok(responses
        .map(|response| {
            let id = &response.header.socket_id;
            let info = response.nlas.iter().find_map(|attribute| match attribute {
                inet::nlas::Nla::TcpInfo(bytes) => parse_tcp_info(bytes),
                _ => None,
            });
            let (local, remote) = (
                Address::new(id.source_address, id.source_port),
                Address::new(id.destination_address, id.destination_port),
            );
            Tcp {
                inode: response.header.inode.into(),
                local: plain(local),
                remote: plain(remote),
                info,
            }
        })
        .collect())
}

/// A version 4 address mapped into version 6 belongs to the same connection as its other end in
/// version 4 form.
fn plain(address: Address) -> Address {
    Address::new(address.ip().to_canonical(), address.port())
}

/// `struct tcp_info` of linux/tcp.h, which only ever grew at its end.
fn parse_tcp_info(bytes: &[u8]) -> Option<TcpInfo> {
    const TOTAL_RETRANS: usize = 100;
    const BYTES_ACKED: usize = 120;
    const BYTES_RECEIVED: usize = 128;
    let eight = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let retransmits =
        u32::from_ne_bytes(bytes.get(TOTAL_RETRANS..TOTAL_RETRANS + 4)?.try_into().ok()?).into();
    Some(TcpInfo {
        sent_bytes: eight(BYTES_ACKED)?,
        received_bytes: eight(BYTES_RECEIVED)?,
        retransmits,
    })
}

fn diag_unix() -> io::Result<Vec<Unix>> {
    let states = StateFlags::from_bits_retain(!StateFlags::LISTEN.bits());
    let request = UnixRequest {
        state_flags: states,
        inode: 0,
        show_flags: ShowFlags::PEER | ShowFlags::RQLEN,
        cookie: [0xff; 8],
    };
    let responses = dump(SockDiagMessage::UnixRequest(request))?.into_iter().filter_map(
        |message| match message {
            SockDiagMessage::UnixResponse(response) => Some(response),
            _ => None,
        },
    );
    Ok(responses
        .map(|response: Box<UnixResponse>| Unix {
            inode: response.header.inode.into(),
            peer: response.peer().map(u64::from),
            kind: response.header.kind,
            queue_bytes: response.receive_queue_size().map(u64::from),
        })
        .collect())
}

fn dump_inet(protocol: u8, extensions: ExtensionFlags) -> io::Result<Vec<InetResponse>> {
    let mut connections = Vec::new();
    for (family, socket_id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
        let states = inet::StateFlags::all() & !inet::StateFlags::LISTEN;
        let request =
            InetRequest { family, protocol, extensions: extensions.clone(), states, socket_id };
        let messages = dump(SockDiagMessage::InetRequest(request))?;
        connections.extend(messages.into_iter().filter_map(|message| match message {
            SockDiagMessage::InetResponse(response) => Some(*response),
            _ => None,
        }));
    }
    Ok(connections)
}

/// Requests a whole list from the kernel. The kernel answers at once, so the socket never waits.
fn dump(request: SockDiagMessage) -> io::Result<Vec<SockDiagMessage>> {
    let socket = netlink_sys::Socket::new(NETLINK_SOCK_DIAG)?;
    socket.set_non_blocking(true)?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send_to(&bytes, &netlink_sys::SocketAddr::new(0, 0), 0)?;
    let mut answers = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let size = socket.recv(&mut &mut part[..], 0)?;
        let mut rest = &part[..size];
        while !rest.is_empty() {
            let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest)
                .map_err(|e| invalid(e.to_string()))?;
            let length = (message.header.length as usize).next_multiple_of(4).max(16);
            match message.payload {
                NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                NetlinkPayload::Done(_) => return Ok(answers),
                NetlinkPayload::Error(e) => return Err(e.to_io()),
                _ => {}
            }
            rest = rest.get(length..).unwrap_or(&[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owners;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    fn ours() -> Vec<Socket> {
        let mut known = Owners::new();
        owners::add(&mut known, "me", Path::new("/proc/self"));
        let sockets = read();
        assert_eq!(sockets.problems, []);
        sockets.owned(&known)
    }

    #[test]
    fn a_connection_counts_its_bytes_at_both_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&[7; 100_000]).unwrap();
        receiver.read_exact(&mut [0; 100_000]).unwrap();
        let (from, to) =
            (sender.local_addr().unwrap().to_string(), listener.local_addr().unwrap().to_string());
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        loop {
            // An acknowledgement may still be on its way.
            let sockets = ours();
            let end = |local_address: &str| {
                sockets.iter().find_map(|s| match s {
                    Socket::Tcp {
                        local,
                        remote,
                        sent_bytes,
                        received_bytes,
                        process,
                        peer_process,
                        ..
                    } if local == local_address && (*local == from || *remote == from) => {
                        assert_eq!(
                            (process.as_deref(), peer_process.as_deref()),
                            (Some("me"), Some("me"))
                        );
                        Some((sent_bytes.unwrap(), received_bytes.unwrap()))
                    }
                    _ => None,
                })
            };
            let (sent, received) = (end(&from).unwrap(), end(&to).unwrap());
            if sent.0 >= 100_000 || std::time::Instant::now() > until {
                assert!(
                    (100_000..100_010).contains(&sent.0) && received.1 >= 100_000,
                    "{sent:?} {received:?}"
                );
                break;
            }
        }
    }

    #[test]
    fn a_full_buffer_shows_its_drops() {
        let reader = UdpSocket::bind("127.0.0.1:0").unwrap();
        let writer = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..2000 {
            let _ = writer.send_to(&[0; 1000], reader.local_addr().unwrap());
        }
        let address = reader.local_addr().unwrap().to_string();
        let sockets = ours();
        let (drops, queue, buffer) = sockets
            .iter()
            .find_map(|socket| match socket {
                Socket::Udp {
                    local,
                    drops,
                    receive_queue_bytes,
                    receive_buffer_bytes,
                    process,
                    ..
                } if *local == address => {
                    assert_eq!(process.as_deref(), Some("me"));
                    Some((*drops, *receive_queue_bytes, receive_buffer_bytes.unwrap()))
                }
                _ => None,
            })
            .unwrap();
        assert!(buffer >= 2048 && queue > 0);
        assert!(
            drops > 0 || queue < buffer,
            "2000 datagrams neither fit nor were dropped: {drops} {queue} {buffer}"
        );
    }

    #[test]
    fn both_ends_of_a_unix_socket_know_each_other() {
        let (mut one, _other) = UnixStream::pair().unwrap();
        one.write_all(&[1; 500]).unwrap();
        let sockets = ours();
        let queued = sockets.iter().any(|socket| {
            matches!(socket, Socket::Unix { peer_process: Some(peer), r#type, queue_bytes: Some(500), .. } if peer == "me" && r#type == "stream")
        });
        assert!(queued, "{sockets:?}");
    }

    #[test]
    fn addresses_are_read_in_the_machines_order() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n\
                    12: 0100007F:1CF3 00000000:0000 07 00000000:000000FF 00:00000000 00000000     0        0 77 2 0 5\n\
                    13: 00000000000000000000000001000000:0035 00000000000000000000000000000000:0000 07 0:0 0:0 0 0 0 78 2 0 6\n";
        let sockets = parse_udp(text);
        if cfg!(target_endian = "little") {
            assert_eq!(sockets[0].local.to_string(), "127.0.0.1:7411");
            assert_eq!(sockets[1].local.to_string(), "[::1]:53");
        }
        assert_eq!(
            (sockets[0].inode, sockets[0].drops, sockets[0].queue_bytes, sockets[1].drops),
            (77, 5, 255, 6)
        );
    }

    #[test]
    fn tcp_info_of_an_old_kernel_is_absent() {
        assert_eq!(parse_tcp_info(&[0; 104]), None);
        let mut bytes = [0; 240];
        bytes[120] = 9;
        assert_eq!(
            parse_tcp_info(&bytes),
            Some(TcpInfo { sent_bytes: 9, received_bytes: 0, retransmits: 0 })
        );
    }
}
