"""All pairs of arms of all workloads of a report: their block log-ratios, and the tests on which
verdicts rest. The variances of log-ratios are moderated by each other (variances.py), over the
whole report.

They are matrices, because a campaign of 500 cells has up to a quarter of a million pairs and is
judged at every look."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from rmwbench.analysis.verdicts import variances
from rmwbench.analysis.verdicts.ranking_words import RankingWords
from rmwbench.analysis.verdicts.ratio import (
    half_width,
    have_both,
    no_ratio,
    p_of_signs,
    ratio_of_logs,
    rounding_variance,
)
from rmwbench.analysis.verdicts.variances import Likeness, likeness, likenesses
from rmwbench.analysis.verdicts.verdict import BlockRatio, Family, JudgedArm, NoRatio, Rules

Group = tuple[str, Family]
"""A workload and a family: the arms in it are compared with each other."""


@dataclass(frozen=True, kw_only=True)
class _RawPairs:
    """Arm i against arm j over the blocks that both have, before variances are moderated. `values`
    and `logs` of the primary metric have shape (arms, blocks), all matrices (arms, arms)."""

    values: np.ndarray
    logs: np.ndarray  # nan: no trial, +inf: infinite, -inf: 0
    blocks: np.ndarray
    infinite: np.ndarray  # blocks in which either is infinite or 0: compared by sign
    mean: np.ndarray  # of the block log-ratios log(i/j); nan without such blocks
    variance: np.ndarray  # of one block log-ratio; infinite below two blocks


@dataclass(frozen=True, kw_only=True)
class Pairs(_RawPairs):
    """The pairs with their tests. p values are one-sided. A pair with fewer blocks than the rules
    ask for has p = 1."""

    error: np.ndarray  # the standard error of the mean, from a moderated variance
    freedom: np.ndarray  # the degrees of freedom of the error
    slower: np.ndarray  # p of "i is not slower than j beyond the A/A floor", by ratio or by sign
    # p of "i is slower than j by more than the margin"; small: equivalent or faster
    beyond: np.ndarray
    lossier: np.ndarray  # p of "i does not lose more than j"
    loss_difference: np.ndarray  # mean difference of the undelivered fractions
    excess: np.ndarray  # how much too large two hosts' clocks may have made the mean …
    shortfall: np.ndarray  # … or too small; 0 where one clock took all stamps
    prior: variances.Prior  # the prior of the variances of this workload
    likeness: Likeness  # of neighbouring blocks

    def differences(self, i: int, j: int) -> np.ndarray:
        """The block log-ratios of a pair without infinite values."""
        both = self.logs[i] - self.logs[j]
        differences: np.ndarray = both[np.isfinite(both)]
        return differences

    def ratio(
        self, i: int, j: int, level: float, min_blocks: int, order: RankingWords
    ) -> BlockRatio | NoRatio:
        """The ratio of the two arms, as `ratio.ratio` gives it. If a larger value of the metric is
        better, these are reciprocals, and its 0 is infinite."""
        n = int(self.blocks[i, j])
        if n < min_blocks:
            return NoRatio(no_data=f"{have_both(n)}, {min_blocks} are needed")
        if infinite := int(self.infinite[i, j]):
            zero = order.higher or bool(np.isneginf(self.logs[[i, j]]).any())
            return no_ratio(infinite, n, order, zero=zero)
        of_logs = (self.mean, self.error, self.freedom, self.excess, self.shortfall)
        mean, error, freedom, excess, shortfall = (float(matrix[i, j]) for matrix in of_logs)
        half = half_width(error, freedom, level)
        return ratio_of_logs(mean, half, (excess, shortfall), n)


def pairs(groups: Mapping[Group, Sequence[JudgedArm]], rules: Rules) -> dict[Group, Pairs]:
    """Every test of every ordered pair of the arms of each group of one report."""
    raw = {group: _raw(arms) for group, arms in groups.items()}
    shared = _priors(raw)
    return {
        group: _tested(arms, raw[group], shared.priors[group], shared.likenesses[group], rules)
        for group, arms in groups.items()
    }


@dataclass(frozen=True)
class GroupPriors:
    """The evidence that the comparisons of a report give about each other: the priors of the
    variances of each group, and how much neighbouring blocks resemble each other, in each group and
    `pooled` over all groups."""

    priors: Mapping[Group, variances.Prior]
    likenesses: Mapping[Group, Likeness]
    pooled: Likeness


def group_priors(groups: Mapping[Group, Sequence[JudgedArm]]) -> GroupPriors:
    """The priors that `pairs` uses."""
    return _priors({group: _raw(arms) for group, arms in groups.items()})


def _priors(raw: Mapping[Group, _RawPairs]) -> GroupPriors:
    logs = [of_group.logs for of_group in raw.values()]
    priors = variances.priors([_variances(of_group) for of_group in raw.values()])
    pooled = likeness(logs)
    return GroupPriors(
        dict(zip(raw, priors, strict=True)),
        dict(zip(raw, likenesses(logs, pooled), strict=True)),
        pooled,
    )


def _raw(arms: Sequence[JudgedArm]) -> _RawPairs:
    values = _table([a.primary for a in arms])
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    ran = ~np.isnan(logs)
    finite = ran & ~np.isinf(logs)
    n = _common(ran, ran)
    infinite = n - _common(finite, finite)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(finite, logs, np.nan)
        mean, variance = _mean_and_variance(
            difference[:, None, :] - difference[None, :, :], n - infinite
        )
    return _RawPairs(
        values=values, logs=logs, blocks=n, infinite=infinite, mean=mean, variance=variance
    )


def _variances(raw: _RawPairs) -> variances.Variances:
    upper = np.triu_indices(len(raw.logs), 1)
    freedom = np.maximum((raw.blocks - raw.infinite)[upper] - 1, 0)
    return variances.Variances(raw.variance[upper], freedom, len(raw.logs))


def _tested(
    arms: Sequence[JudgedArm],
    raw: _RawPairs,
    prior: variances.Prior,
    alike: Likeness,
    rules: Rules,
) -> Pairs:
    logs, n, infinite, mean = raw.logs, raw.blocks, raw.infinite, raw.mean
    finite_blocks = n - infinite
    with np.errstate(invalid="ignore", divide="ignore"):
        error, freedom = _error(raw, finite_blocks, prior, alike)
        bound = _bounds(arms)
        excess, shortfall = _shifts(raw.values, bound, finite_blocks)
        enough = finite_blocks >= max(rules.min_blocks, 2)
        only_first = _only_first_infinite(logs)
        apart = (infinite == 0) | (only_first & (mean > math.log1p(rules.least())))
        slower = _p_above(mean - excess, error, freedom, math.log1p(rules.aa_floor))
        slower = np.where(enough & apart, slower, 1.0)
        beyond = 1 - _p_above(mean + shortfall, error, freedom, math.log1p(rules.margin))
        beyond = np.where(enough & (infinite == 0), beyond, 1.0)
    for i, j in np.argwhere((n >= rules.min_blocks) & (infinite > 0)).tolist():
        p = p_of_signs(raw.values[i], raw.values[j], rules.least(), (bound[i], bound[j]))
        # Where the ratio of the finite blocks is tested too, a sign counts twice and the ratio
        # once: that i has all infinite blocks is by chance no more probable than a half.
        slower[i, j] = min(slower[i, j], 2 * p if enough[i, j] and only_first[i, j] else p)
    np.fill_diagonal(slower, 1.0)
    np.fill_diagonal(beyond, 0.0)
    lossier, loss_difference = _losses(arms, rules)
    return Pairs(
        **vars(raw),
        error=error,
        freedom=freedom,
        slower=slower,
        beyond=beyond,
        lossier=lossier,
        loss_difference=loss_difference,
        excess=excess,
        shortfall=shortfall,
        prior=prior,
        likeness=alike,
    )


def _error(
    raw: _RawPairs, finite_blocks: np.ndarray, prior: variances.Prior, alike: Likeness
) -> tuple[np.ndarray, np.ndarray]:
    """The standard error of the mean over finite blocks, and its degrees of freedom. Its variance
    is shared between arms; it is larger where blocks resemble each other, and at least that of the
    clock's steps."""
    variance, freedom = prior.moderated(raw.variance, np.maximum(finite_blocks - 1, 0))
    inflated = (
        np.vectorize(alike.variance_factor, otypes=[float])(finite_blocks)
        if alike.inflates
        else 1.0
    )
    error = np.where(finite_blocks > 1, np.sqrt(variance * inflated / finite_blocks), np.inf)
    return np.maximum(error, _rounding(raw.values)), np.maximum(
        freedom * alike.freedom_factor(), 1.0
    )


def _only_first_infinite(logs: np.ndarray) -> np.ndarray:
    """[i, j]: whether i is infinite in some common blocks, j in none, and neither is 0 in any.
    Leaving those blocks out makes i look faster than it is, so a test of "i is slower" may do
    it."""
    ran, endless, zero = ~np.isnan(logs), np.isposinf(logs), np.isneginf(logs)
    no_zero = _common(zero, ran) + _common(ran, zero) == 0
    only_first: np.ndarray = (_common(endless, ran) > 0) & (_common(ran, endless) == 0) & no_zero
    return only_first


def _bounds(arms: Sequence[JudgedArm]) -> np.ndarray:
    """The bounds of the clocks as in `JudgedArm.bounds`; shape (arms, blocks), 0 where one clock
    took all stamps."""
    places = _blocks([a.primary for a in arms])
    return np.array([[a.bounds.get(block, 0.0) for block in places] for a in arms])


def _shifts(values: np.ndarray, bound: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By how much the mean log-ratios may be too large and too small, [i, j], because the hosts'
    clocks are only known within a bound. No number of blocks averages the error out, since it may
    be the same in all blocks. Infinite where a value is not larger than its bound."""
    if not bound.any():
        return np.zeros(n.shape), np.zeros(n.shape)
    finite = np.isfinite(values) & (values > 0)
    down = np.where(finite, np.log(values) - np.log(np.maximum(values - bound, 0.0)), np.nan)
    up = np.where(finite, np.log(values + bound) - np.log(values), np.nan)

    def mean_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        both = a[:, None, :] + b[None, :, :]
        mean: np.ndarray = np.where(np.isnan(both), 0.0, both).sum(-1) / n
        return mean

    return mean_sum(down, up), mean_sum(up, down)


def _rounding(values: np.ndarray) -> np.ndarray:
    """As `ratio.rounding_error` of every pair [i, j], over the blocks in which both are finite
    and not 0."""
    finite = np.isfinite(values) & (values > 0)
    variance = rounding_variance(values) @ finite.T.astype(float)
    least: np.ndarray = np.sqrt((variance + variance.T) / np.maximum(_common(finite, finite), 1))
    return least


def _losses(arms: Sequence[JudgedArm], rules: Rules) -> tuple[np.ndarray, np.ndarray]:
    """(p, difference) of "i does not lose more than j": t on per-block differences of the
    undelivered fraction.

    The standard deviation is not taken below the binomial one (with one event and one non-event
    added), because a few equal small counts would otherwise look certain.
    """
    if not any(k for a in arms for k, _ in a.undelivered.values()):
        return np.ones((len(arms), len(arms))), np.zeros((len(arms), len(arms)))
    lost = _table([{b: k for b, (k, _) in a.undelivered.items()} for a in arms])
    wanted = _table([{b: m for b, (_, m) in a.undelivered.items()} for a in arms])
    ran = ~np.isnan(lost)
    n = _common(ran, ran)
    p = (lost + 1) / (wanted + 2)
    chance = np.where(ran, p * (1 - p) / wanted, 0.0)
    allowed = np.array([0.0 if a.reliable else rules.loss_margin for a in arms])[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        fraction = lost / wanted
        mean, variance = _mean_and_variance(fraction[:, None, :] - fraction[None, :, :], n)
        error = np.sqrt(variance / np.maximum(n, 1))
        # Summed over the blocks that both have: the binomial variances of i and of j.
        least = (chance @ ran.T + (chance @ ran.T).T) / n
        error = np.fmax(error, np.sqrt(least / n))
        p_above = _p_above(mean, error, np.maximum(n - 1, 1), allowed)
        p_lossier = np.where((n >= max(rules.min_blocks, 2)) & (mean > allowed), p_above, 1.0)
    np.fill_diagonal(p_lossier, 1.0)
    return p_lossier, np.where(n >= rules.min_blocks, np.nan_to_num(mean), 0.0)


def _table(columns: Sequence[Mapping[int, float]]) -> np.ndarray:
    """The values of each column by block, nan where a column has none; shape (columns, blocks)."""
    place = {b: at for at, b in enumerate(_blocks(columns))}
    table = np.full((len(columns), len(place)), np.nan)
    for row, column in zip(table, columns, strict=True):
        if column:
            row[[place[b] for b in column]] = list(column.values())
    return table


def _blocks(columns: Sequence[Mapping[int, float]]) -> list[int]:
    return sorted({b for c in columns for b in c})


def _common(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    counts: np.ndarray = np.rint(a.astype(float) @ b.T.astype(float))
    return counts.astype(int)


def _mean_and_variance(difference: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance over the last axis, nan values left out; nan and infinite where n is too
    small."""
    mean = np.where(np.isnan(difference), 0.0, difference).sum(-1) / n
    rest = difference - mean[..., None]
    squares = np.where(np.isnan(rest), 0.0, rest**2).sum(-1)
    return mean, np.where(n > 1, squares / (n - 1), np.inf)


def _p_above(
    mean: np.ndarray, error: np.ndarray, freedom: np.ndarray, threshold: float | np.ndarray
) -> np.ndarray:
    """One-sided p of "the mean is not above the threshold"."""
    rest = mean - threshold
    certain = np.where(rest > 0, 0.0, 1.0)
    return np.where(error == 0, certain, special.stdtr(freedom, -rest / error))
