"""How far the readers of one sample differ, and whether they turned out unlike.

Readers with the same settings at the same place have one median. Where their latencies or
deliveries are nevertheless unlike, the common median is the median of no reader: then the report
says so, and shows each reader by itself. No verdict rests on this, since it is only seen
afterwards: the judged readers stay as planned.

Readers are unlike where, in each block that has both and in at least `LEAST_BLOCKS` of them, the
median of the reader with the largest is more than `RATIO` times that of the reader with the
smallest, even if both are wrong by the bounds of the hosts' clocks; or where, in the same way, the
delivered fractions differ by more than `POINTS`. Scatter does not have that effect: it would have
to go the same way in each of five blocks, and by a factor that no fan-out on an idle machine
shows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.comparisons import relays
from rmwbench.analysis.metrics.latency import ReaderDelivery

LEAST_BLOCKS = 5
RATIO = 2.0
POINTS = 0.10
"""A difference of the delivered fractions."""
SAMPLE = "response_latency"
UnlikeBy = Literal["latency", "delivery"]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """The delivery to one reader. `response_p50_ns`: the median of its trials' medians, infinite
    where half of its messages or more did not arrive; None where no trial has enough messages.
    `delivered`: the fraction of the messages for it that arrived sound and in time."""

    topic: str
    node: str
    response_p50_ns: float | None
    delivered: float


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The `readers` readers whose messages are one sample: the reader with the smallest and the
    reader with the largest median (None where no reader has a median), and the readers with the
    least and the most delivered. `unlike`: the ways in which they turned out unlike over `blocks`
    blocks; `apart`: each reader by itself, where they are unlike."""

    readers: int
    blocks: int
    quickest: Reader | None
    slowest: Reader | None
    least: Reader
    most: Reader
    unlike: tuple[UnlikeBy, ...]
    apart: tuple[Reader, ...]


def spread(
    trials: Sequence[MeasuredTrial], endpoints: Sequence[Mapping[str, Any]]
) -> Spread | None:
    """The spread over an arm's done `trials`, all of one cell, which has these rows of `endpoints`.
    None where fewer than two readers are in the sample, or where these are the hops of a chain. A
    node that comes again is left out, since it receives only in a part of the time."""
    names = {row["endpoint"]: (row["topic"], row["node"]) for row in endpoints}
    lives = Counter(names[row["endpoint"]] for row in endpoints if row["kind"] == "subscription")
    deliveries: dict[int, dict[int, ReaderDelivery]] = {}
    for trial in trials:
        for number, reader in trial.messages.by_reader.items():
            if lives[names.get(number, ("", ""))] == 1:
                deliveries.setdefault(number, {})[trial.block] = reader
    topics = {names[number][0] for number in deliveries}
    if len(deliveries) < 2 or (len(topics) > 1 and any(map(relays, endpoints))):
        return None
    bounds = {trial.block: trial.clock_bounds.get(SAMPLE, 0.0) for trial in trials}
    readers = {n: _reader(*names[n], [*of.values()]) for n, of in deliveries.items()}
    medians = {n: reader.response_p50_ns for n, reader in readers.items()}
    with_median = [(median_ns, n) for n, median_ns in medians.items() if median_ns is not None]
    by_latency = [n for _, n in sorted(with_median)]
    least, *_, most = sorted(readers, key=lambda n: readers[n].delivered)
    unlike: list[UnlikeBy] = []
    if by_latency and _is_slower(deliveries[by_latency[0]], deliveries[by_latency[-1]], bounds):
        unlike.append("latency")
    few, many = deliveries[least], deliveries[most]
    if _in_each_block(many[b].delivered - few[b].delivered > POINTS for b in few.keys() & many):
        unlike.append("delivery")
    return Spread(
        readers=len(readers),
        blocks=len(bounds),
        quickest=readers[by_latency[0]] if by_latency else None,
        slowest=readers[by_latency[-1]] if by_latency else None,
        least=readers[least],
        most=readers[most],
        unlike=tuple(unlike),
        apart=tuple(readers.values()) if unlike else (),
    )


def _reader(topic: str, node: str, trials: Sequence[ReaderDelivery]) -> Reader:
    medians = [trial.median_ns for trial in trials if trial.median_ns is not None]
    return Reader(
        topic=topic,
        node=node,
        response_p50_ns=median(medians) if medians else None,
        delivered=sum(trial.arrived for trial in trials) / sum(trial.wanted for trial in trials),
    )


def _is_slower(
    low: Mapping[int, ReaderDelivery],
    high: Mapping[int, ReaderDelivery],
    bounds: Mapping[int, float],
) -> bool:
    both = [
        (quick, slow, bounds[block])
        for block in low.keys() & high
        if (quick := low[block].median_ns) is not None
        and (slow := high[block].median_ns) is not None
    ]
    return _in_each_block(slow - bound > RATIO * (quick + bound) for quick, slow, bound in both)


def _in_each_block(conditions: Iterable[bool]) -> bool:
    """Whether the condition holds in each block that has both readers, and there are enough such
    blocks."""
    by_block = list(conditions)
    return len(by_block) >= LEAST_BLOCKS and all(by_block)
