"""The period of a publisher or a subscription: the time from one of its publish calls, or of its
arrivals, to the next.

A rate of all publishers together hides a publisher that sends half as often as the others. So the
sample has the single periods of all endpoints, for percentiles, and `longest` is the longest of the
endpoints' mean periods."""

from collections.abc import Iterable

import numpy as np

from rmwbench.analysis.records.columns import SteadyWindow

PUBLISHER, SUBSCRIPTION = STEMS = ("publisher_period", "subscription_period")


def periods(times_ns: np.ndarray, window: SteadyWindow) -> np.ndarray:
    """The times between consecutive events of one endpoint while it was there, in ns, float64:
    n − 1 whole periods for n events in the window, and up to two cut ones; empty for fewer than two
    events. The events may be in any order.

    A period that an edge of the window cuts counts with its length within the window, where that is
    longer than every whole period: an endpoint that stops halfway has no short period. Shorter cut
    periods are left out, since they would only make the mean too small."""
    inside = np.sort(times_ns[window.holds(times_ns)])
    if len(inside) < 2:
        return np.empty(0)
    whole_ns = np.diff(inside).astype(float)
    cut = np.array([inside[0] - window.begin_ns, window.end_ns - inside[-1]], float)
    return np.concatenate([whole_ns, cut[cut > whole_ns.max()]])


def of_endpoint(times_ns: np.ndarray, windows: Iterable[SteadyWindow]) -> tuple[np.ndarray, float]:
    """The periods of one endpoint in the times when it was there (see `periods`), and the total
    length of these times, in ns. Between them nothing can happen, so no period spans two of them. A
    time without a period counts as one cut period: an endpoint that receives nothing more has no
    short period."""
    parts = _merged(windows)
    each = [periods(times_ns, part) for part in parts]
    periods_ns = np.concatenate(each or [np.empty(0)])
    silent_ns = [part.length_ns for part, own in zip(parts, each, strict=True) if not len(own)]
    cut = np.array(silent_ns if len(periods_ns) else [], float)
    periods_ns = np.concatenate([periods_ns, cut[cut > periods_ns.max(initial=0)]])
    return periods_ns, float(sum(part.length_ns for part in parts))


def longest(each: Iterable[tuple[np.ndarray, float]]) -> float | None:
    """The longest of the endpoints' mean periods, in ns; `each` has results of `of_endpoint`. An
    endpoint without a period counts with the time that it was there: receiving nothing is not
    better than receiving little. None where no endpoint was there."""
    present = [(own, there_ns) for own, there_ns in each if there_ns > 0]
    means = (float(own.mean()) if len(own) else there_ns for own, there_ns in present)
    return max(means, default=None)


def _merged(windows: Iterable[SteadyWindow]) -> list[SteadyWindow]:
    """The union of the windows as windows in order, none touching another."""
    merged: list[SteadyWindow] = []
    for window in sorted(windows, key=lambda each: each.begin_ns):
        if window.length_ns <= 0:
            continue
        if merged and window.begin_ns <= merged[-1].end_ns:
            merged[-1] = SteadyWindow(merged[-1].begin_ns, max(merged[-1].end_ns, window.end_ns))
        else:
            merged.append(window)
    return merged
