"""The tables of Eclipse Cyclone DDS's report of 2021: pairs of rows (Cyclone DDS, Fast DDS) with
winner and ratio.

`#msg received` adds up rates that `perf_test` cut to whole numbers (475 where 500 came in 25 s), so
the number of messages is restored from `data received`. A ratio is larger ÷ (smaller + 10⁻⁶): for a
pair in which Windows reported no CPU time at all, it says 2.7 million. The jitter's ratio was taken
from numbers that the tables do not have.
"""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain

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
    COUNT,
    LATENCY_MS,
    PERCENT,
    Once,
    Plausible,
    Range,
    SheetRow,
    rows,
)

MB = 1000 * 1024
"""Bytes in what the tables call MB. They divide getrusage's KiB by 1000, since every value is a
whole number of pages, of 4 KiB on Linux and Windows and of 16 KiB on macOS."""
KEY = ("host", "mode", "topic", "rate", "#subscribers", "zero_copy", "reliable", "transient")
VALUES = {
    "#msg received": ("received_rates_cut_sum", "messages", 1.0),
    "#msg sent": ("sent_rates_cut_sum", "messages", 1.0),
    "#msg lost": ("lost_rates_cut_sum", "messages", 1.0),
    "data received": ("data_received", "bytes", 1.0),
    "latency_min (ms)": ("latency_min", "ns", 1e6),
    "latency_max (ms)": ("latency_max", "ns", 1e6),
    "latency_mean (ms)": ("latency_mean", "ns", 1e6),
    "latency_variance (ms)": ("latency_variance", "ns²", 1e15),
    "cpu usage (%)": ("cpu_share", "fraction of all hardware threads", 0.01),
    "max ram usage (MB)": ("peak_rss", "bytes", float(MB)),
}
COMPARED = {
    "cpu": ("cpu usage (%)", "CPU"),
    "ram": ("max ram usage (MB)", "RAM"),
    "latency": ("latency_mean (ms)", "LATENCY_MEAN"),
    "jitter": ("latency_variance (ms)", "JITTER_MEAN"),
}
COLUMNS = (
    "rmw",
    *KEY,
    *VALUES,
    *chain.from_iterable((f"{c} WIN", f"{c} COMPARE") for _, c in COMPARED.values()),
)
RMW = ("rmw_cyclonedds_cpp", "rmw_fastrtps_cpp")
WINNERS = ("CYCLONE", "FAST", "CYCLONE BYDEF", "FAST BYDEF")
FAILED = "FAIL"
MOST_RECEIVED_RATIO = 1.1
"""The highest ratio of messages received to (sent × subscriptions): both are sums of cut rates
(1.002 in the published tables)."""
PLAUSIBLE = Plausible(
    {
        "rate": Range(0, 1e9),
        "#subscribers": Range(1, 1e6),
        "#msg received": COUNT,
        "#msg sent": COUNT,
        "#msg lost": COUNT,
        "data received": Range(0, 1e15),
        **{f"latency_{statistic} (ms)": LATENCY_MS for statistic in ("min", "mean", "max")},
        "latency_variance (ms)": Range(0, 1e12),
        "cpu usage (%)": PERCENT,
        "max ram usage (MB)": Range(0, 1e9),
    },
    orders=[("latency_min (ms)", "latency_mean (ms)", "latency_max (ms)")],
    absent=("", FAILED),
)
RUN_NS = 30_000_000_000
LEFT_OUT_NS = 5_000_000_000
"""The length of a run's beginning, which the published configurations leave out."""
EPSILON = 1e-6


def recognises(item: SourceFile) -> bool:
    return {"rmw", "LATENCY_MEAN COMPARE", "JITTER_MEAN WIN"} <= set(item.header)


def read(source: Source, out: Published) -> None:
    """Read one cell and one trial from each row, and the ratios of each pair."""
    out.add_known("cyclonedds-2021")
    for item in source:
        _table(item, out)


def _table(item: SourceFile, out: Published) -> None:
    wins: dict[str, list[tuple[str, bool]]] = {name: [] for name in COMPARED}
    host, pairs = "", 0
    once = Once("the same test")
    label = item.file_name.removesuffix(".csv")
    for first, second in _pairs(item):
        for row in (first, second):
            once((row["rmw"], *(row[key] for key in KEY)), row.where)
            PLAUSIBLE.check_row(row)
            _trial(row, out)
        host, pairs = first["host"], pairs + 1
        for name in COMPARED:
            wins[name].append(_add_ratio(first, second, name, label, out))
    if not pairs:
        raise item.wrong("a table without rows", "pairs of rows")
    note = "corrected: without wins by the other's failure, by 0 % CPU, or of a tie"
    for name, decisions in wins.items():
        winners = [winner for winner, _ in decisions]
        for who in ("CYCLONE", "FAST"):
            point = SeriesPoints(out, "cyclone_wins", f"{label} ({host})", who, pairs)
            point(name, "tests", winners.count(who), decisions.count((who, True)), note)


def _pairs(item: SourceFile) -> Iterator[tuple[SheetRow, SheetRow]]:
    """Yield the pairs. The formulas of a spreadsheet follow them below a line of dashes; they count
    what this reader counts itself."""
    first = None
    for row in rows(item, COLUMNS):
        if row["rmw"] == "-":
            break
        expected = RMW[0 if first is None else 1]
        if row["rmw"] != expected:
            raise row.wrong("the rows do not alternate", expected, row["rmw"])
        if first is None:
            first = row
            continue
        if any(first[key] != row[key] for key in KEY):
            differs = next(key for key in KEY if first[key] != row[key])
            raise row.wrong(f"the pair differs in {differs!r}", repr(first[differs]), row[differs])
        yield first, row
        first = None
    if first is not None:
        raise malformed(first.where, "a row without its pair", f"a row of {RMW[1]} after it")


def _value(row: SheetRow, column: str) -> float | None:
    return None if row[column] == FAILED else row.number(column)


def _series(row: SheetRow) -> tuple[str, str]:
    rate = row.whole("rate")
    x = (
        f"{row['topic']}, {row['mode']}, {f'{rate} Hz' if rate else 'unlimited'}, "
        f"{row['#subscribers']} subscribers"
    )
    return f"{row['rmw']} on {row['host']}", x


def _trial(row: SheetRow, out: Published) -> None:
    topic = row.one_of("topic", tuple(SIZEOF))
    multi_process = row.one_of("mode", ("SingleProcess", "MultiProcess")) == "MultiProcess"
    series, x = _series(row)
    failed = row["#msg received"] == FAILED
    processes = ("perf_test", "perf_test")
    ends = both_ends(topic, topic, SIZEOF[topic], row["rmw"], host=row["host"], processes=processes)
    why = "FAIL in the original" if failed else None
    out.trial(out.cell(_cell(row, x, topic)), ends, duration_ns=RUN_NS, failed=why)
    values = {column: _value(row, column) for column in VALUES}
    if not multi_process and not failed:
        most = MOST_RECEIVED_RATIO * (values["#msg sent"] or 0.0) * row.whole("#subscribers")
        if (values["#msg received"] or 0.0) > most:
            what = "more was received than sent"
            raise row.wrong(what, f"at most {most:g}", f"{values['#msg received']:g}")
    if multi_process and not failed:
        values["#msg sent"] = None
    window = partial(out.window, begin_ns=LEFT_OUT_NS, end_ns=RUN_NS)
    for column, (metric, unit, factor) in VALUES.items():
        value = values[column]
        scaled = None if value is None else value * factor
        window(int(column != "#msg sent"), metric=metric, unit=unit, values=scaled)
    data = values["data received"]
    restored = None if data is None else data / SIZEOF[topic]
    window(1, metric="received", unit="messages", values=restored)
    zero = "no data: 0 stands for absent"
    sent = zero if multi_process else "no data: sum of rates cut to whole numbers"
    _figures(row, values, restored, sent, SeriesPoints(out, "cyclone", series, x))


def _cell(row: SheetRow, x: str, topic: str) -> PublishedCell:
    flags = {
        name: row.one_of(name, ("True", "False")) == "True"
        for name in ("zero_copy", "reliable", "transient")
    }
    factors = {
        "message": topic,
        "rate_hz": row.whole("rate"),
        "subscribers": row.whole("#subscribers"),
        "mode": row["mode"],
        "host": row["host"],
    }
    return PublishedCell(
        workload=f"{x} on {row['host']}",
        arm=row["rmw"],
        middleware=row["rmw"],
        version="2021",
        factors=factors | flags,
    )


def _figures(
    row: SheetRow,
    values: Mapping[str, float | None],
    restored: float | None,
    sent: str,
    point: SeriesPoints,
) -> None:
    """Add the figures of one row. `sent`: why the number of messages sent is not corrected."""
    why = "no data: the run failed" if row["#msg received"] == FAILED else None
    received = values["#msg received"]
    point("received", "messages", received, restored, why or "data received ÷ sizeof")
    point("sent", "messages", _value(row, "#msg sent"), None, why or sent)
    for column in ("latency_mean (ms)", "latency_min (ms)", "latency_max (ms)"):
        point(column.partition(" ")[0], "ms", values[column], values[column], why)
    variance = values["latency_variance (ms)"]
    deviation = None if variance is None else math.sqrt(variance * 1000)
    point("latency_deviation", "ms", None, deviation, why or "from the variance in s² × 1000")
    cpu, ram = values["cpu usage (%)"], values["max ram usage (MB)"]
    coarse = "no data: 0 stands for a timer that is too coarse" if cpu == 0 else None
    point("cpu", "% of the machine", cpu, None if coarse else cpu, why or coarse)
    corrected = None if ram is None else ram * MB / 1e6
    point("ram", "MB", ram, corrected, why or "published: KiB ÷ 1000; corrected: 10⁶ bytes")


def _add_ratio(
    first: SheetRow, second: SheetRow, name: str, label: str, out: Published
) -> tuple[str, bool]:
    """Add the pair's ratio. Return who won as published, and whether the values decide it: a
    failure, a 0 and a tie decide nothing."""
    column, title = COMPARED[name]
    winner = first.one_of(f"{title} WIN", WINNERS)
    published = first.number(f"{title} COMPARE")
    a, b = _value(first, column), _value(second, column)
    smaller = b is None or (a is not None and a < b)
    expected = ("CYCLONE" if smaller else "FAST") + (" BYDEF" if a is None or b is None else "")
    if a != b and winner != expected:
        raise first.wrong(f"{title} WIN is not the smaller of the pair", expected, winner)
    is_decided = a is not None and b is not None and 0 < min(a, b) < max(a, b)
    corrected, note = None, f"winner: {winner}"
    if a is None or b is None:
        note = "no data: one of the two failed; the other wins by default"
    elif min(a, b) <= 0:
        note = "no data: one of the two is 0, so there is no ratio"
    elif name == "jitter":
        note = f"no data: {known_problems('cyclonedds-2021').limits['jitter ratios']}"
    else:
        corrected = max(a, b) / min(a, b)
        own = max(a, b) / (min(a, b) + EPSILON)
        if abs(own - published) > 1e-6 * own:
            what = f"{title} COMPARE is not the ratio of the pair"
            raise first.wrong(what, f"{own:.9g}", f"{published:.9g}")
        if a == b:
            note = f"a tie; winner as published: {winner}"
    point = SeriesPoints(out, "cyclone_ratio", label, _series(first)[1])
    point(name, "ratio", published, corrected, note)
    return winner.partition(" ")[0], is_decided
