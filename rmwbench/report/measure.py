"""A bundle's trial -> the numbers of analysis: the only place where the report touches records, a column at a time."""

import json
from collections import defaultdict
from typing import Any

import numpy as np

from rmwbench.analysis import cost
from rmwbench.analysis.aggregate import Trial
from rmwbench.analysis.latency import Endpoint, Window, measure
from rmwbench.bundle import Bundle
from rmwbench.bundle.read import TrialLine
from rmwbench.errors import UserError

SMALL_ROWS = 200_000
"""Up to this many rows a trial's records are read at once: opening a file five times costs more than reading it."""


class _Columns:
    """A trial's records as `rmwbench.analysis.latency.Columns`."""

    def __init__(self, bundle: Bundle, trial: int):
        self._bundle, self._trial = bundle, trial
        self._small: dict[str, dict[str, np.ndarray] | None] = {}

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


def measure_trial(
    bundle: Bundle, line: TrialLine, row: dict[str, Any], endpoints: list[dict[str, Any]], small: "Small"
) -> Trial:
    """All metrics of one done trial. `row`: its row of `trials`. UserError where its records contradict the format."""
    window = Window(row.get("steady_begin_ns"), row.get("steady_end_ns"))
    try:
        messages = measure(
            _Columns(bundle, line.trial), [Endpoint(e["endpoint"], e["kind"], e["topic"]) for e in endpoints], window
        )
    except ValueError as error:
        raise UserError(
            f"the records of trial {line.trial} contradict the record format: {error}",
            where=str(bundle.directory),
            fix="the worker that wrote them has a bug; exclude its arm, or run again",
        ) from None
    trial = Trial(line.trial, line.block, messages, window.length_ns)
    for values, reasons in (
        cost.cost(
            small.counters[line.trial],
            published=messages.publishes,
            delivered=messages.ledger.delivered,
            window_ns=window.length_ns,
        ),
        cost.setup(small.events[line.trial]),
    ):
        trial.values |= values
        trial.reasons |= reasons
    return trial


class Small:
    """The tables that are a few rows per trial, read once for the whole bundle and grouped by trial."""

    def __init__(self, bundle: Bundle):
        self.trials: dict[int, dict[str, Any]] = {r["trial"]: r for r in bundle.rows("trials")}
        self.endpoints = _grouped(bundle.rows("endpoints"))
        self.counters = _grouped(bundle.rows("counters"))
        self.events = _grouped(bundle.rows("events"))
        self.attestations = _grouped(bundle.rows("attestations"))
        self.probes = _grouped(bundle.rows("probes"))


def _grouped(rows: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    out: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        out[row["trial"]].append(row)
    return out


def loads(text: str | None) -> Any:
    """A JSON column's value; absent and unreadable both give {} (the report then has nothing to say about it)."""
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return {}
