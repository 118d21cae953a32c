"""Whether the kernel grants the socket buffers that a profile asks for: where it does not, `tuned`
is `tuned*`.

A middleware asks with SO_RCVBUF and SO_SNDBUF, which the kernel caps at net.core.rmem_max and
wmem_max without a word. What is asked is read from the configuration itself, so that a user's own
file is seen like a shipped one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rmwbench.campaign.plan.profile import Workers, distinct_sides, resolved_profile
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell
from rmwbench.suite.side import Side
from rmwbench.words.numbers import quantity

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


def asked_bytes(text: str, side: str = "receive") -> int | None:
    """The largest buffer to `receive` or to `send` that a configuration asks for; None for
    none."""
    plain = _COMMENTS.sub("", text)
    found = [
        int(number) * UNITS.get(unit.lower(), 1)
        for how in ASKED[side]
        for number, unit in re.findall(how, plain)
    ]
    return max(found, default=None)


@dataclass(frozen=True)
class UngrantedBuffer:
    """A buffer to `receive` or to `send` of which the kernel grants less than is asked; `setting`
    is the sysctl that caps it."""

    side: str
    asked_bytes: int
    granted_bytes: int
    setting: str

    @property
    def text(self) -> str:
        return (
            f"asks for a {self.side} buffer of {self.asked_bytes} bytes, the kernel grants "
            f"{self.granted_bytes}: sysctl -w {self.setting}={self.asked_bytes}"
        )


def ungranted(text: str, sysctls: Mapping[str, Any]) -> tuple[UngrantedBuffer, ...]:
    """What the kernel does not grant; empty where it grants what is asked, or nobody knows."""
    found = []
    for side, limit in LIMITS.items():
        asked, most = asked_bytes(text, side), sysctls.get(limit)
        if asked is not None and most is not None and int(most) < asked:
            found.append(UngrantedBuffer(side, asked, int(most), limit))
    return tuple(found)


def of_cell(
    cell: Cell, workers: Workers, sysctls: Mapping[str, Any]
) -> tuple[UngrantedBuffer, ...]:
    """Of all sides of its arm; nothing is known of one without a worker."""
    found = [
        one
        for side in distinct_sides(cell)
        if (worker := workers.get(side.middleware)) is not None
        for one in of_side(side, worker, sysctls)
    ]
    return tuple(dict.fromkeys(found))


def of_side(side: Side, worker: Worker, sysctls: Mapping[str, Any]) -> tuple[UngrantedBuffer, ...]:
    return ungranted(resolved_profile(side, worker)["text"], sysctls)


def told(cells: Iterable[Cell], workers: Workers, sysctls: Mapping[str, Any]) -> list[str]:
    """A line for each wish, with its arms and the one command that grants it, for whoever is about
    to run them."""
    arms: dict[UngrantedBuffer, list[str]] = {}
    for cell in cells:
        for one in of_cell(cell, workers, sysctls):
            arms.setdefault(one, []).append(cell.arm.name)
    return [
        f"{', '.join(dict.fromkeys(names))}: asks for a {one.side} buffer of "
        f"{quantity(one.asked_bytes, 'bytes')}, the kernel grants "
        f"{quantity(one.granted_bytes, 'bytes')}. It runs, and is so named; no headline compares "
        f"it until it is granted: rmwbench doctor --fix --only '{one.side} buffer'"
        for one, names in arms.items()
    ]
