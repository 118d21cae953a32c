"""The knee of a latency-against-load curve: where the median latency has doubled.

The base is the load with the smallest median. It is often not the lowest load: a machine that
sleeps between messages is slower at low rates. The knee is where the median exceeds twice the
base's and never comes back: between the last load below that and the next, by a straight line in
the logarithms of both, or at the next load itself, where its queue grows or its median is infinite.
On a noisy machine a single load may be slow, so a median that comes back makes no knee.

Twice is where a queue with one server waits as long as it serves, at half load of M/M/1 (Kleinrock,
Queueing Systems I, 1975, §3.2), and a number that anyone can check in the table; the curvature of a
handful of noisy points (Kneedle: Satopää et al., ICDCS Workshops 2011) is neither.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
