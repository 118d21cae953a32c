"""How far one clock is from another, how well that is known (docs/formulas.md), and every stamp of
a trial on the reference clock.

An exchange has four stamps: asked and answered on the reference clock (the orchestrator's),
received and sent on the other. However long either way took, the other clock was ahead by at most
received − asked and by at least sent − answered. So each exchange bounds the offset, a short
exchange tightly; the truth lies where all bounds overlap. The mean of the exchanges is never used,
since a slow way back shifts it. A constant difference between the two ways is not visible and stays
within the bound.

Clocks drift. All straight lines that fit within every bound make a polygon of offset and drift, and
their range at a moment bounds the offset then. Where no straight line fits, because somebody slews
a clock, the bounds widen from each reading by MOST_DRIFT.

A bundle keeps every stamp as it was taken, and its `clock_map` has the offset of each host's clock
from the reference, which `trials` and `frames` already have. Code that subtracts stamps passes its
evidence through `on_one_clock` first; where all hosts have the reference's own clock the evidence
is returned unchanged, at no cost. A time between two clocks is known to the sum of their bounds."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rmwbench.analysis.records.columns import Columns, Row, SteadyWindow
from rmwbench.analysis.records.ledger import ABSENT
from rmwbench.words.numbers import quantity

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
            f"{len(exchanges)} exchanges contradict each other by {quantity(low - high, 'ns')}"
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
                f"a clock ran {quantity(apart, 'ns')} away within "
                f"{quantity(after.t_ns - before.t_ns, 'ns')}: it was stepped"
            )
    return Clock(readings, tuple(r.t_ns for r in readings), tuple(r.offset_ns for r in readings))


STEP = "step"
"""A step of a manager of lifecycle nodes; its value is the time at which it began."""
OF_WORKERS = frozenset(("opened", "created", "matched", "first_message", "finished", STEP))
"""Events whose time a worker noted. The sampler notes the times of OF_SAMPLERS; all other events
have the orchestrator's clock."""
OF_SAMPLERS = frozenset(("canary", "canary_late"))

SENT_STAMPS = frozenset(("intended_ns", "begun_ns", "call_ns", "return_ns"))
RECEIVED_STAMPS = frozenset(("notified_ns", "taken_ns", "callback_ns", "consumed_ns"))

BOUND_POINTS = 17
"""The number of points between two readings at which the bound is computed, since the bound is
largest between readings."""


@dataclass(frozen=True)
class TrialClocks:
    """The clocks of one trial's hosts. `places`: endpoint → host; `processes`: worker → host."""

    hosts: Mapping[str, Clock]
    places: Mapping[int, str]
    processes: Mapping[str, str]

    @cached_property
    def is_single(self) -> bool:
        """Whether all hosts have the reference's own clock."""
        return all(clock.exact for clock in self.hosts.values())

    def of_process(self, process: str) -> Clock:
        """The clock of a process: `sampler@base`, `router base` and `base` are on the host `base`;
        a process that nothing places is on the first host."""
        # The host stands last: a host, too, may be called `router`.
        words = (word for word in reversed(re.split("[@ ]", process)) if word in self.hosts)
        host = self.processes.get(process) or next(words, next(iter(self.hosts)))
        return self.hosts.get(host, _REFERENCE)

    def of_endpoint(self, endpoint: int) -> Clock:
        return self.hosts.get(self.places.get(endpoint, ""), _REFERENCE)

    def bound_ns(self, endpoint: int, other: int, window: SteadyWindow | None) -> float:
        """How far the difference of a stamp at one endpoint and a stamp at another may be from the
        truth, in the window; 0 on one host, however its clock runs."""
        if self.is_single or self.places.get(endpoint) == self.places.get(other):
            return 0.0
        return sum(self._most(self.of_endpoint(end), window) for end in (endpoint, other))

    def widest_ns(self, window: SteadyWindow | None) -> float:
        """The largest bound of any two stamps of the trial."""
        if self.is_single or len(self.hosts) < 2:
            return 0.0
        return sum(sorted(self._most(clock, window) for clock in self.hosts.values())[-2:])

    def slack_ns(self, window: SteadyWindow | None) -> int:
        """How much earlier than the reference a host may have begun its steady state, because its
        clock was known less well then."""
        if self.is_single:
            return 0
        return int(2 * max(self._most(clock, window) for clock in self.hosts.values())) + 1

    def events(self, rows: Iterable[Row]) -> list[Row]:
        return [
            self._moved(row) if row["event"] in OF_WORKERS or row["event"] in OF_SAMPLERS else row
            for row in rows
        ]

    def samples(self, rows: Iterable[Row]) -> list[Row]:
        """Rows of `samples` or `schedule`, which a host's sampler stamps."""
        return list(rows) if self.is_single else [self._moved(row) for row in rows]

    def _moved(self, row: Row) -> Row:
        if row["time_ns"] is None:
            return row
        columns = ("time_ns", "value") if row.get("event") == STEP else ("time_ns",)
        clock = self.of_process(row["process"])
        return {**row, **{name: int(clock.to_reference(row[name])) for name in columns}}

    def _most(self, clock: Clock, window: SteadyWindow | None) -> float:
        edges = np.array(sorted(r.t_ns for r in clock.readings), np.int64)
        if window is not None:
            inside = edges[(edges > window.begin_ns) & (edges < window.end_ns)]
            edges = np.array([window.begin_ns, *inside, window.end_ns], np.int64)
        steps = np.linspace(0, 1, BOUND_POINTS)
        between = edges[:-1] + np.outer(steps, np.diff(edges)).astype(np.int64)
        return float(clock.bound(np.append(between, edges)).max())


_REFERENCE = fit([OffsetReading(0, 0, 0)])


def trial_clocks(
    clock_map: Iterable[Row], endpoints: Sequence[Row], processes: Iterable[Row] = ()
) -> TrialClocks:
    """The clocks of a trial's hosts, from the rows of `clock_map` and `endpoints`, and the
    `processes` of its cell's definition, of which some may have no endpoint. Raises ValueError where
    the readings of a host contradict each other."""
    readings: dict[str, list[OffsetReading]] = {}
    for row in clock_map:
        readings.setdefault(row["host"], []).append(
            OffsetReading(row["t_ns"], row["offset_ns"], row["bound_ns"])
        )
    return TrialClocks(
        {host: fit(of_host) for host, of_host in readings.items()},
        {e["endpoint"]: e["host"] for e in endpoints},
        {process["name"]: process["host"] for process in processes if "host" in process}
        | {e["process"]: e["host"] for e in endpoints},
    )


class OneClock:
    """A trial's evidence (`context.Evidence`) with every stamp on the reference clock; all else is
    unchanged."""

    def __init__(self, evidence: Any, clocks: TrialClocks):
        self._evidence = evidence
        self._clocks = clocks
        self.events = clocks.events(evidence.events)
        self.records = RecordsOnReference(evidence.records, clocks)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evidence, name)

    def spans(self) -> dict[str, np.ndarray] | None:
        """The spans of the evidence, in which each endpoint's moments are on its own clock."""
        spans = self._evidence.spans()
        if spans is None:
            return None
        time_ns = self.records.on_reference(spans["time_ns"], spans["endpoint"])
        return {**spans, "time_ns": time_ns}

    def samples(self) -> list[tuple[int, str, str, float]]:
        """The samples of the evidence: time, process, counter and value."""
        return [
            (int(self._clocks.of_process(process).to_reference(time_ns)), process, counter, value)
            for time_ns, process, counter, value in self._evidence.samples()
        ]


class RecordsOnReference:
    """Records with their stamps on the reference clock. The rows of a reader are on its own clock,
    but for the intended time, which the writer sent with the message."""

    def __init__(self, columns: Columns, clocks: TrialClocks):
        self._columns, self._clocks = columns, clocks

    def sent(self, column: str) -> np.ndarray:
        values = self._columns.sent(column)
        if column not in SENT_STAMPS:
            return values
        return self.on_reference(values, self._columns.sent("endpoint"))

    def received(self, column: str) -> np.ndarray:
        values = self._columns.received(column)
        if column in RECEIVED_STAMPS:
            return self.on_reference(values, self._columns.received("endpoint"))
        if column == "intended_ns":
            return self.on_reference(values, self._columns.received("writer"))
        return values

    def on_reference(self, stamps: np.ndarray, endpoints: np.ndarray) -> np.ndarray:
        shifted = np.array(stamps, np.int64)
        for endpoint in np.unique(endpoints):
            clock = self._clocks.of_endpoint(int(endpoint))
            if not clock.exact:
                rows = endpoints == endpoint
                shifted[rows] = clock.to_reference(shifted[rows])
        return shifted


def on_one_clock(evidence: Any, processes: Iterable[Row] = ()) -> tuple[Any, TrialClocks]:
    """The evidence with its stamps on the reference clock, and the clocks of the hosts; unchanged
    where all have one clock. `processes` and ValueError as of `trial_clocks`."""
    clocks = trial_clocks(evidence.clock_map, evidence.endpoints, processes)
    return (evidence if clocks.is_single else OneClock(evidence, clocks)), clocks
