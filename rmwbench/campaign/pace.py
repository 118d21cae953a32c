"""The number of blocks within a time: a campaign on a slow machine keeps its time by leaving out
whole blocks, but not below the suite's minimum.

The rule depends on the clock alone and is fixed before the first trial, so results do not influence
the number of trials. A resumed campaign has no time limit: it finishes its plan.
"""

import heapq
from collections.abc import Iterable, Sequence

from rmwbench.campaign.plan.plan import Plan

TOLERANCE = 1.25
"""The longest time of a campaign without a budget, as a multiple of its plan."""


def limit_s(plan: Plan) -> float:
    """Return the time that a campaign of this plan may take: its budget, or that of its suite, or
    the plan's estimate with a tolerance."""
    if plan.budget_s is not None:
        return plan.budget_s
    return TOLERANCE * plan.estimated_s if plan.within_s is None else plan.within_s


def has_time(plan: Plan, blocks_done: int, elapsed_s: float, next_s: float | None = None) -> bool:
    """Whether another block may begin after `blocks_done` whole blocks, which took `elapsed_s`
    together. `next_s` is the expected time of the next block, by default the mean so far."""
    if blocks_done < plan.suite.blocks.minimum:
        return True
    return elapsed_s + (elapsed_s / blocks_done if next_s is None else next_s) <= limit_s(plan)


SPOILT_TOLERANCE = 1.5
"""The longest time, as a multiple of its limit, of a campaign that repeats spoilt blocks to reach
the suite's minimum: with fewer blocks a comparison decides nothing."""


def may_repeat(
    plan: Plan, block: int, elapsed_s: float, again_s: float, rest_of_block_s: float
) -> bool:
    """Whether a comparison's part of `block` that the machine spoilt may run again for `again_s`:
    the rest of the block and the suite's minimum of blocks must still fit after it. It may cost a
    later block, which all arms lose."""
    missing = max(0, plan.suite.blocks.minimum - block - 1)
    return elapsed_s + again_s + rest_of_block_s + missing * plan.block_s <= limit_s(plan)


def may_repeat_needed(plan: Plan, elapsed_s: float, again_s: float) -> bool:
    """Whether a block that its comparison cannot spare may be repeated."""
    return elapsed_s + again_s <= SPOILT_TOLERANCE * limit_s(plan)


def spread_s(parts_s: Iterable[float], machines: int, busy_s: Sequence[float] = ()) -> float:
    """Return the seconds until all parts have run, in order, each on the machine that is free
    first. `busy_s` has the remaining seconds of each busy machine."""
    free = [*busy_s, *[0.0] * (machines - len(busy_s))]
    heapq.heapify(free)
    for part_s in parts_s:
        heapq.heappush(free, heapq.heappop(free) + part_s)
    return max(free, default=0.0)
