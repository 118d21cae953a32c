"""Whether a plan has enough blocks and messages for the limits of its suite: a limit that no result
can meet means nothing.

Held against the most blocks that the suite may run and messages that all arrive: what is refused
here stays undecided whatever the middleware does. A short version, or what a budget leaves, may be
too small; then the report says so.
"""

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.stats.intervals import clopper_pearson
from rmwbench.campaign.plan.plan import ComparedCells, Plan
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.errors import UserError
from rmwbench.suite.decidable import DECIDABLE_BLOCKS, messages_needed
from rmwbench.suite.limits import metric_of


def check(plan: Plan, places: Places) -> None:
    """Raises UserError for the first limit of `outcomes` that no number of good blocks can show to
    hold."""
    if plan.suite.outcomes is None or places.shortened:
        return
    blocks = max(plan.blocks, plan.suite.blocks.most)
    if blocks < DECIDABLE_BLOCKS:
        raise UserError(
            "too few blocks to decide what is acceptable, whatever arrives",
            where=places.at("outcomes"),
            expected=f"at least {DECIDABLE_BLOCKS} blocks",
            actual=f"{blocks}",
            fix="raise `blocks`, or leave `outcomes` out",
        )
    for comparison in plan.comparisons:
        if comparison.steady_messages is None:
            continue
        for key, limit in plan.suite.outcomes.acceptable.items():
            needed = _needed(key, limit)
            there = _messages(comparison) * blocks
            if there < needed:
                raise UserError(
                    f"too few messages to decide `{key}` in {comparison.key}, whatever arrives",
                    where=places.at("outcomes", "acceptable", key),
                    expected=f"at least {needed} messages in all blocks",
                    actual=f"{there} in {blocks} blocks",
                    fix="lengthen `steady_s`, add blocks, raise the rate, or loosen the limit",
                )


def _messages(comparison: ComparedCells) -> int:
    """That all readers of a trial may see in its steady state, at most."""
    readers = sum(endpoint.reads for endpoint in comparison.cells[0].endpoints)
    return (comparison.steady_messages or 0) * max(1, readers)


def _needed(key: str, limit: float) -> int:
    """Of a quantile, n with n·(1−q) ≥ 10; of a fraction, the least n whose Clopper-Pearson interval
    of 0 of n ends at the limit."""
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
