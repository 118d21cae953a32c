"""The knee of a latency-against-load curve: where the median latency has doubled.

By formula: of the loads, the one with the smallest median is the base (often not the lowest load: a
machine that sleeps between messages is slower at low rates). The knee is where the median passes
twice the base's and stays there: between the last load below it and the next, by a straight line in
the logarithms of both, or the first load at which the queue grows, if that is the next. `Stays`,
because on a noisy machine a single level may be slow for a while.

Twice is where a queue with one server waits as long as it serves, at half load of M/M/1 (Kleinrock,
Queueing Systems I, 1975, §3.2), and a number that anyone can check in the table; the curvature of a
handful of noisy points (Kneedle: Satopää et al., ICDCS Workshops 2011) is neither.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

FACTOR = 2.0


@dataclass(frozen=True)
class LoadPoint:
    """One load of a curve: `latency_ns` is None where there is no stable latency; `unstable` where
    the queue grows."""

    load: float
    latency_ns: float | None
    unstable: bool = False


@dataclass(frozen=True)
class Knee:
    """`load` in the axis's unit; `base_load`, `base_ns`: what it is twice of; `by`: latency |
    queue."""

    load: float
    base_load: float
    base_ns: float
    by: Literal["latency", "queue"]


def knee(points: Sequence[LoadPoint]) -> Knee | None:
    """The knee of points in ascending order of load; None where the curve has none, or too few
    points to tell."""
    known = {
        p: p.latency_ns
        for p in points
        if p.latency_ns is not None and p.latency_ns > 0 and not p.unstable
    }
    if not known:
        return None
    base, base_ns = min(known.items(), key=lambda item: item[1])
    limit = FACTOR * base_ns
    beyond = [p for p in points if p.load >= base.load and (p.unstable or p in known)]
    last = max(place for place, p in enumerate(beyond) if not p.unstable and known[p] < limit)
    if last + 1 == len(beyond):
        return None
    before, after = beyond[last], beyond[last + 1]
    if after.unstable or math.isinf(known[after]):
        return Knee(after.load, base.load, base_ns, "queue" if after.unstable else "latency")
    part = math.log(limit / known[before]) / math.log(known[after] / known[before])
    return Knee(before.load * (after.load / before.load) ** part, base.load, base_ns, "latency")
