"""eProsima's comparisons of 2019: each vendor's own latency test (with decimal commas, or a summary
with points) and throughput test (demand × recovery time).

The path says which vendor and how many hosts a file is about,
`…/localhost|dualhost|intraprocess/VENDOR/…`; files have no header that does. In rows with decimal
commas, `27,5,26,5` is 27.5 and 26.5, or 27, 5.26 and 5. A row is cut into its values in every way
that has one or two parts per value. Two rules exclude readings: the values must be in order (a
minimum is not above a mean), and they must have as many decimals as rows of the same file that have
only one reading. A row that still has several readings has no value.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rmwbench.published.importers.data_source import Source, SourceFile, malformed
from rmwbench.published.importers.published import (
    Published,
    PublishedCell,
    SeriesPoints,
    both_ends,
)
from rmwbench.published.importers.sheet import (
    COUNT,
    RATE,
    Once,
    Plausible,
    Range,
    columns,
    parse_rows,
    rows,
    unlike,
    whole,
)
from rmwbench.words import numbers as fmt

FULL = columns("Bytes,Samples,stdev,mean,min,50%,90%,99%,99,99%,max")
FULL_COMMA = columns("Bytes,Samples,stdev,mean,min,0,5,90%,99%,99,99%,max")
WHOLE = columns("Bytes,Samples,mean,min,99%,max")
SHORT = columns("Bytes,Samples,mean,min")
STATISTICS = {
    "full": ("mean", "min", "p50", "p90", "p99", "p99.99", "max"),
    "whole": ("mean", "min", "p99", "max"),
    "short": ("mean", "min"),
}
SUMMARY = columns("Bytes,Samples,Max,Min,Mean,Median,Stdev,Mean jitter,Max jitter,90%,99%,99.99%")
DEMAND = columns("Payload [Bytes],Demand [samples/burst],Recovery time [ms]")
RECEIVED = columns(
    "Lost [samples],Subscription sample rate [samples/s],Subscription throughput [Mbits/s]"
)
SENT = columns(
    "Sent [samples],Publication time [us],Publication sample rate [samples/s],"
    "Publication throughput [Mbits/s],Received [samples],Subscription time [us]"
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
"""What summaries (µs) and tables of throughput may say; `_is_ordered` checks the order of the tables
with decimal commas."""
VENDORS = ("fastrtps", "cyclonedds", "opensplice")
HOSTS = ("localhost", "dualhost", "intraprocess")
STRAY = "211,13,267,61,278,5t"
"""The end of the last row of one published file: its last letter belongs to nothing, and the row is
read without it."""
AMBIGUOUS = "no data: with commas as decimal points, the row can be read in more than one way"


def recognises(item: SourceFile) -> bool:
    return _form(item.header) is not None


FORMS = {FULL: "full", FULL_COMMA: "full", WHOLE: "whole", SHORT: "short", SUMMARY: "summary"}


def _form(header: Sequence[str]) -> str | None:
    names = tuple(name.strip() for name in header)
    grid = "throughput" if {*DEMAND, *RECEIVED} <= set(names) else None
    return FORMS.get(names, grid)


def read(source: Source, out: Published) -> None:
    """Read one cell for each vendor, place and size (and demand), with one trial each."""
    out.add_known("eprosima-2019")
    grids: dict[tuple[str, str], Grid] = {}
    maxima: list[tuple[str, str, dict[int, tuple[float, str]]]] = []
    once = Once("the same setting of the same test")
    for item in source:
        form = _form(item.header)
        place, vendor = _place(item)
        if form is None:
            expected = "Bytes, Samples, … or Payload [Bytes], …"
            raise unlike(item, "not a latency or throughput table", expected)
        if form == "summary":
            _summary(item, place, vendor, out, once)
        elif form != "throughput":
            _latency(item, form, place, vendor, out, once)
        elif _is_grid(item):
            grids[place, vendor] = _grid(item, place, vendor, out, once)
        else:
            maxima.append((place, vendor, _maxima(item)))
    _add_maxima(grids, maxima, out)


def _place(item: SourceFile) -> tuple[str, str]:
    """Return (where, vendor) by the path, from whole folder names only."""
    folders = item.folders
    vendor = next((f for f in reversed(folders) if f in VENDORS), None)
    place = next((f for f in reversed(folders) if f in HOSTS), None)
    if vendor is None:
        raise item.wrong("the path does not say whose result this is", f"…/{'|'.join(VENDORS)}/…")
    stem = item.file_name.removesuffix(".csv").removeprefix("summary").strip("_")
    version = next((f for f in reversed(folders) if re.fullmatch(r"v\d+", f)), "")
    return " ".join(
        x for x in (place or "", version, stem if place is None else "") if x
    ) or "unknown", vendor


def _trial(out: Published, vendor: str, place: str, size: int, **factors: object) -> None:
    cell = PublishedCell(
        workload=f"{'throughput' if factors else 'latency'} {place}, {size} B",
        arm=vendor,
        middleware=vendor,
        layer="native",
        version="2019",
        factors={"payload_bytes": size, "place": place} | factors,
        definition={"qos": "reliable, keep_last 1, UDPv4" if not factors else ""},
    )
    out.trial(out.cell(cell), both_ends("test", f"Bytes({size})", size, vendor))


def _latency(
    item: SourceFile, form: str, place: str, vendor: str, out: Published, once: Once
) -> None:
    lines = [(line, [c.strip() for c in cells]) for line, cells in parse_rows(item) if cells][1:]
    if lines and ",".join(lines[-1][1]).endswith(STRAY):
        lines[-1][1][-1] = lines[-1][1][-1].removesuffix("t")
        out.error(
            "stray letter", f"{item.name} ends in `5t`; read as 278.5", "eprosima_latency_max"
        )
    names = STATISTICS[form]
    if not lines:
        raise item.wrong("a table without rows", "a row per size")
    lead = 3 if form == "full" else 2
    tails = []
    for line, cells in lines:
        where = f"{item.where}:{line}"
        for text, what in zip(cells[:lead], ("Bytes", "Samples", "stdev"), strict=False):
            whole(text, where, what, least=0)
        tail = cells[lead:]
        if not any(True for _ in readings(tail, len(names))):
            expected = (
                f"{len(names)} values after {lead} whole numbers, each with at most two "
                "decimals after a comma"
            )
            raise malformed(where, "a row of another length or kind", expected, ",".join(cells))
        tails.append(tail)
    restored = restore(tails, len(names), lambda v: _is_ordered(dict(zip(names, v, strict=True))))
    for (line, cells), values in zip(lines, restored, strict=True):
        size, samples = int(float(cells[0])), int(float(cells[1]))
        once((place, vendor, "latency", size), f"{item.where}:{line}")
        _trial(out, vendor, place, size)
        note = AMBIGUOUS if values is None else f"row {line}: {','.join(cells[lead:])}"
        point = SeriesPoints(out, "eprosima_latency", f"{vendor} {place}", size, samples)
        for k, name in enumerate(names):
            value = None if values is None else values[k]
            in_ns = None if value is None else value * 1e3
            out.window(1, None, None, f"latency_{name}", "ns", in_ns)
            point(name, "µs", value, value, note)


def _is_ordered(v: dict[str, float]) -> bool:
    rising = [v[name] for name in ("min", "p50", "p90", "p99", "p99.99", "max") if name in v]
    return rising == sorted(rising) and v["min"] <= v["mean"] <= v.get("max", v["mean"])


def _summary(item: SourceFile, place: str, vendor: str, out: Published, once: Once) -> None:
    for row in rows(item, SUMMARY, plausible=PLAUSIBLE):
        size, samples = row.whole("Bytes", least=1), row.whole("Samples", least=0)
        once((place, vendor, "latency", size), row.where)
        _trial(out, vendor, place, size)
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
    """Whether a throughput table has a size more than once: then it is a grid of settings, not the
    best of each size."""
    sizes = [row["Payload [Bytes]"] for row in rows(item, (*DEMAND, *RECEIVED), at_least=True)]
    return len(set(sizes)) < len(sizes)


@dataclass(frozen=True)
class Grid:
    """By size: how many settings a grid has, and the best throughput without loss (as printed, and
    from the sample rate), Mbit/s."""

    settings: Mapping[int, int]
    best: Mapping[int, tuple[float, float]]


def _grid(item: SourceFile, place: str, vendor: str, out: Published, once: Once) -> Grid:
    settings: Counter[int] = Counter()
    best_by_size: dict[int, tuple[float, float]] = {}
    for row in rows(item, (*DEMAND, *RECEIVED), at_least=True, plausible=PLAUSIBLE):
        size, demand, recovery = (row.whole(c, least=0) for c in DEMAND)
        once((place, vendor, size, demand, recovery), row.where)
        _trial(out, vendor, place, size, demand=demand, recovery_ms=recovery)
        lost, rate, published = (row.number(c) for c in RECEIVED)
        corrected = rate * size * 8 / 1e6
        for metric, unit, value in (
            ("lost", "messages", lost),
            ("received_rate", "Hz", rate),
            ("throughput", "bits/s", corrected * 1e6),
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
        SeriesPoints(out, "eprosima", series, size)(
            "throughput", "Mbit/s", published, corrected, note
        )
        settings[size] += 1
        if lost == 0 and (size not in best_by_size or published > best_by_size[size][0]):
            best_by_size[size] = (published, corrected)
    return Grid(settings, best_by_size)


def _maxima(item: SourceFile) -> dict[int, tuple[float, str]]:
    """Return for each size (throughput in Mbit/s, FILE:LINE) of the vendor's own table of
    maxima."""
    return {
        row.whole(DEMAND[0], least=0): (row.number(RECEIVED[2]), row.where)
        for row in rows(item, (*DEMAND, *RECEIVED), at_least=True, plausible=PLAUSIBLE)
    }


def _add_maxima(
    grids: Mapping[tuple[str, str], Grid],
    maxima: Iterable[tuple[str, str, Mapping[int, tuple[float, str]]]],
    out: Published,
) -> None:
    for place, vendor, maximum_by_size in maxima:
        grid = grids.get((place, vendor))
        for size, (published, where) in maximum_by_size.items():
            corrected = None
            if grid is None:
                note = "no data: the grid is not here"
            elif size not in grid.settings:
                note = "no data: the grid has no setting of this size"
            elif size not in grid.best:
                note = "no data: no setting of this size was without loss"
            else:
                best, corrected = grid.best[size]
                if best != published:
                    what = "the maximum is not the best of the grid"
                    raise malformed(where, what, f"{best:g}", f"{published:g}")
                settings = fmt.counted(grid.settings[size], "setting")
                note = f"best without loss of {settings}, chosen after the fact"
            point = SeriesPoints(out, "eprosima_throughput", f"{vendor} {place}", size)
            point("max", "Mbit/s", published, corrected, note)


MOST_DECIMALS = 2

Values = tuple[float, ...]


def readings(parts: Sequence[str], values: int) -> Iterator[tuple[Values, tuple[int, ...]]]:
    """Yield every way to read `parts` as that many values: (values, decimals of each)."""
    single_parts = 2 * values - len(parts)
    if not 0 <= single_parts <= values or not all(p.isdigit() for p in parts):
        return
    for alone in combinations(range(values), single_parts):
        numbers, decimals, at = [], [], 0
        for k in range(values):
            if k in alone:
                numbers.append(float(parts[at]))
                decimals.append(0)
                at += 1
            elif len(parts[at + 1]) > MOST_DECIMALS:
                break
            else:
                numbers.append(float(f"{parts[at]}.{parts[at + 1]}"))
                decimals.append(len(parts[at + 1]))
                at += 2
        else:
            yield tuple(numbers), tuple(decimals)


def restore(
    rows: Sequence[Sequence[str]], values: int, ordered: Callable[[Values], bool]
) -> list[Values | None]:
    """Return the values of each row, None if several readings are left. A row without any reading
    gives None as well; the caller tells the two apart with `readings`."""
    possible = [[r for r in readings(row, values) if ordered(r[0])] for row in rows]
    sure = {d for left in possible if len(left) == 1 for d in left[0][1]}
    out: list[Values | None] = []
    for left in possible:
        if len(left) > 1 and sure:
            left = [r for r in left if set(r[1]) <= sure | {0}]
        out.append(left[0][0] if len(left) == 1 else None)
    return out
