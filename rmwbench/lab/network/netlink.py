"""Composes the bodies of rtnetlink messages (rtnetlink(7), linux/rtnetlink.h, linux/pkt_sched.h),
and parses dumps.

The init of a host sends the messages, since it alone is within the namespaces, and need not
understand them.
"""

import socket
import struct
from collections.abc import Iterator

from rmwbench.lab.host import init
from rmwbench.lab.host.init import attribute, u32

NEWLINK, DELLINK, GETLINK, SETLINK = 16, 17, 18, 19
NEWADDR, DELADDR, GETADDR = 20, 21, 22
NEWROUTE = 24
NEWNEIGH, GETNEIGH = 28, 30
NEWQDISC, DELQDISC, GETQDISC = 36, 37, 38
NEWTCLASS, GETTCLASS, NEWTFILTER, GETTFILTER = 40, 42, 44, 46
CREATE, REPLACE, EXCL, DUMP = 0x400, 0x100, 0x200, 0x300

IFF_UP, IFF_NOARP, IFF_MULTICAST, IFF_LOWER_UP = 1, 0x80, 0x1000, 0x10000
NUD_PERMANENT = 0x80
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MTU, _IFLA_TXQLEN, _IFLA_LINKINFO = 1, 3, 4, 13, 18
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_IFA_ADDRESS, _IFA_LOCAL, _IFA_BROADCAST = 1, 2, 4
_NDA_DST, _NDA_LLADDR = 1, 2
_IFLA_MASTER, _IFLA_PROTINFO, _IFLA_NET_NS_FD = 10, 12, 28
_BR_MCAST_SNOOPING, _BRPORT_LEARNING, _BRPORT_UNICAST_FLOOD = 23, 8, 9
_AF_BRIDGE, _NUD_STATIC, _NTF_MASTER, _NESTED = 7, 0x42, 4, 0x8000
_TCA_KIND, _TCA_OPTIONS, _TCA_STATS2 = 1, 2, 7
_STATS_BASIC, _STATS_QUEUE = 1, 3
_BPF_ACT, _BPF_OPS_LEN, _BPF_OPS, _BPF_FLAGS, _BPF_DIRECT = 1, 4, 5, 8, 1
_ACT_KIND, _ACT_OPTIONS, _MIRRED_PARMS, _MIRRED_EGRESS_MIRROR = 1, 2, 2, 2
_NETEM_LATENCY64 = 10
_HTB_PARMS, _HTB_INIT = 1, 2
_TICK_NS = 64
"""The unit of times in packet schedulers (PSCHED_SHIFT of linux/pkt_sched.h)."""
_ETHERNET = 1

ROOT = 0xFFFFFFFF
INGRESS, INGRESS_HANDLE = 0xFFFFFFF1, 0xFFFF0000
ACT_UNSPEC, ACT_SHOT, ACT_STOLEN = 0xFFFFFFFF, 2, 4
HTB_HANDLE, HTB_CLASS, LEAF_HANDLE = 1 << 16, 1 << 16 | 1, 2 << 16


def link(
    index: int, *, up: bool | None = None, mac: bytes = b"", mtu: int = 0, queue_frames: int = 0
) -> bytes:
    """Settings of a device; those that are left out stay as they are."""
    flags, mask = (0, 0) if up is None else (IFF_UP if up else 0, IFF_UP)
    body = struct.pack("=BBHiII", 0, 0, 0, index, flags, mask)
    body += attribute(_IFLA_ADDRESS, mac) if mac else b""
    body += attribute(_IFLA_MTU, u32(mtu)) if mtu else b""
    return body + (attribute(_IFLA_TXQLEN, u32(queue_frames)) if queue_frames else b"")


def _named_link(index: int, name: str) -> bytes:
    return link(index) + attribute(_IFLA_IFNAME, name.encode() + b"\0")


def veth(
    index: int,
    name: str,
    peer_index: int,
    peer_name: str,
    namespaces: tuple[int, int] | None = None,
) -> bytes:
    """A pair of devices with the given indices, by which later messages name them. They are in the
    network namespaces of the descriptors `namespaces`, or in the sender's."""
    own, peer = _named_link(index, name), _named_link(peer_index, peer_name)
    if namespaces is not None:
        own += attribute(_IFLA_NET_NS_FD, u32(namespaces[0]))
        peer += attribute(_IFLA_NET_NS_FD, u32(namespaces[1]))
    return own + _link_info(b"veth", attribute(_VETH_PEER, peer))


def bridge(index: int, name: str) -> bytes:
    """A bridge that floods multicast to every port."""
    return _named_link(index, name) + _link_info(b"bridge", attribute(_BR_MCAST_SNOOPING, b"\0"))


def _link_info(kind: bytes, data: bytes) -> bytes:
    return attribute(_IFLA_LINKINFO, attribute(_INFO_KIND, kind) + attribute(_INFO_DATA, data))


def port_of(index: int, bridge_index: int) -> bytes:
    return link(index) + attribute(_IFLA_MASTER, u32(bridge_index))


def static_port(index: int) -> bytes:
    """A port of a bridge that learns no address, and gets no frame for an unknown address."""
    off = attribute(_BRPORT_LEARNING, b"\0") + attribute(_BRPORT_UNICAST_FLOOD, b"\0")
    body = struct.pack("=BBHiII", _AF_BRIDGE, 0, 0, index, 0, 0)
    return body + attribute(_IFLA_PROTINFO | _NESTED, off)


def forwarding(index: int, mac: bytes) -> bytes:
    """The port of a bridge to which frames for a MAC address go."""
    return struct.pack(
        "=BBHiHBB", _AF_BRIDGE, 0, 0, index, _NUD_STATIC, _NTF_MASTER, 0
    ) + attribute(_NDA_LLADDR, mac)


def without_multicast(index: int) -> bytes:
    """A device without multicast and address resolution, like a tunnel."""
    return struct.pack("=BBHiII", 0, 0, 0, index, IFF_NOARP, IFF_NOARP | IFF_MULTICAST)


def address(index: int, local: bytes, prefix_bits: int, broadcast: bytes) -> bytes:
    body = struct.pack("=BBBBI", socket.AF_INET, prefix_bits, 0, 0, index)
    return (
        body
        + attribute(_IFA_LOCAL, local)
        + attribute(_IFA_ADDRESS, local)
        + attribute(_IFA_BROADCAST, broadcast)
    )


def default_route(index: int, gateway: bytes) -> bytes:
    main_table, static, universe, unicast = 254, 4, 0, 1
    body = struct.pack(
        "=BBBBBBBBI", socket.AF_INET, 0, 0, 0, main_table, static, universe, unicast, 0
    )
    return body + attribute(5, gateway) + attribute(4, u32(index))


def neighbour(index: int, ip: bytes, mac: bytes) -> bytes:
    """A permanent neighbour; the length of the address tells IPv4 from IPv6."""
    family = socket.AF_INET if len(ip) == 4 else socket.AF_INET6
    body = struct.pack("=BBHiHBB", family, 0, 0, index, NUD_PERMANENT, 0, 0)
    return body + attribute(_NDA_DST, ip) + attribute(_NDA_LLADDR, mac)


def traffic_body(index: int, handle: int = 0, parent: int = 0) -> bytes:
    """The head (`struct tcmsg`) of a message about a scheduler, class or filter of a device."""
    return struct.pack("=BBHiIII", 0, 0, 0, index, handle, parent, 0)


def index_of(traffic: bytes) -> int:
    """The device of a message that begins with `traffic_body`."""
    index: int = struct.unpack_from("=i", traffic, 4)[0]
    return index


def htb(index: int) -> bytes:
    """The scheduler HTB, with all frames in one class."""
    options = attribute(_HTB_INIT, struct.pack("=5I", 3, 10, HTB_CLASS & 0xFFFF, 0, 0))
    return (
        traffic_body(index, HTB_HANDLE, ROOT)
        + attribute(_TCA_KIND, b"htb\0")
        + attribute(_TCA_OPTIONS, options)
    )


def htb_class(index: int, rate_bps: int, burst_bytes: int) -> bytes:
    """The class of HTB with a rate; naming a link layer spares the rate table."""
    rate = struct.pack("=BBHhHI", 0, _ETHERNET, 0, 0, 0, max(1, rate_bps // 8))
    ticks = round(burst_bytes * 8e9 / rate_bps / _TICK_NS)
    parameters = struct.pack("=12s12sIIIII", rate, rate, ticks, ticks, 60_000, 0, 0)
    options = attribute(_HTB_PARMS, parameters)
    body = traffic_body(index, HTB_CLASS, HTB_HANDLE)
    return body + attribute(_TCA_KIND, b"htb\0") + attribute(_TCA_OPTIONS, options)


def fifo(index: int, kind: str, limit: int) -> bytes:
    """The queue before the class; `limit`: frames of a `pfifo`, bytes of a `bfifo`."""
    body = traffic_body(index, LEAF_HANDLE, HTB_CLASS)
    body += attribute(_TCA_KIND, kind.encode() + b"\0")
    return body + attribute(_TCA_OPTIONS, u32(limit))


def netem(index: int, delay_ns: int, limit_frames: int, *, leaf: bool) -> bytes:
    """A delay, alone or as the queue before the class."""
    body = traffic_body(index, LEAF_HANDLE, HTB_CLASS if leaf else ROOT)
    ticks = min(0xFFFFFFFF, round(delay_ns / _TICK_NS))
    options = struct.pack("=6I", ticks, limit_frames, 0, 0, 0, 0)
    options += attribute(_NETEM_LATENCY64, struct.pack("=q", delay_ns))
    return body + attribute(_TCA_KIND, b"netem\0") + attribute(_TCA_OPTIONS, options)


def ingress(index: int) -> bytes:
    """The ingress of a device, where incoming frames can be dropped, copied and counted."""
    return traffic_body(index, INGRESS_HANDLE, INGRESS) + attribute(_TCA_KIND, b"ingress\0")


def _filter(index: int, priority: int, options: bytes) -> bytes:
    every_protocol = socket.htons(3)
    body = struct.pack(
        "=BBHiIII", 0, 0, 0, index, 1, INGRESS_HANDLE, priority << 16 | every_protocol
    )
    return body + attribute(_TCA_KIND, b"bpf\0") + attribute(_TCA_OPTIONS, options)


def decide(index: int, priority: int, program: bytes) -> bytes:
    """A filter by which the program (classic BPF) decides on each incoming frame."""
    options = attribute(_BPF_FLAGS, u32(_BPF_DIRECT))
    options += attribute(_BPF_OPS_LEN, struct.pack("=H", len(program) // 8)) + attribute(
        _BPF_OPS, program
    )
    return _filter(index, priority, options)


def cross_over(index: int, priority: int, to: int) -> bytes:
    """A filter that sends a copy of each incoming frame out of another device."""
    always = struct.pack("=HBBI", 6, 0, 0, 0xFFFFFFFF)
    parameters = struct.pack("=IIiiiiI", 0, 0, ACT_STOLEN, 0, 0, _MIRRED_EGRESS_MIRROR, to)
    mirred = attribute(_ACT_KIND, b"mirred\0") + attribute(
        _ACT_OPTIONS, attribute(_MIRRED_PARMS, parameters)
    )
    options = attribute(_BPF_ACT, attribute(1, mirred))
    options += attribute(_BPF_OPS_LEN, struct.pack("=H", 1)) + attribute(_BPF_OPS, always)
    return _filter(index, priority, options)


def messages(answer: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the (type, body) of each message of an answer."""
    while len(answer) >= 16:
        size, kind = struct.unpack_from("=IH", answer)
        if size < 16:
            return
        yield kind, answer[16:size]
        answer = answer[size + -size % 4 :]


def attributes(data: bytes) -> dict[int, bytes]:
    values = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        if size < 4:
            break
        values[kind & 0x3FFF] = data[4:size]
        data = data[size + -size % 4 :]
    return values


def links_of(answer: bytes) -> dict[int, dict[str, int | bytes | bool]]:
    """Index → settings of a device, from a dump of GETLINK."""
    devices: dict[int, dict[str, int | bytes | bool]] = {}
    for kind, body in messages(answer):
        if kind == NEWLINK:
            index, flags = struct.unpack_from("=iI", body, 4)
            parts = attributes(body[16:])
            devices[index] = {
                "up": bool(flags & IFF_UP),
                "carrier": bool(flags & IFF_LOWER_UP),
                "multicast": bool(flags & IFF_MULTICAST),
                "mac": parts.get(_IFLA_ADDRESS, b""),
                "mtu": int.from_bytes(parts.get(_IFLA_MTU, b""), "little"),
                "queue_frames": int.from_bytes(parts.get(_IFLA_TXQLEN, b""), "little"),
            }
    return devices


def addresses_of(answer: bytes, index: int) -> set[bytes]:
    """The IPv4 and IPv6 addresses of a device, from a dump of GETADDR."""
    device_addresses = set()
    for kind, body in messages(answer):
        if kind == NEWADDR and struct.unpack_from("=I", body, 4)[0] == index:
            parts = attributes(body[8:])
            device_addresses.add(parts.get(_IFA_LOCAL) or parts.get(_IFA_ADDRESS, b""))
    return device_addresses


def permanent_neighbours_of(answer: bytes, index: int) -> set[bytes]:
    """The addresses of a device's permanent neighbours, from a dump of GETNEIGH."""
    neighbours = set()
    for kind, body in messages(answer):
        if kind == NEWNEIGH:
            device, state = struct.unpack_from("=iH", body, 4)
            if device == index and state & NUD_PERMANENT:
                neighbours.add(attributes(body[12:]).get(_NDA_DST, b""))
    return neighbours


def schedulers_of(answer: bytes) -> dict[tuple[int, str], dict[str, int]]:
    """(index, kind) → frames and bytes that passed, frames dropped, from a dump of GETQDISC."""
    counters = {}
    for index, _, parts in _traffic_control(answer, NEWQDISC):
        stats = attributes(parts.get(_TCA_STATS2, b""))
        size, frames = struct.unpack_from("=QI", stats.get(_STATS_BASIC, bytes(12)))
        dropped = struct.unpack_from("=5I", stats.get(_STATS_QUEUE, bytes(20)))[2]
        counters[index, _kind(parts)] = {"frames": frames, "bytes": size, "dropped": dropped}
    return counters


def fifo_limits_of(answer: bytes) -> dict[int, tuple[str, int]]:
    """Index → (`pfifo` or `bfifo`, frames or bytes that may wait), from a dump of GETQDISC."""
    limits = {}
    for index, _, parts in _traffic_control(answer, NEWQDISC):
        kind, options = _kind(parts), parts.get(_TCA_OPTIONS, b"")
        if kind in ("pfifo", "bfifo") and len(options) >= 4:
            limits[index] = kind, struct.unpack_from("=I", options)[0]
    return limits


def programs_of(answer: bytes) -> dict[tuple[int, int], bytes]:
    """(index, priority) → program, from dumps of GETTFILTER."""
    programs = {}
    for index, info, parts in _traffic_control(answer, NEWTFILTER):
        options = attributes(parts.get(_TCA_OPTIONS, b""))
        if _BPF_OPS in options:
            programs[index, info >> 16] = options[_BPF_OPS]
    return programs


def rates_of(answer: bytes) -> dict[int, int]:
    """Index → rate in bit/s, from dumps of GETTCLASS."""
    rates = {}
    for index, _, parts in _traffic_control(answer, NEWTCLASS):
        options = attributes(parts.get(_TCA_OPTIONS, b""))
        if _HTB_PARMS in options:
            rates[index] = 8 * struct.unpack_from("=I", options[_HTB_PARMS], 8)[0]
    return rates


def _traffic_control(
    answer: bytes, message_type: int
) -> Iterator[tuple[int, int, dict[int, bytes]]]:
    """Yields the (index, info, attributes) of each scheduler, class or filter (`struct tcmsg`)."""
    for kind, body in messages(answer):
        if kind == message_type:
            index, info = struct.unpack_from("=i8xI", body, 4)
            yield index, info, attributes(body[20:])


def _kind(parts: dict[int, bytes]) -> str:
    return parts.get(_TCA_KIND, b"").rstrip(b"\0").decode()


def refusal(kind: int, flags: int, body: bytes) -> int:
    """Sends one request from this process. Returns the errno of its refusal, or 0."""
    sock = init.netlink_socket()
    try:
        init.netlink("", sock, kind, flags, body)
    except init.StepFailed as failure:
        return failure.errno or 0
    finally:
        sock.close()
    return 0
