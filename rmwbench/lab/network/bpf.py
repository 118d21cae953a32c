"""Programs of classic BPF that decide which frames of a direction are lost (linux/filter.h).

Classic, because the kernel takes them with an rtnetlink message from whoever may configure a
device; and because they are short enough to be read back and compared. They draw from the kernel's
own generator, which takes no seed. Offsets are those of the frame with its Ethernet header.
"""

import struct
from dataclasses import dataclass

from rmwbench.lab.network.netlink import ACT_SHOT, ACT_UNSPEC

_LOAD_WORD, _LOAD_HALF, _LOAD_BYTE = 0x20, 0x28, 0x30
_IF_EQUAL, _IF_GREATER, _IF_AT_LEAST, _RETURN = 0x15, 0x25, 0x35, 0x06
_RANDOM = 0xFFFFF000 + 56
_ETHER_TYPE, _IPV4_PROTOCOL, _IPV6_NEXT, _IPV6_PAYLOAD = 12, 23, 20, 54
_ARP, _IPV4, _IPV6 = 0x0806, 0x0800, 0x86DD
_IGMP, _ICMPV6, _HOP_BY_HOP = 2, 58, 0
_FIRST_DISCOVERY, _LAST_DISCOVERY = 133, 137


@dataclass(frozen=True)
class _If:
    code: int
    value: int
    yes: str = ""
    no: str = ""


def passing() -> bytes:
    """Every frame goes on to what comes next."""
    return _instruction(_RETURN, ACT_UNSPEC)


def dropping() -> bytes:
    """No frame does, whatever it is."""
    return _instruction(_RETURN, ACT_SHOT)


def losing(chance: float, *, exempt: bool) -> bytes:
    """Each frame is lost with this chance; address resolution and group membership are not, where
    `exempt`: ARP, IGMP, neighbour discovery and what MLD puts behind a hop-by-hop header, as the
    switch has it."""
    if chance == 0:
        return passing()
    if chance == 1 and not exempt:
        return dropping()
    draw: list[tuple[int, int] | _If | str] = ["draw"]
    if chance < 1:
        limit = min(0xFFFFFFFF, round(chance * 2**32))
        draw += [(_LOAD_WORD, _RANDOM), _If(_IF_AT_LEAST, limit, "pass")]
    draw += [(_RETURN, ACT_SHOT), "pass", (_RETURN, ACT_UNSPEC)]
    if not exempt:
        return _assembled(draw)
    return _assembled(
        [
            (_LOAD_HALF, _ETHER_TYPE),
            _If(_IF_EQUAL, _ARP, "pass"),
            _If(_IF_EQUAL, _IPV6, "ipv6"),
            _If(_IF_EQUAL, _IPV4, no="draw"),
            (_LOAD_BYTE, _IPV4_PROTOCOL),
            _If(_IF_EQUAL, _IGMP, "pass", "draw"),
            "ipv6",
            (_LOAD_BYTE, _IPV6_NEXT),
            _If(_IF_EQUAL, _HOP_BY_HOP, "behind"),
            _If(_IF_EQUAL, _ICMPV6, no="draw"),
            (_LOAD_BYTE, _IPV6_PAYLOAD),
            _If(_IF_GREATER, _LAST_DISCOVERY, "draw"),
            _If(_IF_AT_LEAST, _FIRST_DISCOVERY, "pass", "draw"),
            "behind",
            (_LOAD_BYTE, _IPV6_PAYLOAD),
            _If(_IF_EQUAL, _ICMPV6, "pass"),
            *draw,
        ]
    )


def _assembled(lines: list[tuple[int, int] | _If | str]) -> bytes:
    """Words are places; a jump without one goes on to the next line."""
    places: dict[str, int] = {}
    code = [line for line in lines if not isinstance(line, str)]
    count = 0
    for line in lines:
        if isinstance(line, str):
            places[line] = count
        else:
            count += 1
    found = b""
    for at, line in enumerate(code, start=1):
        if isinstance(line, _If):
            jumps = [places[to] - at if to else 0 for to in (line.yes, line.no)]
            found += struct.pack("=HBBI", line.code, *jumps, line.value)
        else:
            found += _instruction(*line)
    return found


def _instruction(code: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, 0, 0, value)
