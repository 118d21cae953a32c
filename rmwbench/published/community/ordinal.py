"""Answers on an ordered scale: compared by order alone, because "agree" is not twice "disagree".

An array of counts per level, lowest level first, is all that is needed: shape (levels,).
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from rmwbench.analysis.stats.estimate import rank
from rmwbench.analysis.stats.intervals import order_statistic

Answers = Sequence[int] | np.ndarray
EXACT_BELOW = 20
"""With fewer answers in the smaller group p is exact, with more a normal approximation."""


def median(counts: Sequence[int], confidence: float = 0.95) -> tuple[int, int, int]:
    """(median, low, high) as levels from 0: the lower median and its distribution-free interval by
    order statistics; where answers are too few for an end, that is the end of the scale. ValueError
    without answers.
    """
    ends = np.cumsum(counts)
    n = int(ends[-1])
    if not n:
        raise ValueError("a median of no answers")

    def at(place: int) -> int:
        return int(np.searchsorted(ends, place, side="right"))

    tail = (1 - confidence) / 2
    low, high = order_statistic(at, n, 0.5, confidence)
    if special.bdtr(0, n, 0.5) > tail:
        low = 0
    return at(rank(n, 0.5)), int(low), len(ends) - 1 if math.isinf(high) else int(high)


def mann_whitney(a: Answers, b: Answers) -> tuple[float, str] | None:
    """(two-sided p, method) of "neither group tends to answer higher"; None where all answers are
    the same or a group has none.

    Mann and Whitney (Ann. Math. Stat. 18, 1947) with ties: exact, given the ties, when the smaller
    group has fewer than EXACT_BELOW answers; else normal with the ties' variance and a continuity
    correction (Lehmann, Nonparametrics, 1975, §1.4).
    """
    a, b = np.asarray(a, int), np.asarray(b, int)
    m, n, totals = int(a.sum()), int(b.sum()), a + b
    if not m or not n or np.count_nonzero(totals) < 2:
        return None
    below = np.concatenate([[0], np.cumsum(totals)[:-1]])
    twice_rank = 2 * below + totals + 1  # twice the mid-rank: a whole number
    # twice the distance of a's rank sum from its expectation
    off = abs(int(a @ twice_rank) - m * (m + n + 1))
    if min(m, n) < EXACT_BELOW:
        return _exact(totals, twice_rank, m, n, off), "exact, given the ties"
    total = m + n
    ties = float((totals.astype(float) ** 3 - totals).sum())
    deviation = math.sqrt(m * n / 12 * (total + 1 - ties / (total * (total - 1))))
    p = 2 * float(special.ndtr(-max(off / 2 - 0.5, 0.0) / deviation))
    return min(1.0, p), "normal approximation, ties and continuity corrected"


def _exact(totals: np.ndarray, twice_rank: np.ndarray, m: int, n: int, off: int) -> float:
    """The share of all ways to draw m of the answers whose rank sum is as far from its expectation
    or farther."""
    least = min(m, n)  # both groups' distances are equal, so the smaller one is drawn
    size = int(2 * (m + n) * least + 1)
    ways = np.zeros((least + 1, size))
    ways[0, 0] = 1.0
    for count, step in zip(totals.tolist(), twice_rank.tolist(), strict=True):
        new = ways.copy()
        for drawn in range(1, min(count, least) + 1):
            shift = drawn * step
            new[drawn:, shift:] += special.comb(count, drawn) * ways[:-drawn, : size - shift]
        ways = new
    sums = ways[least]
    distance = np.abs(np.arange(size) - least * (m + n + 1))
    return min(1.0, float(sums[distance >= off].sum() / sums.sum()))


def cliffs_delta(a: Answers, b: Answers) -> tuple[float, float, float]:
    """(delta, low, high): how much likelier an answer of `a` is above one of `b` than below it,
    from −1 to 1, with its 95 % interval.

    Cliff (Psychol. Bull. 114, 1993), the asymmetric interval with the unbiased variance of Feng and
    Cliff (J. Mod. Appl. Stat. Methods 3, 2004). Raises ValueError with fewer than two answers in a
    group.
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    m, n = a.sum(), b.sum()
    if m < 2 or n < 2:
        raise ValueError("a difference needs two answers in each group")
    sign = np.sign(np.subtract.outer(np.arange(len(a)), np.arange(len(b))))
    of_a, of_b = sign @ b / n, a @ sign / m
    delta = float(a @ of_a / m)
    z = float(special.ndtri(0.975))
    if abs(delta) == 1:
        inner = (min(m, n) - z * z) / (min(m, n) + z * z)
        return (delta, float(inner), 1.0) if delta > 0 else (delta, -1.0, float(-inner))
    spread = n * n * float(a @ (of_a - delta) ** 2) + m * m * float(b @ (of_b - delta) ** 2)
    spread -= float(a @ (sign - delta) ** 2 @ b)
    variance = max(spread / (m * n * (m - 1) * (n - 1)), (1 - delta**2) / (m * n - 1))
    half = z * math.sqrt(variance) * math.sqrt((1 - delta**2) ** 2 + z * z * variance)
    scale = 1 - delta**2 + z * z * variance
    low, high = ((delta - delta**3 + side) / scale for side in (-half, half))
    return delta, max(-1.0, float(low)), min(1.0, float(high))


def holm(p: Sequence[float | None]) -> list[float | None]:
    """p values adjusted for their number (Holm, Scand. J. Stat. 6, 1979): below alpha exactly where
    his procedure rejects at alpha. None stays None and does not count.
    """
    order = sorted((value, place) for place, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    largest = 0.0
    for done, (value, place) in enumerate(order):
        largest = max(largest, min(1.0, value * (len(order) - done)))
        adjusted[place] = largest
    return adjusted
