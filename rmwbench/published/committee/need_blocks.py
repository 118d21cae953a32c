"""How many blocks a section needs so that a candidate that loses nothing can be shown to meet the
needs' limits on missing messages (docs/limits.md). A few messages say little about a small
share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from rmwbench.analysis.decide.decisions import overall_rules
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
"""For each limit: how many messages a trial has, and the largest share of them that may be
missing."""
ERROR_FOR_SHARES = 0.5
"""The part of a case's error that its limits on shares have; limits on times and costs have the
rest."""


def blocks_needed(
    needs: Sequence[RobotNeed], section: str, cells: Sequence[Cell], most: int
) -> int:
    """Return the fewest blocks, at most `most`, in which a candidate that loses nothing is shown to
    meet all limits on shares that the needs' cases have in `cells` (cells of contenders); 0 if they
    have no such limits."""
    rules = overall_rules(Rules(), len({cell.comparison for cell in cells}))
    error = rules.alpha * ERROR_FOR_SHARES
    blocks = [
        _fewest_blocks(shares, error / candidates, most)
        for need in needs
        for case in need.cases
        if case.section == section
        for shares, candidates in _limited_shares(case, cells)
    ]
    return max(blocks, default=0)


def _fewest_blocks(shares: Shares, error: float, most: int) -> int:
    """Return the fewest blocks in which all shares are shown at this error of one candidate."""
    if not shares:
        return 0

    def is_shown(blocks: int) -> bool:
        probabilities = (_without_loss(n, blocks).within(share) for n, share in shares)
        return prod(probabilities) >= 1 - error

    return next(filter(is_shown, range(LEAST_BLOCKS, most)), most)


def _without_loss(messages: int, blocks: int) -> Posterior:
    """Return the posterior after so many blocks without a missing message."""
    lost, campaigns, due = (0.0,) * blocks, (0,) * blocks, (float(messages),) * blocks
    return posterior(BlockValues("fraction", lost, campaigns, of=due))


def _limited_shares(case: NeedCase, cells: Sequence[Cell]) -> Iterator[tuple[Shares, int]]:
    """Yield, for each comparison of the case, its limits on shares and how many candidates it
    has."""
    limits = case.read()
    cells_of_case = [cell for cell in cells if limits.of.has(cell.workload.name, cell.factors)]
    candidates = Counter(cell.comparison for cell in cells_of_case)
    cell_by_comparison = {
        cell.comparison: cell for cell in cells_of_case if case.applies_to(cell.arm.modes)
    }
    for comparison, cell in cell_by_comparison.items():
        yield list(_shares(limits.document(), cell)), candidates[comparison]


def _shares(limits: Mapping[str, Any], cell: Cell) -> Iterator[tuple[int, float]]:
    """Yield the limits on shares of the topics and readers that `decide` judges one by one in the
    cell."""
    definition = cell.definition()
    rows = planned_endpoints(definition)
    topics = judged_topics(rows, definition)
    endpoints_of_part: dict[str | None, frozenset[int]] = {
        topic.name: topic.endpoints for topic in topics
    }
    endpoints_of_part[None] = frozenset(row["endpoint"] for row in in_focus(rows, definition))
    limit_of_part = limits_of(limits, topics, workload_limit_names(rows, definition))
    for (topic, metric), most in limit_of_part.items():
        messages = sum(
            endpoint.steady_messages
            for endpoint in cell.endpoints
            if endpoint.endpoint in endpoints_of_part[topic]
            and endpoint.kind in ("subscription", "client")
        )
        if messages and GLOSSARY[metric].kind == "fraction":
            yield messages, most
