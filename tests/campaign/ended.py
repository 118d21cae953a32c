"""How a trial ended, for tests of what it recorded."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.cost import cost
from rmwbench.analysis.records.ledger import ABSENT
from rmwbench.lab.host import marker, shared_files


def rows(result, table: str, **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows of a table that have these values; none without such a table."""
    table_rows = result.tables[table].to_pylist() if table in result.tables else []
    return [row for row in table_rows if all(row[name] == value for name, value in wanted.items())]


def grown(counters: Iterable[dict[str, Any]], counter: str) -> dict[str, float]:
    """Return process → the growth of this counter within the window."""
    edges: dict[str, dict[str, float]] = {"steady_begin": {}, "steady_end": {}}
    for row in counters:
        if row["counter"] == counter and row["at"] in edges:
            edges[row["at"]][row["process"]] = row["value"]
    begin, end = edges.values()
    return {process: value - begin[process] for process, value in end.items()}


def costs(counters: Iterable[dict[str, Any]], messages: int, window_ns: int, **more: Any):
    """Return the costs of a trial whose messages all came to one reader."""
    each = dict.fromkeys(("published", "heard", "delivered"), messages)
    return cost(counters, window_ns=window_ns, **each, **more)


def well(result) -> bool:
    """Assert that the trial is done, or void because of a busy machine alone; its records are there
    in both cases."""
    assert result.status == "done" or result.cause == "machine", (result.status, result.reason)
    return True


def left_behind() -> list[int]:
    """Return the processes of this process's own trials that still run; `marker.strays` has only
    those whose orchestrator is gone."""
    ours = f"{marker.VARIABLE}={os.getpid()}:".encode()
    return [
        pid
        for pid in shared_files.processes()
        if any(word.startswith(ours) for word in marker.environment_of(pid))
    ]


def heard_in_window(result) -> bool:
    """Whether a message was taken in the steady state. If a busy machine halted the workers for as
    long, there is no path or rate to test."""
    (trial,) = rows(result, "trials")
    begin_ns, end_ns = trial["steady_begin_ns"], trial["steady_end_ns"]
    return any(begin_ns <= row["taken_ns"] < end_ns for row in rows(result, "received"))


def evidence_of(result) -> "TableEvidence":
    """Return the records of a trial."""
    return TableEvidence({name: table.to_pylist() for name, table in result.tables.items()})


@dataclass
class TableEvidence:
    """A trial's tables as evidence, without a bundle around them. `rows`: table → its rows;
    `clock_map` replaces the one of `rows`."""

    rows: dict[str, list[dict[str, Any]]]
    clock_map: list[dict[str, Any]] | None = None
    counters: tuple = ()
    trial: int = 1
    cell: int = 1
    block: int = 0
    where: str = "a test"
    definition: str | None = None

    def __post_init__(self):
        (self.row,) = self.rows["trials"]
        self.endpoints, self.events = self.rows["endpoints"], self.rows["events"]
        if self.clock_map is None:
            self.clock_map = self.rows.get("clock_map", [])
        self.records = self

    def sent(self, column):
        return self._column("sent", column)

    def received(self, column):
        return self._column("received", column)

    def _column(self, table, column):
        return np.array(
            [ABSENT if row[column] is None else row[column] for row in self.rows[table]], np.int64
        )

    def samples(self):
        return [
            (row["time_ns"], row["process"], row["counter"], row["value"])
            for row in self.rows.get("samples", [])
            if row["counter"] in ("cpu", "pss", "file_pss")
        ]

    def frames(self):
        return None

    def spans(self):
        return None
