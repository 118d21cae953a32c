"""Puts every stamp of a trial on the reference clock, which `trials` and `frames` already have.

A bundle keeps every stamp as it was taken, and its `clock_map` has the offset of each host's clock
from the reference. Code that subtracts stamps passes its evidence through this module first; where
all hosts have the reference's own clock the evidence is returned unchanged, at no cost. A time
between two clocks is known to the sum of their bounds."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rmwbench.analysis.records.clocks import Clock, OffsetReading, fit
from rmwbench.analysis.records.columns import Columns, Row, SteadyWindow

OF_WORKERS = frozenset(("opened", "created", "matched", "first_message", "finished"))
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
        a process that no endpoint places is on the first host."""
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
        return {**row, "time_ns": int(self.of_process(row["process"]).to_reference(row["time_ns"]))}

    def _most(self, clock: Clock, window: SteadyWindow | None) -> float:
        edges = np.array(sorted(r.t_ns for r in clock.readings), np.int64)
        if window is not None:
            inside = edges[(edges > window.begin_ns) & (edges < window.end_ns)]
            edges = np.array([window.begin_ns, *inside, window.end_ns], np.int64)
        steps = np.linspace(0, 1, BOUND_POINTS)
        between = edges[:-1] + np.outer(steps, np.diff(edges)).astype(np.int64)
        return float(clock.bound(np.append(between, edges)).max())


_REFERENCE = fit([OffsetReading(0, 0, 0)])


def clocks(clock_map: Iterable[Row], endpoints: Sequence[Row]) -> TrialClocks:
    """The clocks of a trial's hosts, from the rows of `clock_map` and `endpoints`. Raises
    ValueError where the readings of a host contradict each other."""
    readings: dict[str, list[OffsetReading]] = {}
    for row in clock_map:
        readings.setdefault(row["host"], []).append(
            OffsetReading(row["t_ns"], row["offset_ns"], row["bound_ns"])
        )
    return TrialClocks(
        {host: fit(of_host) for host, of_host in readings.items()},
        {e["endpoint"]: e["host"] for e in endpoints},
        {e["process"]: e["host"] for e in endpoints},
    )


class OneClock:
    """A trial's evidence (`context.Evidence`) with every stamp on the reference clock; all else is
    unchanged."""

    def __init__(self, evidence: Any, known: TrialClocks):
        self._evidence = evidence
        self._clocks = known
        self.events = known.events(evidence.events)
        self.records = RecordsOnReference(evidence.records, known)

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

    def __init__(self, columns: Columns, known: TrialClocks):
        self._columns, self._clocks = columns, known

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


def on_one_clock(evidence: Any) -> tuple[Any, TrialClocks]:
    """The evidence with its stamps on the reference clock, and the clocks of the hosts; unchanged
    where all have one clock. Raises ValueError as `clocks`."""
    known = clocks(evidence.clock_map, evidence.endpoints)
    return (evidence if known.is_single else OneClock(evidence, known)), known
