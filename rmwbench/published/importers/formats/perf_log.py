"""`perf_test`'s text log (2020 format and the CSV of later versions): free header lines, a marker,
a line of columns, a row per second.

Two parsers read the same rows. The strict one goes cell by cell and can say which line is wrong;
Arrow's reads the rows of many logs at once, 50 times as fast. Whatever Arrow refuses, or reads into
another number of rows, the strict one reads again, so the two can differ in speed only.
"""

import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from rmwbench.published.importers.source import plausible
from rmwbench.published.importers.source.data_source import SourceFile
from rmwbench.published.importers.source.plausible import Plausible, Range
from rmwbench.published.importers.source.sheet import malformed

MARKER = b"---EXPERIMENT-START---"
LAST_LINE = b"Maximum runtime reached. Exiting."
REQUIRED = (
    "T_experiment",
    "T_loop",
    "received",
    "sent",
    "lost",
    "data_received",
    "latency_mean (ms)",
)
PER_BATCH = 400
"""Logs whose rows Arrow reads at once: about 2 MB."""

LONGEST_S = 1e8
"""Three years: no run takes longer."""

PLAUSIBLE = Plausible(
    {
        "received": plausible.RATE,
        "sent": plausible.RATE,
        "lost": plausible.RATE,
        "data_received": plausible.BYTES_PER_SECOND,
        "ru_utime": Range(0, LONGEST_S),
        "ru_stime": Range(0, LONGEST_S),
        "ru_maxrss": Range(0, 1e12),
        "cpu_usage (%)": plausible.PERCENT,
    }
)
"""What every row may say. `cpu_usage` is a share of all hardware threads."""
LATENCY = Plausible(
    {f"latency_{statistic} (ms)": plausible.LATENCY_MS for statistic in ("min", "mean", "max")},
    orders=[("latency_min (ms)", "latency_mean (ms)", "latency_max (ms)")],
)
"""What rows with messages may say, where both ends read one clock."""

SIZEOF = {
    "Array1k": 1040,
    "Array4k": 4112,
    "Array16k": 16400,
    "Array32k": 32784,
    "Array60k": 61456,
    "Array64k": 65552,
    "Array256k": 262160,
    "Array1m": 1048592,
    "Array2m": 2097168,
    "Array4m": 4194320,
    "Array8m": 8388624,
    "PointCloud512k": 524752,
    "PointCloud1m": 1049040,
    "PointCloud2m": 2097616,
    "PointCloud4m": 4194768,
    "PointCloud8m": 8389072,
    "Struct16": 32,
    "Struct256": 528,
    "Struct4k": 8464,
    "Struct32k": 67728,
    "NavSatFix": 168,
    "Range": 80,
    "RadarDetection": 80,
    "RadarTrack": 840,
}
"""C++ sizeof of the tool's message types, bytes: the unit of `data_received`. Array64k and
Array256k follow the rule of the other arrays (payload + 16)."""


@dataclass(frozen=True)
class Log:
    """One log: header lines `KEY: VALUE`, columns of shape (rows,), NaN where the log says nan;
    `first_line` is that of the first row, None where rows are not lines.
    """

    name: str
    where: str
    header: dict[str, str]
    columns: dict[str, np.ndarray]
    first_line: int | None = None

    @property
    def rows(self) -> int:
        return len(self.columns["T_experiment"])


@dataclass(frozen=True)
class _Raw:
    item: SourceFile
    header: dict[str, str]
    names: tuple[str, ...]
    first_line: int
    rows: bytes


def is_log(item: SourceFile) -> bool:
    """Whether a file has the marker on a line of its own and the tool's columns after it."""
    at = _marker(item.data)
    return at >= 0 and item.data[at + len(MARKER) :].lstrip(b"\r\n").startswith(b"T_experiment")


def read_logs(items: Iterable[SourceFile]) -> Iterator[Log]:
    """The logs of these files, in order, a batch in memory at a time. UserError with file and line
    for a broken one."""
    batch: list[_Raw] = []
    for item in items:
        raw = _split(item)
        if batch and (raw.names != batch[0].names or len(batch) >= PER_BATCH):
            yield from _parse(batch)
            batch = []
        batch.append(raw)
    if batch:
        yield from _parse(batch)


def require(log: Log, columns: Iterable[str]) -> None:
    """Raises UserError for a log without one of these columns."""
    missing = next((name for name in columns if name not in log.columns), None)
    if missing is not None:
        raise malformed(
            log.where, f"column {missing!r} is missing", ", ".join(columns), ", ".join(log.columns)
        )


def check_latency(log: Log, *, one_clock: bool) -> None:
    """UserError for a row with messages and without latency, or with one that cannot be: with
    `one_clock` at both ends, none is negative or below its minimum.
    """
    arrived = log.columns["data_received"] > 0
    found = {
        name: np.where(arrived, v, 0.0) for name, v in log.columns.items() if name in LATENCY.ranges
    }
    for name, values in found.items():
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(np.argmax(bad))
            where = log.where if log.first_line is None else f"{log.where}:{log.first_line + row}"
            what = f"column {name!r} has no value in a row with messages"
            raise malformed(where, what, "a finite number", f"{values[row]:g}")
    if one_clock:
        LATENCY.check_columns(found, log.where, log.first_line)


def require_header(log: Log, wanted: Mapping[str, str]) -> None:
    """Raises UserError where the header says something else than what is known of the run from
    elsewhere."""
    for key, value in wanted.items():
        found = log.header.get(key, "")
        if found != value:
            raise malformed(
                log.where, f"{key!r} contradicts what the run is said to be", repr(value), found
            )


def header_of(item: SourceFile) -> dict[str, str]:
    """The header lines of a log as KEY → VALUE."""
    at = _marker(item.data)
    return _header(item.data[: max(at, 0)].decode("utf-8", errors="replace"))


def restored_counts(log: Log, size: int) -> np.ndarray:
    """Messages received in each row as an estimate, shape (rows,): data_received × interval ÷
    sizeof.

    The tool writes rates cut to whole numbers; bytes per second are cut too, but at one byte. The
    interval that a row's rate was taken over is the one between two resets, which is T_loop of the
    row before (its own for the first).
    """
    loop = log.columns["T_loop"]
    interval = np.concatenate((loop[:1], loop[:-1]))
    return np.asarray(log.columns["data_received"] * interval / size)


def whole_counts(estimate: np.ndarray, within: float = 0.15) -> np.ndarray:
    """The estimates that are near a whole number as that number, NaN for the others (a blocked
    second)."""
    near = np.round(estimate)
    return np.where(np.abs(estimate - near) <= within, near, np.nan)


def _marker(data: bytes) -> int:
    if data.startswith(MARKER):
        return 0
    at = data.find(b"\n" + MARKER)
    return at + 1 if at >= 0 else -1


def _split(item: SourceFile) -> _Raw:
    data = item.data
    at = _marker(data)
    if at < 0:
        raise malformed(
            item.where, "not a log of perf_test", f"a line {MARKER.decode()}", _first_line(data)
        )
    line = data.count(b"\n", 0, at) + 2
    _, _, rest = data[at:].partition(b"\n")
    columns, _, rows = rest.partition(b"\n")
    names = [name.strip() for name in columns.decode("utf-8", errors="replace").split(",")]
    if names and names[-1] == "":
        names.pop()
    if "" in names:
        raise malformed(
            f"{item.where}:{line}",
            "a column without a name",
            "a name between commas",
            ", ".join(names),
        )
    missing = next((name for name in REQUIRED if name not in names), None)
    if missing is not None:
        raise malformed(
            f"{item.where}:{line}",
            f"column {missing!r} is missing",
            ", ".join(REQUIRED),
            ", ".join(names),
        )
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise malformed(
            f"{item.where}:{line}", "a column is named twice", "distinct column names", doubled
        )
    rows = rows.translate(None, b"\t\r ")
    rows = rows.removesuffix(b"\n")
    exits = LAST_LINE.replace(b" ", b"")
    if rows == exits or rows.endswith(b"\n" + exits):
        rows = rows[: -len(exits)].removesuffix(b"\n")
    if not rows:
        raise malformed(f"{item.where}:{line}", "a log without rows", "a row per second")
    return _Raw(
        item, _header(data[:at].decode("utf-8", errors="replace")), tuple(names), line + 1, rows
    )


def _header(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _first_line(data: bytes) -> str:
    return data[:80].partition(b"\n")[0].decode("utf-8", errors="replace")


def _parse(batch: list[_Raw]) -> Iterator[Log]:
    names = batch[0].names
    counts = [raw.rows.count(b"\n") + 1 for raw in batch]
    fast = _arrow(batch, names, sum(counts))
    begin = 0
    for raw, count in zip(batch, counts, strict=True):
        if fast is None:
            columns = _strict(raw)
        else:
            columns = {name: fast[name][begin : begin + count] for name in names}
            begin += count
        _check(raw, columns)
        yield Log(raw.item.name, raw.item.where, raw.header, columns, raw.first_line)


def _arrow(batch: list[_Raw], names: tuple[str, ...], rows: int) -> dict[str, np.ndarray] | None:
    """The columns of all logs one after the other, None where Arrow does not read every line as a
    row of numbers."""
    trailing = [*names, ""] if batch[0].rows.partition(b"\n")[0].endswith(b",") else list(names)
    types = {name: pa.float64() if name else pa.string() for name in trailing}
    try:
        table = pa_csv.read_csv(
            io.BytesIO(b"\n".join(raw.rows for raw in batch)),
            read_options=pa_csv.ReadOptions(column_names=trailing, use_threads=False),
            parse_options=pa_csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
            convert_options=pa_csv.ConvertOptions(column_types=types, null_values=["nan", "-nan"]),
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != rows:
        return None
    if "" in trailing and any(text for text in table.column("").unique().to_pylist()):
        return None
    return {name: table.column(name).to_numpy() for name in names}


def _strict(raw: _Raw) -> dict[str, np.ndarray]:
    lines = raw.rows.split(b"\n")
    out = np.empty((len(lines), len(raw.names)))
    for i, line in enumerate(lines):
        where = f"{raw.item.where}:{raw.first_line + i}"
        cells = line.decode("utf-8", errors="replace").split(",")
        if len(cells) == len(raw.names) + 1 and cells[-1] == "":
            cells.pop()
        if len(cells) != len(raw.names):
            raise malformed(where, "a row of another length", f"{len(raw.names)} cells", len(cells))
        for k, cell in enumerate(cells):
            try:
                if "_" in cell:
                    raise ValueError
                out[i, k] = math.nan if cell in ("nan", "-nan") else float(cell)
            except ValueError:
                what = f"column {raw.names[k]!r} is not a number"
                raise malformed(where, what, "a number, inf or nan", cell) from None
    return {name: out[:, k] for k, name in enumerate(raw.names)}


def _check(raw: _Raw, columns: dict[str, np.ndarray]) -> None:
    """What every log has: times that grow, rates that are not negative."""
    time = columns["T_experiment"]
    bad = ~(time < LONGEST_S) | ~(np.diff(time, prepend=0.0) > 0)
    _refuse(
        raw,
        bad,
        "T_experiment does not grow",
        "a later time than in the row before, in seconds",
        time,
    )
    loop = columns["T_loop"]
    _refuse(
        raw,
        ~((loop > 0) & (loop < LONGEST_S)),
        "T_loop is not a length of time",
        "more than 0 s",
        loop,
    )
    for name in ("received", "sent", "lost", "data_received"):
        values = columns[name]
        _refuse(raw, ~np.isfinite(values), f"{name} is not a valid rate", "a finite number", values)
    PLAUSIBLE.check_columns(columns, raw.item.where, raw.first_line)


def _refuse(raw: _Raw, bad: np.ndarray, what: str, expected: str, values: np.ndarray) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise malformed(
            f"{raw.item.where}:{raw.first_line + row}", what, expected, f"{values[row]:g}"
        )
