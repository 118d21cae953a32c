"""What a trial of this bench leaves: our records, as the analysis wants them, and what the other
tool printed.

The ledger is the analysis of every campaign (rmwbench.analysis), not a second one made for this
table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rmwbench.analysis.metrics.latency import Messages, measure
from rmwbench.analysis.records.columns import Endpoint, Window
from rmwbench.analysis.records.ledger import ABSENT
from rmwbench.lab.process.records import RECEIVED, SENT, Section


class RecordColumns:
    """Sections of records files as columns over all endpoints; stamps that were not taken are
    `ABSENT`."""

    def __init__(self, sections: Sequence[Section]):
        self._rows = {
            kind: [section.rows for section in sections if section.kind == kind]
            for kind in (SENT, RECEIVED)
        }
        surplus = sum(section.overflow for section in sections)
        if surplus:
            raise ValueError(f"{surplus} messages found no room in the records")

    def sent(self, column: str) -> np.ndarray:
        return self._column(SENT, column)

    def received(self, column: str) -> np.ndarray:
        return self._column(RECEIVED, column)

    def _column(self, kind: int, column: str) -> np.ndarray:
        parts = [rows[column] for rows in self._rows[kind]]
        values = np.concatenate(parts) if parts else np.empty(0, np.int64)
        return np.where(values == 0, ABSENT, values) if column.endswith("_ns") else values


@dataclass(frozen=True)
class Seen:
    """One trial. `window` is the schedule's, from its first message to its end, in CLOCK_MONOTONIC;
    `printed` is the tool's standard output; `scheduled` how many messages the schedule held."""

    columns: RecordColumns
    endpoints: Sequence[Endpoint]
    window: Window
    scheduled: int
    printed: str = ""
    warnings: list[str] = field(default_factory=list)

    def messages(self) -> Messages:
        return measure(self.columns, self.endpoints, self.window)
