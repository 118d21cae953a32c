"""Results of iRobot's ros2-performance: latency_all.txt, latency_total.txt, resources.txt and
events.txt of one run.

Columns are separated by blanks and named `NAME[UNIT]`; events end in free words.
"""

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from rmwbench.published.importers.data_source import Source, SourceFile, malformed
from rmwbench.published.importers.published import (
    Published,
    PublishedCell,
    PublishedEndpoint,
    SeriesPoints,
)
from rmwbench.published.importers.sheet import (
    COUNT,
    PERCENT,
    Once,
    Plausible,
    Range,
    SheetRow,
    columns,
)

ALL = columns(
    "node,topic,size[b],received[#],late[#],too_late[#],lost[#],mean[us],sd[us],min[us],max[us],"
    "freq[hz],duration[s]"
)
TOTAL = columns("received[#],mean[us],late[#],late[%],too_late[#],too_late[%],lost[#],lost[%]")
RESOURCES = ("time[ms]", "cpu[%]", "arena[KB]", "in_use[KB]", "mmap[KB]", "rss[KB]", "vsz[KB]")
EVENTS = ("Time[ms]", "Caller", "Code", "Description")
DAY_S = 86_400
_KIB = Range(0, 1e12)
_MICROSECONDS = Range(0, DAY_S * 1e6)
PLAUSIBLE = Plausible(
    {
        **{f"{name}[#]": COUNT for name in ("received", "late", "too_late", "lost")},
        **{f"{name}[%]": PERCENT for name in ("late", "too_late", "lost")},
        **{f"{name}[us]": _MICROSECONDS for name in ("mean", "sd", "min", "max")},
        "size[b]": Range(0, 1e10),
        "freq[hz]": Range(0, 1e6),
        "time[ms]": Range(0, DAY_S * 1e3),
        "cpu[%]": Range(0, 100 * 32),
        **{f"{name}[KB]": _KIB for name in ("arena", "in_use", "mmap", "rss", "vsz")},
        "Time[ms]": Range(0, DAY_S * 1e3),
    },
    orders=[
        ("min[us]", "mean[us]", "max[us]"),
        ("too_late[#]", "received[#]"),
        ("late[#]", "received[#]"),
    ],
)
"""What all four tables may say. CPU is a share of one processor, at most 32 processors' worth."""
FORMS = {ALL: "latency_all", TOTAL: "latency_total", RESOURCES: "resources", EVENTS: "events"}


def recognises(item: SourceFile) -> bool:
    return _form(item.data) is not None


def _form(data: bytes) -> str | None:
    words = data[:4096].decode("utf-8", errors="replace").partition("\n")[0].split()
    return FORMS.get(tuple(words))


def read(source: Source, out: Published) -> None:
    """Read one cell and one trial from each directory, with an endpoint per subscription."""
    out.add_known("irobot")
    for _, group in groupby(source, key=lambda item: item.directory):
        _run(list(group), out)


def _run(items: list[SourceFile], out: Published) -> None:
    tables = _tables(items)
    subscriptions = list(_rows(tables["latency_all"], ALL))
    once = Once("the same subscription")
    for row in subscriptions:
        once((row["node"], row["topic"]), row.where)
    folders = items[0].folders
    name = folders[-1] if folders else ""
    rmws = (f for f in reversed(folders) if f in ("fastrtps", "cyclonedds", "connext"))
    rmw = next(rmws, "unknown")
    cell = PublishedCell(
        workload=f"topology {name}",
        arm=rmw,
        middleware=rmw,
        version="2019",
        factors={"topology": name},
    )
    seconds = max(row.whole("duration[s]", 1, DAY_S) for row in subscriptions)
    ends = [_endpoint(row, rmw) for row in subscriptions]
    out.trial(out.cell(cell), ends, duration_ns=seconds * 1_000_000_000)
    for place, row in enumerate(subscriptions):
        _subscription(place, row, out)
    series = f"{rmw} {name}"
    _totals(series, subscriptions, tables.get("latency_total"), out)
    if "resources" in tables:
        _resources(series, tables["resources"], out)
    if "events" in tables:
        _events(series, list(_rows(tables["events"], EVENTS)), out)


def _tables(items: list[SourceFile]) -> dict[str, SourceFile]:
    """Return the tables of a run by their forms."""
    tables: dict[str, SourceFile] = {}
    for item in items:
        form = _form(item.data)
        if form is None:
            begin = item.data[:60].decode(errors="replace")
            what = "not a result of ros2-performance"
            raise malformed(f"{item.where}:1", what, "one of its four tables", begin)
        if form in tables:
            what = f"a second {form} in one run"
            raise item.wrong(what, "one of each", tables[form].where)
        tables[form] = item
    if "latency_all" not in tables:
        where = items[0].where.rpartition("/")[0] or items[0].where
        raise malformed(where, "the run has no latency_all.txt", "a table of subscriptions")
    return tables


def _endpoint(row: SheetRow, rmw: str) -> PublishedEndpoint:
    return PublishedEndpoint(
        "subscription",
        "topology",
        "host",
        row["topic"],
        f"Bytes({row.whole('size[b]')})",
        row.whole("size[b]", least=0),
        asked={"node": row["node"], "rate_hz": row.whole("freq[hz]")},
        middleware=rmw,
    )


def _events(series: str, events: list[SheetRow], out: Published) -> None:
    late = [row for row in events if row.whole("Code") in (1, 2)]
    for row in events:
        row.number("Time[ms]")
    settled = sum(row.number("Time[ms]") > 1000 for row in late)
    point = SeriesPoints(out, "irobot", series, count=len(events))
    note = "corrected: those after the first second"
    point("late_events", "messages", float(len(late)), float(settled), note)


def _subscription(place: int, row: SheetRow, out: Published) -> None:
    end = row.whole("duration[s]", 1, DAY_S) * 1_000_000_000
    received = row.whole("received[#]", least=0)
    for column, metric, unit, factor in (
        ("received[#]", "received", "messages", 1.0),
        ("late[#]", "late", "messages", 1.0),
        ("too_late[#]", "too_late", "messages", 1.0),
        ("lost[#]", "lost", "messages", 1.0),
        ("mean[us]", "latency_mean", "ns", 1e3),
        ("sd[us]", "latency_deviation", "ns", 1e3),
        ("min[us]", "latency_min", "ns", 1e3),
        ("max[us]", "latency_max", "ns", 1e3),
    ):
        value = row.number(column) * factor
        out.window(
            place,
            0,
            end,
            metric,
            unit,
            None if metric.startswith("latency") and not received else value,
        )


def _totals(
    series: str, subscriptions: list[SheetRow], total: SourceFile | None, out: Published
) -> None:
    """Add latency_total as printed (cut to whole µs and four digits), and as recomputed from the
    subscriptions."""
    received = np.array([row.number("received[#]") for row in subscriptions])
    sums = {
        c: sum(row.number(c) for row in subscriptions)
        for c in ("late[#]", "too_late[#]", "lost[#]")
    }
    mean = (
        float((received * [row.number("mean[us]") for row in subscriptions]).sum() / received.sum())
        if received.sum()
        else None
    )
    totals = None
    if total is not None:
        lines = list(_rows(total, TOTAL))
        if len(lines) != 1:
            raise total.wrong("not one row of totals", "1 row", len(lines))
        totals = lines[0]
    empty = "no data: nothing was received"

    points = SeriesPoints(out, "irobot", series, count=int(received.sum()))

    def point(name: str, unit: str, column: str, corrected: float | None, note: str) -> None:
        points(name, unit, totals.number(column) if totals else None, corrected, note)

    point("received", "messages", "received[#]", float(received.sum()), "sum over subscriptions")
    weighting = "weighted by messages" if mean is not None else empty
    point("latency_mean", "µs", "mean[us]", mean, weighting)
    for column, value in sums.items():
        name = column.removesuffix("[#]")
        point(name, "messages", column, value, "sum over subscriptions")
        of, wanted = "of those received", received.sum()
        if name == "lost":
            of, wanted = f"{of} or lost", wanted + value
        share = float(100 * value / wanted) if wanted else None
        point(f"{name}_share", "%", f"{name}[%]", share, of if wanted else empty)


def _resources(series: str, item: SourceFile, out: Published) -> None:
    table = list(_rows(item, RESOURCES))
    values = {c: np.array([row.number(c) for row in table]) for c in RESOURCES}
    if (np.diff(values["time[ms]"]) <= 0).any():
        raise item.wrong("time does not grow", "a later time in every row")
    measured = values["rss[KB]"] > 0
    end = (values["time[ms]"] * 1e6).astype(np.int64)
    begin = np.concatenate(([0], end[:-1])) if len(end) else end
    for column, metric, unit, factor in (
        ("cpu[%]", "cpu_share", "fraction of one processor", 0.01),
        ("rss[KB]", "rss", "bytes", 1024.0),
        ("vsz[KB]", "virtual", "bytes", 1024.0),
        ("in_use[KB]", "heap_in_use", "bytes", 1024.0),
        ("arena[KB]", "heap", "bytes", 1024.0),
        ("mmap[KB]", "mapped", "bytes", 1024.0),
    ):
        out.window(0, begin, end, metric, unit, np.where(measured, values[column] * factor, np.nan))
    point = SeriesPoints(out, "irobot", series, count=int(measured.sum()))
    for column, name, unit in (("cpu[%]", "cpu", "% of one processor"), ("rss[KB]", "rss", "KiB")):
        corrected = float(values[column][measured].mean()) if measured.any() else None
        note = (
            "corrected: without the row of zeros"
            if corrected is not None
            else "no data: nothing was measured"
        )
        point(name, unit, float(values[column].mean()), corrected, note)


def _rows(item: SourceFile, names: tuple[str, ...]) -> Iterator[SheetRow]:
    has_rows = False
    for line, text in enumerate(item.text().splitlines(), start=1):
        if line == 1 or not text.strip():
            continue
        where = f"{item.where}:{line}"
        cells = text.split(maxsplit=len(names) - 1) if names is EVENTS else text.split()
        if len(cells) != len(names):
            raise malformed(where, "a row of another length", f"{len(names)} words", len(cells))
        has_rows = True
        row = SheetRow(where, dict(zip(names, cells, strict=True)))
        PLAUSIBLE.check_row(row)
        yield row
    if not has_rows:
        raise item.wrong("a table without rows", "a row after the line of column names")
