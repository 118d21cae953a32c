"""The nightly build farm of the TSC reports (2020 and 2021): five merged tables, or the one-line
files that they were made from.

The merged tables say in `file_name` which run a row belongs to. Their `vendor` and `config` are
mangled (four of six vendors read `ps`), so the reader uses the name. A one-line file has its test's
name in every header cell and says nothing about the publish mode: only its name does, and the rest
of the name must agree with its header.

What cannot be corrected from a summary has no corrected value: the percentile of 27 one-second
means is not a percentile of messages, and the earliest sample of a mean since start is not a 95th
percentile of load.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rmwbench.published.importers.data_source import Source, SourceFile, malformed
from rmwbench.published.importers.formats.perf_log import SIZEOF
from rmwbench.published.importers.published import (
    Published,
    PublishedCell,
    SeriesPoints,
    both_ends,
    known_problems,
)
from rmwbench.published.importers.sheet import (
    LATENCY_MS,
    MIB,
    PERCENT,
    RATE,
    Once,
    Plausible,
    Range,
    columns,
    number,
    parse_rows,
    rows,
    unlike,
)

_USAGE = columns(
    "virtual memory (Mb),cpu_usage (%),physical memory (Mb),resident anonymous memory (Mb)"
)
_NODE = tuple(f"{statistic}{name}" for name in _USAGE for statistic in ("mean ", "median ", ""))
_PUBSUB = columns(
    "mean latency_mean (ms),median latency_mean (ms),95th Percentile Latency,max ru_maxrss,"
    "mean received,mean sent,sum lost,mean cpu_usage (%),95th Percentile CPU,median cpu_usage (%),"
    "mean data_received (Mb),median data_received (Mb),95th Percentile Data Received (Mb)"
)
_INTEROP = (
    *_NODE,
    *columns(
        "mean latency_mean (ms),median latency_mean (ms),Top 5% latency (ms),max ru_maxrss,"
        "mean received,mean sent,sum lost,mean system_cpu_usage (%),mean system virtual memory (Mb)"
    ),
)
"""The columns in the order of a one-line file; a merged table has them in reverse order, between
others."""

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
"""Words in a column's name → what its values can be."""
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
    """One run's summary: its `experiment` (a key of `_NAMES`), the middleware, its publish mode,
    and the values by column."""

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
"""The known errors of that year alone."""


def _year(item: SourceFile) -> int | None:
    """Return 2020 or 2021 for a file of either build, None for any other: Connext's package was
    renamed in between."""
    header = item.header
    is_raw = (
        len(set(header)) == 1
        and len(header) in (len(_NODE), len(_PUBSUB), len(_INTEROP))
        and _is_raw(header[0])
    )
    if not is_raw and not _merged_kind(header):
        return None
    return _connext_year(item) or (2021 if is_raw else None)


def _connext_year(item: SourceFile) -> int | None:
    if b"rmw_connext_cpp" in item.data:
        return 2020
    return 2021 if b"rmw_connextdds" in item.data else None


def _is_raw(cell: str) -> bool:
    return re.match(rf"(Publisher-)?({_VENDOR})", cell) is not None


@dataclass(frozen=True)
class BuildFarm:
    """The reader of one year's build."""

    year: int

    def recognises(self, item: SourceFile) -> bool:
        return _year(item) == self.year

    def read(self, source: Source, out: Published) -> None:
        """Read one cell and one trial from each row: each configuration was run once."""
        out.add_known("build-farm", () if self.year == 2021 else OF_2021)
        once = Once("the same run")
        for result in _results(source, self.year):
            experiment = result.experiment, result.type, result.to, result.side
            once((result.rmw, result.mode, *experiment), result.where)
            _trial(out, result, self.year)
            add_figures(out, result)


YEAR_2020, YEAR_2021 = BuildFarm(2020), BuildFarm(2021)


def _results(source: Source, year: int) -> Iterator[Result]:
    for item in source:
        other = _connext_year(item)
        if other not in (None, year):
            fix = f"`rmwbench published import tsc-{other}-build-farm`"
            raise item.wrong(f"a file of the build of {other}", f"of {year}", f"of {other}", fix)
        header = item.header
        kind = _merged_kind(header)
        if kind:
            yield from _merged_results(item, kind)
        elif len(set(header)) == 1 and _is_raw(header[0]):
            yield _raw(item)
        else:
            expected = "a merged table, or one line of values under a repeated test name"
            raise unlike(item, "not a file of the build farm", expected)


def _merged_kind(header: Sequence[str]) -> str | None:
    kinds = (kind for kind, names in _BESIDE.items() if set(filter(None, names)) <= set(header))
    return next(kinds, None)


def _merged_results(item: SourceFile, kind: str) -> Iterator[Result]:
    names = _COLUMNS["one_process" if kind == "pubsub" else kind]
    for row in rows(item, (*_BESIDE[kind], *names)):
        file_name = row["file_name"].rpartition("/")[2]
        yield _result(file_name, {name: row.number(name) for name in names}, row.where, kind)


def _raw(item: SourceFile) -> Result:
    lines = [(line, cells) for line, cells in parse_rows(item) if cells]
    if len(lines) != 2:
        raise item.wrong(
            "not a one-line result", "a header and one line of values", f"{len(lines)} lines"
        )
    header, (line, cells) = lines[0][1], lines[1]
    name = item.file_name
    experiment = next((e for e, pattern in _NAMES.items() if pattern.fullmatch(name)), None)
    if experiment is None:
        raise item.wrong("the name does not say what was run", "TEST_results_RMW_MODE….csv", name)
    names = _COLUMNS[experiment]
    for which, of_line in (("header", header), ("values", cells)):
        if len(of_line) != len(names):
            where = f"{item.where}:{1 if which == 'header' else line}"
            raise malformed(where, f"another number of {which}", f"{len(names)}", len(of_line))
    where = f"{item.where}:{line}"
    values = {
        c: number(cell, where, f"value {i} ({c})")
        for i, (c, cell) in enumerate(zip(names, cells, strict=True), 1)
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
    for experiment in ("one_process", "two_process") if kind == "pubsub" else (kind,):
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
    cell = PublishedCell(
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
    ends = both_ends(r.type, r.type, size, r.rmw, processes=("perf_test", "perf_test"))
    ends = {"node": [], "two_process": ends[1:]}.get(r.experiment, ends)
    seconds = 30 if r.experiment == "node" else 27
    out.trial(out.cell(cell), ends, duration_ns=30_000_000_000)
    begin = (30 - seconds) * 1_000_000_000
    for metric, unit, value in windows_of(r):
        out.window(max(0, len(ends) - 1), begin, 30_000_000_000, metric, unit, value)


MEBIBYTE = 1024 * 1024
PAGES = 4.0
"""The factor for pages of 4 KiB that were divided by 1024 and called Mb."""

_MEMORY = {
    "virtual memory (Mb)": PAGES,
    "physical memory (Mb)": 1.0,
    "resident anonymous memory (Mb)": PAGES,
}
_STATISTICS = (("mean", "mean "), ("median", "median "), ("p95", ""))
_CPU_OF_SECONDS = {
    "mean": "mean cpu_usage (%)",
    "median": "median cpu_usage (%)",
    "p95": "95th Percentile CPU",
}
_DATA_OF_SECONDS = {
    "mean": "mean data_received (Mb)",
    "median": "median data_received (Mb)",
    "p95": "95th Percentile Data Received (Mb)",
}

PAGES_NOTE = "pages ÷ 1024, not MiB: × 4"
ANONYMOUS_NOTE = f"{PAGES_NOTE}; and all resident pages, not only anonymous ones"
CPU_NOTE = "a mean since the process began, over all hardware threads: start-up dominates"
P95_CPU = "no data: samples are means since the process began, so the highest is the earliest"
P95_SECONDS = "no data: the 95th percentile of 27 means of a second, not of messages"
CUT = "no data: rates per second cut to whole numbers, and counts are not stored"
NO_LOG = "no data: the publisher wrote no log, 0 stands for absent"
RELAY = "no data: the relay measures no latency, 0 stands for absent"


def windows_of(r: "Result") -> Iterator[tuple[str, str, float | None]]:
    """Yield (metric, unit, value) of one result in rmwbench's units; the value is None if it is
    absent."""
    v = r.values
    if r.experiment in ("node", "interop"):
        for name, factor in _MEMORY.items():
            metric = {"virtual": "virtual", "physical": "rss", "resident": "resident_pages"}[
                name.split()[0]
            ]
            for statistic, prefix in _STATISTICS:
                yield f"{metric}_{statistic}", "bytes", v[prefix + name] * factor * MEBIBYTE
        for statistic, prefix in _STATISTICS:
            yield (
                f"cpu_share_{statistic}",
                "fraction of all hardware threads",
                v[f"{prefix}cpu_usage (%)"] / 100,
            )
    if r.experiment == "node":
        return
    relay = r.side == "sub"
    kind = "round_trip" if r.experiment == "interop" else "latency"
    for statistic in ("mean", "median"):
        value = v[f"{statistic} latency_mean (ms)"]
        yield f"{kind}_{statistic}_of_seconds", "ns", None if relay else value * 1e6
    yield "peak_rss", "bytes", v["max ru_maxrss"] * 1024
    yield "received_rate_cut_mean", "Hz", v["mean received"]
    absent = r.experiment == "two_process" or relay
    yield "sent_rate_cut_mean", "Hz", None if absent else v["mean sent"]
    yield "lost_rate_cut_sum", "messages", v["sum lost"]
    if r.experiment == "interop":
        return
    yield "latency_p95_of_seconds", "ns", v["95th Percentile Latency"] * 1e6
    for statistic, name in _CPU_OF_SECONDS.items():
        yield f"cpu_share_{statistic}_of_seconds", "fraction of all hardware threads", v[name] / 100
    for statistic, name in _DATA_OF_SECONDS.items():
        yield f"data_received_{statistic}_of_seconds", "bytes/s", v[name] * MEBIBYTE


def add_figures(out: Published, r: "Result") -> None:
    if r.experiment == "node":
        _node(out, r)
    elif r.experiment == "interop":
        _interop(out, r)
    else:
        _pubsub(out, r)


def _node(out: Published, r: "Result") -> None:
    point = SeriesPoints(out, "spin", r.arm)
    for statistic, prefix in _STATISTICS:
        cpu = r.values[f"{prefix}cpu_usage (%)"]
        corrected = None if statistic == "p95" else cpu
        why = P95_CPU if corrected is None else None
        bar_note = why or "published: rounded to two decimals, times 100"
        point(f"cpu_{statistic}", "% of the machine", cpu, corrected, why or CPU_NOTE)
        bar = round(cpu, 2) * 100
        point(f"cpu_bar_{statistic}", "% of the machine", bar, corrected, bar_note)
    _memory(point, r)


def _memory(point: SeriesPoints, r: "Result") -> None:
    for name, factor in _MEMORY.items():
        short = name.split()[0].replace("resident", "anonymous")
        note = {"virtual": PAGES_NOTE, "anonymous": ANONYMOUS_NOTE}.get(short)
        for statistic, prefix in _STATISTICS:
            value = r.values[prefix + name]
            point(f"{short}_{statistic}", "MiB", value, value * factor, note)


def _pubsub(out: Published, r: "Result") -> None:
    v, point = r.values, SeriesPoints(out, r.experiment, r.arm, r.type, 27)
    data = v["mean data_received (Mb)"]
    received = data * MEBIBYTE / SIZEOF[r.type]
    note = "bytes per second ÷ sizeof"
    point("received", "messages/s", v["mean received"], received, note)
    two_processes = r.experiment == "two_process"
    point("sent", "messages/s", v["mean sent"], None, NO_LOG if two_processes else CUT)
    point("lost", "messages", v["sum lost"], None, CUT)
    mean = "unweighted mean of 27 means of a second"
    median = "median of 27 means of a second"
    for name, note in (("mean", mean), ("median", median)):
        value = v[f"{name} latency_mean (ms)"]
        point(f"latency_{name}", "ms", value, value, note)
    point("latency_p95", "ms", v["95th Percentile Latency"], None, P95_SECONDS)
    for name, column in _CPU_OF_SECONDS.items():
        point(f"cpu_{name}", "% of the machine", v[column], v[column], "of seconds")
    point("peak_rss", "KiB", v["max ru_maxrss"], v["max ru_maxrss"])
    for name, column in _DATA_OF_SECONDS.items():
        point(f"data_{name}", "MiB/s", v[column], v[column], "published as Mb")


def _interop(out: Published, r: "Result") -> None:
    v, relay = r.values, r.side == "sub"
    point = SeriesPoints(out, "interop_relay" if relay else "interop", r.arm, r.to, 25)
    wrong = known_problems("build-farm").errors
    for statistic in ("mean", "median"):
        value = v[f"{statistic} latency_mean (ms)"]
        note = RELAY if relay else "a round trip"
        point(f"latency_{statistic}", "ms", value, None if relay else value, note)
    top5 = "no data: " + wrong["top 5 % latency"]["text"]
    point("latency_top5", "ms", v["Top 5% latency (ms)"], None, RELAY if relay else top5)
    point("received", "messages/s", v["mean received"], None, CUT)
    sent = "no data: the relay's 0 stands for absent" if relay else CUT
    point("sent", "messages/s", v["mean sent"], None, sent)
    lost = "no data: at 5 Hz one lost message is a rate below 1, cut to 0"
    point("lost", "messages", v["sum lost"], None, lost)
    busy = "no data: " + wrong["relay's busy loop"]["text"]
    for statistic, prefix in _STATISTICS:
        cpu = v[f"{prefix}cpu_usage (%)"]
        p95 = statistic == "p95"
        note = busy if relay else P95_CPU if p95 else CPU_NOTE
        point(f"cpu_{statistic}", "% of the machine", cpu, None if relay or p95 else cpu, note)
    point("peak_rss", "KiB", v["max ru_maxrss"], v["max ru_maxrss"])
    _memory(replace(point, count=None), r)
