"""Whether the kernel grants the socket buffers that a profile asks for: where it does not, `tuned`
is `tuned*`.

A middleware asks with SO_RCVBUF and SO_SNDBUF, which the kernel caps at net.core.rmem_max and
wmem_max without a word. What is asked is read from the configuration itself, so that a user's own
file is seen like a shipped one.
"""

import re
from collections.abc import Mapping
from typing import Any

MODE = "socket_buffer_bytes"
UNITS = {
    "": 1,
    "b": 1,
    "kb": 1 << 10,
    "kib": 1 << 10,
    "mb": 1 << 20,
    "mib": 1 << 20,
    "gb": 1 << 30,
    "gib": 1 << 30,
}
"""Of Cyclone DDS: its `kB` is 1024 bytes, too."""
ASKED = {
    "receive": (
        # Cyclone DDS
        r"<SocketReceiveBufferSize\b[^>]*\bmax\s*=\s*[\"'](\d+)\s*([kKmMgG]?i?[bB]?)[\"']",
        r"<receiveBufferSize>\s*(\d+)()\s*</receiveBufferSize>",  # Fast DDS
        r"\bso_rcvbuf\"?\s*:\s*(\d+)()",  # Zenoh
    ),
    "send": (
        r"<SocketSendBufferSize\b[^>]*\bmax\s*=\s*[\"'](\d+)\s*([kKmMgG]?i?[bB]?)[\"']",
        r"<sendBufferSize>\s*(\d+)()\s*</sendBufferSize>",
        r"\bso_sndbuf\"?\s*:\s*(\d+)()",
    ),
}
LIMITS = {"receive": "net.core.rmem_max", "send": "net.core.wmem_max"}
_COMMENTS = re.compile(r"<!--.*?-->|(?<![:\"])//[^\n]*", re.DOTALL)


def asked_bytes(text: str, modes: Mapping[str, Any], side: str = "receive") -> int | None:
    """The largest buffer to `receive` or to `send` that a configuration or a mode asks for; None
    for none."""
    if MODE in modes:
        return int(modes[MODE])
    plain = _COMMENTS.sub("", text)
    found = [
        int(number) * UNITS.get(unit.lower(), 1)
        for how in ASKED[side]
        for number, unit in re.findall(how, plain)
    ]
    return max(found, default=None)


def granted_less(text: str, modes: Mapping[str, Any], sysctls: Mapping[str, Any]) -> str | None:
    """What the kernel does not grant, with the command that changes it; None where it grants what
    is asked, or nobody knows."""
    told = []
    for side, limit in LIMITS.items():
        asked, most = asked_bytes(text, modes, side), sysctls.get(limit)
        if asked is not None and most is not None and int(most) < asked:
            told.append(
                f"asks for a {side} buffer of {asked} bytes, the kernel grants {most}: sysctl -w "
                f"{limit}={asked}"
            )
    return "; ".join(told) or None
