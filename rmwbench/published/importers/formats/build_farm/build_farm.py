"""The nightly build farm of the TSC reports (2020 and 2021): five merged tables, or the one-line
files they came from.

The tables say which run a row is in `file_name`; their `vendor` and `config` are mangled (four of
six vendors read `ps`), so the name is what is read. A one-line file has its test's name in every
header cell and says nothing of the publish mode: that is in its name only, and the rest of the name
must agree with its header.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.published.importers.formats.build_farm import farm_figures as figures
from rmwbench.published.importers.formats.perf_log import SIZEOF
from rmwbench.published.importers.published import Published, PublishedEndpoint
from rmwbench.published.importers.source.data_source import Source, SourceFile
from rmwbench.published.importers.source.plausible import (
    LATENCY_MS,
    MIB,
    PERCENT,
    RATE,
    Plausible,
    Range,
)
from rmwbench.published.importers.source.sheet import header_of, malformed, number, parsed, rows

_NODE = tuple(
    f"{statistic}{metric}"
    for metric in (
        "virtual memory (Mb)",
        "cpu_usage (%)",
        "physical memory (Mb)",
        "resident anonymous memory (Mb)",
    )
    for statistic in ("mean ", "median ", "")
)
_PUBSUB = (
    *(
        "mean latency_mean (ms)",
        "median latency_mean (ms)",
        "95th Percentile Latency",
        "max ru_maxrss",
    ),
    *(
        "mean received",
        "mean sent",
        "sum lost",
        "mean cpu_usage (%)",
        "95th Percentile CPU",
        "median cpu_usage (%)",
    ),
    *("mean data_received (Mb)", "median data_received (Mb)", "95th Percentile Data Received (Mb)"),
)
_INTEROP = (
    *_NODE,
    *(
        "mean latency_mean (ms)",
        "median latency_mean (ms)",
        "Top 5% latency (ms)",
        "max ru_maxrss",
        "mean received",
    ),
    *("mean sent", "sum lost", "mean system_cpu_usage (%)", "mean system virtual memory (Mb)"),
)
"""Columns in the order of a one-line file; a merged table has them reversed, between others."""

_RANGES = {
    "latency": LATENCY_MS,
    "Latency": LATENCY_MS,
    "cpu_usage": PERCENT,
    "CPU": PERCENT,
    "memory": MIB,
    "(Mb)": MIB,
    "ru_maxrss": Range(0, 1e12),
    "received": RATE,
    "sent": RATE,
    "lost": Range(0, 1e12),
}
"""Words of a column's name → what its values can be."""
PLAUSIBLE = Plausible(
    {
        column: next(allowed for word, allowed in _RANGES.items() if word in column)
        for column in dict.fromkeys((*_NODE, *_PUBSUB, *_INTEROP))
    }
)

_VENDOR = (
    r"rmw_connext_cpp|rmw_connextdds|rmw_cyclonedds_cpp|rmw_fastrtps_dynamic_cpp|rmw_fastrtps_cpp"
    r"|FastRTPS|CycloneDDS"
)
_NAMES = {
    "node": re.compile(rf"overhead_node_test_results_(?P<rmw>{_VENDOR})_(?P<mode>async|sync)\.csv"),
    "one_process": re.compile(
        rf"performance_test_results_(?P<rmw>{_VENDOR})_(?P<mode>async|sync)_(?P<type>[A-Za-z0-9]+)\.csv"
    ),
    "two_process": re.compile(
        rf"performance_test_two_process_results_(?P<rmw>{_VENDOR})_(?P<mode>async|sync)_(?P<type>[A-Za-z0-9]+)\.csv"
    ),
    "interop": re.compile(
        rf"overhead_test_results_(?P<rmw>{_VENDOR})_(?P<mode>async|sync)_(?P<to>{_VENDOR})_ROS2_(?P<side>pub|sub)\.csv"
    ),
}
_COLUMNS = {"node": _NODE, "one_process": _PUBSUB, "two_process": _PUBSUB, "interop": _INTEROP}
_BESIDE = {
    "node": ("", "vendor", "config", "file_name"),
    "pubsub": ("", "file_name", "data_type", "flavor", "vendor"),
    "interop": ("", "file_name", "to_rmw_flavor", "to_rmw", "from_rmw_flavor", "from_rmw"),
}


@dataclass(frozen=True)
class Result:
    """One run's summary: `experiment` of `_NAMES`, the middleware, its publish mode, and the values
    by column."""

    experiment: str
    rmw: str
    mode: str
    type: str
    to: str
    side: str
    values: dict[str, float]
    where: str

    @property
    def arm(self) -> str:
        return f"{self.rmw} {self.mode}"


OF_2021 = ("bars of other middlewares",)
"""Known errors of that year alone."""


def year(item: SourceFile) -> int | None:
    """2020 or 2021 for a file of either build, None for any other: Connext's package was renamed in
    between."""
    header = header_of(item.data[:65536])
    raw = (
        len(set(header)) == 1
        and len(header) in (len(_NODE), len(_PUBSUB), len(_INTEROP))
        and _is_raw(header[0])
    )
    if not raw and not _merged_kind(header):
        return None
    return _connext_of(item) or (2021 if raw else None)


def _connext_of(item: SourceFile) -> int | None:
    return next(
        (
            year
            for name, year in ((b"rmw_connext_cpp", 2020), (b"rmw_connextdds", 2021))
            if name in item.data
        ),
        None,
    )


def _is_raw(cell: str) -> bool:
    return re.match(rf"(Publisher-)?({_VENDOR})", cell) is not None


def read(source: Source, out: Published, year: int) -> None:
    """A cell and a trial per row: each configuration was run once."""
    out.known("build-farm", () if year == 2021 else OF_2021)
    seen: dict[tuple[str, ...], str] = {}
    for result in _results(source, year):
        key = (result.experiment, result.rmw, result.mode, result.type, result.to, result.side)
        if key in seen:
            raise malformed(
                result.where, "the same run twice", f"once, as in {seen[key]}", " ".join(key)
            )
        seen[key] = result.where
        _trial(out, result, year)
        figures.add(out, result)


def _results(source: Source, wanted: int) -> Iterator[Result]:
    for item in source:
        other = _connext_of(item)
        if other not in (None, wanted):
            fix = f"`rmwbench published import tsc-{other}-build-farm`"
            raise malformed(
                item.where, f"a file of the build of {other}", f"of {wanted}", f"of {other}", fix
            )
        header = header_of(item.data[:65536])
        kind = _merged_kind(header)
        if kind:
            yield from _merged(item, kind)
        elif len(set(header)) == 1 and _is_raw(header[0]):
            yield _raw(item)
        else:
            raise malformed(
                f"{item.where}:1",
                "not a file of the build farm",
                "a merged table, or one line of values under a repeated test name",
                ", ".join(header)[:120],
            )


def _merged_kind(header: Sequence[str]) -> str | None:
    names = set(header)
    for kind, beside in _BESIDE.items():
        if {name for name in beside if name} <= names:
            return kind
    return None


def _merged(item: SourceFile, kind: str) -> Iterator[Result]:
    columns = _COLUMNS["one_process" if kind == "pubsub" else kind]
    for row in rows(item, (*_BESIDE[kind], *columns)):
        name = row["file_name"].rpartition("/")[2]
        yield _result(name, {c: row.number(c) for c in columns}, row.where, kind)


def _raw(item: SourceFile) -> Result:
    lines = [(line, cells) for line, cells in parsed(item) if cells]
    if len(lines) != 2:
        raise malformed(
            item.where,
            "not a one-line result",
            "a header and one line of values",
            f"{len(lines)} lines",
        )
    header, (line, cells) = lines[0][1], lines[1]
    name = item.name.rpartition("/")[2]
    experiment = next((e for e, pattern in _NAMES.items() if pattern.fullmatch(name)), None)
    if experiment is None:
        raise malformed(
            item.where, "the name does not say what was run", "TEST_results_RMW_MODE….csv", name
        )
    columns = _COLUMNS[experiment]
    for which, found in (("header", header), ("values", cells)):
        if len(found) != len(columns):
            where = f"{item.where}:{1 if which == 'header' else line}"
            raise malformed(where, f"another number of {which}", f"{len(columns)}", len(found))
    where = f"{item.where}:{line}"
    values = {
        c: number(cell, where, f"value {i} ({c})")
        for i, (c, cell) in enumerate(zip(columns, cells, strict=True), 1)
    }
    result = _result(
        name, values, where, "pubsub" if experiment.endswith("process") else experiment
    )
    expected = {
        "node": result.rmw,
        "interop": f"Publisher-{result.rmw}_Subscriber-{result.to}",
    }.get(experiment, f"{result.rmw}_{result.type}")
    if header[0] != expected:
        raise malformed(f"{item.where}:1", "the name contradicts the header", expected, header[0])
    return result


def _result(name: str, values: dict[str, float], where: str, kind: str) -> Result:
    PLAUSIBLE.check_values(values, where)
    wanted = ("one_process", "two_process") if kind == "pubsub" else (kind,)
    for experiment in wanted:
        match = _NAMES[experiment].fullmatch(name)
        if match:
            parts = match.groupdict()
            type_ = parts.get("type") or ("Array60k" if experiment == "interop" else "")
            if type_ and type_ not in SIZEOF:
                raise malformed(where, "an unknown message type", ", ".join(SIZEOF), type_)
            to, side = parts.get("to") or "", parts.get("side") or ""
            return Result(experiment, parts["rmw"], parts["mode"], type_, to, side, values, where)
    raise malformed(
        where, "file_name does not say what was run", "TEST_results_RMW_MODE….csv", name
    )


_WORKLOADS = {
    "node": "empty node",
    "one_process": "publisher and subscriber in one process, {type}",
    "two_process": "two processes, {type}",
    "interop": "round trip, {rmw} to {to}, seen by the {end}",
}


def _trial(out: Published, r: Result, year: int) -> None:
    end = {"pub": "publisher (Main)", "sub": "relay"}.get(r.side, "")
    native = r.rmw in ("FastRTPS", "CycloneDDS")
    factors: dict[str, Any] = {
        "message": r.type,
        "publish_mode": r.mode,
        "to": r.to,
        "seen_by": end,
    }
    if r.experiment != "node":
        factors |= {"rate_hz": 5 if r.experiment == "interop" else 1000}
    cell = out.cell(
        workload=_WORKLOADS[r.experiment].format(type=r.type, rmw=r.rmw, to=r.to, end=end),
        arm=r.arm,
        middleware=r.rmw,
        layer="native" if native else "rclcpp",
        version=f"Rolling of {'14 October 2020' if year == 2020 else '31 August 2021'}",
        profile=r.mode,
        factors={k: v for k, v in factors.items() if v},
        definition={"qos": {"node": ""}.get(r.experiment, "best_effort, volatile")},
    )
    size = SIZEOF.get(r.type)
    ends = []
    if r.experiment != "node":
        both = r.experiment == "one_process"
        kinds = (
            ("publisher", "subscription")
            if both or r.experiment == "interop"
            else ("subscription",)
        )
        ends = [
            PublishedEndpoint(kind, "perf_test", "host", r.type, r.type, size, middleware=r.rmw)
            for kind in kinds
        ]
    seconds = 30 if r.experiment == "node" else 27
    out.trial(cell, ends, duration_ns=30_000_000_000)
    begin = (30 - seconds) * 1_000_000_000
    for metric, unit, value in figures.windows(r):
        out.window(max(0, len(ends) - 1), begin, 30_000_000_000, metric, unit, value)
