"""The resources that a cell needs, by arithmetic alone, and whether the machine has that much.

An excess is no verdict and keeps no cell from running: how a middleware saturates is a finding. It
marks the cells that no middleware can carry on this machine, which a budget leaves out first. A
link that is slower than the load is no excess: that is what such a suite measures.
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
class Excess:
    """A cell asks for `asked` where the machine carries `carried`, both in `unit` (`bytes` or
    `bytes/s`). `kind`: `memory` or `copying`; `sentence` says it with `{asked}` and `{carried}` in
    the places of the two amounts."""

    kind: str
    asked: float
    carried: float
    unit: str
    sentence: str

    @property
    def times(self) -> float:
        return self.asked / self.carried

    @property
    def text(self) -> str:
        """`needs 17 GB of memory; this machine has 9 GB`, in as many digits as tell the amounts
        apart."""
        unit = self.unit.replace("bytes", "GB")
        for digits in range(3, 16):
            asked, carried = (f"{x / 1e9:.{digits}g} {unit}" for x in (self.asked, self.carried))
            if asked != carried:
                break
        return self.sentence.format(asked=asked, carried=carried)

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

    def beyond(self, cell: Cell) -> Excess | None:
        """The resource that the cell exceeds by the largest factor; None if the machine has enough
        of all."""
        excesses = [*self._memory(cell), *self._copying(cell)]
        return max(excesses, key=lambda excess: excess.times, default=None)

    def all_beyond(self, cells: Iterable[Cell]) -> dict[int, Excess]:
        return {cell.number: excess for cell in cells if (excess := self.beyond(cell))}

    def document(self) -> dict[str, Any]:
        return {
            "processors": self.processors,
            "memory_bytes": self.memory_bytes,
            "copy_bytes_per_s": None if self.copying is None else round(self.copying),
        }

    def _memory(self, cell: Cell) -> Iterable[Excess]:
        """MemTotal against what `rmwbench.campaign.plan.preflight` asks for: record files + rings
        of frames + Σ over endpoints of payload × (history depth + 2)."""
        needed_bytes = memory_bytes(cell)
        if self.memory_bytes and needed_bytes > self.memory_bytes:
            sentence = "needs {asked} of memory; this machine has {carried}"
            yield Excess("memory", needed_bytes, self.memory_bytes, "bytes", sentence)

    def _copying(self, cell: Cell) -> Iterable[Excess]:
        """The bytes that endpoints handle (`handled_bytes_per_s`) against what processors copy: the
        busiest endpoint, which is one thread, against one processor, and all endpoints together
        against all processors."""
        bytes_per_s = handled_bytes_per_s(cell)
        of_all, of_busiest = sum(bytes_per_s.values()), max(bytes_per_s.values(), default=0.0)
        if of_all <= ANY_MACHINE_BYTES_PER_S:
            return
        if self.copying is None:
            self.copying = copy_bytes_per_s()
        if of_busiest > self.copying:
            sentence = (
                "needs to copy {asked} in one endpoint's thread; a processor copies {carried}"
            )
            yield Excess("copying", of_busiest, self.copying, "bytes/s", sentence)
        if of_all > self.copying * self.processors:
            here = counted(self.processors, "processor")
            sentence = f"needs to copy {{asked}}; this machine's {here} can copy {{carried}}"
            yield Excess("copying", of_all, self.copying * self.processors, "bytes/s", sentence)


def handled_bytes_per_s(cell: Cell) -> dict[int, float]:
    """Endpoint → bytes per second that it handles. A writer handles its payload × rate once for
    writing the message (`touch: all`) and once for handing it over by copy (no loan); a reader
    handles it once, since taking by copy reads it too. The rate is the mean of the messages due
    from the warm-up on. An endpoint that saturates is left out: the middleware decides its rate.
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
    """The most processes that a trial runs at once, and the comparison with that trial."""
    return max(
        ((len(cell.processes), cell.comparison) for cell in cells),
        key=lambda count_of: count_of[0],
        default=(0, ""),
    )
