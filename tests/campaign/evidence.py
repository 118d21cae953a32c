"""A trial's tables as evidence, without a bundle around them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.analysis.records.ledger import ABSENT


def evidence_of(result) -> "TableEvidence":
    """What a trial recorded."""
    return TableEvidence({name: table.to_pylist() for name, table in result.tables.items()})


@dataclass
class TableEvidence:
    """`rows`: table → its rows; `clock_map` other than they have it."""

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
