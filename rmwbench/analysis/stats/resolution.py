"""The resolution of a design: the ratio that it finds with 95 % power, and the blocks that a ratio
needs.

The half-width of an interval is no resolution: a true ratio of that size is found in only half of
the campaigns. A ratio is found by the verdict's own rule (verdict.py): the one-sided t test on
block log-ratios beyond the A/A noise, at the level that the arm has at the first step of Holm's
procedure, and an estimate beyond the margin. `shared_freedom`: the degrees of freedom that the
report's other comparisons add (variances.py). The level of the first step is the worst that an arm
can meet, so the power holds whatever the other arms do. Simulated in tests/simulation."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

POWER = 0.95
HOPELESS_BLOCKS = 100_000
_LARGEST_LOG = 700.0


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The bounds that a claim has to clear, and its degrees of freedom besides its own blocks."""

    alpha: float = 0.05
    margin: float = 0.05
    aa_floor: float = 0.0
    shared_freedom: float = 0.0


_USUAL = Threshold()


def comparisons(contenders: int, in_report: int, *, lossy: bool = False) -> int:
    """How many one-sided tests share alpha for one arm at the first step: its k − 1 rivals times
    all contenders of the report's workloads together (`best.judge`); twice as many in a workload
    with loss.
    """
    return max(contenders - 1, 1) * max(in_report, contenders, 1) * (2 if lossy else 1)


def power_worse(
    ratio: float, blocks: int, sd: float, comparisons: int, threshold: Threshold = _USUAL
) -> float:
    """Probability that one rival alone convicts an arm whose true ratio to it is `ratio`.

    The estimate is normal with sd/√n and independent of the estimated spread s (n − 1 degrees of
    freedom), so it is P(mean > max(log(1 + margin), log(1 + floor) + t·s/√n)), averaged over s: at
    no margin and floor the power of the noncentral t.
    """
    if blocks < 2:
        return 0.0
    error, half = _error(blocks, sd, comparisons, threshold)
    least = np.maximum(math.log1p(threshold.margin), math.log1p(threshold.aa_floor) + half)
    return _above(math.log(ratio) - least, error)


def power_equivalent(
    ratio: float, blocks: int, sd: float, comparisons: int, threshold: Threshold = _USUAL
) -> float:
    """Probability that an arm whose true ratio to one rival is `ratio` is shown not to be slower by
    more than the margin; `comparisons` here are the contenders of the report (no rivals: it must
    hold against all of them).
    """
    if blocks < 2:
        return 0.0
    error, half = _error(blocks, sd, comparisons, threshold)
    return _above(math.log1p(threshold.margin) - half - math.log(ratio), error)


def _error(
    blocks: int, sd: float, comparisons: int, threshold: Threshold
) -> tuple[float, np.ndarray]:
    """The standard error of a mean log-ratio, and how far its one-sided interval reaches, for each
    of the estimated spreads that `_spreads` gives."""
    freedom, error = blocks - 1 + threshold.shared_freedom, sd / math.sqrt(blocks)
    t = -float(special.stdtrit(freedom, threshold.alpha / comparisons))
    return error, t * _spreads(round(freedom, 1)) * error


def resolvable_ratio(
    blocks: int, comparisons: int, sd: float, threshold: Threshold = _USUAL
) -> float:
    """The smallest true ratio that is declared with probability POWER. `sd`: of the log-ratio from
    block to block, known. 6 blocks, 42 comparisons (7 contenders alone): 1.43 at sd 0.1, 8.7 at sd
    0.6. Infinite below two blocks.
    """
    if blocks < 2:
        return math.inf

    def power(log: float) -> float:
        return power_worse(math.exp(log), blocks, sd, comparisons, threshold)

    if not threshold.alpha > 0 or power(_LARGEST_LOG) < POWER:
        return math.inf
    low, high = 0.0, _LARGEST_LOG
    while high - low > 1e-9 + 1e-7 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return math.exp(high)


def blocks_for(
    ratio: float, sd: float, comparisons: int, threshold: Threshold = _USUAL, *, least: int = 2
) -> int | None:
    """The smallest number of blocks that declares a true `ratio` with probability POWER; None where
    no realistic number does (the ratio is at the margin).

    `sd` counts as known. Where it was estimated, give its `sd_upper`: then the power holds on
    average over pilots too."""
    if (
        math.log(ratio) <= math.log1p(max(threshold.margin, threshold.aa_floor))
        or not threshold.alpha > 0
    ):
        return None
    return _smallest(
        lambda n: power_worse(ratio, n, sd, comparisons, threshold) >= POWER,
        least,
        max(
            _guess(math.log(ratio / (1 + threshold.aa_floor)), sd, threshold.alpha / comparisons),
            _guess(math.log(ratio / (1 + threshold.margin)), sd, 0.5),
        ),
    )


def blocks_for_equivalence(
    ratio: float, sd: float, comparisons: int, threshold: Threshold = _USUAL, *, least: int = 2
) -> int | None:
    """As `blocks_for`, for showing that a true ratio below the margin is below it."""
    if math.log(ratio) >= math.log1p(threshold.margin) or not threshold.alpha > 0:
        return None
    return _smallest(
        lambda n: power_equivalent(ratio, n, sd, comparisons, threshold) >= POWER,
        least,
        _guess(math.log((1 + threshold.margin) / ratio), sd, threshold.alpha / comparisons),
    )


def sd_upper(sd: float, freedom: float, confidence: float = 0.8) -> float:
    """The value that the true standard deviation exceeds only with probability 1 − confidence,
    given an estimate: χ² (Browne, The American Statistician 49, 1995, plans sample sizes from
    pilots in this way). For a pilot of 5 blocks it is 1.56 times the estimate."""
    return sd * math.sqrt(freedom / float(special.chdtri(freedom, confidence)))


def _smallest(enough: Callable[[int], bool], least: int, guess: float) -> int | None:
    """The smallest n ≥ least with enough(n), which grows with n; searched outwards from a guess."""
    if not guess < HOPELESS_BLOCKS:
        return None
    low = high = max(least, math.floor(guess))
    step = 1
    while high > least and enough(high):  # the answer is at most `high`: go down
        low, high = max(least, high - step), high
        if not enough(low):
            break
        high, step = low, 2 * step
    else:
        while not enough(high):
            low, high, step = high + 1, min(high + step, HOPELESS_BLOCKS), 2 * step
            if low > HOPELESS_BLOCKS:
                return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _guess(distance: float, sd: float, level: float) -> float:
    """The number of blocks if the spread were known: (z_level + z_power)²·sd²/distance², a lower
    bound of the number that t needs."""
    if distance <= 0:
        return math.inf
    return ((float(special.ndtri(level)) + float(special.ndtri(1 - POWER))) * sd / distance) ** 2


_STEPS = (np.arange(200) + 0.5) / 200
_NORMAL = special.ndtri(_STEPS)


@functools.lru_cache(maxsize=1024)
def _spreads(freedom: float) -> np.ndarray:
    """s/σ at 200 equal steps of its distribution, √(χ²/ν): averages over it are exact to about
    0.001. From 100 degrees on by Wilson & Hilferty (PNAS 17, 1931), as exact there and a hundred
    times faster.
    """
    spreads: np.ndarray
    if freedom < 100:
        spreads = np.sqrt(special.chdtri(freedom, 1 - _STEPS) / freedom)
    else:
        spreads = (1 - 2 / (9 * freedom) + _NORMAL * math.sqrt(2 / (9 * freedom))) ** 1.5
    return spreads


def _above(distance: np.ndarray, error: float) -> float:
    if error == 0:
        return float((distance > 0).mean())
    chances = special.ndtr(distance / error)
    # as `mean` adds, which is slow to begin
    return float(np.add.reduce(chances)) / len(chances)
