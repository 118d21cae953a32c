"""Is a latency one number, or a moment of a ramp? Where messages queue up within the window, each
waits longer than the one before, and a quantile of them depends on when one stops measuring.

The messages of a pair that arrived are taken in the order of sending, in ten parts of equal size,
or in fewer of two messages each; the latency of a part is its median. A trial drifts where the
parts rise, or fall, at most of the steps (Kendall's tau of at least 0.6 over ten, and of more over
fewer, which a series without trend reaches, either way, in at most 3 % of cases: Kendall,
Biometrika 30, 1938) and the last two are apart from the first two by at least half of their own
middle. One stall does neither. An arm drifts where at least half of its trials do in the same
direction, and three at least: by chance in one of several thousand arms.

`stability.py` asks the same of a queue, in messages, at an overload; here the latency is asked, in
any campaign, and falling is a drift too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

TREND = {7: 0.71, 8: 0.64, 9: 0.61, 10: 0.6}
"""Parts -> Kendall's tau that they must reach."""
FEWEST = 2 * min(TREND)
"""Messages of a pair that arrived: a part has two."""
RISE = 0.5
FEWEST_TRIALS = 3


@dataclass(frozen=True)
class Drift:
    """`begin_ns`, `end_ns`: the latency of the first and of the last fifth of the messages; of an
    arm the medians over the `trials` that drift, `of` so many."""

    begin_ns: float
    end_ns: float
    trials: int = 1
    of: int = 1

    @property
    def rises(self) -> bool:
        return self.end_ns > self.begin_ns


def drift(latencies: Sequence[np.ndarray]) -> Drift | None:
    """The drift of one trial: of the pair whose latency changes by the largest factor; None where
    none drifts. `latencies`: per pair, ns, in the order of sending, shape (n,), +inf for never
    arrived."""
    drifts = [of_one for of_pair in latencies if (of_one := _of_pair(of_pair)) is not None]
    return max(drifts, key=lambda d: abs(np.log(d.end_ns / d.begin_ns)), default=None)


def _of_pair(latency_ns: np.ndarray) -> Drift | None:
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
    """The drift of an arm, from each of its done trials; None where it is stationary, or nobody can
    tell."""
    for rises in (True, False):
        same = [trial for trial in trials if trial is not None and trial.rises is rises]
        if len(same) >= FEWEST_TRIALS and 2 * len(same) >= len(trials):
            begin, end = (
                float(np.median([getattr(trial, name) for trial in same]))
                for name in ("begin_ns", "end_ns")
            )
            return Drift(begin, end, len(same), len(trials))
    return None
