"""Blocks that resemble their neighbours: how much, and how that affects variances.

An effect of a block on all arms alike cancels in their ratios. An effect on one arm that lasts into
the next block does not: then the blocks are worth less than their number, and the variance between
them is too small for the same reason. Both are known for a first-order autoregression, whose one
number is estimated over all arms of a report together; in a workload with many blocks it is no
larger than these blocks allow, since five blocks of a camera say little beside eleven of an IMU."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

LEAST_BLOCKS = 5
LEAST_WORTH = 40
"""Blocks times contrasts from which on the correlation is known well enough to be used below FEW
blocks."""
FEW = 8
GATE = 1.28
"""A correlation, in standard errors, that chance exceeds in one campaign of ten."""


@dataclass(frozen=True)
class Likeness:
    """`lag_one`: the mean correlation of neighbouring blocks over `blocks` blocks, None where these
    are too few; `error`: the standard error of a `correlation` of 0. `usable`: whether blocks and
    arms are enough to use the correlation; `inflates`: whether variances are multiplied for the
    correlation, whose value is `used` then."""

    lag_one: float | None = None
    blocks: int = 0
    error: float | None = None
    usable: bool = False
    inflates: bool = False
    used: float = 0.0

    @property
    def correlation(self) -> float | None:
        """The correlation from block to block of an arm's own deviations, without its bias. It is
        no field, since its simulation takes longer than all tests of a claim, and most claims do
        not need it."""
        if self.lag_one is None:
            return None
        least = -1 / self.blocks  # the expectation without any correlation
        if self.lag_one <= least:
            return max(self.lag_one - least, -1.0)
        rho, expected = _expected(self.blocks)
        return float(np.interp(self.lag_one, expected, rho))

    def variance_factor(self, blocks: int) -> float:
        """By how much the variance of a mean over so many blocks exceeds the variance that their
        scatter gives."""
        if not self.inflates or blocks < 2:
            return 1.0
        return _factor(self.used, blocks)

    def freedom_factor(self) -> float:
        """The share of degrees of freedom that is left to the variance: (1 − ρ²)/(1 + ρ²)
        (Bartlett, J. R. Stat. Soc. 98, 1935)."""
        if not self.inflates:
            return 1.0
        return (1 - self.used**2) / (1 + self.used**2)


NONE = Likeness()


def likenesses(workloads: Sequence[np.ndarray], pooled: Likeness) -> list[Likeness]:
    """The likeness of each of a report's workloads: the likeness of the whole report, but no more
    than GATE errors above the workload's own where its own blocks and arms are enough. (Its own
    alone would miss real likeness too often: of reports of three workloads whose blocks resemble
    each other by 0.3, 21 % claimed something false, and 6 % with the likeness of the report.)"""
    if not pooled.inflates:
        return [pooled] * len(workloads)
    return [_bounded(pooled, likeness([logs])) for logs in workloads]


def _bounded(pooled: Likeness, own: Likeness) -> Likeness:
    if not own.usable or own.correlation is None or own.error is None:
        return pooled
    most = max(own.correlation + GATE * own.error, 0.0)
    return replace(pooled, used=min(pooled.used, most))


def likeness(workloads: Sequence[np.ndarray]) -> Likeness:
    """The likeness of blocks, from log values of shape (arms, blocks) per workload, as far as they
    have every arm in every block (`_whole`).

    The mean over arms of Σ e(t)·e(t+1) / Σ e(t)², e without the means of its block and of its arm.
    Its expectation under an autoregression of n blocks is inverted; under none it is −1/n exactly,
    and its standard error about 1/√(n·m), m the contrasts. It inflates where it exceeds GATE such
    errors, from FEW blocks on, or where n·m reaches LEAST_WORTH; then it is shrunk by the share
    that chance explains, 1/z² for z such errors (James and Stein, 1961, in its positive part). Two
    arms of eight blocks look as alike as 0.9 by chance now and then; many arms show the correlation
    well and are hardly shrunk.
    """
    correlations, contrasts, blocks = [], 0, []
    for logs in workloads:
        whole = _whole(logs)
        if whole is None:
            continue
        e = whole - whole.mean(0)
        e = e - e.mean(1, keepdims=True)
        squares = (e**2).sum(1)
        if (squares > 1e-20).any():
            correlations.append(
                ((e[:, 1:] * e[:, :-1]).sum(1) / np.maximum(squares, 1e-300))[squares > 1e-20]
            )
            contrasts += whole.shape[0] - 1
            blocks.append(whole.shape[1])
    if not correlations:
        return NONE
    n, lag_one = int(np.median(blocks)), float(np.concatenate(correlations).mean())
    error = 1 / math.sqrt(n * contrasts)
    usable = n >= FEW or n * contrasts >= LEAST_WORTH
    z = (lag_one + 1 / n) / error
    alike = Likeness(lag_one, n, error, usable, inflates=usable and z > GATE)
    if not alike.inflates or alike.correlation is None:
        return alike
    return replace(alike, used=alike.correlation * (1 - z**-2))


def _whole(logs: np.ndarray) -> np.ndarray | None:
    """The arms and blocks without a gap that have the most information, blocks times contrasts: an
    arm that was decided and left, or that lost its messages in some blocks, takes no block from the
    other arms. None where no two arms have LEAST_BLOCKS."""
    if logs.ndim < 2 or logs.shape[0] < 2:
        return None
    finite = np.isfinite(logs)
    order = np.argsort(-finite.sum(1), kind="stable")
    blocks = np.logical_and.accumulate(finite[order], axis=0).sum(1)
    arms = np.arange(1, len(order) + 1)
    worth = np.where((blocks >= LEAST_BLOCKS) & (arms >= 2), blocks * (arms - 1), 0)
    if not worth.any():
        return None
    rows = np.sort(order[: int(worth.argmax()) + 1])
    complete: np.ndarray = logs[rows][:, finite[rows].all(0)]
    return complete


@functools.lru_cache(maxsize=64)
def _expected(blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlations from 0 to 0.98, and the mean estimate of `likeness` for each, from simulated
    series with a fixed seed, because the mean of a quotient is not the quotient of means where
    series are short. All series have the same noise, so that the mean grows with the
    correlation."""
    rho = np.linspace(0, 0.98, 50)
    # A block of all series is one row: each step walks through memory in order.
    noise = np.random.default_rng(21).standard_normal((_SERIES, blocks)).T.copy()
    means = []
    for r in rho:
        x = noise.copy()
        x[1:] *= math.sqrt(1 - r * r)
        for block in range(1, blocks):
            x[block] += r * x[block - 1]
        x -= x.mean(0)
        means.append(float(((x[1:] * x[:-1]).sum(0) / (x**2).sum(0)).mean()))
    return rho, np.maximum.accumulate(np.array(means) - means[0] - 1 / blocks)


_SERIES = 4000


@functools.lru_cache(maxsize=1024)
def _factor(rho: float, n: int) -> float:
    """Var(mean)·n/E[s²] of an autoregression: a(n − 1)/(n − a), a the sum of its correlations over
    n."""
    lags = np.arange(1, n)
    a = 1 + 2 * float(((1 - lags / n) * rho**lags).sum())
    return a * (n - 1) / (n - a)
