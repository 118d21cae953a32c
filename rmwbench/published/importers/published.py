"""What a reader of a format hands over, piece by piece: cells, trials with their windows, figures,
limits, errors.

It goes to disk as it comes; what is held is one lot of windows (`FLUSH_VALUES` values), the small
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
    """A cell; `version` is None where the original does not say it."""

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
    """An end of a topic in a trial; its number is its place in the trial's list."""

    kind: str
    process: str
    host: str
    topic: str
    type: str
    payload_bytes: int | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    middleware: str | None = None

    def row(self, trial: int, place: int) -> dict[str, Any]:
        asked = json.dumps(dict(self.asked)) if self.asked else None
        return {**vars(self), "trial": trial, "endpoint": place, "asked": asked}


def both_ends(
    topic: str,
    type_: str,
    payload_bytes: int | None,
    middleware: str,
    *,
    host: str = "host",
    processes: tuple[str, str] = BOTH_ENDS,
) -> list[PublishedEndpoint]:
    """A publisher and a subscription of one topic, each in its process."""
    return [
        PublishedEndpoint(kind, process, host, topic, type_, payload_bytes, middleware=middleware)
        for kind, process in zip(BOTH_ENDS, processes, strict=True)
    ]


@dataclass(frozen=True)
class Known:
    """What is known to be wrong with an original: name → text and figures of each error, and what
    it has no data for: metric → reason."""

    errors: Mapping[str, Mapping[str, str]]
    limits: Mapping[str, str]


@cache
def known(kind: str) -> Known:
    """What known.yaml says of a kind."""
    from ruamel.yaml import YAML  # here, since recognising data needs none of it

    read = YAML(typ="safe").load(Path(__file__).with_name("known.yaml"))[kind]
    return Known(read.get("errors", {}), read.get("limits", {}))


@dataclass(frozen=True)
class SeriesPoints:
    """What one series has at one place `x` of several figures, whose names begin with `prefix`."""

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
        """One point of a figure. None where there is no such value: `published` where the original
        never showed it, `corrected` where the data cannot tell, and then the note says why."""
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
        """The number of a cell: a new one for what differs from all before, in its `key` where it
        has one."""
        row = cell.row(len(self.cells))
        known = key or tuple(value for name, value in row.items() if name != "cell")
        if known not in self._numbers:
            self._numbers[known] = len(self.cells)
            self.cells.append(row)
            self._runs.append(0)
        return self._numbers[known]

    def trial(
        self,
        cell: int,
        endpoints: Sequence[PublishedEndpoint] = (),
        *,
        duration_ns: int | None = None,
        failed: str | None = None,
    ) -> int:
        """A new trial of a cell; its number. `failed` is why the original has no result of it."""
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
        """Values of the newest trial, one per interval (None: a run whose length the original does
        not say); what is not finite becomes null: absent is never zero.
        """
        if not isinstance(values, np.ndarray) or values.dtype != np.float64:
            values = np.atleast_1d(np.asarray(np.nan if values is None else values, np.float64))
        begin, end = (_times(t, values.shape) for t in (begin_ns, end_ns))
        self._windows.append((self.trials - 1, endpoint, begin, end, metric, unit, values))
        self._values += len(values)

    def known(self, kind: str, without: Collection[str] = ()) -> None:
        """Adds what is known of a kind, but for the errors `without` which it is."""
        known_of_kind = known(kind)
        for name, error in known_of_kind.errors.items():
            if name not in without:
                self.error(name, error["text"], error.get("figures", ""))
        for metric, reason in known_of_kind.limits.items():
            self.limit(metric, reason)

    def limit(self, metric: str, reason: str) -> None:
        """A metric that the original has no data for, and why."""
        self.limits[metric] = reason

    def error(self, name: str, text: str, figures: str = "") -> None:
        """A known error of the original: what it did, and the figures (a prefix of their names)
        that it touches."""
        self.errors[name] = {"text": text, "figures": figures}

    def flush(self) -> None:
        """Hands the rows of all trials so far to the writer."""
        trials = range(self._since, self.trials)
        self._since = self.trials
        for name, held in self._small.items():
            if held:
                ids = (
                    trials
                    if name == "trials"
                    else list(dict.fromkeys(row["trial"] for row in held))
                )
                self._writer.rows(name, table_from_rows(name, held), ids)
                held.clear()
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
            _repeated(metric, lengths),
            _repeated(unit, lengths),
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


def _repeated(texts: Sequence[str], lengths: Sequence[int]) -> pa.Array:
    known = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    codes = np.repeat(np.array([known[t] for t in texts], np.int32), lengths)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(known))).cast(pa.string())


def _plain(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
