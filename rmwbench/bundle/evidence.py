"""A bundle's trials as analysis takes them (`rmwbench.analysis.metrics.trial_metrics.Evidence`): small
tables as rows grouped by trial, records as columns read when asked for.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from rmwbench.bundle.bundle_reader import Bundle, Lots, TrialLine

Rows = list[dict[str, Any]]
SMALL_ROWS = 200_000
"""Up to this many rows a trial's records are read at once: opening a file five times costs more
than reading it."""
MANY = 32
"""From this many trials on they are read from merged files; of those a row group is the least that
can be decoded."""


@dataclass(frozen=True, kw_only=True)
class TrialEvidence:
    """One trial: its row of `trials`, its rows of the small tables, its records. `definition`: the
    whole cell as JSON. `tables`: those that have rows of it."""

    trial: int
    cell: int
    block: int
    row: dict[str, Any]
    endpoints: Rows
    counters: Rows
    events: Rows
    clock_map: Rows
    records: "Records"
    where: str
    bundle: "Bundle"
    definition: str | None
    tables: tuple[str, ...]

    def spans(self) -> dict[str, np.ndarray] | None:
        """The columns of the table `spans`; None where no layer was traced."""
        return self.bundle.columns("spans", self.trial) if "spans" in self.tables else None

    def frames(self) -> dict[str, Any] | None:
        """The columns of the frame log: arrays, and (codes into names, names) for texts, code −1
        for null; None where the trial has none."""
        if "frames" not in self.tables:
            return None
        table = self.bundle.table("frames", self.trial)
        return {name: _column(table.column(name)) for name in table.column_names}

    def samples(self) -> list[tuple[int, str, str, float]]:
        """(time_ns, process, `cpu`, `pss` or `file_pss`, ns or bytes) of the time series; empty
        where it was not asked for."""
        if "samples" not in self.tables:  # as in most trials: an empty table takes a millisecond
            return []
        names = ["time_ns", "process", "counter", "value"]
        table = self.bundle.table("samples", self.trial, names)
        table = table.filter(pc.is_in(table["counter"], pa.array(["cpu", "pss", "file_pss"])))
        return list(zip(*(table[name].to_pylist() for name in names), strict=True))


class Records:
    """A trial's records as `rmwbench.analysis.metrics.latency.Columns`; those that are in a merged
    file come from there."""

    def __init__(self, bundle: "Bundle", trial: int, merged: dict[str, list["Lots"]]):
        self._bundle, self._trial = bundle, trial
        self._small: dict[str, dict[str, np.ndarray] | None] = {
            table: lots.columns(trial)
            for table, table_lots in merged.items()
            for lots in table_lots
            if trial in lots.trials
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
        return (
            self._bundle.columns(table, self._trial, [column])[column]
            if small is None
            else small[column]
        )


class SmallTables:
    """The tables that are a few rows per trial, read once for all trials or those given, grouped by
    trial."""

    def __init__(self, bundle: "Bundle", trials: Sequence[int] | None = None):
        self._bundle, self._trials = bundle, trials
        self.trials: dict[int, dict[str, Any]] = {
            t: rows[-1] for t, rows in self._grouped("trials").items()
        }
        self.endpoints = self._grouped("endpoints")
        self.counters = self._grouped("counters")
        self.events = self._grouped("events")
        self.clock_map = self._grouped("clock_map")

    @cached_property
    def attestations(self) -> dict[int, Rows]:
        """Only a report shows these two."""
        return self._grouped("attestations")

    @cached_property
    def probes(self) -> dict[int, Rows]:
        return self._grouped("probes")

    def _grouped(self, name: str) -> dict[int, Rows]:
        if self._trials is None:
            return grouped(self._bundle.rows(name))
        return defaultdict(list, {t: self._bundle.rows(name, t) for t in self._trials})


def evidence(
    bundle: "Bundle", lines: Iterable["TrialLine"], small: SmallTables | None = None
) -> Iterator[TrialEvidence]:
    """The evidence of these trials, one after the other; `small` where the caller has read it
    already."""
    lines = list(lines)
    small = small or SmallTables(bundle, [line.trial for line in lines])
    merged = (
        {name: bundle.lots(name) for name in ("sent", "received")} if len(lines) >= MANY else {}
    )
    definitions = {row["cell"]: row["definition"] for row in bundle.rows("cells")}
    for line in lines:
        yield TrialEvidence(
            trial=line.trial,
            cell=line.cell,
            block=line.block,
            row=small.trials.get(line.trial, {}),
            endpoints=small.endpoints[line.trial],
            counters=small.counters[line.trial],
            events=small.events[line.trial],
            clock_map=small.clock_map[line.trial],
            records=Records(bundle, line.trial, merged),
            where=str(bundle.directory),
            bundle=bundle,
            definition=definitions.get(line.cell),
            tables=line.tables,
        )


def _column(column: pa.ChunkedArray) -> Any:
    if not pa.types.is_string(column.type):
        return (
            column.fill_null(0).to_numpy()
            if pa.types.is_integer(column.type)
            else column.to_numpy()
        )
    encoded = pc.dictionary_encode(column.combine_chunks())
    return encoded.indices.fill_null(-1).to_numpy(), tuple(encoded.dictionary.to_pylist())


def grouped(rows: Rows) -> dict[int, Rows]:
    """Rows by trial."""
    out: dict[int, Rows] = defaultdict(list)
    for row in rows:
        out[row["trial"]].append(row)
    return out
