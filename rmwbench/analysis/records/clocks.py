"""How far one clock is from another, and how well that is known (docs/formulas.md).

An exchange has four stamps: asked and answered on the reference clock (the orchestrator's),
received and sent on the other. However long either way took, the other clock was ahead by at most
received − asked and by at least sent − answered. So each exchange bounds the offset, a short
exchange tightly; the truth lies where all bounds overlap. The mean of the exchanges is never used,
since a slow way back shifts it. A constant difference between the two ways is not visible and stays
within the bound.

Clocks drift. All straight lines that fit within every bound make a polygon of offset and drift, and
their range at a moment bounds the offset then. Where no straight line fits, because somebody slews
a clock, the bounds widen from each reading by MOST_DRIFT."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rmwbench.analysis.records.ledger import ABSENT

MOST_DRIFT = 1e-3
"""Two clocks, each steered by at most 500 ppm (adjtimex(2)); uncorrected quartz differs by less
than 200 ppm."""
WANDER = 1e-7
"""How much the drift itself may change over a trial: quartz in a room stays within 0.1 ppm for
minutes (Allan deviation). Added to the bound in proportion to the distance from the nearest
reading."""


class Exchange(NamedTuple):
    """The four stamps in ns, in order of time: two on the reference clock outside, two on the other
    inside."""

    asked_ns: int
    received_ns: int
    sent_ns: int
    answered_ns: int


class OffsetReading(NamedTuple):
    """At `t_ns` of the reference clock the other clock was ahead by `offset_ns` ± `bound_ns`."""

    t_ns: int
    offset_ns: int
    bound_ns: int


def intersect(exchanges: Iterable[Exchange]) -> OffsetReading:
    """The reading of exchanges that are close to each other: the overlap of all bounds, at the time
    of the shortest exchange. ValueError where the bounds do not overlap: then a clock was stepped,
    or the answers are not from one clock."""
    exchanges = list(exchanges)
    best = min(exchanges, key=lambda e: (e.answered_ns - e.asked_ns) - (e.sent_ns - e.received_ns))
    at = (best.asked_ns + best.answered_ns) // 2
    low = max(e.sent_ns - e.answered_ns - _run_away(at - e.answered_ns) for e in exchanges)
    high = min(e.received_ns - e.asked_ns + _run_away(at - e.asked_ns) for e in exchanges)
    if low > high:
        raise ValueError(
            f"{len(exchanges)} exchanges contradict each other by {(low - high) / 1e3:.3g} µs"
        )
    middle = (low + high) // 2
    return OffsetReading(at, middle, high - middle)


def _run_away(distance_ns: int) -> int:
    return int(abs(distance_ns) * MOST_DRIFT) + 1


@dataclass(frozen=True)
class Clock:
    """A clock against the reference. `t_ns`, `offset_ns`: the offset as line segments, straight on
    beyond both ends; one point is a constant. `corners`: offset (ns, relative to `origin`) and
    drift of the lines that bound the polygon; None where no straight line fits."""

    readings: tuple[OffsetReading, ...]
    t_ns: tuple[int, ...]
    offset_ns: tuple[int, ...]
    corners: tuple[tuple[float, float], ...] | None = field(default=None, repr=False)

    @property
    def exact(self) -> bool:
        """Whether the clock is the reference itself."""
        return all(r.offset_ns == 0 and r.bound_ns == 0 for r in self.readings)

    def to_reference(self, stamps: np.ndarray | int) -> np.ndarray:
        """Stamps of this clock on the reference, int64 of any shape, ns; `ABSENT` stays."""
        stamps = np.asarray(stamps, np.int64)
        if len(self.t_ns) == 1:
            moved = stamps - self.offset_ns[0]
        else:
            knots = np.array(
                [t + o for t, o in zip(self.t_ns, self.offset_ns, strict=True)], np.int64
            )
            moved = stamps - self._line(stamps, knots)
        return np.where(stamps == ABSENT, ABSENT, moved)

    def from_reference(self, t_ns: int) -> int:
        """A time of the reference on this clock, ns."""
        if len(self.t_ns) == 1:
            return t_ns + self.offset_ns[0]
        return t_ns + int(self._line(np.array([t_ns], np.int64), np.array(self.t_ns, np.int64))[0])

    def bound(self, t_ns: np.ndarray | Sequence[int]) -> np.ndarray:
        """How far `to_reference` may be from the truth at these times of the reference, float64,
        ns."""
        if self.exact:
            return np.zeros(len(t_ns))
        t = np.asarray(t_ns, np.int64)
        low, high = self._envelope(t)
        line = (self._line(t, np.array(self.t_ns, np.int64)) - self._origin[1]).astype(float)
        nearest = np.min([np.abs(t - r.t_ns) for r in self.readings], axis=0)
        # A line rounded to whole nanoseconds at both ends is off by up to one in between.
        rounding = 1 if len(self.t_ns) > 1 else 0
        bound: np.ndarray = np.maximum(high - line, line - low) + WANDER * nearest + rounding
        return bound

    @property
    def _origin(self) -> tuple[int, int]:
        """Differences to it are small enough for float64."""
        return self.readings[0].t_ns, self.readings[0].offset_ns

    def _line(self, at: np.ndarray, knots: np.ndarray) -> np.ndarray:
        """The offset, int64, at points of the axis on which `knots` are."""
        first = self.offset_ns[0]
        if len(knots) == 1:
            return np.full(at.shape, first, np.int64)
        # The outermost segments extend beyond the ends.
        segment = np.clip(np.searchsorted(knots, at) - 1, 0, len(knots) - 2)
        rise = np.array([o - first for o in self.offset_ns], float)
        slope = np.diff(rise) / np.diff(knots)
        further = np.rint(rise[segment] + slope[segment] * (at - knots[segment]))
        line: np.ndarray = first + further.astype(np.int64)
        return line

    def _envelope(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest offset possible, relative to the origin."""
        since, offset = self._origin
        if self.corners is not None:
            spans = [a + b * (t - since).astype(float) for a, b in self.corners]
            return np.min(spans, axis=0), np.max(spans, axis=0)
        low = [
            r.offset_ns - offset - r.bound_ns - MOST_DRIFT * np.abs(t - r.t_ns)
            for r in self.readings
        ]
        high = [
            r.offset_ns - offset + r.bound_ns + MOST_DRIFT * np.abs(t - r.t_ns)
            for r in self.readings
        ]
        return np.max(low, axis=0), np.min(high, axis=0)


def fit(readings: Iterable[OffsetReading]) -> Clock:
    """The clock of one or more readings. The offset is constant where that agrees with all
    readings, else it drifts evenly, else it goes from reading to reading. ValueError where no clock
    that drifts by at most MOST_DRIFT gives these readings: then it was stepped."""
    readings = tuple(sorted(readings))
    if not any(r.offset_ns or r.bound_ns for r in readings):
        return Clock(readings, (readings[0].t_ns,), (0,))
    corners = _polygon(readings)
    if corners is None:
        return _uneven(readings)
    since, offset = readings[0].t_ns, readings[0].offset_ns
    low = max(r.offset_ns - r.bound_ns for r in readings)
    high = min(r.offset_ns + r.bound_ns for r in readings)
    if low <= high:
        return Clock(readings, (since,), ((low + high) // 2,), corners)
    a, b = (float(np.mean(part)) for part in zip(*corners, strict=True))
    end = readings[-1].t_ns
    return Clock(
        readings, (since, end), (offset + round(a), offset + round(a + b * (end - since))), corners
    )


def _polygon(readings: Sequence[OffsetReading]) -> tuple[tuple[float, float], ...] | None:
    """The corners (offset at the first reading relative to its own, drift) of the lines that fit
    every reading; None where no line fits."""
    since, offset = readings[0].t_ns, readings[0].offset_ns
    # drift in ns per `scale`, so that both coordinates are of a kind
    scale = max(1, readings[-1].t_ns - since)
    t = np.array([(r.t_ns - since) / scale for r in readings])
    centre = np.array([r.offset_ns - offset for r in readings], float)
    # A bound of 0 has no inside, and stamps are rounded to whole nanoseconds.
    width = np.array([max(r.bound_ns, 0.5) for r in readings], float)
    # Each edge is a·n0 + b·n1 = c: a line through the end of a reading's bound, or the steepest
    # drift.
    normals = np.concatenate([np.stack([np.ones_like(t), t], 1)] * 2 + [[[0.0, 1.0]] * 2])
    edges = np.concatenate(
        [centre + width, centre - width, [MOST_DRIFT * scale, -MOST_DRIFT * scale]]
    )
    i, j = np.triu_indices(len(edges), 1)
    determinant = normals[i, 0] * normals[j, 1] - normals[i, 1] * normals[j, 0]
    crossing = np.abs(determinant) > 1e-12
    i, j, determinant = i[crossing], j[crossing], determinant[crossing]
    a = (edges[i] * normals[j, 1] - normals[i, 1] * edges[j]) / determinant
    b = (normals[i, 0] * edges[j] - edges[i] * normals[j, 0]) / determinant
    slack = 1e-6 * (1 + width)
    inside = (np.abs(a[:, None] + b[:, None] * t - centre) <= width + slack).all(1)
    inside &= np.abs(b) <= MOST_DRIFT * scale * (1 + 1e-9)
    return (
        tuple((float(x), float(y) / scale) for x, y in zip(a[inside], b[inside], strict=True))
        or None
    )


def _uneven(readings: tuple[OffsetReading, ...]) -> Clock:
    for before, after in itertools.pairwise(readings):
        apart = abs(after.offset_ns - before.offset_ns) - before.bound_ns - after.bound_ns
        if apart > MOST_DRIFT * (after.t_ns - before.t_ns):
            raise ValueError(
                f"a clock ran {apart / 1e3:.3g} µs away within "
                f"{(after.t_ns - before.t_ns) / 1e9:.3g} s: it was stepped"
            )
    return Clock(readings, tuple(r.t_ns for r in readings), tuple(r.offset_ns for r in readings))
