"""The trials of a bundle for analysis (`rmwbench.analysis.metrics.trial_metrics.Evidence`): small
tables as rows grouped by trial, records as columns that are read when they are needed."""

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
"""Up to this many rows, all columns of a trial's records are read at once: opening a file five
times costs more than reading it."""
FEWEST_FROM_MERGED = 32
"""From this many trials on, their records are read from merged files, of which at least a row group
is decoded."""


@dataclass(frozen=True, kw_only=True)
class TrialEvidence:
    """One trial: its row of `trials`, its rows of the small tables, its records. `definition`: the
    whole cell as JSON. `tables`: the tables with rows of the trial."""

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
        """Return the columns of the table `spans`, None if no layer was traced."""
        return self.bundle.columns("spans", self.trial) if "spans" in self.tables else None

    def frames(self) -> dict[str, Any] | None:
        """Return the columns of the frame log, None if the trial has none: an array for numbers,
        (codes into names, names) for texts, with code −1 for null."""
        if "frames" not in self.tables:
            return None
        table = self.bundle.table("frames", self.trial)
        return {name: _column(table.column(name)) for name in table.column_names}

    def samples(self) -> list[tuple[int, str, str, float]]:
        """Return the time series as (time_ns, process, `cpu`, `pss` or `file_pss`, ns or bytes),
        empty if it was not recorded."""
        if "samples" not in self.tables:  # reading an empty table takes a millisecond
            return []
        names = ["time_ns", "process", "counter", "value"]
        table = self.bundle.table("samples", self.trial, names)
        table = table.filter(pc.is_in(table["counter"], pa.array(["cpu", "pss", "file_pss"])))
        return list(zip(*(table[name].to_pylist() for name in names), strict=True))


class Records:
    """A trial's records as `rmwbench.analysis.metrics.latency.Columns`, read from the merged files
    if it is in them."""

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
    """The tables with a few rows per trial, read once for all trials or for `trials`, and grouped
    by trial."""

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
        """The rows by trial. They and the probes are read for a report alone."""
        return self._grouped("attestations")

    @cached_property
    def probes(self) -> dict[int, Rows]:
        return self._grouped("probes")

    def _grouped(self, name: str) -> dict[int, Rows]:
        rows_of_trial: dict[int, Rows] = defaultdict(list)
        trials: Sequence[int | None] = [None] if self._trials is None else self._trials
        for trial in trials:
            for row in self._bundle.rows(name, trial):
                rows_of_trial[row["trial"]].append(row)
        return rows_of_trial


def evidence(
    bundle: "Bundle", lines: Iterable["TrialLine"], small: SmallTables | None = None
) -> Iterator[TrialEvidence]:
    """Yield the evidence of these trials, one after the other. `small`: their small tables, if the
    caller has read them."""
    lines = list(lines)
    small = small or SmallTables(bundle, [line.trial for line in lines])
    names = ("sent", "received") if len(lines) >= FEWEST_FROM_MERGED else ()
    merged = {name: bundle.lots(name) for name in names}
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
