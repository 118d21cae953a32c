"""What a reader of a format hands over, piece by piece: cells, trials with their windows, figures,
limits, errors.

It goes to disk as it comes; memory holds one lot of windows (`FLUSH_VALUES` values), the small
tables and the figures.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rmwbench.bundle.pack import PackedWriter
from rmwbench.bundle.schema import TABLES, table_from_rows

FLUSH_VALUES = 131_072
WINDOWS = TABLES["windows"]
UNKNOWN = np.iinfo(np.int64).min
BOTH_ENDS = ("publisher", "subscription")


@dataclass(frozen=True, kw_only=True)
class PublishedCell:
    """A cell; `version` is None if the original does not say it."""

    workload: str
    arm: str
    middleware: str
    layer: str = "rclcpp"
    version: str | None = None
    profile: str = "untouched"
    factors: Mapping[str, Any] = field(default_factory=dict)
    definition: Mapping[str, Any] = field(default_factory=dict)

    def row(self, number: int) -> dict[str, Any]:
        return {
            **vars(self),
            "cell": number,
            "release_date": None,
            "factors": json.dumps(dict(self.factors)),
            "definition": json.dumps({**self.definition, "imported": True}),
        }


@dataclass(frozen=True)
class PublishedEndpoint:
    """An end of a topic in a trial; its number is its position in the trial's list."""

    kind: str
    process: str
    host: str
    topic: str
    type: str
    payload_bytes: int | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    middleware: str | None = None

    def row(self, trial: int, place: int) -> dict[str, Any]:
        asked_json = json.dumps(dict(self.asked)) if self.asked else None
        return {**vars(self), "trial": trial, "endpoint": place, "asked": asked_json}


def both_ends(
    topic: str,
    type_: str,
    payload_bytes: int | None,
    middleware: str,
    *,
    host: str = "host",
    processes: tuple[str, str] = BOTH_ENDS,
) -> list[PublishedEndpoint]:
    """Return a publisher and a subscription of one topic, each in a process of its own."""
    return [
        PublishedEndpoint(kind, process, host, topic, type_, payload_bytes, middleware=middleware)
        for kind, process in zip(BOTH_ENDS, processes, strict=True)
    ]


@dataclass(frozen=True)
class KnownProblems:
    """What is known to be wrong with an original: for each error its text and figures, by name, and
    for each metric without data the reason."""

    errors: Mapping[str, Mapping[str, str]]
    limits: Mapping[str, str]


@cache
def known_problems(kind: str) -> KnownProblems:
    from ruamel.yaml import YAML  # here, since recognising data needs none of it

    read = YAML(typ="safe").load(Path(__file__).with_name("known.yaml"))[kind]
    return KnownProblems(read.get("errors", {}), read.get("limits", {}))


@dataclass(frozen=True)
class SeriesPoints:
    """The points that one series has at one place `x` in several figures, whose names begin with
    `prefix`."""

    out: "Published"
    prefix: str
    series: str
    x: object = ""
    count: int | None = None

    def __call__(
        self,
        name: str,
        unit: str,
        published: float | None,
        corrected: float | None,
        note: str | None = None,
    ) -> None:
        """Add one point of a figure. A value is None if there is none: `published` if the original
        never showed it, `corrected` if the data cannot tell, and then the note says why."""
        figure = f"{self.prefix}_{name}" if self.prefix else name
        if corrected is None and note is None:
            raise ValueError(f"{figure} {self.series} {self.x}: no corrected value and no reason")
        self.out.figures.append(
            {
                "figure": figure,
                "series": self.series,
                "x": str(self.x),
                "unit": unit,
                "as_published": _plain(published),
                "as_corrected": _plain(corrected),
                "count": self.count,
                "note": note,
            }
        )


class Published:
    """The bundle under construction, as a reader of a format sees it."""

    def __init__(self, writer: PackedWriter):
        self._writer = writer
        self._numbers: dict[object, int] = {}
        self._runs: list[int] = []
        self._small: dict[str, list[dict[str, Any]]] = {"trials": [], "endpoints": []}
        self._since = 0
        self._windows: list[tuple[int, int, np.ndarray, np.ndarray, str, str, np.ndarray]] = []
        self._values = 0
        self.cells: list[dict[str, Any]] = []
        self.figures: list[dict[str, Any]] = []
        self.limits: dict[str, str] = {}
        self.errors: dict[str, dict[str, str]] = {}
        self.windows = 0

    @property
    def trials(self) -> int:
        return self._writer.trials

    def cell(self, cell: PublishedCell, key: object = None) -> int:
        """Return the number of a cell; a cell that differs from all before gets a new one. `key`,
        if given, decides whether it differs."""
        row = cell.row(len(self.cells))
        identity = key or tuple(value for name, value in row.items() if name != "cell")
        if identity not in self._numbers:
            self._numbers[identity] = len(self.cells)
            self.cells.append(row)
            self._runs.append(0)
        return self._numbers[identity]

    def trial(
        self,
        cell: int,
        endpoints: Sequence[PublishedEndpoint] = (),
        *,
        duration_ns: int | None = None,
        failed: str | None = None,
    ) -> int:
        """Begin a new trial of a cell and return its number. `failed`: why the original has no
        result of it."""
        if self._values >= FLUSH_VALUES:
            self.flush()
        block = self._runs[cell]
        self._runs[cell] += 1
        tables = ["trials", *(["endpoints"] if endpoints else []), "windows"]
        number = self._writer.trial(cell=cell, block=block, tables=tables, failed=failed)
        row: dict[str, Any] = {
            "trial": number,
            "cell": cell,
            "block": block,
            "position": number,
            "status": "failed" if failed else "done",
            "reason": failed,
            "started_utc": None,
            "duration_ns": duration_ns,
        }
        self._small["trials"].append(row)
        self._small["endpoints"] += [end.row(number, n) for n, end in enumerate(endpoints)]
        return number

    def window(
        self,
        endpoint: int,
        begin_ns: np.ndarray | int | None,
        end_ns: np.ndarray | int | None,
        metric: str,
        unit: str,
        values: np.ndarray | float | None,
    ) -> None:
        """Add values of the newest trial, one per interval (None: a run whose length the original
        does not say). A value that is not finite becomes null: absent is never zero."""
        if not isinstance(values, np.ndarray) or values.dtype != np.float64:
            values = np.atleast_1d(np.asarray(np.nan if values is None else values, np.float64))
        begin, end = (_times(t, values.shape) for t in (begin_ns, end_ns))
        self._windows.append((self.trials - 1, endpoint, begin, end, metric, unit, values))
        self._values += len(values)

    def add_known(self, kind: str, without: Collection[str] = ()) -> None:
        """Add what is known of a kind, except the errors named in `without`."""
        problems = known_problems(kind)
        for name, error in problems.errors.items():
            if name not in without:
                self.error(name, error["text"], error.get("figures", ""))
        for metric, reason in problems.limits.items():
            self.limit(metric, reason)

    def limit(self, metric: str, reason: str) -> None:
        self.limits[metric] = reason

    def error(self, name: str, text: str, figures: str = "") -> None:
        """Add a known error: what the original did, and the prefix of the names of the figures that
        it affects."""
        self.errors[name] = {"text": text, "figures": figures}

    def flush(self) -> None:
        """Hand the rows of all trials so far to the writer."""
        trials = range(self._since, self.trials)
        self._since = self.trials
        for name, rows in self._small.items():
            if rows:
                ids = (
                    trials
                    if name == "trials"
                    else list(dict.fromkeys(row["trial"] for row in rows))
                )
                self._writer.rows(name, table_from_rows(name, rows), ids)
                rows.clear()
        if self._windows:
            self._writer.rows("windows", self._windows_table(), trials)
            self.windows += self._values
        elif trials:
            self._writer.rows("windows", WINDOWS.empty_table(), trials)
        self._windows, self._values = [], 0

    def _windows_table(self) -> pa.Table:
        trial, endpoint, begin, end, metric, unit, values = zip(*self._windows, strict=True)
        lengths = [len(v) for v in values]
        value = np.concatenate(values)
        columns = [
            pa.array(np.repeat(np.array(trial, np.uint32), lengths)),
            pa.array(np.repeat(np.array(endpoint, np.uint32), lengths)),
            _time(begin),
            _time(end),
            _repeat(metric, lengths),
            _repeat(unit, lengths),
            pa.array(value, mask=~np.isfinite(value)),
        ]
        return pa.Table.from_arrays(columns, schema=WINDOWS)


def _times(given: np.ndarray | int | None, shape: tuple[int, ...]) -> np.ndarray:
    if isinstance(given, np.ndarray) and given.shape == shape and given.dtype == np.int64:
        return given
    return np.broadcast_to(np.asarray(UNKNOWN if given is None else given, np.int64), shape)


def _time(parts: Sequence[np.ndarray]) -> pa.Array:
    whole = np.concatenate(parts)
    return pa.array(whole, mask=whole == UNKNOWN)


def _repeat(texts: Sequence[str], lengths: Sequence[int]) -> pa.Array:
    places = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    codes = np.repeat(np.array([places[t] for t in texts], np.int32), lengths)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(places))).cast(pa.string())


def _plain(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
