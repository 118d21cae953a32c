"""eProsima's comparisons of 2019: each vendor's own latency test (with decimal commas, or a summary
with points) and throughput test (demand × recovery time).

Which vendor and how many hosts is in the path, `…/localhost|dualhost|intraprocess/VENDOR/…`; files
carry no header of that kind.
"""

import re
from collections.abc import Sequence

from rmwbench.published.importers.published import Published, PublishedEndpoint, SeriesPoints
from rmwbench.published.importers.source import decimal_commas
from rmwbench.published.importers.source.data_source import Source, SourceFile
from rmwbench.published.importers.source.plausible import COUNT, RATE, Plausible, Range
from rmwbench.published.importers.source.sheet import (
    Once,
    header_of,
    malformed,
    parsed,
    rows,
    whole,
)

FULL = ["Bytes", "Samples", "stdev", "mean", "min", "50%", "90%", "99%", "99", "99%", "max"]
FULL_COMMA = [
    "Bytes",
    "Samples",
    "stdev",
    "mean",
    "min",
    "0",
    "5",
    "90%",
    "99%",
    "99",
    "99%",
    "max",
]
WHOLE = ["Bytes", "Samples", "mean", "min", "99%", "max"]
SHORT = ["Bytes", "Samples", "mean", "min"]
STATISTICS = {
    "full": ("mean", "min", "p50", "p90", "p99", "p99.99", "max"),
    "whole": ("mean", "min", "p99", "max"),
    "short": ("mean", "min"),
}
SUMMARY = [
    "Bytes",
    "Samples",
    "Max",
    "Min",
    "Mean",
    "Median",
    "Stdev",
    "Mean jitter",
    "Max jitter",
    "90%",
    "99%",
    "99.99%",
]
DEMAND = ("Payload [Bytes]", "Demand [samples/burst]", "Recovery time [ms]")
RECEIVED = (
    "Lost [samples]",
    "Subscription sample rate [samples/s]",
    "Subscription throughput [Mbits/s]",
)
SENT = (
    *("Sent [samples]", "Publication time [us]", "Publication sample rate [samples/s]"),
    *("Publication throughput [Mbits/s]", "Received [samples]", "Subscription time [us]"),
)
_LATENCY_US = Range(0, 1e9)
PLAUSIBLE = Plausible(
    {
        "Bytes": Range(1, 1e10),
        "Samples": COUNT,
        **dict.fromkeys(SUMMARY[2:], _LATENCY_US),
        DEMAND[0]: Range(0, 1e10),
        DEMAND[1]: COUNT,
        DEMAND[2]: Range(0, 1e9),
        RECEIVED[0]: COUNT,
        RECEIVED[1]: RATE,
        RECEIVED[2]: Range(0, 1e8),
        **dict.fromkeys(SENT, Range(0, 1e12)),
    },
    orders=[("Min", "Median", "90%", "99%", "99.99%", "Max"), ("Min", "Mean", "Max")],
)
"""Of the summaries (µs) and of the tables of throughput; the order of the tables with decimal
commas is `_ordered`."""
VENDORS = ("fastrtps", "cyclonedds", "opensplice")
HOSTS = ("localhost", "dualhost", "intraprocess")
STRAY = "211,13,267,61,278,5t"
"""How the last row of one published file ends: a letter that belongs to nothing. It is read without
it."""
AMBIGUOUS = "no data: with commas as decimal points, the row can be read in more than one way"


def recognises(item: SourceFile) -> bool:
    return _form(header_of(item.data[:65536])) is not None


def _form(header: Sequence[str]) -> str | None:
    header = [name.strip() for name in header]
    for name, found in (
        ("full", FULL),
        ("full", FULL_COMMA),
        ("whole", WHOLE),
        ("short", SHORT),
        ("summary", SUMMARY),
    ):
        if header == found:
            return name
    if set(DEMAND) | set(RECEIVED) <= set(header):
        return "throughput"
    return None


def read(source: Source, out: Published) -> None:
    """A cell per vendor, place and size (and demand), one trial each."""
    out.known("eprosima-2019")
    tables: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
    best: list[tuple[str, str, dict[int, tuple[float, str]]]] = []
    once = Once("the same setting of the same test")
    for item in source:
        form = _form(header_of(item.data[:65536]))
        place, vendor = _place(item)
        if form is None:
            first = ", ".join(header_of(item.data[:65536]))[:120]
            raise malformed(
                f"{item.where}:1",
                "not a latency or throughput table",
                "Bytes, Samples, … or Payload [Bytes], …",
                first,
            )
        if form == "summary":
            _summary(item, place, vendor, out, once)
        elif form != "throughput":
            _latency(item, form, place, vendor, out, once)
        elif _is_grid(item):
            tables[place, vendor] = _grid(item, place, vendor, out, once)
        else:
            best.append((place, vendor, _best(item)))
    _maxima(tables, best, out)


def _place(item: SourceFile) -> tuple[str, str]:
    """(where, vendor) by the path, whole folder names only."""
    folders = item.folders
    vendor = next((f for f in reversed(folders) if f in VENDORS), None)
    place = next((f for f in reversed(folders) if f in HOSTS), None)
    if vendor is None:
        raise malformed(
            item.where, "the path does not say whose result this is", f"…/{'|'.join(VENDORS)}/…"
        )
    stem = item.name.rpartition("/")[2].removesuffix(".csv").removeprefix("summary").strip("_")
    version = next((f for f in reversed(folders) if re.fullmatch(r"v\d+", f)), "")
    return " ".join(
        x for x in (place or "", version, stem if place is None else "") if x
    ) or "unknown", vendor


def _cell(out: Published, vendor: str, place: str, size: int, **factors: object) -> int:
    return out.cell(
        workload=f"{'throughput' if factors else 'latency'} {place}, {size} B",
        arm=vendor,
        middleware=vendor,
        layer="native",
        version="2019",
        factors={"payload_bytes": size, "place": place} | factors,
        definition={"qos": "reliable, keep_last 1, UDPv4" if not factors else ""},
    )


def _trial(out: Published, cell: int, vendor: str, size: int) -> None:
    ends = [
        PublishedEndpoint(k, k, "host", "test", f"Bytes({size})", size, middleware=vendor)
        for k in ("publisher", "subscription")
    ]
    out.trial(cell, ends)


def _latency(
    item: SourceFile, form: str, place: str, vendor: str, out: Published, once: Once
) -> None:
    lines = [(line, [c.strip() for c in cells]) for line, cells in parsed(item) if cells][1:]
    if lines and ",".join(lines[-1][1]).endswith(STRAY):
        lines[-1][1][-1] = lines[-1][1][-1].removesuffix("t")
        out.error(
            "stray letter", f"{item.name} ends in `5t`; read as 278.5", "eprosima_latency_max"
        )
    names = STATISTICS[form]
    if not lines:
        raise malformed(item.where, "a table without rows", "a row per size")
    lead = 3 if form == "full" else 2
    tails = []
    for line, cells in lines:
        where = f"{item.where}:{line}"
        for text, what in zip(cells[:lead], ("Bytes", "Samples", "stdev"), strict=False):
            whole(text, where, what, least=0)
        tail = cells[lead:]
        if not any(True for _ in decimal_commas.readings(tail, len(names))):
            expected = (
                f"{len(names)} values after {lead} whole numbers, each with at most two "
                "decimals after a comma"
            )
            raise malformed(where, "a row of another length or kind", expected, ",".join(cells))
        tails.append(tail)
    found = decimal_commas.restore(
        tails, len(names), lambda v: _ordered(dict(zip(names, v, strict=True)))
    )
    for (line, cells), values in zip(lines, found, strict=True):
        size, samples = int(float(cells[0])), int(float(cells[1]))
        once((place, vendor, "latency", size), f"{item.where}:{line}")
        _trial(out, _cell(out, vendor, place, size), vendor, size)
        note = AMBIGUOUS if values is None else f"row {line}: {','.join(cells[lead:])}"
        point = SeriesPoints(out, "eprosima_latency", f"{vendor} {place}", size, samples)
        for k, name in enumerate(names):
            value = None if values is None else values[k]
            in_ns = None if value is None else value * 1e3
            out.window(1, None, None, f"latency_{name}", "ns", in_ns)
            point(name, "µs", value, value, note)


def _ordered(v: dict[str, float]) -> bool:
    rising = [v[name] for name in ("min", "p50", "p90", "p99", "p99.99", "max") if name in v]
    return rising == sorted(rising) and v["min"] <= v["mean"] <= v.get("max", v["mean"])


def _summary(item: SourceFile, place: str, vendor: str, out: Published, once: Once) -> None:
    for row in rows(item, SUMMARY, plausible=PLAUSIBLE):
        size, samples = row.whole("Bytes", least=1), row.whole("Samples", least=0)
        once((place, vendor, "latency", size), row.where)
        _trial(out, _cell(out, vendor, place, size), vendor, size)
        point = SeriesPoints(out, "eprosima_latency", f"{vendor} {place}", size, samples)
        for column in SUMMARY[2:]:
            name = {"Median": "p50", "Stdev": "deviation"}.get(
                column, column.lower().replace(" ", "_")
            )
            name = f"p{name.rstrip('%')}" if name.endswith("%") else name
            value = row.number(column)
            out.window(1, None, None, f"latency_{name}", "ns", value * 1e3)
            point(name, "µs", value, value)


def _is_grid(item: SourceFile) -> bool:
    """Whether a throughput table has a size more than once: a grid of settings, not the best of
    each size."""
    sizes = [row["Payload [Bytes]"] for row in rows(item, (*DEMAND, *RECEIVED), at_least=True)]
    return len(set(sizes)) < len(sizes)


def _grid(
    item: SourceFile, place: str, vendor: str, out: Published, once: Once
) -> dict[int, tuple[float, float]]:
    """Size → the best throughput without loss (as printed, and from the sample rate), Mbit/s."""
    best: dict[int, tuple[float, float]] = {}
    for row in rows(item, (*DEMAND, *RECEIVED), at_least=True, plausible=PLAUSIBLE):
        size, demand, recovery = (row.whole(c, least=0) for c in DEMAND)
        once((place, vendor, size, demand, recovery), row.where)
        _trial(
            out, _cell(out, vendor, place, size, demand=demand, recovery_ms=recovery), vendor, size
        )
        lost, rate, shown = (row.number(c) for c in RECEIVED)
        right = rate * size * 8 / 1e6
        for metric, unit, value in (
            ("lost", "messages", lost),
            ("received_rate", "Hz", rate),
            ("throughput", "bits/s", right * 1e6),
        ):
            out.window(1, None, None, metric, unit, value)
        if SENT[0] in row.cells:
            sent = {c: row.number(c) for c in SENT}
            out.window(0, None, None, "sent", "messages", sent["Sent [samples]"])
            out.window(
                0, None, None, "sent_rate", "Hz", sent["Publication sample rate [samples/s]"]
            )
        series = f"{vendor} {place}, demand {demand}, recovery {recovery} ms"
        note = "corrected: sample rate × payload × 8"
        SeriesPoints(out, "eprosima", series, size)("throughput", "Mbit/s", shown, right, note)
        if lost == 0 and (size not in best or shown > best[size][0]):
            best[size] = (shown, right)
    return best


def _best(item: SourceFile) -> dict[int, tuple[float, str]]:
    """Size → (throughput in Mbit/s, FILE:LINE) of the vendor's own table of maxima."""
    return {
        row.whole(DEMAND[0], least=0): (row.number(RECEIVED[2]), row.where)
        for row in rows(item, (*DEMAND, *RECEIVED), at_least=True, plausible=PLAUSIBLE)
    }


def _maxima(
    tables: dict[tuple[str, str], dict[int, tuple[float, float]]],
    best: list[tuple[str, str, dict[int, tuple[float, str]]]],
    out: Published,
) -> None:
    for place, vendor, found in best:
        grid = tables.get((place, vendor))
        for size, (shown, where) in found.items():
            right = grid[size][1] if grid and size in grid else None
            if grid and size in grid and grid[size][0] != shown:
                raise malformed(
                    where,
                    "the maximum is not the best of the grid",
                    f"{grid[size][0]:g}",
                    f"{shown:g}",
                )
            note = (
                "best of 99 settings without loss, chosen after the fact"
                if right is not None
                else "no data: the grid is not here"
            )
            point = SeriesPoints(out, "eprosima_throughput", f"{vendor} {place}", size)
            point("max", "Mbit/s", shown, right, note)
