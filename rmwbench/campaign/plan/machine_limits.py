"""What a cell asks of a machine, by arithmetic alone, and whether that is more than the machine has
or grants.

Nothing here is a verdict and nothing keeps a cell from running: how a middleware saturates is a
finding. It marks the cells that no middleware can carry here, and what a budget leaves out first. A
link that is slower than the load is not a reason: that is what such a suite measures.

Socket buffers: a middleware asks with SO_RCVBUF and SO_SNDBUF, which the kernel caps at
net.core.rmem_max and wmem_max without a word. Where it grants less than a profile asks for, `tuned`
is `tuned*`. What is asked is read from the configuration itself, so that a user's own file is seen
like a shipped one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rmwbench.campaign.plan.preflight import memory_bytes
from rmwbench.campaign.plan.profile import Workers, distinct_sides, resolved_profile
from rmwbench.lab.machine.card import hardware
from rmwbench.lab.machine.probe import copy_bytes_per_s
from rmwbench.lab.middleware import Worker
from rmwbench.lab.profile_file.cyclonedds_xml import UNITS
from rmwbench.suite.cells import Cell
from rmwbench.suite.side import Side
from rmwbench.words.numbers import counted, quantity

ANY_MACHINE_BYTES_PER_S = 1e9
"""Every machine with an operating system of this kind copies that much, so less is not worth a
measurement."""


@dataclass(frozen=True)
class Beyond:
    """`asked` of `carried`, both in `unit` (`bytes` or `bytes/s`); `kind` is `memory` or
    `copying`."""

    kind: str
    asked: float
    carried: float
    unit: str
    by: str

    @property
    def times(self) -> float:
        return self.asked / self.carried

    @property
    def text(self) -> str:
        """`asks for more than this machine carries: 17 of 9 GB/s, copied by one endpoint's
        thread`, in as many digits as tell both apart."""
        unit = self.unit.replace("bytes", "GB")
        for digits in range(3, 16):
            asked, carried = (f"{x / 1e9:.{digits}g}" for x in (self.asked, self.carried))
            if asked != carried:
                break
        return f"asks for more than this machine carries: {asked} of {carried} {unit}, {self.by}"

    def document(self, cell: int) -> dict[str, Any]:
        return {
            "cell": cell,
            "kind": self.kind,
            "unit": self.unit,
            "asked": round(self.asked),
            "carried": round(self.carried),
            "text": self.text,
        }


@dataclass
class MachineLimits:
    """What a machine has: `copying` (bytes per second of one processor) is measured where a cell
    asks for much, and is None until then."""

    processors: int
    memory_bytes: int
    copying: float | None = field(default=None)

    @staticmethod
    def here() -> "MachineLimits":
        facts = hardware()
        return MachineLimits(int(facts["cores_usable"]), int(facts["memory_bytes"] or 0))

    def beyond(self, cell: Cell) -> Beyond | None:
        """The resource of which the cell asks too much, by the largest factor; None if it has
        enough of all."""
        excesses = [*self._memory(cell), *self._copying(cell)]
        return max(excesses, key=lambda excess: excess.times, default=None)

    def all_beyond(self, cells: Iterable[Cell]) -> dict[int, Beyond]:
        return {cell.number: excess for cell in cells if (excess := self.beyond(cell))}

    def document(self) -> dict[str, Any]:
        return {
            "processors": self.processors,
            "memory_bytes": self.memory_bytes,
            "copy_bytes_per_s": None if self.copying is None else round(self.copying),
        }

    def _memory(self, cell: Cell) -> Iterable[Beyond]:
        """Record files + rings of frames + Σ over endpoints of payload × (history depth + 2),
        against MemTotal: what `rmwbench.campaign.plan.preflight` asks for."""
        needed_bytes = memory_bytes(cell)
        if self.memory_bytes and needed_bytes > self.memory_bytes:
            yield Beyond("memory", needed_bytes, self.memory_bytes, "bytes", "of memory")

    def _copying(self, cell: Cell) -> Iterable[Beyond]:
        """Passes over a message's bytes, as `handled_bytes_per_s` counts them, against what a
        processor copies: of one publisher, whose schedule is one thread, against one processor, and
        of all endpoints against all."""
        bytes_per_s = handled_bytes_per_s(cell)
        all_of_them, busiest = sum(bytes_per_s.values()), max(bytes_per_s.values(), default=0.0)
        if all_of_them <= ANY_MACHINE_BYTES_PER_S:
            return
        if self.copying is None:
            self.copying = copy_bytes_per_s()
        if busiest > self.copying:
            yield Beyond(
                "copying", busiest, self.copying, "bytes/s", "copied by one endpoint's thread"
            )
        if all_of_them > self.copying * self.processors:
            words = f"copied by {counted(self.processors, 'processor')}"
            yield Beyond("copying", all_of_them, self.copying * self.processors, "bytes/s", words)


def handled_bytes_per_s(cell: Cell) -> dict[int, float]:
    """Endpoint → bytes per second that it handles, a byte counted once per copy: payload × rate,
    once for writing the message (`touch: all`) and once for handing it over where that is a copy
    (no loan); a reader once, since taking by copy reads it too. The rate is the mean of what is due
    from the warm-up on; where the middleware's own speed decides (saturation) nothing is asked for.
    """
    span_s = cell.timeline.warmup_s + cell.timeline.steady_s
    copied, bytes_per_s = not cell.arm.loan, {}
    for endpoint in cell.endpoints:
        if endpoint.saturating:
            continue
        touched = endpoint.touch == "all"
        message_type = endpoint.reply_type if endpoint.kind == "service" else endpoint.type
        out = (
            endpoint.sent * message_type.payload_bytes * (touched + copied)
            if endpoint.writes and message_type
            else 0
        )
        read_bytes = (
            endpoint.received * endpoint.read_bytes * (touched or copied) if endpoint.reads else 0
        )
        bytes_per_s[endpoint.endpoint] = (out + read_bytes) / span_s
    return bytes_per_s


def most_processes(cells: Iterable[Cell]) -> tuple[int, str]:
    """The most processes that a trial runs at once, and the comparison that does."""
    return max(
        ((len(cell.processes), cell.comparison) for cell in cells),
        key=lambda count_of: count_of[0],
        default=(0, ""),
    )


_SIZE = r"(\d+)\s*([kKmMgG]?i?[bB]?)"


def _patterns(cyclone: str, fast: str, zenoh: str) -> tuple[str, ...]:
    """Where a configuration names a buffer's size. Cyclone DDS asks for the larger of `min` and
    `max`, and does not open where it is not granted `min` (`file_faults`). Fast DDS asks per
    transport, or for the whole participant."""
    element = f"Socket{cyclone}BufferSize"
    return (
        rf"<{element}\b[^>]*\bmin\s*=\s*[\"']{_SIZE}[\"']",
        rf"<{element}\b[^>]*\bmax\s*=\s*[\"']{_SIZE}[\"']",
        rf"<Minimum{element}>\s*{_SIZE}\s*</",  # before 0.10
        rf"<(?:{fast})>\s*(\d+)()\s*</",
        rf"\b{zenoh}\"?\s*:\s*(\d+)()",
    )


ASKED = {
    "receive": _patterns("Receive", "receiveBufferSize|listenSocketBufferSize", "so_rcvbuf"),
    "send": _patterns("Send", "sendBufferSize|sendSocketBufferSize", "so_sndbuf"),
}
LIMITS = {"receive": "net.core.rmem_max", "send": "net.core.wmem_max"}
_COMMENTS = re.compile(r"<!--.*?-->|(?<![:\"])//[^\n]*", re.DOTALL)


def asked_bytes(text: str, side: str = "receive") -> int | None:
    """The largest buffer to `receive` or to `send` that a configuration asks for; None for
    none."""
    plain = _COMMENTS.sub("", text)
    sizes = [
        int(number) * UNITS.get(unit.lower(), 1)
        for pattern in ASKED[side]
        for number, unit in re.findall(pattern, plain)
    ]
    return max(sizes, default=None)


@dataclass(frozen=True)
class Kernel:
    """The sysctls of a machine, which has a name where a trial runs on several."""

    sysctls: Mapping[str, Any]
    machine: str | None = None


@dataclass(frozen=True)
class Kernels:
    """`own`: of the machine that a trial runs on whole, or of each of the like ones that it may run
    on. `of_hosts`: host → its machine's, where hosts are machines."""

    own: Kernel
    of_hosts: Mapping[str, Kernel] = field(default_factory=dict)

    def of_process(self, cell: Cell, process: str) -> Kernel:
        """The kernel that a process of the cell runs on."""
        if cell.real is None:
            return self.own
        host = next(p.host for p in cell.processes if p.name == process)
        return self.of_hosts.get(host, self.own)

    def under_side(self, cell: Cell, side: Side) -> list[Kernel]:
        """The kernels that a side of the cell's arm has processes on, each once."""
        kernel_of_machine: dict[str | None, Kernel] = {}
        for process, other_side in cell.sides.items():
            if other_side.side_definition() == side.side_definition():
                kernel = self.of_process(cell, process)
                kernel_of_machine.setdefault(kernel.machine, kernel)
        return [*kernel_of_machine.values()]


@dataclass(frozen=True)
class UngrantedBuffer:
    """A buffer to `receive` or to `send` of which the kernel grants less than is asked; `setting`
    is the sysctl that caps it, `machine` whose it is where a trial runs on several."""

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


def ungranted(text: str, kernel: Kernel) -> tuple[UngrantedBuffer, ...]:
    """What the kernel does not grant; empty where it grants what is asked, or nobody knows."""
    buffers = []
    for side, limit in LIMITS.items():
        buffer_bytes, most = asked_bytes(text, side), kernel.sysctls.get(limit)
        if buffer_bytes is not None and most is not None and int(most) < buffer_bytes:
            buffers.append(UngrantedBuffer(side, buffer_bytes, int(most), limit, kernel.machine))
    return tuple(buffers)


def of_cell(cell: Cell, workers: Workers, kernels: Kernels) -> tuple[UngrantedBuffer, ...]:
    """The ungranted buffers of all sides of a cell's arm; nothing is known of a side without a
    worker."""
    buffers = [
        buffer
        for side in distinct_sides(cell)
        if (worker := workers.get(side.middleware)) is not None
        for buffer in of_side(cell, side, worker, kernels)
    ]
    return tuple(dict.fromkeys(buffers))


def of_side(
    cell: Cell, side: Side, worker: Worker, kernels: Kernels
) -> tuple[UngrantedBuffer, ...]:
    """The buffers that a machine with a process of this side does not grant."""
    text = resolved_profile(side, worker)["text"]
    return tuple(
        buffer for kernel in kernels.under_side(cell, side) for buffer in ungranted(text, kernel)
    )


def ungranted_lines(cells: Iterable[Cell], workers: Workers, kernels: Kernels) -> list[str]:
    """A line for each ungranted buffer, with its arms and the one command that grants it, for
    whoever is about to run them."""
    arms: dict[UngrantedBuffer, list[str]] = {}
    for cell in cells:
        for buffer in of_cell(cell, workers, kernels):
            arms.setdefault(buffer, []).append(cell.arm.name)
    return [
        f"{', '.join(dict.fromkeys(names))}: asks for a {buffer.side} buffer of "
        f"{quantity(buffer.asked_bytes, 'bytes')}, {buffer.kernel} grants "
        f"{quantity(buffer.granted_bytes, 'bytes')}. The arm runs, marked `*`, and no headline "
        f"compares it until it is granted: rmwbench doctor --fix --only '{buffer.side} buffer'"
        + (f" there, on {buffer.machine}" if buffer.machine else "")
        for buffer, names in arms.items()
    ]
