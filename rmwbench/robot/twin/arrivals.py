"""The arrival process of messages, fitted to the intervals between them.

A bag has only the messages that reached the recorder: lost ones are missing, and those that a queue
delayed come in a batch. So the period is the mode of the intervals, and not duration ÷ count, which
grows with each loss. It is then refined over all intervals near it: each spans k = round(interval ÷
mode) periods, and the period is Σ interval ÷ Σ k.

Intervals are counted in bins of equal ratio (`Histogram`): the distribution of any number of
intervals or sizes in memory that does not grow with them.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

BINS_PER_OCTAVE = 256
"""A bin is 0.27 % wide."""


class Histogram:
    """A bin has the count and the sum of its numbers, so the bins add no error to a mean, and at
    most 0.27 % to a quantile. Numbers below 1 count as 1."""

    def __init__(self) -> None:
        self._bins: dict[int, list[float]] = {}
        self._sorted: tuple[np.ndarray, np.ndarray] | None = None
        self.least, self.most = np.inf, 0.0

    def add(self, values: np.ndarray) -> None:
        if not len(values):
            return
        values = np.maximum(values, 1).astype(float)
        self.least = min(self.least, float(values.min()))
        self.most = max(self.most, float(values.max()))
        bins, inverse = np.unique(
            np.floor(np.log2(values) * BINS_PER_OCTAVE).astype(int), return_inverse=True
        )
        counts, sums = np.bincount(inverse), np.bincount(inverse, weights=values)
        for at, count, total in zip(bins.tolist(), counts.tolist(), sums.tolist(), strict=True):
            bin_sums = self._bins.setdefault(at, [0, 0.0])
            bin_sums[0] += count
            bin_sums[1] += total
        self._sorted = None

    @property
    def means(self) -> np.ndarray:
        """The mean of each bin, ascending."""
        return self._arrays()[0]

    @property
    def counts(self) -> np.ndarray:
        """The count of each bin of `means`."""
        return self._arrays()[1]

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        return float((self.means * self.counts).sum() / self.counts.sum())

    def quantile(self, q: float) -> float:
        """The mean of the quantile's bin."""
        below = np.cumsum(self.counts)
        return float(self.means[np.searchsorted(below, q * below[-1])])

    def within(self, low: float, high: float) -> np.ndarray:
        """A mask of the bins whose means are in [low, high)."""
        inside: np.ndarray = (self.means >= low) & (self.means < high)
        return inside

    def share(self, low: float, high: float = np.inf) -> float:
        """The share of the numbers in the bins `within` [low, high)."""
        return float(self.counts[self.within(low, high)].sum() / self.counts.sum())

    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        if self._sorted is None:
            sums = np.array([self._bins[at] for at in sorted(self._bins)]).reshape(-1, 2)
            self._sorted = sums[:, 1] / np.maximum(sums[:, 0], 1), sums[:, 0]
        return self._sorted


Kind = Literal["periodic", "burst", "on_change", "once", "mixed"]
"""`mixed`: several publishers on one topic, whose messages a bag does not distinguish."""

NEAR = 0.25
"""An interval within this share of a multiple of the period belongs to it."""
PERIODIC_SHARE, FIRST_SHARE = 0.6, 0.25
"""The least shares of the intervals of a periodic process that belong to one of the first four
multiples of its period, and to the period itself. Independent arrivals (Poisson) have 0.29 and
0.19."""
MULTIPLES = 4
SHORT, SHORT_SHARE = 0.1, 0.3
"""Bursts: at least this share of the intervals is shorter than a tenth of the mean interval.
Independent arrivals have 0.095."""
MOST_BURST_NS = 0.25e9
"""The longest burst: messages with steady intervals for seconds and then a pause, as those of a
joystick, have a period and a gap."""
LONG = 1.5
"""A gap of this many periods or more has a missing message."""
FEWEST = 8
"""With fewer intervals only a mean rate is fitted."""


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """The gaps between messages, in ns. `long_share` is the share of gaps of at least 1.5 periods,
    None without a period."""

    p50_ns: float
    p95_ns: float
    longest_ns: float
    long_share: float | None


@dataclass(frozen=True, kw_only=True)
class FittedArrivals:
    """`period_ns` is the period of messages or bursts; None if neither is regular. `jitter_ns` is
    the standard deviation of each message's time, if these are independent. `per_burst` is the
    number of messages of a burst, `missing_share` the share of periods without a message."""

    kind: Kind
    rate_hz: float
    period_ns: float | None = None
    jitter_ns: float = 0.0
    per_burst: float = 1.0
    missing_share: float = 0.0
    gaps: Gaps | None = None


def fit(
    intervals: Histogram, span_ns: float, *, latched: bool, publishers: int = 1
) -> FittedArrivals:
    """The arrivals of a topic in a bag of the duration `span_ns`; a `latched` topic is
    transient-local."""
    count = intervals.count
    if count < FEWEST:
        kind: Kind = "once" if latched or not count else "on_change"
        return FittedArrivals(kind=kind, rate_hz=(count + 1) / max(span_ns, 1) * 1e9)
    mean_ns = intervals.mean
    if publishers > 1:
        return FittedArrivals(kind="mixed", rate_hz=1e9 / mean_ns, gaps=_gaps(intervals, None))
    short_ns = SHORT * mean_ns
    is_bursty = intervals.share(0, short_ns) >= SHORT_SHARE
    if is_bursty and (bursts := _bursts(intervals, short_ns)) is not None:
        return bursts
    period_ns = _period(intervals, 0.0)
    near_ns = NEAR * period_ns
    multiples_ns = [k * period_ns for k in range(1, MULTIPLES + 1)]
    shares = [intervals.share(time_ns - near_ns, time_ns + near_ns) for time_ns in multiples_ns]
    if sum(shares) >= PERIODIC_SHARE and shares[0] >= FIRST_SHARE:
        return _periodic(intervals, period_ns)
    return FittedArrivals(kind="on_change", rate_hz=1e9 / mean_ns, gaps=_gaps(intervals, None))


def _period(intervals: Histogram, above_ns: float) -> float:
    """The mode of the intervals above a bound, refined over the intervals of up to 3.5 modes."""
    above = intervals.means > above_ns
    means, counts = intervals.means[above], intervals.counts[above]
    at = np.floor(np.log2(means) * BINS_PER_OCTAVE).astype(int)
    half = round(BINS_PER_OCTAVE * np.log2(1.1))
    below = np.concatenate(([0.0], np.cumsum(counts)))
    low, high = np.searchsorted(at, at - half), np.searchsorted(at, at + half, side="right")
    best = int(np.argmax(below[high] - below[low]))
    window = slice(low[best], high[best])
    period = float((means[window] * counts[window]).sum() / counts[window].sum())
    for _ in range(3):
        is_near = means < 3.5 * period
        spanned = np.round(means[is_near] / period)
        period = float((means[is_near] * counts[is_near]).sum() / (spanned * counts[is_near]).sum())
    return period


def _periodic(intervals: Histogram, period_ns: float) -> FittedArrivals:
    is_near = intervals.within(0.5 * period_ns, LONG * period_ns)
    means, counts = intervals.means[is_near], intervals.counts[is_near]
    scatter_ns = float(np.sqrt((counts * (means - period_ns) ** 2).sum() / counts.sum()))
    # Over the whole time: a delayed batch has one long gap and short ones, and no missing message.
    periods = intervals.mean * intervals.count / period_ns
    return FittedArrivals(
        kind="periodic",
        rate_hz=1e9 / period_ns,
        period_ns=period_ns,
        jitter_ns=scatter_ns / math.sqrt(2),
        missing_share=max(0.0, 1 - intervals.count / periods),
        gaps=_gaps(intervals, period_ns),
    )


def _bursts(intervals: Histogram, short_ns: float) -> FittedArrivals | None:
    """Arrivals in bursts, which begin after each interval that is not short; the period is that
    interval plus the short ones of a burst. None if bursts would be too long."""
    long = intervals.means >= short_ns
    bursts = float(intervals.counts[long].sum())
    short_count = float(intervals.counts[~long].sum())
    short_sum_ns = float((intervals.means[~long] * intervals.counts[~long]).sum())
    if short_sum_ns / (bursts + 1) > MOST_BURST_NS:
        return None
    per_burst = (bursts + short_count + 1) / (bursts + 1)
    period_ns = _period(intervals, short_ns) + short_sum_ns / max(bursts, 1)
    return FittedArrivals(
        kind="burst",
        rate_hz=1e9 / period_ns * per_burst,
        period_ns=period_ns,
        per_burst=per_burst,
        gaps=_gaps(intervals, period_ns),
    )


def _gaps(intervals: Histogram, period_ns: float | None) -> Gaps:
    return Gaps(
        p50_ns=intervals.quantile(0.5),
        p95_ns=intervals.quantile(0.95),
        longest_ns=float(intervals.most),
        long_share=None if period_ns is None else intervals.share(LONG * period_ns),
    )
