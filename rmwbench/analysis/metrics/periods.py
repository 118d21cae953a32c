"""The period of a publisher or a subscription: the time from one of its publish calls, or of its
arrivals, to the next.

A rate of all publishers together hides one that sends half as often as the others. So each is
compared with itself: the sample has the single periods of all of them, and `longest` is the mean
period of the one in which it is longest. Means are not pooled with percentiles: a percentile is of
single periods, a mean of one endpoint's.
"""

from collections.abc import Iterable

import numpy as np

from rmwbench.analysis.records.columns import SteadyWindow

PUBLISHER, SUBSCRIPTION = STEMS = ("publisher_period", "subscription_period")


def periods(times_ns: np.ndarray, window: SteadyWindow) -> np.ndarray:
    """The times between consecutive events of one endpoint while it was there, in ns: float64 of
    shape (n − 1,) for n events in the window, in any order, or of a few more; empty for fewer than
    two events.

    What an edge of the window cuts is counted as long as it lasted within, where that is longer
    than every whole period: one that stops halfway has no short period. Shorter cuts would only
    make the mean too small.
    """
    inside = np.sort(times_ns[window.holds(times_ns)])
    if len(inside) < 2:
        return np.empty(0)
    whole_ns = np.diff(inside).astype(float)
    cut = np.array([inside[0] - window.begin_ns, window.end_ns - inside[-1]], float)
    return np.concatenate([whole_ns, cut[cut > whole_ns.max()]])


def of_endpoint(times_ns: np.ndarray, windows: Iterable[SteadyWindow]) -> tuple[np.ndarray, float]:
    """The periods of one endpoint in the times when it was there, as `periods` has them, and how
    long these are together, in ns. Nothing can happen between them, so no period spans it; one of
    them without a period counts as what an edge cuts: an endpoint that hears nothing more has no
    short period."""
    parts = _merged(windows)
    each = [periods(times_ns, part) for part in parts]
    periods_ns = np.concatenate(each or [np.empty(0)])
    silent_ns = [part.length_ns for part, own in zip(parts, each, strict=True) if not len(own)]
    cut = np.array(silent_ns if len(periods_ns) else [], float)
    periods_ns = np.concatenate([periods_ns, cut[cut > periods_ns.max(initial=0)]])
    return periods_ns, float(sum(part.length_ns for part in parts))


def longest(each: Iterable[tuple[np.ndarray, float]]) -> float | None:
    """The mean period of the endpoint in which it is longest, in ns; `each` is of `of_endpoint`.
    One without a period counts as long as it was there: hearing nothing is not better than hearing
    little. None where none was there."""
    present = [(own, there_ns) for own, there_ns in each if there_ns > 0]
    means = (float(own.mean()) if len(own) else there_ns for own, there_ns in present)
    return max(means, default=None)


def _merged(windows: Iterable[SteadyWindow]) -> list[SteadyWindow]:
    """The times in which any of them lasts, in order, none touching another."""
    merged: list[SteadyWindow] = []
    for window in sorted(windows, key=lambda each: each.begin_ns):
        if window.length_ns <= 0:
            continue
        if merged and window.begin_ns <= merged[-1].end_ns:
            merged[-1] = SteadyWindow(merged[-1].begin_ns, max(merged[-1].end_ns, window.end_ns))
        else:
            merged.append(window)
    return merged
