//! The counters of this network namespace: interfaces, IP, UDP, TCP. Those of version 4 and 6 are
//! added, since a message is lost with either.

use std::collections::BTreeMap;

use crate::document::{Interface, Ip, SeriesIp, SeriesTcp, SeriesUdp, Tcp, Udp};

/// `/proc/net/dev`.
pub fn parse_interfaces(text: &str) -> BTreeMap<String, Interface> {
    text.lines()
        .filter_map(|line| {
            let (name, fields) = line.split_once(':')?;
            let f: Vec<u64> = fields.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            let [rx_bytes, rx_packets, rx_errors, rx_dropped, _, _, _, _, tx_bytes, tx_packets, tx_errors, tx_dropped, ..] = f[..] else {
                return None;
            };
            let interface = Interface { rx_bytes, rx_packets, rx_errors, rx_dropped, tx_bytes, tx_packets, tx_errors, tx_dropped };
            Some((name.trim().to_string(), interface))
        })
        .collect()
}

/// `/proc/net/snmp` and, where the kernel has IPv6, `/proc/net/snmp6`.
pub fn parse_snmp(snmp: &str, snmp6: &str) -> Option<(Udp, Ip, Tcp)> {
    let four = |protocol: &str, name: &str| paired(snmp, protocol, name);
    let both = |protocol: &str, name: &str| {
        Some(four(protocol, name)? + single(snmp6, &format!("{protocol}6{name}")).unwrap_or(0))
    };
    let udp = Udp {
        in_datagrams: both("Udp", "InDatagrams")?,
        out_datagrams: both("Udp", "OutDatagrams")?,
        in_errors: both("Udp", "InErrors")?,
        rcvbuf_errors: both("Udp", "RcvbufErrors")?,
        sndbuf_errors: both("Udp", "SndbufErrors")?,
        no_ports: both("Udp", "NoPorts")?,
    };
    let ip = Ip {
        reasm_required: both("Ip", "ReasmReqds")?,
        reasm_ok: both("Ip", "ReasmOKs")?,
        reasm_fails: both("Ip", "ReasmFails")?,
        reasm_timeouts: both("Ip", "ReasmTimeout")?,
        frag_creates: both("Ip", "FragCreates")?,
        in_discards: both("Ip", "InDiscards")?,
        out_discards: both("Ip", "OutDiscards")?,
    };
    let tcp = Tcp {
        out_segments: four("Tcp", "OutSegs")?,
        retransmitted_segments: four("Tcp", "RetransSegs")?,
        ..Tcp::default()
    };
    Some((udp, ip, tcp))
}

/// The fields of `/proc/net/snmp` for a series: full receive buffers, failed reassemblies,
/// retransmissions; of IPv4 and TCP only, since version 6 has a file of its own that costs as much
/// as all other reads together.
pub fn parse_losses(snmp: &str) -> Option<(SeriesUdp, SeriesIp, SeriesTcp)> {
    Some((
        SeriesUdp { rcvbuf_errors: paired(snmp, "Udp", "RcvbufErrors")? },
        SeriesIp { reasm_fails: paired(snmp, "Ip", "ReasmFails")? },
        SeriesTcp { retransmitted_segments: paired(snmp, "Tcp", "RetransSegs")? },
    ))
}

/// Adds the fields about TCP that `/proc/net/netstat` has and `snmp` does not.
pub fn add_netstat(tcp: &mut Tcp, netstat: &str) {
    tcp.timeouts = paired(netstat, "TcpExt", "TCPTimeouts");
    tcp.receive_queue_drops = paired(netstat, "TcpExt", "TCPRcvQDrop");
    tcp.listen_drops = paired(netstat, "TcpExt", "ListenDrops");
}

/// A value of a file in which a line of names is followed by a line of values.
fn paired(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines =
        text.lines().filter(|l| l.strip_prefix(protocol).is_some_and(|rest| rest.starts_with(':')));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|n| n == name)?;
    // Some of these are signed and can be −1.
    values.split_whitespace().nth(place)?.parse().ok()
}

/// A value of a file with one name and one value per line.
fn single(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        line.strip_prefix(name).filter(|rest| rest.starts_with([' ', '\t']))?.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_have_their_eight_counters() {
        let text = "Inter-|   Receive\n face |bytes\n    lo: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n  eth0:10 20 0 0 0 0 0 0 30 40 0 0 0 0 0 0\n";
        let interfaces = parse_interfaces(text);
        let lo = Interface {
            rx_bytes: 1,
            rx_packets: 2,
            rx_errors: 3,
            rx_dropped: 4,
            tx_bytes: 5,
            tx_packets: 6,
            tx_errors: 7,
            tx_dropped: 8,
        };
        assert_eq!(interfaces["lo"], lo);
        assert_eq!(
            (interfaces["eth0"].rx_bytes, interfaces["eth0"].tx_packets, interfaces.len()),
            (10, 40, 2)
        );
    }

    #[test]
    fn versions_are_added_up_and_udplite_is_not_udp() {
        let snmp = "Ip: ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragCreates InDiscards OutDiscards\nIp: 1 2 3 4 5 6 7\n\
            Tcp: MaxConn RetransSegs OutSegs\nTcp: -1 8 9\n\
            UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\nUdpLite: 99 99 99 99 99 99\n\
            Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\nUdp: 10 11 12 13 14 15\n";
        let snmp6 = "Udp6InDatagrams  \t100\nUdp6RcvbufErrors\t200\nIp6ReasmFails   \t300\nUdpLite6InDatagrams 7\n";
        let (udp, ip, tcp) = parse_snmp(snmp, snmp6).unwrap();
        assert_eq!(
            (udp.in_datagrams, udp.rcvbuf_errors, udp.no_ports, udp.sndbuf_errors),
            (110, 214, 11, 15)
        );
        assert_eq!((ip.reasm_fails, ip.reasm_timeouts, ip.out_discards), (304, 1, 7));
        assert_eq!((tcp.out_segments, tcp.retransmitted_segments, tcp.timeouts), (9, 8, None));
        let (udp, ip, tcp) = parse_losses(snmp).unwrap();
        assert_eq!((udp.rcvbuf_errors, ip.reasm_fails, tcp.retransmitted_segments), (14, 4, 8));
        assert!(
            parse_snmp("Udp: InDatagrams\nUdp: 1\n", "").is_none()
                && parse_losses("Udp: InDatagrams\nUdp: 1\n").is_none()
        );
    }

    #[test]
    fn this_machine_has_them() {
        let read =
            |name: &str| std::fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
        assert!(parse_snmp(&read("snmp"), &read("snmp6")).is_some());
        assert!(parse_interfaces(&read("dev")).contains_key("lo"));
        let mut tcp = Tcp::default();
        add_netstat(&mut tcp, &read("netstat"));
        assert!(tcp.timeouts.is_some() && tcp.listen_drops.is_some());
    }
}
