"""Does the latency have one value, or does it rise or fall within the window? Where messages queue
up, each waits longer than the message before, and a quantile of their latencies depends on the end
of the measurement.

The messages of a pair that arrived are taken in the order of sending and divided into ten parts of
equal size, or into fewer parts of two messages each; the latency of a part is its median. A trial
drifts where the parts rise, or fall, at most of the steps, and the last two parts differ from the
first two by at least half of the median of all parts. Required is a Kendall's tau of at least ±0.6
with ten parts, more with fewer. Without a trend, at most 3 % of series reach it (Kendall,
Biometrika 30, 1938). A single stall fulfils neither condition. An arm drifts where at least half of
its trials, and at least three, drift in the same direction: by chance in one of several thousand
arms.

`stability.py` asks the same question of a queue, in messages, at an overload. Here the question is
about the latency, in any campaign, and a falling latency is a drift too."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

TREND = {7: 0.71, 8: 0.64, 9: 0.61, 10: 0.6}
"""Number of parts -> the Kendall's tau that they must reach."""
FEWEST = 2 * min(TREND)
"""The fewest messages of a pair that must have arrived: each part has two."""
RISE = 0.5
FEWEST_TRIALS = 3


@dataclass(frozen=True)
class Drift:
    """`begin_ns`, `end_ns`: the latency of the first and of the last fifth of the messages. For an
    arm they are medians over the `trials` trials that drift, out of `of`."""

    begin_ns: float
    end_ns: float
    trials: int = 1
    of: int = 1

    @property
    def rises(self) -> bool:
        return self.end_ns > self.begin_ns


def drift(latencies: Sequence[np.ndarray]) -> Drift | None:
    """The drift of the pair whose latency changes by the largest factor; None where no pair drifts.
    `latencies`: for each pair, in ns, in the order of sending, shape (n,), +inf for messages that
    never arrived."""
    drifts = [of_pair for pair in latencies if (of_pair := _drift_of(pair)) is not None]
    return max(drifts, key=lambda d: abs(np.log(d.end_ns / d.begin_ns)), default=None)


def _drift_of(latency_ns: np.ndarray) -> Drift | None:
    arrived = latency_ns[np.isfinite(latency_ns)]
    if len(arrived) < FEWEST:
        return None
    parts = min(len(arrived) // 2, max(TREND))
    medians = np.array([np.median(part) for part in np.array_split(arrived, parts)])
    i, j = np.triu_indices(parts, 1)
    trend = float(np.sign(medians[j] - medians[i]).mean())
    begin, end = float(np.median(medians[:2])), float(np.median(medians[-2:]))
    if abs(trend) < TREND[parts] or (end > begin) != (trend > 0) or min(begin, end) <= 0:
        return None
    return Drift(begin, end) if abs(end - begin) >= RISE * float(np.median(medians)) else None


def of_arm(trials: Sequence[Drift | None]) -> Drift | None:
    """The drift of an arm, from the drifts of its done trials; None where the arm is stationary or
    too few trials drift in the same direction."""
    for rises in (True, False):
        alike = [trial for trial in trials if trial is not None and trial.rises is rises]
        if len(alike) >= FEWEST_TRIALS and 2 * len(alike) >= len(trials):
            begin = float(np.median([trial.begin_ns for trial in alike]))
            end = float(np.median([trial.end_ns for trial in alike]))
            return Drift(begin, end, len(alike), len(trials))
    return None
