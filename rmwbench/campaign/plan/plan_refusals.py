"""Plans that cannot answer their question, by arithmetic alone: too few blocks or messages for the
limits of the suite, or a network that carries too small a part of a cell's messages.

Limits are checked for the most blocks that the suite may run and for messages that all arrive: a
limit that is refused here stays undecided with any middleware. A short version, or the cells within
a budget, may be too small; then the report says so.

Many suites have a link that is slower than the load, so that is not a mistake. A link that carries
less than a fifth of the load is a mistake: with any middleware four messages of five are lost or
late, and the rest shows no difference between middlewares.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.stats.intervals import clopper_pearson
from rmwbench.campaign.plan.machine_limits import written_bytes
from rmwbench.campaign.plan.plan import ComparedCells, Plan
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.errors import UserError
from rmwbench.suite.cells import Cell
from rmwbench.suite.limits import metric_of
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS, messages_needed
from rmwbench.words.numbers import concise


def check_enough(plan: Plan, places: Places) -> None:
    """Raise UserError for the first limit of `outcomes` that no number of good blocks can show to
    hold."""
    if plan.suite.outcomes is None or places.shortened:
        return
    blocks = max(plan.blocks, plan.suite.blocks.most)
    if blocks < DECIDABLE_BLOCKS:
        raise UserError(
            "too few blocks to decide what is acceptable, even if all messages arrive",
            where=places.at("outcomes"),
            expected=f"at least {DECIDABLE_BLOCKS} blocks",
            actual=f"{blocks}",
            fix="raise `blocks`, or leave `outcomes` out",
        )
    for comparison in plan.comparisons:
        if comparison.steady_messages is None:
            continue
        for key, limit in plan.suite.outcomes.acceptable.items():
            needed_messages = _needed(key, limit)
            messages = _messages(comparison) * blocks
            if messages < needed_messages:
                raise UserError(
                    f"too few messages to decide `{key}` in {comparison.key}, even if all arrive",
                    where=places.at("outcomes", "acceptable", key),
                    expected=f"at least {needed_messages} messages in all blocks",
                    actual=f"{messages} in {blocks} blocks",
                    fix="lengthen `steady_s`, add blocks, raise the rate, or loosen the limit",
                )


def _messages(comparison: ComparedCells) -> int:
    """Return the most messages that all readers of a trial together may get in its steady
    state."""
    readers = sum(endpoint.reads for endpoint in comparison.cells[0].endpoints)
    return (comparison.steady_messages or 0) * max(1, readers)


def _needed(key: str, limit: float) -> int:
    """Return the messages that a limit needs: for a quantile, n with n·(1−q) ≥ 10; for a fraction,
    the least n whose Clopper-Pearson interval of 0 of n ends at the limit."""
    metric = GLOSSARY[metric_of(key)]
    if metric.kind == "quantile":
        return messages_needed(metric.q)
    if metric.kind != "fraction":
        return 0
    low, high = 0, 1
    while clopper_pearson(0, high)[1] > limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if clopper_pearson(0, middle)[1] > limit else (low, middle)
    return high


MOST_TIMES = 5


@dataclass(frozen=True)
class Overload:
    """The load and the rate of a link or medium in bit/s. The load `asked_bps` is the least that
    any middleware sends: payloads alone, and each once per host that reads it, or once in all over
    a link up."""

    part: str
    asked_bps: float
    carried_bps: float

    @property
    def times(self) -> float:
        return self.asked_bps / self.carried_bps

    @property
    def text(self) -> str:
        """Return `medium air is asked for 74 Mbit/s of payload and carries 54 Mbit/s`."""
        load, rate = _mbps(self.asked_bps), _mbps(self.carried_bps)
        return f"{self.part} is asked for {load} of payload and carries {rate}"


def check_overload(cells: Iterable[Cell], places: Places) -> None:
    """Raise UserError for the first cell whose network carries less than a fifth of its load,
    unless its workload has `overload: true`."""
    for cell in cells:
        if cell.workload.overload:
            continue
        worst = max(overloads(cell), key=lambda overload: overload.times, default=None)
        if worst is not None and worst.times > MOST_TIMES:
            raise UserError(
                f"{cell.comparison} sends more than {MOST_TIMES} times what {worst.part} carries",
                where=places.file,
                expected=f"at most {_mbps(worst.carried_bps)}, or some more",
                actual=f"{_mbps(worst.asked_bps)} of payload",
                fix="lower the rate or the size, raise the `rate_mbps`, or write `overload: true` into "
                "the workload where this is what it measures",
            )


def overloads(cell: Cell) -> Iterator[Overload]:
    """Yield the load of every link and medium of the cell that has a rate."""
    if cell.links is None:
        return
    links = cell.links
    crossing = {
        (host, way): _crossing_bps(cell, host, way)
        for host in links.hosts
        for way in ("up", "down")
    }
    for (host, way), asked_bps in crossing.items():
        if rate := links.spec(host, way).rate_bps:
            yield Overload(f"the link {way} of host {host}", asked_bps, rate)
    for name, medium in links.network.media.items():
        asked_bps = sum(bps for port, bps in crossing.items() if links.spec(*port).medium == name)
        yield Overload(f"medium {name}", asked_bps, medium.rate_mbps * 1e6)


def _crossing_bps(cell: Cell, host: str, way: str) -> float:
    """Return the mean payload rate from a host (up) or to it (down), from the warm-up on."""
    span_s = cell.timeline.warmup_s + cell.timeline.steady_s
    by_number = {endpoint.endpoint: endpoint for endpoint in cell.endpoints}
    total = 0.0
    for endpoint in cell.endpoints:
        if not endpoint.writes or endpoint.saturating or not span_s:
            continue
        readers = {by_number[peer].host for peer in endpoint.peers if by_number[peer].reads}
        passes = (
            endpoint.host == host and bool(readers - {host})
            if way == "up"
            else endpoint.host != host and host in readers
        )
        if passes:
            total += 8 * written_bytes(endpoint) * endpoint.sent / span_s
    return total


def _mbps(bps: float) -> str:
    return f"{concise(bps / 1e6, 4)} Mbit/s"
