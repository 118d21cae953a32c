"""The common input of several measurements of one trial: its evidence with every stamp on one
clock, its window, its endpoints and their lives, and the definition of its cell.

The evidence may come from a bundle or from a test: `Evidence` says what it must offer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from rmwbench.analysis.metrics.comparisons import (
    focus_of,
    history_depth,
    in_focus,
    is_reliable,
    json_column,
    relays,
)
from rmwbench.analysis.records.clocks import TrialClocks, on_one_clock
from rmwbench.analysis.records.columns import Columns, EndpointRow, Row, SteadyWindow
from rmwbench.analysis.records.frames import FrameCounts, Frames, counts_of, frames_of
from rmwbench.analysis.records.joining import ReaderLife, lives
from rmwbench.codes import UNFINISHED, WAITS
from rmwbench.errors import UserError


class Evidence(Protocol):
    """The data of one done trial: the rows of a bundle's small tables (docs/formats/bundle.md), and
    records by column. `where` names the bundle in errors. The fields are read only, so that a list
    of rows will do for a sequence of rows."""

    @property
    def trial(self) -> int: ...
    @property
    def cell(self) -> int: ...
    @property
    def block(self) -> int: ...
    @property
    def row(self) -> Row: ...
    @property
    def endpoints(self) -> Sequence[Row]: ...
    @property
    def counters(self) -> Sequence[Row]: ...
    @property
    def events(self) -> Sequence[Row]: ...
    @property
    def records(self) -> Columns: ...
    @property
    def where(self) -> str: ...
    @property
    def definition(self) -> str | None: ...
    @property
    def clock_map(self) -> Sequence[Row]: ...

    def samples(self) -> Sequence[tuple[int, str, str, float]]: ...

    def frames(self) -> Mapping[str, Any] | None: ...

    def spans(self) -> Mapping[str, np.ndarray] | None: ...


@dataclass(frozen=True)
class Context:
    """One trial for its measurements. `evidence` has every stamp on one clock; `clocks`: the clocks
    of its hosts."""

    evidence: Evidence
    clocks: TrialClocks

    @classmethod
    def of(cls, evidence: Evidence) -> "Context":
        """Raises UserError where the clocks of the trial's hosts contradict each other."""
        try:
            processes = json_column(evidence.definition).get("processes") or ()
            return cls(*on_one_clock(evidence, processes))
        except ValueError as error:
            raise UserError(
                f"the clock_map of trial {evidence.trial} contradicts itself: {error}",
                where=evidence.where,
                fix="exclude the trial, or run again on hosts whose clocks nobody steps",
            ) from None

    @cached_property
    def window(self) -> SteadyWindow | None:
        """The steady window; None where the trial ended before it."""
        begin_ns, end_ns, drain_end_ns = (
            self.evidence.row.get(c) for c in ("steady_begin_ns", "steady_end_ns", "drain_end_ns")
        )
        if begin_ns is None or end_ns is None:
            return None
        window = SteadyWindow(begin_ns, end_ns, drain_end_ns=drain_end_ns)
        return replace(window, slack_ns=self.clocks.slack_ns(window))

    @cached_property
    def endpoints(self) -> list[EndpointRow]:
        return endpoints_of(self.evidence)

    @cached_property
    def lives(self) -> Mapping[int, ReaderLife]:
        """Endpoint -> when it was there, for endpoints that were not there all the time."""
        return lives(self.evidence.endpoints, self.evidence.events, self.window)

    @cached_property
    def stuck(self) -> frozenset[int]:
        """The writers whose last publish call never returned."""
        unfinished, finished = (
            {
                event["endpoint"]
                for event in self.evidence.events
                if event["event"] == name and event.get("code") != WAITS
            }
            for name in (UNFINISHED, "finished")
        )
        return frozenset(unfinished - finished)

    @cached_property
    def definition(self) -> Mapping[str, Any]:
        """The definition of the trial's cell."""
        definition: Mapping[str, Any] = json_column(self.evidence.definition)
        return definition

    @cached_property
    def focus(self) -> tuple[str, ...]:
        return focus_of(self.definition)

    @cached_property
    def judged(self) -> list[EndpointRow]:
        """The endpoints in focus: latencies and losses are measured on them."""
        own = {row["endpoint"] for row in in_focus(self.evidence.endpoints, self.definition)}
        return [e for e in self.endpoints if e.endpoint in own]

    @cached_property
    def samples(self) -> Sequence[tuple[int, str, str, float]]:
        """The time series of the trial's processes: time, process, counter and value."""
        return self.evidence.samples()

    @cached_property
    def log(self) -> Mapping[str, Any] | None:
        """The bundle's `frames`."""
        return self.evidence.frames()

    @cached_property
    def frames(self) -> Frames | None:
        return None if self.log is None else frames_of(self.log)

    @cached_property
    def frame_counts(self) -> FrameCounts | None:
        """The counts of frames of a trial whose log lacks frames."""
        return counts_of(self.evidence.counters)

    @cached_property
    def before(self) -> list[Row]:
        """The events of the barrier."""
        return [e for e in self.evidence.events if not _is_within(e, self.evidence.row)]

    @cached_property
    def within(self) -> list[Row]:
        """The events from the window's begin on, with the matches of late joiners."""
        return [e for e in self.evidence.events if _is_within(e, self.evidence.row)]


def endpoints_of(evidence: Evidence) -> list[EndpointRow]:
    """Every endpoint of the trial, with the reliability and the history that it was granted."""
    return [
        EndpointRow(
            e["endpoint"],
            e["kind"],
            e["topic"],
            is_reliable([e]),
            history_depth(e),
            e["process"] if _may_share_its_thread(e) else None,
        )
        for e in evidence.endpoints
    ]


def _may_share_its_thread(endpoint: Row) -> bool:
    """Whether the thread that sends for the endpoint may send for other endpoints of its process.
    The thread of a relay sends only its own messages; a thread may also be granted to one endpoint
    alone."""
    return not relays(endpoint) and json_column(endpoint["granted"]).get("schedule") != "own"


def _is_within(event: Row, row: Row) -> bool:
    """Whether the event belongs to the window and not to the barrier before it."""
    start_ns = row.get("start_ns")
    return start_ns is not None and event["time_ns"] is not None and event["time_ns"] >= start_ns
