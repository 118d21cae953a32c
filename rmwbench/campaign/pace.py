"""Fewer blocks on a slower machine: a campaign keeps its promise of time by leaving out whole
blocks, never below the suite's minimum.

The rule looks at the clock alone and is fixed before the first trial, so what the trials found
cannot decide how many there are. A resumed campaign has no promise left to keep: it finishes its
plan.
"""

import heapq
from collections.abc import Iterable, Sequence

from rmwbench.campaign.plan.plan import Plan

TOLERANCE = 1.25
"""How much longer than its plan a campaign without a budget may take before it leaves blocks
out."""


def limit_s(plan: Plan) -> float:
    """The time that a campaign of this plan may take: its budget, or that of its suite, or the
    plan's estimate with some tolerance."""
    if plan.budget_s is not None:
        return plan.budget_s
    return TOLERANCE * plan.estimated_s if plan.within_s is None else plan.within_s


def has_time(plan: Plan, blocks_done: int, elapsed_s: float, next_s: float | None = None) -> bool:
    """Whether another block may begin after `blocks_done` whole blocks, which took `elapsed_s`
    together. `next_s`: what the next one is expected to take, where decided arms have left; as the
    mean of those before where None."""
    if blocks_done < plan.suite.blocks.minimum:
        return True
    return elapsed_s + (elapsed_s / blocks_done if next_s is None else next_s) <= limit_s(plan)


SPOILT_TOLERANCE = 1.5
"""How much longer than its limit a campaign may take for blocks that the machine spoilt and without
which a comparison falls below the suite's minimum of blocks: it would decide nothing, and all of
the time would have been in vain."""


def may_repeat(
    plan: Plan, block: int, elapsed_s: float, again_s: float, rest_of_block_s: float
) -> bool:
    """Whether a comparison's part of `block` that the machine spoilt may run again for `again_s`:
    only while the rest of the block and the suite's minimum of blocks still fit behind it. It may
    cost a later block, which every arm loses alike.
    """
    missing = max(0, plan.suite.blocks.minimum - block - 1)
    return elapsed_s + again_s + rest_of_block_s + missing * plan.block_s <= limit_s(plan)


def may_repeat_needed(plan: Plan, elapsed_s: float, again_s: float) -> bool:
    """Whether a block that its comparison cannot spare may be repeated."""
    return elapsed_s + again_s <= SPOILT_TOLERANCE * limit_s(plan)


def spread_s(parts_s: Iterable[float], machines: int, busy_s: Sequence[float] = ()) -> float:
    """The seconds until all parts have run, in order, each on the machine that is free first;
    `busy_s` is what those machines still need that run something now."""
    free = [*busy_s, *[0.0] * (machines - len(busy_s))]
    heapq.heapify(free)
    for part_s in parts_s:
        heapq.heappush(free, heapq.heappop(free) + part_s)
    return max(free, default=0.0)
