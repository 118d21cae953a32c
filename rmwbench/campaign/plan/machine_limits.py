"""The resources that a cell needs, by arithmetic alone, and whether the machine has them.

An excess is no verdict, and the cell still runs: the saturation of a middleware is a finding. It
marks the cells that no middleware can carry on this machine, which a budget leaves out first. A
link that is slower than the load is no excess: such a suite measures it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rmwbench.lab.camera.frame_source import ring_bytes, senders
from rmwbench.lab.machine.machine_card import hardware
from rmwbench.lab.machine.probe import copy_bytes_per_s
from rmwbench.suite.cells import Cell
from rmwbench.suite.workload.endpoints import Endpoint
from rmwbench.words.numbers import concise, counted, distinct

MIB = 1 << 20
ANY_MACHINE_BYTES_PER_S = 1e9
"""A rate that every machine copies. A smaller need is not compared with a measurement."""


@dataclass(frozen=True)
class Excess:
    """The excess of a need `asked` over the machine's `carried`, both in `unit` (`bytes` or
    `bytes/s`). `kind` is `memory` or `copying`; `sentence` has `{asked}` and `{carried}` in the
    places of the two amounts."""

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
        """Return `needs 17 GB of memory; this machine has 9 GB`, with enough digits to distinguish
        the amounts."""
        unit = self.unit.replace("bytes", "GB")
        asked, carried = distinct(
            lambda amount, digits: f"{concise(amount / 1e9, digits)} {unit}",
            self.asked,
            self.carried,
        )
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
    """The resources of a machine. `copying` (bytes per second of one processor) is None until a
    cell needs much; then it is measured."""

    processors: int
    memory_bytes: int
    copying: float | None = None

    @staticmethod
    def here() -> "MachineLimits":
        facts = hardware()
        memory_bytes = facts["container"].get("memory_bytes") or facts["memory_bytes"] or 0
        return MachineLimits(int(facts["cores_usable"]), int(memory_bytes))

    def beyond(self, cell: Cell) -> Excess | None:
        """Return the largest excess of the cell by its factor; None if the machine has enough."""
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
        """Compare MemTotal with the need by `memory_bytes`: record files + rings of frames + Σ
        over endpoints of payload × (history depth + 2)."""
        needed_bytes = memory_bytes(cell)
        if self.memory_bytes and needed_bytes > self.memory_bytes:
            sentence = "needs {asked} of memory; this machine has {carried}"
            yield Excess("memory", needed_bytes, self.memory_bytes, "bytes", sentence)

    def _copying(self, cell: Cell) -> Iterable[Excess]:
        """Compare the bytes that endpoints handle (`handled_bytes_per_s`) with the copying rate:
        the busiest endpoint, which is one thread, with one processor, and all endpoints with all
        processors."""
        bytes_per_s = handled_bytes_per_s(cell)
        total, busiest = sum(bytes_per_s.values()), max(bytes_per_s.values(), default=0.0)
        if total <= ANY_MACHINE_BYTES_PER_S:
            return
        if self.copying is None:
            self.copying = copy_bytes_per_s()
        if busiest > self.copying:
            sentence = (
                "needs to copy {asked} in one endpoint's thread; a processor copies {carried}"
            )
            yield Excess("copying", busiest, self.copying, "bytes/s", sentence)
        if total > self.copying * self.processors:
            processors = counted(self.processors, "processor")
            sentence = f"needs to copy {{asked}}; this machine's {processors} can copy {{carried}}"
            yield Excess("copying", total, self.copying * self.processors, "bytes/s", sentence)


def memory_bytes(cell: Cell) -> int:
    """Return the least memory of a trial: the record files, the rings of frames, and per endpoint a
    full history and two unfinished messages."""
    rings = sum(ring_bytes(endpoint.type.payload_bytes) for endpoint in senders(cell))
    return cell.record_bytes + rings + sum(queue_bytes(endpoint) for endpoint in cell.endpoints)


def queue_bytes(endpoint: Endpoint) -> int:
    """Return the bytes of a full history and two unfinished messages. `keep_all` has no depth and
    counts as 1: room for all messages would be too much."""
    size = max(
        endpoint.type.payload_bytes, endpoint.reply_type.payload_bytes if endpoint.reply_type else 0
    )
    return size * ((endpoint.qos.wire()["depth"] or 1) + 2)


def handled_bytes_per_s(cell: Cell) -> dict[int, float]:
    """Return endpoint → the bytes per second that it handles. A writer handles its payload × rate
    once to write the message (`touch: all`) and once to hand it over by copy (no loan); a reader
    handles it once, since taking by copy reads it, too. The rate is the mean of the messages due
    from the warm-up on. An endpoint that saturates is left out: the middleware determines its rate.
    """
    span_s = cell.timeline.warmup_s + cell.timeline.steady_s
    copied, bytes_per_s = not cell.arm.loan, {}
    for endpoint in cell.endpoints:
        if endpoint.saturating:
            continue
        touched = endpoint.touch == "all"
        sent_bytes = endpoint.sent * written_bytes(endpoint) if endpoint.writes else 0
        read_bytes = endpoint.received * endpoint.read_bytes
        handled = sent_bytes * (touched + copied) + read_bytes * (touched or copied)
        bytes_per_s[endpoint.endpoint] = handled / span_s
    return bytes_per_s


def written_bytes(endpoint: Endpoint) -> int:
    """Return the payload of the messages that a writing endpoint sends: a service sends replies."""
    replies = endpoint.reply_type if endpoint.kind == "service" else None
    return (replies or endpoint.type).payload_bytes


def most_processes(cells: Iterable[Cell]) -> tuple[int, str]:
    """Return the most processes of a trial, and its comparison."""
    counts = ((len(cell.processes), cell.comparison) for cell in cells)
    return max(counts, key=lambda count: count[0], default=(0, ""))
