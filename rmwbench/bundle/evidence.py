"""A bundle's trials as analysis takes them (`rmwbench.analysis.trial.Evidence`): small tables as rows grouped by trial,
records as columns read when asked for.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rmwbench.bundle.read import Bundle, Lots, TrialLine

Rows = list[dict[str, Any]]
SMALL_ROWS = 200_000
"""Up to this many rows a trial's records are read at once: opening a file five times costs more than reading it."""


MANY = 32
"""From this many trials on they are read from merged files; of those a row group is the least that can be decoded."""


@dataclass(frozen=True)
class TrialEvidence:
    """One trial: its row of `trials`, its rows of the small tables, its records."""

    trial: int
    cell: int
    block: int
    row: dict[str, Any]
    endpoints: Rows
    counters: Rows
    events: Rows
    records: "Records"
    where: str


class Records:
    """A trial's records as `rmwbench.analysis.latency.Columns`; those that are in a merged file come from there."""

    def __init__(self, bundle: "Bundle", trial: int, merged: dict[str, list["Lots"]]):
        self._bundle, self._trial = bundle, trial
        self._small: dict[str, dict[str, np.ndarray] | None] = {
            table: lots.columns(trial) for table, found in merged.items() for lots in found if trial in lots.trials
        }

    def sent(self, column: str) -> np.ndarray:
        return self._column("sent", column)

    def received(self, column: str) -> np.ndarray:
        return self._column("received", column)

    def _column(self, table: str, column: str) -> np.ndarray:
        if table not in self._small:
            few = self._bundle.count(table, self._trial) <= SMALL_ROWS
            self._small[table] = self._bundle.columns(table, self._trial) if few else None
        small = self._small[table]
        return self._bundle.columns(table, self._trial, [column])[column] if small is None else small[column]


class Small:
    """The tables that are a few rows per trial, read once for all trials or those given, grouped by trial."""

    def __init__(self, bundle: "Bundle", trials: Sequence[int] | None = None):
        self._bundle, self._trials = bundle, trials
        self.trials: dict[int, dict[str, Any]] = {t: rows[-1] for t, rows in self._grouped("trials").items()}
        self.endpoints = self._grouped("endpoints")
        self.counters = self._grouped("counters")
        self.events = self._grouped("events")

    def _grouped(self, name: str) -> dict[int, Rows]:
        if self._trials is None:
            return grouped(self._bundle.rows(name))
        return defaultdict(list, {t: self._bundle.rows(name, t) for t in self._trials})


def evidence(bundle: "Bundle", lines: Iterable["TrialLine"], small: Small | None = None) -> Iterator[TrialEvidence]:
    """The evidence of these trials, one after the other; `small` where the caller has read it already."""
    lines = list(lines)
    small = small or Small(bundle, [x.trial for x in lines])
    merged = {name: bundle.lots(name) for name in ("sent", "received")} if len(lines) >= MANY else {}
    for x in lines:
        yield TrialEvidence(
            x.trial,
            x.cell,
            x.block,
            small.trials.get(x.trial, {}),
            small.endpoints[x.trial],
            small.counters[x.trial],
            small.events[x.trial],
            Records(bundle, x.trial, merged),
            str(bundle.directory),
        )


def grouped(rows: Rows) -> dict[int, Rows]:
    """Rows by trial."""
    out: dict[int, Rows] = defaultdict(list)
    for row in rows:
        out[row["trial"]].append(row)
    return out
