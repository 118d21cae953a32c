"""How far the block log-ratios of a report scatter: variances that its comparisons share, and blocks
that resemble their neighbours.

Five blocks give a variance with four degrees of freedom, and the t of four degrees needs an effect
of nine standard errors where a report has a hundred comparisons. The comparisons of one report have
similar variances, so each is moderated by the others: an empirical Bayes prior, scaled inverse χ²
(Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004, §4 and 6.2). The prior counts less than its fit
gives, because pairs that have an arm in common are not independent evidence, and because a prior
that is too sure errs where spreads are very unequal. By how much less was chosen by simulation over
ten laws of noise (tests/simulation/procedures.py, docs/formulas.md).

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
from scipy import special

TRUST = 0.5
"""The share of the prior's fitted degrees of freedom that is used."""
MOST = 3.0
"""The most degrees of freedom of a prior, as a multiple of those of one comparison."""
OWN_LEVEL = 6
"""From this number of arms on, a workload's variances are moderated towards their own level, not
towards the report's."""
LEAST_RATIO = 1e-5
"""Variances below this share of the median are set to it: equal rounded values have a variance of
0, which has no logarithm."""


@dataclass(frozen=True)
class Prior:
    """The evidence of the other comparisons about a comparison's variance; without any, `freedom`
    is 0."""

    variance: float = 1.0
    freedom: float = 0.0

    def moderated(
        self, variance: np.ndarray | float, freedom: np.ndarray | float
    ) -> tuple[np.ndarray | float, np.ndarray | float]:
        """The posterior variance and its degrees of freedom (Smyth, eq. 4)."""
        total = self.freedom + freedom
        weighted = self.freedom * self.variance + freedom * variance
        return np.where(
            np.asarray(total) > 0, weighted / np.maximum(total, 1e-300), variance
        ), total


NO_PRIOR = Prior()


@dataclass(frozen=True)
class Variances:
    """The variance of each comparison of a workload and its degrees of freedom, shape (pairs,), and
    the number of arms."""

    variance: np.ndarray
    freedom: np.ndarray
    arms: int


def priors(workloads: Sequence[Variances]) -> list[Prior]:
    """A prior for each workload of a report. A workload with OWN_LEVEL arms or more has a level of
    its own; all others share a level. How much variances scatter about their level is estimated
    over all levels of a kind. A level from few arms has few degrees of freedom (`room`)."""
    priors_of_workloads = [NO_PRIOR] * len(workloads)
    large = [n for n, w in enumerate(workloads) if w.arms >= OWN_LEVEL]
    rest = [n for n, w in enumerate(workloads) if 2 <= w.arms < OWN_LEVEL]
    own = _fitted([workloads[n] for n in large], [(workloads[n].arms - 1) / 2 for n in large])
    for n, prior in zip(large, own, strict=True):
        priors_of_workloads[n] = prior
    contrasts = sum(workloads[n].arms - 1 for n in rest)
    if rest and contrasts > 4:
        together = Variances(
            np.concatenate([workloads[n].variance for n in rest]),
            np.concatenate([workloads[n].freedom for n in rest]),
            contrasts,
        )
        (prior,) = _fitted([together], [(contrasts - 4) / 4])
        for n in rest:
            priors_of_workloads[n] = prior
    return priors_of_workloads


def prior_of(variance: np.ndarray, freedom: np.ndarray) -> Prior:
    """The prior of variances that have nothing in common, shape (n,): rows of a table, cells of a
    campaign."""
    independent = Variances(variance, freedom, len(variance))
    return _fitted([independent], [(len(variance) - 4) / 4])[0] if len(variance) > 4 else NO_PRIOR


def _fitted(levels: Sequence[Variances], room: Sequence[float]) -> list[Prior]:
    """Priors from moments of the log variances (Smyth, §6.2): their mean at each level gives the
    prior's variance; their scatter about the mean, beyond the scatter that the degrees of freedom
    explain, gives the prior's freedom."""
    usable = [_usable(level) for level in levels]
    scattered = sum(float(((e - e.mean()) ** 2).sum()) for e, _ in usable if len(e))
    free = sum(max(len(e) - 1, 0) for e, _ in usable)
    if free < 2:
        return [NO_PRIOR] * len(levels)
    explained = float(np.concatenate([special.polygamma(1, d / 2) for _, d in usable]).mean())
    excess = scattered / free - explained
    fitted = 2 * _trigamma_inverse(excess) if excess > 0 else math.inf
    fitted_priors = []
    for (e, d), most in zip(usable, room, strict=True):
        if not len(e) or most <= 0:
            fitted_priors.append(NO_PRIOR)
            continue
        middle = float(np.median(d))
        finite = math.isfinite(fitted)
        shift = float(special.digamma(fitted / 2)) - math.log(fitted / 2) if finite else 0.0
        freedom = min(TRUST * fitted, min(MOST, most) * middle)
        fitted_priors.append(Prior(math.exp(float(e.mean()) + shift), freedom))
    return fitted_priors


def _usable(level: Variances) -> tuple[np.ndarray, np.ndarray]:
    """Log variances without the bias of their degrees of freedom, and the degrees of freedom; empty
    where most variances are 0."""
    usable = (level.freedom > 0) & np.isfinite(level.variance)
    variance, d = level.variance[usable], level.freedom[usable].astype(float)
    middle = float(np.median(variance)) if len(variance) else 0.0
    if not middle > 0:
        return np.zeros(0), np.zeros(0)
    z = np.log(np.maximum(variance, LEAST_RATIO * middle))
    return z - special.digamma(d / 2) + np.log(d / 2), d


def _trigamma_inverse(x: float) -> float:
    """Newton's method on 1/trigamma, which is nearly a line (Smyth, appendix)."""
    if x < 1e-6:
        return 1 / x
    y = 0.5 + 1 / x
    for _ in range(50):
        value = float(special.polygamma(1, y))
        step = value * (1 - value / x) / float(special.polygamma(2, y))
        y += step
        if abs(step) < 1e-8 * y:
            break
    return y


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
        """The variance of a mean over `blocks` blocks ÷ the variance that their scatter gives."""
        if not self.inflates or blocks < 2:
            return 1.0
        return _factor(self.used, blocks)

    def freedom_factor(self) -> float:
        """The share of degrees of freedom that is left to the variance: (1 − ρ²)/(1 + ρ²)
        (Bartlett, J. R. Stat. Soc. 98, 1935)."""
        if not self.inflates:
            return 1.0
        return (1 - self.used**2) / (1 + self.used**2)


NO_LIKENESS = Likeness()


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
        return NO_LIKENESS
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
