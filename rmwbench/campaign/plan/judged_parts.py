"""The parts of a campaign that will be judged, before anything runs: families and topics of a
comparison, and each arm along a factor. The answer finds the same parts in the measured data
(results/judged_campaign.py, results/workload/factor_levels.py).
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
    """An arm at the levels of a factor, which are compared in each of the `topics` or readers; the
    topic None is the whole workload."""

    ladder: Ladder
    topics: tuple[str | None, ...]

    @property
    def compared(self) -> int:
        return len(steps(len(self.ladder.levels))) * len(self.topics)


def families(cells: Sequence[Cell], definition: Definition) -> tuple[int, int]:
    """Return the numbers of contenders by copy and by loan, which are judged separately; 0 without
    a verdict, as for untimed trials. `definition` is the definition of any of
    these cells."""
    by_loan = [
        cell.arm.loan
        for cell in cells
        if not cell.arm.is_floor and not cell.sampling.allocations and has_verdicts(definition)
    ]
    return by_loan.count(False), by_loan.count(True)


def topics(cell: Cell, definition: Definition) -> tuple[str, ...]:
    """Return the topics and readers that are judged separately in the cell's comparison; empty if
    the workload is judged as a whole."""
    if cell.workload.primary_metric not in POOLED:
        return ()
    return tuple(topic.name for topic in judged_topics(planned_endpoints(definition), definition))


def judged_levels(cells: Sequence[Cell]) -> tuple[JudgedLevels, ...]:
    """Return the comparisons of each arm with itself at other levels, among cells that will run."""
    definitions = {cell.number: cell.definition() for cell in cells}
    primary = {cell.number: cell.workload.primary_metric for cell in cells}
    rungs = [
        Rung(cell.number, cell.workload.name, cell.arm.name, cell.factors, definition)
        for cell, definition in zip(cells, definitions.values(), strict=True)
        if not cell.arm.is_floor and has_verdicts(definition)
    ]
    comparable = [
        ladder for ladder in ladders(rungs) if len({primary[cell] for cell in ladder.cells}) == 1
    ]
    if not comparable:
        return ()
    endpoints = {cell: planned_endpoints(definition) for cell, definition in definitions.items()}
    topics_of_cell = {
        cell: judged_topics(endpoints[cell], definition) for cell, definition in definitions.items()
    }
    readers = {
        topic.name: topic for own in topics_of_cell.values() for topic in own if topic.readers
    }

    def has(cell: int, name: str) -> bool:
        """Whether the cell has the topic; a cell whose topics are all alike has each."""
        if not topics_of_cell[cell] or any(topic.name == name for topic in topics_of_cell[cell]):
            return True
        if name not in readers:
            return False
        return bool(same_readers(readers[name], endpoints[cell], definitions[cell]))

    def topics_of_ladder(ladder: Ladder) -> tuple[str | None, ...]:
        topics = [topic for cell in ladder.cells for topic in topics_of_cell[cell]]
        is_separate = bool(topics) and primary[ladder.cells[0]] in POOLED
        names = dict.fromkeys(topic.name for topic in topics)
        shared = [name for name in names if all(has(cell, name) for cell in ladder.cells)]
        return (*([] if is_separate else [None]), *shared)

    return tuple(JudgedLevels(ladder, topics_of_ladder(ladder)) for ladder in comparable)
