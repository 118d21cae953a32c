"""The socket buffers that an arm's profile asks for and the kernel does not grant.

A middleware asks with SO_RCVBUF and SO_SNDBUF, which the kernel silently limits to
net.core.rmem_max and wmem_max. If it grants less than a profile asks for, `tuned` is `tuned*`. The
sizes are read from the configuration itself, in a user's own file as in a shipped one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rmwbench.campaign.plan.profile import Workers, distinct_sides, resolved_profile
from rmwbench.input_file import without_json5_comments
from rmwbench.lab.middleware import Worker
from rmwbench.lab.profile_file.readers import UNITS
from rmwbench.suite.arm import Side
from rmwbench.suite.cells import Cell
from rmwbench.words.numbers import quantity

_SIZE = r"(\d+)\s*([kKmMgG]?i?[bB]?)"


def _patterns(cyclone: str, fast: str, zenoh: str) -> tuple[str, ...]:
    """Return the patterns of a buffer's size in a configuration. Cyclone DDS asks for the larger of
    `min` and `max`, and does not open unless it is granted `min` (`file_faults`). Fast DDS asks per
    transport, or for the whole participant."""
    element = f"Socket{cyclone}BufferSize"
    return (
        rf"<{element}\b[^>]*\bmin\s*=\s*[\"']{_SIZE}[\"']",
        rf"<{element}\b[^>]*\bmax\s*=\s*[\"']{_SIZE}[\"']",
        rf"<Minimum{element}>\s*{_SIZE}\s*</",  # before 0.10
        rf"<(?:{fast})>\s*(\d+)()\s*</",
        rf"\b{zenoh}[\"']?\s*:\s*(\d+)()",
    )


BUFFER_PATTERNS = {
    "receive": _patterns("Receive", "receiveBufferSize|listenSocketBufferSize", "so_rcvbuf"),
    "send": _patterns("Send", "sendBufferSize|sendSocketBufferSize", "so_sndbuf"),
}
LIMITS = {"receive": "net.core.rmem_max", "send": "net.core.wmem_max"}
_XML_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def asked_bytes(text: str, side: str = "receive") -> int | None:
    """Return the largest buffer to `receive` or to `send` that a configuration asks for; None if it
    asks for none."""
    is_xml = text.lstrip("\ufeff \t\r\n").startswith("<")
    plain = _XML_COMMENT.sub("", text) if is_xml else without_json5_comments(text)
    sizes = [
        int(number) * UNITS.get(unit.lower(), 1)
        for pattern in BUFFER_PATTERNS[side]
        for number, unit in re.findall(pattern, plain)
    ]
    return max(sizes, default=None)


@dataclass(frozen=True)
class Kernel:
    """The sysctls of a machine, which has a name if a trial runs on several machines."""

    sysctls: Mapping[str, Any]
    machine: str | None = None


@dataclass(frozen=True)
class Kernels:
    """The kernels of a trial. `own` is the kernel of the machine that runs the whole trial, or of
    each of several equal machines; `of_hosts` maps host → its machine's, if hosts are machines."""

    own: Kernel
    of_hosts: Mapping[str, Kernel] = field(default_factory=dict)

    def of_process(self, cell: Cell, process: str) -> Kernel:
        """Return the kernel that a process of the cell runs on."""
        if cell.real is None:
            return self.own
        host = next(p.host for p in cell.processes if p.name == process)
        return self.of_hosts.get(host, self.own)

    def under_side(self, cell: Cell, side: Side) -> list[Kernel]:
        """Return the kernels under the processes of a side of the cell's arm, each once."""
        kernel_of_machine: dict[str | None, Kernel] = {}
        for process, other_side in cell.sides.items():
            if other_side.side_definition() == side.side_definition():
                kernel = self.of_process(cell, process)
                kernel_of_machine.setdefault(kernel.machine, kernel)
        return [*kernel_of_machine.values()]


@dataclass(frozen=True)
class UngrantedBuffer:
    """A buffer to `receive` or to `send` of which the kernel grants less than asked. `setting` is
    the sysctl that limits it, `machine` has the kernel if a trial runs on several machines."""

    side: str
    asked_bytes: int
    granted_bytes: int
    setting: str
    machine: str | None = None

    @property
    def kernel(self) -> str:
        return "the kernel" if self.machine is None else f"the kernel of {self.machine}"

    @property
    def text(self) -> str:
        return (
            f"asks for a {self.side} buffer of {self.asked_bytes} bytes, {self.kernel} grants "
            f"{self.granted_bytes}: sysctl -w {self.setting}={self.asked_bytes}"
        )

    def document(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def ungranted_buffers(text: str, kernel: Kernel) -> tuple[UngrantedBuffer, ...]:
    """Return the buffers that the kernel does not grant; none if its limit is unknown."""
    buffers = []
    for side, limit in LIMITS.items():
        buffer_bytes, most = asked_bytes(text, side), kernel.sysctls.get(limit)
        if buffer_bytes is not None and most is not None and int(most) < buffer_bytes:
            buffers.append(UngrantedBuffer(side, buffer_bytes, int(most), limit, kernel.machine))
    return tuple(buffers)


def ungranted_of_cell(
    cell: Cell, workers: Workers, kernels: Kernels
) -> tuple[UngrantedBuffer, ...]:
    """Return the ungranted buffers of all sides of a cell's arm that have a worker."""
    buffers = [
        buffer
        for side in distinct_sides(cell)
        if (worker := workers.get(side.middleware)) is not None
        for buffer in ungranted_of_side(cell, side, worker, kernels)
    ]
    return tuple(dict.fromkeys(buffers))


def ungranted_of_side(
    cell: Cell, side: Side, worker: Worker, kernels: Kernels
) -> tuple[UngrantedBuffer, ...]:
    """Return the buffers that a machine with a process of this side does not grant."""
    text = resolved_profile(side.profile, worker)["text"]
    return tuple(
        buffer
        for kernel in kernels.under_side(cell, side)
        for buffer in ungranted_buffers(text, kernel)
    )


def ungranted_lines(cells: Iterable[Cell], workers: Workers, kernels: Kernels) -> list[str]:
    """Return a line for each ungranted buffer, with its arms and the command that grants it."""
    arms: dict[UngrantedBuffer, list[str]] = {}
    for cell in cells:
        for buffer in ungranted_of_cell(cell, workers, kernels):
            arms.setdefault(buffer, []).append(cell.arm.name)
    return [
        f"{', '.join(dict.fromkeys(names))}: asks for a {buffer.side} buffer of "
        f"{quantity(buffer.asked_bytes, 'bytes')}, {buffer.kernel} grants "
        f"{quantity(buffer.granted_bytes, 'bytes')}. The arm runs, marked `*`, and no headline "
        f"compares it until it is granted: rmwbench doctor --fix --only '{buffer.side} buffer'"
        + (f" there, on {buffer.machine}" if buffer.machine else "")
        for buffer, names in arms.items()
    ]
