"""The resources that a cell needs, by arithmetic alone, and whether the machine has that much.

Nothing here is a verdict and nothing keeps a cell from running: how a middleware saturates is a
finding. It marks the cells that no middleware can carry here, and what a budget leaves out first. A
link that is slower than the load is not a reason: that is what such a suite measures.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rmwbench.campaign.plan.preflight import memory_bytes
from rmwbench.lab.machine.card import hardware
from rmwbench.lab.machine.probe import copy_bytes_per_s
from rmwbench.suite.cells import Cell
from rmwbench.words.numbers import counted

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
    """The resources of a machine. `copying` (bytes per second of one processor) is measured where a
    cell needs much, and is None until then."""

    processors: int
    memory_bytes: int
    copying: float | None = None

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
