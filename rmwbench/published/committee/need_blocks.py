"""How many blocks a section needs so that a candidate that loses nothing can be shown to meet the
needs' limits on what may be missing (docs/limits.md): of a small share few messages say little."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from rmwbench.analysis.decide.posterior import LEAST_BLOCKS, BlockValues, Posterior, posterior
from rmwbench.analysis.metrics.comparisons import in_focus
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.judged_topics import (
    judged_topics,
    planned_endpoints,
    workload_limit_names,
)
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.published.committee.needs import NeedCase, RobotNeed
from rmwbench.results.decide.candidate_campaigns import limits_of
from rmwbench.suite.cells import Cell

Shares = Sequence[tuple[int, float]]
"""How many messages a trial has of what a limit is on, and which share of them may be missing at
most."""
ERROR_FOR_SHARES = 0.5
"""The part of a case's error that its limits of shares have; limits of times and costs have the
rest."""
ERROR_FOR_ALL_CASES = 0.5
"""The part of the error that is for all cases together where a campaign has several, as `decide`
shares it."""


def blocks_asked(needs: Sequence[RobotNeed], section: str, cells: Sequence[Cell], most: int) -> int:
    """The fewest blocks, at most `most`, in which a candidate that loses nothing is shown to meet
    all limits of shares that the needs' cases have in `cells`, which are those of contenders; 0
    where they have none."""
    several = len({cell.comparison for cell in cells}) > 1
    error = Rules().alpha * ERROR_FOR_SHARES * (ERROR_FOR_ALL_CASES if several else 1.0)
    blocks = [
        _fewest(shares, error / candidates, most)
        for need in needs
        for case in need.cases
        if case.section == section
        for shares, candidates in _asked(case, cells)
    ]
    return max(blocks, default=0)


def _fewest(shares: Shares, error: float, most: int) -> int:
    """The fewest blocks in which all shares are shown at this error of one candidate."""
    if not shares:
        return 0

    def is_shown(blocks: int) -> bool:
        believed = (_belief(messages, blocks).within(share) for messages, share in shares)
        return prod(believed) >= 1 - error

    return next(filter(is_shown, range(LEAST_BLOCKS, most)), most)


def _belief(messages: int, blocks: int) -> Posterior:
    """The posterior after so many blocks without a missing message."""
    lost, campaigns, wanted = (0.0,) * blocks, (0,) * blocks, (float(messages),) * blocks
    return posterior(BlockValues("fraction", lost, campaigns, of=wanted))


def _asked(case: NeedCase, cells: Sequence[Cell]) -> Iterator[tuple[Shares, int]]:
    """What may be missing of each comparison of the case, and how many candidates it has."""
    limits = case.read()
    of_case = [cell for cell in cells if limits.of.has(cell.workload.name, cell.factors)]
    candidates = Counter(cell.comparison for cell in of_case)
    own = {cell.comparison: cell for cell in of_case if case.asks_for(cell.arm.modes)}
    for comparison, cell in own.items():
        yield list(_shares(limits.document(), cell)), candidates[comparison]


def _shares(limits: Mapping[str, Any], cell: Cell) -> Iterator[tuple[int, float]]:
    """Of the topics and readers that are judged one by one in the cell, as `decide` judges them."""
    definition = cell.definition()
    rows = planned_endpoints(definition)
    topics = judged_topics(rows, definition)
    measured_by = {topic.name: topic.endpoints for topic in topics}
    whole = frozenset(row["endpoint"] for row in in_focus(rows, definition))
    asked = limits_of(limits, topics, workload_limit_names(rows, definition))
    for (topic, metric), most in asked.items():
        own = whole if topic is None else measured_by[topic]
        messages = sum(
            endpoint.steady_messages
            for endpoint in cell.endpoints
            if endpoint.endpoint in own and endpoint.kind in ("subscription", "client")
        )
        if messages and GLOSSARY[metric].kind == "fraction":
            yield messages, most
