"""The capacity of one arm: up to which level of an axis does a limit hold? Which level to try next,
when to stop, and the interval, in the axis's own unit; and the knee of the curve. Campaign and
report compute the capacity here from the same trials in the same order, so that they cannot
disagree.

Levels are numbered by hardness, 0 the easiest. A trial at a level holds the limit or does not, and
near the boundary the same level does both, because machines are noisy. The **capacity** is the
boundary up to which at least half of the trials hold: what the median trial does.

Two steps. *Bracketing* doubles or halves the level until one trial held and one failed. The
*sequential test* then keeps a distribution over where the boundary is and how sharp it is, updated
by Bayes' rule on a grid after every trial (the psi method of Kontsevich & Tyler, Vision Res. 39,
1999, after Watson & Pelli's QUEST, Percept. Psychophys. 33, 1983), and tries in turn the level at
which a trial is expected to hold with probability 1/2, 3/4 and 1/4: the middle finds the place, the
flanks find the slope. It stops when the interval is as narrow as the levels are. A fixed number of
trials per level would spend most of them where nothing is in doubt.

The model is a normal ogive with a share of trials that fail whatever the level. Stopping early
biases no posterior, but a wrong model could, so the interval's coverage is simulated with the code
that runs (everything is an array over campaigns) for boundaries that the model does not contain:
tests/capacity/test_coverage.py. `POSTERIOR` is set so that the worst of them stays above 93 %.

The **knee** of a latency-against-load curve is where the median latency has doubled. The base is
the load with the smallest median. It is often not the lowest load: a machine that sleeps between
messages is slower at low rates. The knee is where the median exceeds twice the base's and never
comes back: between the last load below that and the next, by a straight line in the logarithms of
both, or at the next load itself, where its queue grows or its median is infinite. On a noisy
machine a single load may be slow, so a median that comes back makes no knee.

Twice is where a queue with one server waits as long as it serves, at half load of M/M/1 (Kleinrock,
Queueing Systems I, 1975, §3.2), and a number that anyone can check in the table; the curvature of a
handful of noisy points (Kneedle: Satopää et al., ICDCS Workshops 2011) is neither.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

POSTERIOR = 0.975
"""Probability inside the interval under the model; called a 95 % interval, because it covers as
much where the model is wrong."""
STEP = math.log(2)
SLOPES = (0.3, 0.6, 1.2, 2.4, 4.8, 9.6)
"""Standard deviations of the boundary from trial to trial, in levels."""
LAPSES = (0.02, 0.08, 0.25)
"""Shares of trials that fail whatever the level."""
SURPRISE = 0.01
"""The least probability of any outcome of a trial under the model: no trial is impossible."""
TARGETS = (0.5, 0.75, 0.25)
FEWEST = 3
"""Trials that must have held, and that must have failed, before an end of the interval is
believed."""


@dataclass(frozen=True)
class Bounds:
    """The boundary lies above level `low` (−1: perhaps none holds) and not above level `high` (the
    number of levels: perhaps all hold); arrays of shape (campaigns,). `estimate` counts in levels:
    3.0 is at level 3."""

    low: np.ndarray
    high: np.ndarray
    estimate: np.ndarray


class Search:
    """The search of one arm, or of many simulated campaigns at once. `hardness`: logarithms of the
    levels, ascending, shape (levels,); `start`: the first level to try."""

    def __init__(self, hardness: np.ndarray, start: int, *, campaigns: int = 1):
        self.hardness = np.asarray(hardness, float)
        self.levels, self.campaigns = len(self.hardness), campaigns
        if not self.levels or (np.diff(self.hardness) <= 0).any():
            raise ValueError("levels rise in hardness")
        if not 0 <= start < self.levels:
            raise ValueError(f"start {start} is not a level of {self.levels}")
        self._start = start
        self._ogive = _ogives(self.levels)
        kinds = len(self._ogive)
        size = 1 << (3 * self.levels + 2).bit_length()
        self._spectrum = np.fft.rfft(self._ogive[:, ::-1], size)
        self._size = size
        self._posterior = np.full(
            (campaigns, kinds, self.levels + 1), 1 / (kinds * (self.levels + 1))
        )
        self.held = np.zeros((campaigns, self.levels), np.int64)
        self.failed = np.zeros((campaigns, self.levels), np.int64)

    @property
    def trials(self) -> np.ndarray:
        """Trials so far, shape (campaigns,)."""
        trials: np.ndarray = (self.held + self.failed).sum(axis=1)
        return trials

    @property
    def bounds(self) -> Bounds:
        """The interval with its ends moved outwards to levels. It begins at the highest level that
        held or below, and ends at the lowest level that failed or above: the model alone shows
        neither that a higher level holds nor that a lower level fails."""
        low, high = (self._quantile(q) for q in ((1 - POSTERIOR) / 2, (1 + POSTERIOR) / 2))
        place = np.arange(self.levels)
        highest_held = np.where(self.held > 0, place, -1).max(axis=1)
        lowest_failed = np.where(self.failed > 0, place, self.levels).min(axis=1)
        low = np.minimum(np.floor(low + 1e-9).astype(np.int64), highest_held)
        high = np.maximum(np.ceil(high - 1e-9).astype(np.int64), lowest_failed)
        return Bounds(low, high, np.clip(self._quantile(0.5), low, high))

    @property
    def resolved(self) -> np.ndarray:
        """Whether the interval is as narrow as the levels and rests on enough trials; shape
        (campaigns,)."""
        bounds = self.bounds
        held, failed = self.held.sum(axis=1), self.failed.sum(axis=1)
        enough = ((held >= FEWEST) | (bounds.low < 0)) & (
            (failed >= FEWEST) | (bounds.high >= self.levels)
        )
        resolved: np.ndarray = (bounds.high - bounds.low <= 1) & enough & (held + failed >= FEWEST)
        return resolved

    def next(self) -> np.ndarray:
        """The level to try next, shape (campaigns,), even where the search is resolved already."""
        tried = self.held + self.failed > 0
        place = np.arange(self.levels)
        highest = np.where(tried, place, -1).max(axis=1)
        lowest = np.where(tried, place, self.levels).min(axis=1)
        none_failed, none_held = ~self.failed.any(axis=1), ~self.held.any(axis=1)
        step = np.where(
            none_failed, self._step_from(highest, up=True), self._step_from(lowest, up=False)
        )
        bracketing = np.where(self.trials == 0, self._start, step)
        expected = self._expected()
        target = np.array(TARGETS)[self.trials % len(TARGETS)]
        testing = np.abs(expected - target[:, None]).argmin(axis=1)
        # at most a step beyond the levels tried: farther away the model has only its prior
        testing = np.clip(
            testing, self._step_from(lowest, up=False), self._step_from(highest, up=True)
        )
        return np.where(none_failed | none_held, bracketing, testing)

    def record(self, level: np.ndarray, held: np.ndarray, active: np.ndarray | None = None) -> None:
        """Update the posterior and the counts by a trial at `level`; arrays of shape (campaigns,).
        `active`: the campaigns that made a trial."""
        active = np.ones(self.campaigns, bool) if active is None else active
        distance = np.arange(self.levels + 1)[None, :] - level[:, None]
        hold = np.moveaxis(self._ogive[:, distance + self.levels - 1], 0, 1)
        updated = self._posterior * np.where(held[:, None, None], hold, 1 - hold)
        updated /= updated.sum(axis=(1, 2), keepdims=True)
        self._posterior = np.where(active[:, None, None], updated, self._posterior)
        rows = np.arange(self.campaigns)
        self.held[rows, level] += active & held
        self.failed[rows, level] += active & ~held

    def _expected(self) -> np.ndarray:
        """The model's probability that a trial at each level holds, shape (campaigns, levels): the
        sum over t of posterior(t) · ogive(t − k), a correlation."""
        product = (np.fft.rfft(self._posterior, self._size, axis=2) * self._spectrum).sum(axis=1)
        # with the ogive reversed this is a convolution, in which level k is at place levels + k
        return np.fft.irfft(product, self._size, axis=1)[:, self.levels : 2 * self.levels]

    def _quantile(self, q: float) -> np.ndarray:
        """Quantile of the boundary in levels, interpolated between t − 1 and t; shape
        (campaigns,)."""
        mass = self._posterior.sum(axis=1)
        cumulative = np.cumsum(mass, axis=1)
        t = np.minimum((cumulative < q).sum(axis=1), self.levels)
        rows = np.arange(self.campaigns)
        before = cumulative[rows, t] - mass[rows, t]
        between = np.clip((q - before) / np.maximum(mass[rows, t], 1e-300), 0, 1)
        quantile: np.ndarray = t - 1 + between
        return quantile

    def _step_from(self, level: np.ndarray, *, up: bool) -> np.ndarray:
        """The level a factor of two away, or the end of the range."""
        wanted = self.hardness[np.clip(level, 0, self.levels - 1)] + (STEP if up else -STEP)
        # levels are rounded, so the level in question may lie a little before the factor
        place: np.ndarray
        if up:
            place = np.searchsorted(self.hardness, wanted - 2e-2)
        else:
            place = np.searchsorted(self.hardness, wanted + 2e-2, side="right") - 1
        return place.clip(0, self.levels - 1)


def _ogives(levels: int) -> np.ndarray:
    """P(a trial at level k holds | t is the first level that fails, slope, lapse), which depends on
    t − k only: shape (slopes · lapses, 2 · levels) for t − k from −(levels − 1) to levels. The
    ogive is shifted so that, lapses included, half of the trials hold exactly at the boundary
    t − 1/2."""
    slopes, lapses = np.array(SLOPES)[None, :, None], np.array(LAPSES)[:, None, None]
    distance = np.arange(-(levels - 1), levels + 1)[None, None, :] - 0.5
    ogive = (1 - lapses) * special.ndtr(distance / slopes + special.ndtri(0.5 / (1 - lapses)))
    ogives: np.ndarray = np.clip(ogive, SURPRISE, 1 - SURPRISE)
    return ogives.reshape(len(SLOPES) * len(LAPSES), -1)


State = Literal["bracketed", "at least", "below", "no data"]
Unit = Literal["hz", "bytes", ""]
"""The unit of an axis; empty for an axis that counts things."""
INTERVAL = "95 % interval of the level that half of the trials hold"


@dataclass(frozen=True)
class Capacity:
    """`bracketed`: value and interval. `at least`: `low` holds, and too few trials failed, or none,
    to say where the limit breaks. `below`: no level held, not even `high`. Numbers are in the
    axis's `unit`, None where the state gives none. `trials`: how many trials were judged."""

    state: State
    value: float | None
    low: float | None
    high: float | None
    trials: int
    unit: Unit = ""
    interval: str = INTERVAL


class ArmSearch:
    """A search over ascending `levels`, in the axis's unit, that begins at the level `start`.
    `whole`: the axis has whole numbers only."""

    def __init__(self, levels: Sequence[float], start: float, *, whole: bool = False):
        self.levels, self.whole = tuple(levels), whole
        self._search = Search(np.log(np.array(levels, float)), self.levels.index(start))

    @property
    def trials(self) -> int:
        return int(self._search.trials[0])

    @property
    def resolved(self) -> bool:
        """Whether the interval is as narrow as the levels."""
        return bool(self._search.resolved[0])

    @property
    def held(self) -> int:
        """How many trials held, at any level."""
        return int(self._search.held.sum())

    def next(self) -> float:
        return self.levels[int(self._search.next()[0])]

    def record(self, level: float, held: bool) -> None:
        self._search.record(np.array([self.levels.index(level)]), np.array([held]))

    def trials_at(self, level: float) -> int:
        place = self.levels.index(level)
        return int(self._search.held[0, place] + self._search.failed[0, place])

    def capacity(self) -> Capacity:
        if not self.trials:
            return Capacity("no data", None, None, None, 0)
        bounds = self._search.bounds
        low, high, boundary = int(bounds.low[0]), int(bounds.high[0]), float(bounds.estimate[0])
        last = len(self.levels) - 1
        if low < 0 and (not self.held or boundary < 0):
            return Capacity("below", None, None, self.levels[min(high, last)], self.trials)
        failed = int(self._search.failed.sum())
        if low >= 0 and high > last and (not failed or boundary >= last):
            return Capacity("at least", self.levels[low], self.levels[low], None, self.trials)
        # where some trial held, the interval may be open below, but there is an estimate
        least = self.levels[low] if low >= 0 else 0.0
        return Capacity("bracketed", self._at(boundary), least, self._end(high), self.trials)

    def _end(self, high: int) -> float:
        """The upper end of the interval: on an axis of whole numbers the last level that may hold,
        else the first level that fails."""
        if high >= len(self.levels):
            return math.inf
        if not self.whole:
            return self.levels[high]
        return max(self.levels[high] - 1, self.levels[max(high - 1, 0)])

    def _at(self, boundary: float) -> float:
        """The level at a place between levels, on a straight line in logarithms; on an axis of
        whole numbers the next whole number below."""
        below = min(max(math.floor(boundary), 0), len(self.levels) - 1)
        above = min(below + 1, len(self.levels) - 1)
        step = self.levels[above] / self.levels[below]
        level = float(self.levels[below] * step ** (boundary - below))
        return float(math.floor(level + 1e-9)) if self.whole else level


KNEE_FACTOR = 2.0


@dataclass(frozen=True)
class LoadPoint:
    """One load of a curve: `latency_ns` is None where there is no stable latency, and infinite
    where the median message did not arrive; `unstable` where the queue grows."""

    load: float
    latency_ns: float | None
    unstable: bool = False


@dataclass(frozen=True)
class Knee:
    """`load` in the axis's unit; `base_load`, `base_ns`: the load with the smallest median, and
    that median, which the knee's doubles; `by`: latency | queue."""

    load: float
    base_load: float
    base_ns: float
    by: Literal["latency", "queue"]


def knee(points: Sequence[LoadPoint]) -> Knee | None:
    """The knee of points in ascending order of load; None where the curve has none, or no load
    with a finite latency."""
    medians_ns = {
        p: p.latency_ns
        for p in points
        if p.latency_ns is not None and p.latency_ns > 0 and not p.unstable
    }
    finite_ns = {p: median for p, median in medians_ns.items() if math.isfinite(median)}
    if not finite_ns:
        return None
    base, base_ns = min(finite_ns.items(), key=lambda item: item[1])
    limit_ns = KNEE_FACTOR * base_ns
    from_base = [p for p in points if p.load >= base.load and (p.unstable or p in medians_ns)]
    below = [n for n, p in enumerate(from_base) if not p.unstable and medians_ns[p] < limit_ns]
    last = max(below)
    if last + 1 == len(from_base):
        return None
    before, after = from_base[last], from_base[last + 1]
    if after.unstable or math.isinf(medians_ns[after]):
        return Knee(after.load, base.load, base_ns, "queue" if after.unstable else "latency")
    before_ns, after_ns = medians_ns[before], medians_ns[after]
    part = math.log(limit_ns / before_ns) / math.log(after_ns / before_ns)
    load = before.load * (after.load / before.load) ** part
    return Knee(load, base.load, base_ns, "latency")
