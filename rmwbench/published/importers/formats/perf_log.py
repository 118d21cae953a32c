"""`perf_test`'s text log (the format of 2020 and the CSV of later versions): free header lines, a
marker, a line of columns, a row per second.

Two parsers read the same rows. The strict one goes cell by cell and can say which line is wrong.
Arrow's reads the rows of many logs at once, 50 times as fast. The strict one reads again whatever
Arrow refuses, or reads into another number of rows, so the two differ in speed only.

As windows a log has each second's rates and aggregates, in rmwbench's units, and absent values are
not zeros. The units come from the tool's own printing code. Its "variance (ms)" is the variance in
s² times 1000; cpu_usage is a share of all hardware threads; the ru_ columns are getrusage's,
cumulative since the process began.
"""

import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from rmwbench.published.importers import sheet as plausible
from rmwbench.published.importers.data_source import Placed, SourceFile, malformed
from rmwbench.published.importers.published import Published, PublishedCell, PublishedEndpoint
from rmwbench.published.importers.sheet import (
    Plausible,
    Range,
    check_header,
    refuse_rows,
    row_place,
)

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
"""How many logs Arrow reads at once: about 2 MB."""

LONGEST_S = 1e8
"""The longest time of a run: three years."""

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
"""What rows with messages may say if both ends read one clock."""

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
class Log(Placed):
    """One log: header lines `KEY: VALUE`, columns of shape (rows,), NaN if the log says nan;
    `first_line` is that of the first row, None if rows are not lines."""

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
    """Yield the logs of these files, in order, with a batch in memory at a time. Raise UserError
    with file and line for a broken one."""
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
    """Raise UserError for a log that lacks one of these columns."""
    missing = next((name for name in columns if name not in log.columns), None)
    if missing is not None:
        raise log.wrong(
            f"column {missing!r} is missing", ", ".join(columns), ", ".join(log.columns)
        )


def check_latency(log: Log, *, one_clock: bool) -> None:
    """Raise UserError for a row with messages and without latency, or with an impossible one: with
    `one_clock` at both ends, none is negative or below its minimum."""
    with_messages = arrived(log)
    latencies = {
        name: np.where(with_messages, values, 0.0)
        for name, values in log.columns.items()
        if name in LATENCY.ranges
    }
    place = partial(row_place, log.where, log.first_line)
    for name, values in latencies.items():
        what = f"column {name!r} has no value in a row with messages"
        refuse_rows(~np.isfinite(values), place, what, "a finite number", values)
    if one_clock:
        LATENCY.check_columns(latencies, log.where, log.first_line)


def require_header(log: Log, wanted: Mapping[str, str]) -> None:
    """Raise UserError if the header contradicts what is known of the run from elsewhere."""
    for key, value in wanted.items():
        logged = log.header.get(key, "")
        if logged != value:
            raise log.wrong(f"{key!r} contradicts what the run is said to be", repr(value), logged)


def header_of(item: SourceFile) -> dict[str, str]:
    """Return the header lines of a log as KEY → VALUE."""
    at = _marker(item.data)
    return _header(item.data[: max(at, 0)].decode("utf-8", errors="replace"))


def restored_counts(log: Log, size: int) -> np.ndarray:
    """Return the estimated number of messages received in each row, shape (rows,): data_received ×
    interval ÷ sizeof.

    The tool writes rates cut to whole numbers. It cuts bytes per second too, but there at one byte.
    """
    return np.asarray(log.columns["data_received"] * intervals_s(log) / size)


def intervals_s(log: Log) -> np.ndarray:
    """Return the interval that each row's rates were taken over, s, shape (rows,): the one between
    two resets, which is T_loop of the row before (its own for the first)."""
    loop_s = log.columns["T_loop"]
    return np.concatenate((loop_s[:1], loop_s[:-1]))


def whole_counts(estimate: np.ndarray) -> np.ndarray:
    """Return the whole number that each estimate is near, NaN for the others (a blocked second)."""
    nearest = np.round(estimate)
    return np.where(np.abs(estimate - nearest) <= 0.15, nearest, np.nan)


def all_counts(estimate: np.ndarray) -> np.ndarray:
    """Return `whole_counts`, with the estimate itself in place of NaN: sums need every row."""
    whole = whole_counts(estimate)
    return np.where(np.isfinite(whole), whole, estimate)


def _marker(data: bytes) -> int:
    if data.startswith(MARKER):
        return 0
    at = data.find(b"\n" + MARKER)
    return at + 1 if at >= 0 else -1


def _split(item: SourceFile) -> _Raw:
    data = item.data
    at = _marker(data)
    if at < 0:
        first_line = data[:80].partition(b"\n")[0].decode("utf-8", errors="replace")
        raise item.wrong("not a log of perf_test", f"a line {MARKER.decode()}", first_line)
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
    check_header(f"{item.where}:{line}", names, REQUIRED, at_least=True)
    rows = rows.translate(None, b"\t\r ")
    rows = rows.removesuffix(b"\n")
    last_line = LAST_LINE.replace(b" ", b"")
    if rows == last_line or rows.endswith(b"\n" + last_line):
        rows = rows.removesuffix(last_line).removesuffix(b"\n")
    if not rows:
        raise malformed(f"{item.where}:{line}", "a log without rows", "a row per second")
    return _Raw(
        item, _header(data[:at].decode("utf-8", errors="replace")), tuple(names), line + 1, rows
    )


def _header(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


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
        check_columns(columns, raw.item.where, raw.first_line)
        yield Log(raw.item.name, raw.item.where, raw.header, columns, raw.first_line)


def _arrow(batch: list[_Raw], names: tuple[str, ...], rows: int) -> dict[str, np.ndarray] | None:
    """Return the columns of all logs one after the other, None if Arrow does not read every line as
    a row of numbers."""
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


def check_columns(columns: dict[str, np.ndarray], where: str, first_line: int | None) -> None:
    """Raise UserError unless times grow and rates can be. Rows are named as `row_place` does."""
    place = partial(row_place, where, first_line)
    time_s, loop_s = columns["T_experiment"], columns["T_loop"]
    bad = ~(time_s < LONGEST_S) | ~(np.diff(time_s, prepend=0.0) > 0)
    expected = "a later time than in the row before, in seconds"
    refuse_rows(bad, place, "T_experiment does not grow", expected, time_s)
    bad = ~((loop_s > 0) & (loop_s < LONGEST_S))
    refuse_rows(bad, place, "T_loop is not a length of time", "more than 0 s", loop_s)
    for name in ("received", "sent", "lost", "data_received"):
        what, values = f"{name} is not a valid rate", columns[name]
        refuse_rows(~np.isfinite(values), place, what, "a finite number", values)
    PLAUSIBLE.check_columns(columns, where, first_line)


LATENCY_UNITS = {"min": 1e6, "max": 1e6, "mean": 1e6, "variance": 1e15}
"""Statistic → factor from the log's unit to ns (ns² for the variance)."""

_PROCESS = (
    ("ru_utime", "cpu_user", "ns", 1e9),
    ("ru_stime", "cpu_system", "ns", 1e9),
    ("ru_maxrss", "peak_rss", "bytes", 1024.0),
    ("ru_minflt", "minor_faults", "count", 1.0),
    ("ru_majflt", "major_faults", "count", 1.0),
    ("ru_inblock", "block_reads", "count", 1.0),
    ("ru_oublock", "block_writes", "count", 1.0),
    ("ru_nvcsw", "voluntary_switches", "count", 1.0),
    ("ru_nivcsw", "involuntary_switches", "count", 1.0),
    ("cpu_usage (%)", "cpu_share", "fraction of all hardware threads", 0.01),
)


def counts(log: Log, size: int | None) -> np.ndarray:
    """Return the messages received per row, NaN if that cannot be told. They are exact if the log
    itself has counts (`exact`)."""
    if "latency_n" in log.columns:
        return log.columns["latency_n"]
    if exact(log):
        return log.columns["received"]
    return np.full(log.rows, np.nan) if size is None else whole_counts(restored_counts(log, size))


def exact(log: Log) -> bool:
    """Whether `received` counts messages (later versions) and is not a rate: bytes are then a whole
    multiple, the same in every row."""
    received, data = log.columns["received"], log.columns["data_received"]
    with_messages = arrived(log)
    if not with_messages.any() or (received[with_messages] == 0).any():
        return False
    size = data[with_messages] / received[with_messages]
    # A log may have whole multiples by chance; later versions dropped the loop reserve, too.
    is_later = "pub_loop_res_mean (ms)" not in log.columns
    return bool((size == size[0]).all() and size[0] == int(size[0]) and is_later)


def has_counts(log: Log) -> bool:
    """Whether the log counts messages, in `received` or in `latency_n`."""
    return "latency_n" in log.columns or exact(log)


def latency(log: Log, statistic: str, received: np.ndarray) -> np.ndarray:
    """Return the latency of each row in ns (the variance in ns²), NaN in seconds in which nothing
    came, for which the log says 0."""
    values = log.columns[f"latency_{statistic} (ms)"] * LATENCY_UNITS[statistic]
    return np.where(received > 0, values, np.nan)


def arrived(log: Log) -> np.ndarray:
    """Return whether anything came in a row, shape (rows,). The bytes decide, because a rate below
    1/s is printed as 0."""
    return log.columns["data_received"] > 0


def window(
    out: Published, log: Log, *, publishes: int | None, receives: int | None, size: int | None
) -> None:
    """Add a log's rows as windows of the newest trial. `publishes` and `receives` are the
    endpoints' numbers, None if the process has none."""
    end = np.round(log.columns["T_experiment"] * 1e9).astype(np.int64)
    begin = end - np.round(log.columns["T_loop"] * 1e9).astype(np.int64)

    def add(endpoint: int, metric: str, unit: str, values: np.ndarray) -> None:
        out.window(endpoint, begin, end, metric, unit, values)

    c = log.columns
    if receives is not None:
        with_messages = arrived(log)
        if has_counts(log):
            add(receives, "lost", "messages", c["lost"])
        else:
            add(receives, "received_rate_cut", "Hz", c["received"])
            add(receives, "lost_rate_cut", "Hz", c["lost"])
        add(receives, "received", "messages", counts(log, size))
        add(receives, "data_received", "bytes/s", c["data_received"])
        for statistic, factor in LATENCY_UNITS.items():
            if f"latency_{statistic} (ms)" in c:
                unit = "ns²" if factor == LATENCY_UNITS["variance"] else "ns"
                add(receives, f"latency_{statistic}", unit, latency(log, statistic, with_messages))
    if publishes is not None:
        if has_counts(log):
            add(publishes, "sent", "messages", c["sent"])
        else:
            add(publishes, "sent_rate_cut", "Hz", c["sent"])
        for statistic, factor in LATENCY_UNITS.items():
            name = f"pub_loop_res_{statistic} (ms)"
            if name in c:
                unit = "ns²" if factor == LATENCY_UNITS["variance"] else "ns"
                add(publishes, f"reserve_{statistic}", unit, c[name] * factor)
    process = publishes if receives is None else receives
    for name, metric, unit, factor in _PROCESS:
        if name in c and process is not None:
            add(process, metric, unit, c[name] * factor)


def endpoint(
    log: Log, kind: str, process: str, host: str, middleware: str, size: int | None
) -> PublishedEndpoint:
    """Return an endpoint as the log's header describes it."""
    h = log.header
    return PublishedEndpoint(
        kind=kind,
        process=process,
        host=host,
        topic=h.get("Topic name", ""),
        type=h.get("Msg name") or h.get("Topic name", ""),
        payload_bytes=size,
        asked={"qos": qos(h.get("QOS", "")), "rate_hz": h.get("Publishing rate", "")},
        middleware=middleware,
    )


def add_run(
    out: Published,
    cell: PublishedCell,
    publisher: Log,
    subscriber: Log,
    hosts: tuple[str, str],
    size: int,
    duration_ns: int,
) -> None:
    """Add a trial of two logs with their windows; each log is of one end, on a host of its own."""
    ends = (
        endpoint(publisher, "publisher", "pub", hosts[0], cell.middleware, size),
        endpoint(subscriber, "subscription", "sub", hosts[1], cell.middleware, size),
    )
    out.trial(out.cell(cell), ends, duration_ns=duration_ns)
    window(out, publisher, publishes=0, receives=None, size=size)
    window(out, subscriber, publishes=None, receives=1, size=size)


_QOS = {
    "reliability": r"reliability: *(\w+)",
    "durability": r"durability: *(\w+)",
    "history": r"history[ _]kind: *(\w+)",
    "depth": r"history[ _]depth: *(\d+)",
}


def qos(text: str) -> dict[str, str | int]:
    """Return a header's QoS in the bundle's words, without what it does not say."""
    matches = {name: re.search(pattern, text, re.IGNORECASE) for name, pattern in _QOS.items()}
    words = {name: match[1].lower() for name, match in matches.items() if match}
    return {name: int(word) if name == "depth" else word for name, word in words.items()}
