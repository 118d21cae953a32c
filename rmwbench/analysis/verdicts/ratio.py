"""Block ratios: arms are compared within blocks only, because a block shares the machine's state.
Values without a ratio, infinite ones or 0, still have an order: by the signs of blocks, or by the
ranks of trials."""

import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from rmwbench.analysis.verdicts.ranking_words import TIME, RankingWords
from rmwbench.analysis.verdicts.verdict import BlockRatio, JudgedArm, NoRatio
from rmwbench.words.numbers import counted

FLIPS = 20_000
Bounds = Mapping[int, float]
"""Block -> how far a value may be from the truth for the clocks of two hosts; a block that is
absent has 0."""


def ratio(
    i: Mapping[int, float],
    j: Mapping[int, float],
    *,
    bounds: tuple[Bounds, Bounds] = ({}, {}),
    order: RankingWords = TIME,
) -> BlockRatio | NoRatio:
    """The geometric mean of i/j over common blocks, with the 95 % t interval on the logarithms,
    which is at least as wide as the steps of a coarse clock make it. The `bounds` of i and j widen
    it. `order` has the words for a value without a ratio."""
    blocks = sorted(set(i) & set(j))
    if len(blocks) < 2:
        return NoRatio(no_data=f"{have_both(len(blocks))}, 2 are needed")
    a, b = (np.array([x[k] for k in blocks], float) for x in (i, j))
    if not have_ratios(a, b):
        return without_ratio(a, b, order)
    logs = np.log(a / b)
    half = half_width(max(standard_error(logs), rounding_error(a, b)), len(logs) - 1, 0.025)
    of_i, of_j = (np.array([side.get(block, 0.0) for block in blocks]) for side in bounds)
    clocks = shifts(a, b, (of_i, of_j))
    return ratio_of_logs(float(logs.mean()), half, clocks, len(logs))


def half_width(error: float, freedom: float, level: float) -> float:
    """How far the t interval at a one-sided level reaches from the mean; infinite at level 0."""
    if not level > 0:
        return math.inf
    return -float(special.stdtrit(freedom, level)) * error if error > 0 else 0.0


def ratio_of_logs(
    mean: float,
    half: float,
    clocks: tuple[float, float],
    blocks: int,
    caution: str | None = None,
) -> BlockRatio:
    """The ratio of a mean log-ratio with its interval; `clocks`: by how much the mean may be too
    large and too small for the hosts' clocks (`shifts`)."""
    excess, shortfall = clocks
    low, high = math.exp(mean - half - excess), bounded_exp(mean + half + shortfall)
    return BlockRatio(math.exp(mean), low, high, blocks, caution)


def have_both(blocks: int) -> str:
    """`1 block has both`, `4 blocks have both`."""
    return f"{counted(blocks, 'block')} {'has' if blocks == 1 else 'have'} both"


def have_ratios(*samples: np.ndarray) -> bool:
    """Whether all values are finite and larger than 0."""
    return all(((x > 0) & np.isfinite(x)).all() for x in samples)


def without_ratio(i: np.ndarray, j: np.ndarray, order: RankingWords) -> NoRatio:
    """Why two samples of the same blocks have no ratio, shapes (n,)."""
    both = np.stack([i, j])
    without = (~np.isfinite(both) | ~(both > 0)).any(axis=0)
    return no_ratio(int(without.sum()), len(without), order, zero=not both.all())


def no_ratio(without: int, blocks: int, order: RankingWords, *, zero: bool) -> NoRatio:
    """Why there is no ratio over `blocks` blocks, `without` of which have none. `zero`: whether a
    value of the metric is 0."""
    why = (
        "a value is 0 or infinite: that has no ratio"
        if zero
        else f"{order.why_infinite('the quantile')}, or a trial failed: an infinite value has no "
        "ratio"
    )
    return NoRatio(no_data=f"in {without} of {blocks} blocks {why}")


def shifts(
    i: np.ndarray, j: np.ndarray, bounds: tuple[np.ndarray | float, np.ndarray | float]
) -> tuple[float, float]:
    """By how much the hosts' clocks may have made the mean of log i − log j too large and too
    small, shapes (n,); infinite where a value is not larger than its bound. No number of blocks
    averages the error out."""
    shares = [bound / x for x, bound in zip((i, j), bounds, strict=True)]
    with np.errstate(divide="ignore"):
        down = [float(-np.log(np.maximum(1 - share, 0.0)).mean()) for share in shares]
    up = [float(np.log1p(share).mean()) for share in shares]
    return down[0] + up[1], up[0] + down[1]


NOT_INTERLEAVED = (
    "the two campaigns were not interleaved, and how much this machine differs between campaigns "
    "is not known: the interval holds for these two, a difference may be the day's"
)


def sign_flip(logs: np.ndarray) -> float | None:
    """Two-sided p of the sign-flip test of mean(logs) = 0, shape (n,): a check on the t interval
    that assumes symmetry only. None below n = 10.

    All 2^n flips up to n = 14, beyond that FLIPS random ones of a fixed seed.
    """
    n = len(logs)
    if n < 10:
        return None
    means = np.abs(_flips(n) @ logs) / n
    return float(
        (np.count_nonzero(means >= abs(logs.mean()) - 1e-12) + (n > 14)) / (len(means) + (n > 14))
    )


@functools.lru_cache(maxsize=16)
def _flips(n: int) -> np.ndarray:
    """Signs, shape (flips, n). They are the same for all pairs of a report, since drawing them
    costs more than using them."""
    if n <= 14:
        return 1.0 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    return np.random.default_rng(20).choice([-1.0, 1.0], (FLIPS, n))


def spread(workload: Sequence[JudgedArm]) -> float | None:
    """The typical standard deviation of a block log-ratio between contenders: the median over their
    pairs. None without two arms and two blocks.
    """
    arms = [a for a in workload if not a.floor]
    spreads = []
    for n, i in enumerate(arms):
        for j in arms[n + 1 :]:
            logs = [
                math.log(i.primary[b] / j.primary[b])
                for b in set(i.primary) & set(j.primary)
                if 0 < i.primary[b] < math.inf and 0 < j.primary[b] < math.inf
            ]
            if len(logs) > 1:
                spreads.append(float(np.std(logs, ddof=1)))
    return float(np.median(spreads)) if spreads else None


def standard_error(logs: np.ndarray) -> float:
    """The standard error of the mean of block log-ratios, shape (n,); infinite for fewer than
    two."""
    return float(logs.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf


def bounded_exp(x: float) -> float:
    """e to the x, infinite where a float cannot hold it."""
    return math.exp(x) if x < 700 else math.inf


def rounding_variance(values: np.ndarray) -> np.ndarray:
    """The variance of the logarithm of each value, where a coarse clock rounded all values to
    multiples of a quantum q (the least distance of two values): q²/12·1/x² (Sheppard); otherwise 0.
    Same shape; nan, which is no trial, infinite values and 0 have 0."""
    variance = np.zeros(values.shape)
    positive = np.isfinite(values) & (values > 0)
    x = values[positive]
    steps = np.diff(np.sort(x))
    steps = steps[steps > 0]
    if len(steps) and np.abs(x / steps.min() - np.rint(x / steps.min())).max() <= 0.01:
        variance[positive] = (steps.min() / x) ** 2 / 12
    return variance


def rounding_error(a: np.ndarray, b: np.ndarray) -> float:
    """The least standard error of the mean log-ratio of two samples of values. It is not divided by
    the number of blocks, because the rounding is the same in all blocks where these scatter by less
    than the quantum. Without it a few equal ratios would count as certain."""
    variance = rounding_variance(np.concatenate([a, b]))
    return math.sqrt(variance[: len(a)].mean() + variance[len(a) :].mean())


Bound = np.ndarray | float
"""How far values may be from the truth for the clocks of two hosts: one number each, or one for
all."""


def p_of_signs(
    x: np.ndarray, y: np.ndarray, least: float, bounds: tuple[Bound, Bound] = (0.0, 0.0)
) -> float:
    """One-sided p of "x is not larger than y" by the signs of the same blocks, shape (n,), nan: no
    trial. `least`: the ratio minus 1 that matters; `bounds`: of x and of y.

    A block in which neither is larger beyond both bounds is a tie and counts for neither side, as
    in any sign test; so does a block in which both are infinite or both are 0. As with a ratio, a
    claim needs an estimate beyond `least` too: the median, so p is 1 unless x is larger in more
    than half of the blocks that have a ratio."""
    of_x, of_y = bounds
    with np.errstate(invalid="ignore", divide="ignore"):
        more = np.count_nonzero(_larger(x, y, least, of_x, of_y))
        less = np.count_nonzero(_larger(y, x, least, of_y, of_x))
        blocks = np.count_nonzero(~np.isnan(x / y))
    return float(special.bdtrc(more - 1, more + less, 0.5)) if 2 * more > blocks else 1.0


def p_of_ranks(
    x: np.ndarray, y: np.ndarray, least: float, bounds: tuple[Bound, Bound] = (0.0, 0.0)
) -> float:
    """As `p_of_signs`, by the ranks of trials that share no blocks (Mann & Whitney): x is taken
    smaller, and y larger, by the difference that is no evidence."""
    from scipy.stats import mannwhitneyu  # half a second to import, and rarely needed

    of_x, of_y = bounds
    return float(mannwhitneyu(x - of_x, (y + of_y) * (1 + least), alternative="greater").pvalue)


def _larger(x: np.ndarray, y: np.ndarray, least: float, of_x: Bound, of_y: Bound) -> np.ndarray:
    """Whether each x exceeds its y by more than `least`, even if both are wrong by their bounds."""
    larger: np.ndarray = x - of_x > (y + of_y) * (1 + least)
    return larger
