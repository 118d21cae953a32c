"""Bodies of rtnetlink messages (rtnetlink(7), linux/rtnetlink.h, linux/pkt_sched.h), and what a dump says.

Composed here and sent by the host's init, which alone is inside of its namespaces and needs to understand nothing.
"""

import socket
import struct
from collections.abc import Iterator

NEWLINK, GETLINK = 16, 18
NEWADDR, DELADDR, GETADDR = 20, 21, 22
NEWROUTE = 24
NEWNEIGH, GETNEIGH = 28, 30
NEWQDISC, NEWTCLASS, GETTCLASS = 36, 40, 42
CREATE, REPLACE, EXCL, DUMP = 0x400, 0x100, 0x200, 0x300

IFF_UP = 1
NUD_PERMANENT = 0x80
_IFLA_ADDRESS, _IFLA_MTU, _IFLA_TXQLEN = 1, 4, 13
_IFA_ADDRESS, _IFA_LOCAL, _IFA_BROADCAST = 1, 2, 4
_NDA_DST, _NDA_LLADDR = 1, 2
_TCA_KIND, _TCA_OPTIONS = 1, 2
_HTB_PARMS, _HTB_INIT = 1, 2
_TICK_NS = 64
"""Unit of times in packet schedulers (PSCHED_SHIFT of linux/pkt_sched.h)."""
_ETHERNET = 1

ROOT = 0xFFFFFFFF
HTB_HANDLE, HTB_CLASS, LEAF_HANDLE = 1 << 16, 1 << 16 | 1, 2 << 16


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def u32(value: int) -> bytes:
    return struct.pack("=I", value)


def link(index: int, *, up: bool | None = None, mac: bytes = b"", mtu: int = 0, queue_frames: int = 0) -> bytes:
    """What is left out stays as it is."""
    flags, mask = (0, 0) if up is None else (IFF_UP if up else 0, IFF_UP)
    body = struct.pack("=BBHiII", 0, 0, 0, index, flags, mask)
    body += attribute(_IFLA_ADDRESS, mac) if mac else b""
    body += attribute(_IFLA_MTU, u32(mtu)) if mtu else b""
    return body + (attribute(_IFLA_TXQLEN, u32(queue_frames)) if queue_frames else b"")


def address(index: int, local: bytes, prefix_bits: int, broadcast: bytes) -> bytes:
    body = struct.pack("=BBBBI", socket.AF_INET, prefix_bits, 0, 0, index)
    return body + attribute(_IFA_LOCAL, local) + attribute(_IFA_ADDRESS, local) + attribute(_IFA_BROADCAST, broadcast)


def default_route(index: int, gateway: bytes) -> bytes:
    main_table, static, universe, unicast = 254, 4, 0, 1
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, main_table, static, universe, unicast, 0)
    return body + attribute(5, gateway) + attribute(4, u32(index))


def neighbour(index: int, of: bytes, mac: bytes) -> bytes:
    """A permanent entry; IPv4 or IPv6 by the address's length."""
    family = socket.AF_INET if len(of) == 4 else socket.AF_INET6
    body = struct.pack("=BBHiHBB", family, 0, 0, index, NUD_PERMANENT, 0, 0)
    return body + attribute(_NDA_DST, of) + attribute(_NDA_LLADDR, mac)


def of_device(index: int, handle: int = 0, parent: int = 0) -> bytes:
    return struct.pack("=BBHiIII", 0, 0, 0, index, handle, parent, 0)


def htb(index: int) -> bytes:
    """The scheduler, with everything in its one class."""
    options = attribute(_HTB_INIT, struct.pack("=5I", 3, 10, HTB_CLASS & 0xFFFF, 0, 0))
    return of_device(index, HTB_HANDLE, ROOT) + attribute(_TCA_KIND, b"htb\0") + attribute(_TCA_OPTIONS, options)


def htb_class(index: int, rate_bps: int, burst_bytes: int) -> bytes:
    """A class with that rate and no more. With a link layer named, the kernel computes times itself and needs no rate
    table."""
    rate = struct.pack("=BBHhHI", 0, _ETHERNET, 0, 0, 0, max(1, rate_bps // 8))
    ticks = round(burst_bytes * 8e9 / rate_bps / _TICK_NS)
    parameters = struct.pack("=12s12sIIIII", rate, rate, ticks, ticks, 60_000, 0, 0)
    options = attribute(_HTB_PARMS, parameters)
    body = of_device(index, HTB_CLASS, HTB_HANDLE)
    return body + attribute(_TCA_KIND, b"htb\0") + attribute(_TCA_OPTIONS, options)


def fifo(index: int, *, limit_bytes: int | None = None, limit_frames: int = 0) -> bytes:
    """What waits for the class."""
    kind, limit = (b"pfifo\0", limit_frames) if limit_bytes is None else (b"bfifo\0", limit_bytes)
    body = of_device(index, LEAF_HANDLE, HTB_CLASS)
    return body + attribute(_TCA_KIND, kind) + attribute(_TCA_OPTIONS, u32(limit))


def messages(answer: bytes) -> Iterator[tuple[int, bytes]]:
    """(type, body) of what a dump answered."""
    while len(answer) >= 16:
        size, kind = struct.unpack_from("=IH", answer)
        if size < 16:
            return
        yield kind, answer[16:size]
        answer = answer[size + -size % 4 :]


def attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        if size < 4:
            break
        found[kind & 0x3FFF] = data[4:size]
        data = data[size + -size % 4 :]
    return found


def links_of(answer: bytes) -> dict[int, dict[str, int | bytes | bool]]:
    """Index → what a dump of GETLINK says of a device."""
    found = {}
    for kind, body in messages(answer):
        if kind == NEWLINK:
            index, flags = struct.unpack_from("=iI", body, 4)
            has = attributes(body[16:])
            found[index] = {
                "up": bool(flags & IFF_UP),
                "mac": has.get(_IFLA_ADDRESS, b""),
                "mtu": int.from_bytes(has.get(_IFLA_MTU, b""), "little"),
                "queue_frames": int.from_bytes(has.get(_IFLA_TXQLEN, b""), "little"),
            }
    return found


def addresses_of(answer: bytes, index: int) -> set[bytes]:
    """IPv4 and IPv6 addresses of a device, of a dump of GETADDR."""
    found = set()
    for kind, body in messages(answer):
        if kind == NEWADDR and struct.unpack_from("=I", body, 4)[0] == index:
            has = attributes(body[8:])
            found.add(has.get(_IFA_LOCAL) or has.get(_IFA_ADDRESS, b""))
    return found


def permanent_neighbours_of(answer: bytes, index: int) -> set[bytes]:
    found = set()
    for kind, body in messages(answer):
        if kind == NEWNEIGH:
            device, state = struct.unpack_from("=iH", body, 4)
            if device == index and state & NUD_PERMANENT:
                found.add(attributes(body[12:]).get(_NDA_DST, b""))
    return found


def class_rates_of(answer: bytes) -> list[int]:
    """Rates in bit/s, of a dump of GETTCLASS."""
    found = []
    for kind, body in messages(answer):
        if kind == NEWTCLASS:
            options = attributes(attributes(body[20:]).get(_TCA_OPTIONS, b""))
            if _HTB_PARMS in options:
                found.append(8 * struct.unpack_from("=I", options[_HTB_PARMS], 8)[0])
    return found
