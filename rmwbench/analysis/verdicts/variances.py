"""Variances that comparisons share.

Five blocks give a variance with four degrees of freedom, and the t of four degrees needs an effect
of nine standard errors where a report has a hundred comparisons. The comparisons of one report have
similar variances, so each is moderated by the others: an empirical Bayes prior, scaled inverse χ²
(Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004, §4 and 6.2). The prior counts less than its fit
gives, because pairs that have an arm in common are not independent evidence, and because a prior
that is too sure errs where spreads are very unequal. By how much less was chosen by simulation over
ten laws of noise (tests/simulation/procedures.py, docs/formulas.md)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


NOTHING = Prior()


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
    each = [NOTHING] * len(workloads)
    large = [n for n, w in enumerate(workloads) if w.arms >= OWN_LEVEL]
    rest = [n for n, w in enumerate(workloads) if 2 <= w.arms < OWN_LEVEL]
    own = _fitted([workloads[n] for n in large], [(workloads[n].arms - 1) / 2 for n in large])
    for n, prior in zip(large, own, strict=True):
        each[n] = prior
    contrasts = sum(workloads[n].arms - 1 for n in rest)
    if rest and contrasts > 4:
        together = Variances(
            np.concatenate([workloads[n].variance for n in rest]),
            np.concatenate([workloads[n].freedom for n in rest]),
            contrasts,
        )
        (prior,) = _fitted([together], [(contrasts - 4) / 4])
        for n in rest:
            each[n] = prior
    return each


def prior_of(variance: np.ndarray, freedom: np.ndarray) -> Prior:
    """The prior of variances that have nothing in common, shape (n,): rows of a table, cells of a
    campaign."""
    independent = Variances(variance, freedom, len(variance))
    return _fitted([independent], [(len(variance) - 4) / 4])[0] if len(variance) > 4 else NOTHING


def _fitted(levels: Sequence[Variances], room: Sequence[float]) -> list[Prior]:
    """Priors from moments of the log variances (Smyth, §6.2): their mean at each level gives the
    prior's variance; their scatter about the mean, beyond the scatter that the degrees of freedom
    explain, gives the prior's freedom."""
    usable = [_usable(level) for level in levels]
    scattered = sum(float(((e - e.mean()) ** 2).sum()) for e, _ in usable if len(e))
    free = sum(max(len(e) - 1, 0) for e, _ in usable)
    if free < 2:
        return [NOTHING] * len(levels)
    explained = float(np.concatenate([special.polygamma(1, d / 2) for _, d in usable]).mean())
    excess = scattered / free - explained
    fitted = 2 * _trigamma_inverse(excess) if excess > 0 else math.inf
    priors_of_workloads = []
    for (e, d), most in zip(usable, room, strict=True):
        if not len(e) or most <= 0:
            priors_of_workloads.append(NOTHING)
            continue
        middle = float(np.median(d))
        finite = math.isfinite(fitted)
        shift = float(special.digamma(fitted / 2)) - math.log(fitted / 2) if finite else 0.0
        freedom = min(TRUST * fitted, min(MOST, most) * middle)
        priors_of_workloads.append(Prior(math.exp(float(e.mean()) + shift), freedom))
    return priors_of_workloads


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
