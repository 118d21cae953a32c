"""The evidence of blocks on one metric and its limit: the probability that the true value is within
the limit.

Each posterior has the reference prior of its law, so that the probability is one minus the
one-sided p value, exactly for means and nearly for fractions: nine in ten of the answers "0.9" are
right (Berger, Bernardo & Sun, Ann. Stat. 37, 2009; simulated in tests/decide/test_calibration.py).

- `Mean`: a positive metric, or an amount: Student's t about the mean of the blocks (of their
  logarithms where all are positive). With infinite blocks it is a `MedianOfBlocks`.
- `MedianOfBlocks`: the median over blocks by counting the blocks within (Jeffreys' Beta).
- `Fraction`: events of messages, which come in bursts: Jeffreys' Beta with as many effective
  messages as the blocks' scatter leaves, as in `intervals.clustered_fraction`.

Where campaigns differ by more than chance, each is one observation. A campaign of one block has no
scatter, so it is left out beside campaigns of several blocks.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import special

from rmwbench.analysis.stats import intervals
from rmwbench.analysis.stats.intervals import Interval

Kind = Literal["positive", "amount", "fraction"]
LEAST_BLOCKS = 2
"""Fewer blocks have no scatter and so no posterior. A decision needs `rules.min_blocks`."""
DIFFER = 0.05
"""Campaigns differ where chance makes their means differ as much less often than this."""
ROUNDING = 1e-12
"""The relative error of a mean of equal values, at most."""


@dataclass(frozen=True)
class BlockValues:
    """One value per block, of one arm, metric and topic. `values`: in the metric's unit, +inf where
    nothing arrived; for a fraction its events, of `of` messages. `campaigns`: the campaign of each
    block. `bound`: how far every value may be from the truth for the clocks of two hosts. `places`:
    (campaign, block), by which metrics of one trial are correlated. `under_way`: for a fraction,
    the share of messages whose fate the trials did not wait for, by which the truth may be
    larger."""

    kind: Kind
    values: tuple[float, ...]
    campaigns: tuple[int, ...]
    places: tuple[tuple[int, int], ...] = ()
    of: tuple[float, ...] = ()
    bound: float = 0.0
    under_way: float = 0.0

    @property
    def spare(self) -> float:
        """By how much the truth may be above the values: a limit is met where the values are below
        the limit by as much."""
        return self.bound + self.under_way

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def used(self) -> "BlockValues":
        """The blocks of campaigns with more than one block; all blocks where no campaign has
        more."""
        sizes = Counter(self.campaigns)
        rows = [n for n, campaign in enumerate(self.campaigns) if sizes[campaign] > 1]
        if not rows:
            return self
        return replace(
            self,
            values=tuple(self.values[n] for n in rows),
            campaigns=tuple(self.campaigns[n] for n in rows),
            places=tuple(self.places[n] for n in rows) if self.places else (),
            of=tuple(self.of[n] for n in rows) if self.of else (),
        )

    def each(self) -> np.ndarray:
        """A number per block, shape (count,); for a fraction its share."""
        values = np.asarray(self.values, float)
        return values / np.asarray(self.of, float) if self.kind == "fraction" else values


def posterior(blocks: BlockValues) -> "Posterior":
    """The posterior of at least LEAST_BLOCKS blocks. Raises ValueError for fewer."""
    if blocks.count < LEAST_BLOCKS:
        raise ValueError("fewer than two blocks have no posterior")
    blocks = blocks.used
    if blocks.kind == "fraction":
        return Fraction.of_blocks(blocks)
    values = blocks.each()
    if not np.isfinite(values).all():
        return MedianOfBlocks(tuple(sorted(values.tolist())))
    return Mean.of_blocks(blocks)


@dataclass(frozen=True)
class Mean:
    """`mean` and `sd` of `count` values, or of their logarithms where `logs`; `differ`: whether the
    values are means of campaigns that differ."""

    mean: float
    sd: float
    count: int
    logs: bool
    differ: bool = False

    @classmethod
    def of_blocks(cls, blocks: BlockValues) -> "Mean":
        values = blocks.each()
        logs = bool(blocks.kind == "positive" and (values > 0).all())
        scale = np.log(values) if logs else values
        groups = by_campaign(scale, blocks.campaigns)
        if differ(groups):
            means = np.array([group.mean() for group in groups])
            return cls(float(means.mean()), float(means.std(ddof=1)), len(means), logs, True)
        return cls(float(scale.mean()), float(scale.std(ddof=1)), len(scale), logs)

    @property
    def error(self) -> float:
        return self.sd / math.sqrt(self.count)

    def within(self, most: float) -> float:
        at = self._scale(most)
        if self.error == 0:
            return 1.0 if self.mean <= at else 0.0
        return float(special.stdtr(self.count - 1, (at - self.mean) / self.error))

    def interval(self) -> Interval:
        half = float(special.stdtrit(self.count - 1, 0.975)) * self.error
        low, high = self._value(self.mean - half), self._value(self.mean + half)
        return self._value(self.mean), low if self.logs else max(low, 0.0), high

    def _scale(self, value: float) -> float:
        if not self.logs:
            return value
        return math.log(value) if value > 0 else -math.inf

    def _value(self, scale: float) -> float:
        if not self.logs:
            return scale
        return math.exp(scale) if scale < 700 else math.inf


@dataclass(frozen=True)
class MedianOfBlocks:
    """The `ordered` values of blocks of which some are infinite: they have no mean, so the median
    over blocks is judged."""

    ordered: tuple[float, ...]
    differ: bool = False

    @property
    def count(self) -> int:
        return len(self.ordered)

    def within(self, most: float) -> float:
        below = sum(value <= most for value in self.ordered)
        return float(1 - special.betainc(below + 0.5, self.count - below + 0.5, 0.5))

    def interval(self) -> Interval:
        return intervals.median_range(np.array(self.ordered))[0]


@dataclass(frozen=True)
class Fraction:
    """`events` of `of` effective messages; `printed`: the value and interval of a report."""

    events: float
    of: float
    count: int
    printed: Interval
    differ: bool = False

    @classmethod
    def of_blocks(cls, blocks: BlockValues) -> "Fraction":
        counts, totals = np.asarray(blocks.values, float), np.asarray(blocks.of, float)
        apart = differ(by_campaign(np.sqrt(counts / totals), blocks.campaigns))
        if apart:  # each campaign is then one sample of a fraction that moves from day to day
            counts, totals = (
                np.array([g.sum() for g in by_campaign(x, blocks.campaigns)])
                for x in (counts, totals)
            )
        printed, _ = intervals.clustered_fraction(counts, totals)
        effective = effective_messages(counts, totals)
        events = counts.sum() / totals.sum() * effective
        return cls(events, effective, len(counts), printed, apart)

    def within(self, most: float) -> float:
        if most <= 0:
            return 0.0
        return float(
            special.betainc(self.events + 0.5, self.of - self.events + 0.5, min(most, 1.0))
        )

    def interval(self) -> Interval:
        return self.printed


Posterior = Mean | MedianOfBlocks | Fraction


def effective_messages(counts: np.ndarray, totals: np.ndarray) -> float:
    """How many independent messages would scatter as these blocks do: p(1−p)/v, v the variance of
    the fraction with blocks as clusters (Korn & Graubard, Survey Methodology 24, 1998), never more
    than there are. Where nothing or everything happened there is no scatter: bursts of
    `intervals.BURST` messages are assumed, as for every other bound of this project."""
    total, groups = float(totals.sum()), len(counts)
    p = float(counts.sum()) / total
    if p in (0.0, 1.0):
        return total / min(intervals.BURST, total / groups)
    variance = intervals.clustered_variance(counts, totals)
    if variance <= 0:
        return total
    # A variance of few blocks is itself uncertain: t instead of z, as in the printed interval.
    uncertain = intervals.shrink(math.inf, groups, 0.95)
    return float(min(max(p * (1 - p) / variance * uncertain, 1.0), total))


def by_campaign(values: np.ndarray, campaigns: Sequence[int]) -> list[np.ndarray]:
    """The values of each campaign."""
    numbers = np.asarray(campaigns)
    return [values[numbers == campaign] for campaign in dict.fromkeys(campaigns)]


def differ(groups: Sequence[np.ndarray]) -> bool:
    """Whether the means of campaigns differ by more than the scatter of their blocks explains
    (one-way F test)."""
    groups = [group for group in groups if len(group)]
    total, k = sum(len(group) for group in groups), len(groups)
    if k < 2 or total <= k:
        return False
    mean = float(np.concatenate(groups).mean())
    between = sum(len(group) * (float(group.mean()) - mean) ** 2 for group in groups) / (k - 1)
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups) / (total - k)
    # equal values differ from their mean by rounding alone
    within = max(within, max(float(np.abs(group).max()) * ROUNDING for group in groups) ** 2)
    if within == 0:
        return False
    return bool(special.fdtrc(k - 1, total - k, between / within) < DIFFER)
