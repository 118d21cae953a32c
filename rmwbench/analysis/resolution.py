"""What a design can resolve: the smallest ratio whose interval clears 1, and how many blocks a given ratio needs."""

import math

from scipy import special

HOPELESS_BLOCKS = 100_000


def resolvable_ratio(blocks: int, comparisons: int, sd: float, *, confidence: float = 0.95) -> float:
    """exp(t·sd/√blocks): the smallest ratio that a t interval on block log-ratios can tell from 1.

    `sd` is the standard deviation of the log-ratio from block to block; t with blocks−1 degrees of freedom at 1 −
    (1−confidence)/(2·comparisons) (Bonferroni). 6 blocks, 7 comparisons: 1.20 at sd 0.1, 2.93 at sd 0.6. Infinite below
    two blocks.
    """
    if blocks < 2:
        return math.inf
    t = -float(special.stdtrit(blocks - 1, (1 - confidence) / (2 * max(comparisons, 1))))
    exponent = t * sd / math.sqrt(blocks)
    return math.exp(exponent) if exponent < 700 else math.inf


def blocks_needed(distance: float, sd: float, alpha: float) -> int | None:
    """The smallest n with t(n−1, 1−alpha)·sd/√n ≤ distance (both on the log scale); None where no realistic n does."""
    if distance <= 0:
        return None

    def enough(n: int) -> bool:
        return -float(special.stdtrit(n - 1, alpha)) * sd / math.sqrt(n) <= distance

    if not enough(HOPELESS_BLOCKS):
        return None
    low, high = 2, HOPELESS_BLOCKS
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low
