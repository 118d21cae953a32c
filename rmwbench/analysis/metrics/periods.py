"""The period of a publisher or a subscription: the time from one of its publish calls, or of its
arrivals, to the next.

A rate of all publishers together hides one that sends half as often as the others. So each is
compared with itself: the sample has the single periods of all of them, and `longest` is the mean
period of the one in which it is longest. Means are not pooled with percentiles: a percentile is of
single periods, a mean of one endpoint's.
"""

from collections.abc import Iterable

import numpy as np

from rmwbench.analysis.records.columns import Window

PUBLISHER, SUBSCRIPTION = STEMS = ("publisher_period", "subscription_period")


def periods(times_ns: np.ndarray, there: Window) -> np.ndarray:
    """The times between consecutive events of one endpoint while it was there, in ns: float64 of
    shape (n − 1,) for n events in the window, in any order, or of a few more; empty for fewer than
    two events.

    What an edge of the window cuts is counted as long as it lasted within, where that is longer
    than every whole period: one that stops halfway has no short period. Shorter cuts would only
    make the mean too small.
    """
    inside = np.sort(times_ns[(times_ns >= there.begin_ns) & (times_ns < there.end_ns)])
    if len(inside) < 2:
        return np.empty(0)
    found = np.diff(inside).astype(float)
    cut = np.array([inside[0] - there.begin_ns, there.end_ns - inside[-1]], float)
    return np.concatenate([found, cut[cut > found.max()]])


def longest(each: Iterable[np.ndarray]) -> float | None:
    """The mean period of the endpoint in which it is longest, in ns; None where none has one."""
    return max((float(own.mean()) for own in each if len(own)), default=None)
