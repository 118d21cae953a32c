"""What of a campaign will be judged, told before anything runs: families and topics of a comparison,
and each arm along a factor. The answer finds the same in what was measured (results/judged.py,
results/workload/factor_levels.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.analysis.metrics.comparisons import has_verdicts
from rmwbench.analysis.metrics.judged_topics import (
    POOLED,
    judged_topics,
    planned_endpoints,
    same_readers,
)
from rmwbench.analysis.verdicts.ladders import Ladder, Rung, ladders, steps
from rmwbench.suite.cells import Cell

Definition = Mapping[str, Any]
"""The definition of a cell."""


@dataclass(frozen=True)
class JudgedLevels:
    """An arm at the levels of a factor, which are compared in each of the `topics`, or readers; one
    that is None is the whole workload."""

    ladder: Ladder
    topics: tuple[str | None, ...]

    @property
    def compared(self) -> int:
        return len(steps(len(self.ladder.levels))) * len(self.topics)


def families(cells: Sequence[Cell], definition: Definition) -> tuple[int, int]:
    """The contenders of a comparison by copy and by loan, which are judged apart; none where there is
    no verdict, as on untimed trials. `definition`: of one of these cells."""
    by_loan = [
        cell.arm.loan
        for cell in cells
        if not cell.arm.is_floor and not cell.sampling.allocations and has_verdicts(definition)
    ]
    return by_loan.count(False), by_loan.count(True)


def topics(cell: Cell, definition: Definition) -> tuple[str, ...]:
    """What is judged one by one in its comparison, all of whose arms are asked for the same; empty
    where that is judged as one."""
    if cell.workload.primary_metric not in POOLED:
        return ()
    return tuple(one.name for one in judged_topics(planned_endpoints(definition), definition))


def judged_levels(cells: Sequence[Cell]) -> tuple[JudgedLevels, ...]:
    """The comparisons of each arm with itself at other levels, of cells that will run."""
    definitions = {cell.number: cell.definition() for cell in cells}
    primary = {cell.number: cell.workload.primary_metric for cell in cells}
    rungs = [
        Rung(cell.number, cell.workload.name, cell.arm.name, cell.factors, definition)
        for cell, definition in zip(cells, definitions.values(), strict=True)
        if not cell.arm.is_floor and has_verdicts(definition)
    ]
    found = [one for one in ladders(rungs) if len({primary[cell] for cell in one.cells}) == 1]
    if not found:
        return ()
    endpoints = {number: planned_endpoints(one) for number, one in definitions.items()}
    apart = {number: judged_topics(endpoints[number], one) for number, one in definitions.items()}
    readers = {one.name: one for own in apart.values() for one in own if one.readers}

    def has(cell: int, name: str) -> bool:
        """Where all of its topics are alike, the whole stands for each."""
        if not apart[cell] or any(one.name == name for one in apart[cell]):
            return True
        if name not in readers:
            return False
        return bool(same_readers(readers[name], endpoints[cell], definitions[cell]))

    def topics_of(ladder: Ladder) -> tuple[str | None, ...]:
        of_levels = [apart[cell] for cell in ladder.cells]
        is_apart = any(of_levels) and primary[ladder.cells[0]] in POOLED
        names = dict.fromkeys(one.name for own in of_levels for one in own)
        shared = [name for name in names if all(has(cell, name) for cell in ladder.cells)]
        return (*([] if is_apart else [None]), *shared)

    return tuple(JudgedLevels(ladder, topics_of(ladder)) for ladder in found)
