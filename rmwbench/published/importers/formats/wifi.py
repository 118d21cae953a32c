"""OSRF's WiFi test of 2020: two laptops, 2 middlewares × 3 rates × 10 runs, a log of `perf_test` at
each end.

Only the names of two logs say that they belong together (`f-p-80-3.txt` and `f-s-80-3.txt`);
everything else is read from their content, and a name that contradicts it is an error.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby, islice

import numpy as np

from rmwbench.published.importers.data_source import Source, SourceFile
from rmwbench.published.importers.formats import perf_log
from rmwbench.published.importers.formats.perf_log import SIZEOF, Log
from rmwbench.published.importers.published import (
    Published,
    PublishedCell,
    SeriesPoints,
    known_problems,
)
from rmwbench.published.importers.sheet import Once

VERSION = "Performance Test Version"
NAME = re.compile(r"(?P<rmw>[fc])-(?P<end>[ps])-(?P<rate>\d+)-(?P<run>\d+)\.txt")
RMW = {"f": "rmw_fastrtps_cpp", "c": "rmw_cyclonedds_cpp"}
MODE = {"rmw_fastrtps_cpp": "async", "rmw_cyclonedds_cpp": "sync"}
"""The publish mode that each had by default then."""
SIZE = SIZEOF["Array60k"]
STALL_S = 5
"""How many seconds in a row without a message make a stall."""
MORE_S = 2
"""How many seconds' worth of messages may be received beyond those sent in as many rows: the
messages that were under way at the start."""


@dataclass
class _Cell:
    """What one middleware at one rate did, over its runs."""

    rmw: str
    rate: int
    received: list[np.ndarray] = field(default_factory=list)
    restored: list[np.ndarray] = field(default_factory=list)
    lost: list[np.ndarray] = field(default_factory=list)
    sent: list[np.ndarray] = field(default_factory=list)


def recognises(item: SourceFile) -> bool:
    """Whether this is a log of one end of a 60 kB topic that leaves out the first second, sent at a
    rate of the test."""
    if not perf_log.is_log(item):
        return False
    h = perf_log.header_of(item)
    ends = {h.get("Number of publishers"), h.get("Number of subscribers")}
    return (
        h.get("Topic name") == "Array60k"
        and h.get("Publishing rate") in ("80", "100", "120")
        and h.get("Ignore seconds from beginning") == "1"
        and ends == {"0", "1"}
    )


def read(source: Source, out: Published) -> None:
    """Read one trial from each run of two hosts."""
    out.add_known("perf-test")
    out.add_known("tsc-2020-wifi")
    cells: dict[tuple[str, int], _Cell] = {}
    waiting: dict[tuple[str, int, int], dict[str, Log]] = {}
    once = Once("the same log")
    for log in _logs(source, once):
        rmw, end, rate, run = _identity(log)
        pair = waiting.setdefault((rmw, rate, run), {})
        if end in pair:
            raise log.wrong("a second log of the same end", "one per run", pair[end].where)
        pair[end] = log
        if len(pair) == 2:
            del waiting[rmw, rate, run]
            cell = cells.setdefault((rmw, rate), _Cell(rmw, rate))
            _run(out, cell, run, pair["p"], pair["s"])
    for (rmw, rate, run), pair in waiting.items():
        end, log = next(iter(pair.items()))
        other = "subscriber's" if end == "p" else "publisher's"
        what = f"the {other} log of {rmw} at {rate} Hz, run {run}, is missing"
        raise log.wrong(
            what, "two logs per run", fix="`rmwbench published import perf-test` reads single logs"
        )
    for _, cell in sorted(cells.items()):
        _figures(out, cell)


def _logs(source: Source, once: Once) -> Iterable[Log]:
    items = iter(source)
    while batch := list(islice(items, perf_log.PER_BATCH)):
        for item in batch:
            once.content(item)
        yield from perf_log.read_logs(batch)


def _identity(log: Log) -> tuple[str, str, int, int]:
    name = NAME.fullmatch(log.name.rpartition("/")[2])
    if name is None:
        raise log.wrong("the name does not say which run this is", "f|c-p|s-RATE-RUN.txt", log.name)
    h = log.header
    end = {("1", "0"): "p", ("0", "1"): "s"}.get(
        (h.get("Number of publishers") or "", h.get("Number of subscribers") or "")
    )
    named = (RMW[name["rmw"]], name["end"], name["rate"], "Array60k")
    logged = (h.get("RMW Implementation"), end, h.get("Publishing rate"), h.get("Topic name"))
    if named != logged:
        raise log.wrong("the name contradicts the content", f"{named}", f"{logged}")
    return RMW[name["rmw"]], name["end"], int(name["rate"]), int(name["run"])


def _run(out: Published, cell: _Cell, run: int, publisher: Log, subscriber: Log) -> None:
    rmw, rate = cell.rmw, cell.rate
    perf_log.require_header(
        subscriber, {key: publisher.header.get(key, "") for key in (VERSION, "QOS")}
    )
    _check_counts(rate, publisher, subscriber)
    subscriber = _without_latency(subscriber)
    of_run = PublishedCell(
        workload=f"Array60k at {rate} Hz over WiFi",
        arm=f"{rmw} {MODE[rmw]}",
        middleware=rmw,
        version="Rolling of October 2020",
        factors={"message": "Array60k", "rate_hz": rate, "publish_mode": MODE[rmw]},
        definition={
            "qos": "reliable, volatile, keep_last 10",
            "network": "802.11 at 2.4 GHz, ASUS RT-AC86U",
        },
    )
    hosts = ("laptop 1", "laptop 2")
    perf_log.add_run(out, of_run, publisher, subscriber, hosts, SIZE, 30_000_000_000)
    received = subscriber.columns["received"]
    restored = perf_log.restored_counts(subscriber, SIZE)
    cell.received.append(received)
    cell.restored.append(restored)
    cell.lost.append(subscriber.columns["lost"])
    cell.sent.append(publisher.columns["sent"])
    rates = subscriber.columns["data_received"] / SIZE
    for second, (cut, restored_rate) in enumerate(zip(received, rates, strict=True), start=1):
        point = SeriesPoints(out, "wifi", f"{rmw} {rate} Hz run {run}", second)
        point("received", "messages/s", float(cut), float(restored_rate))


def _check_counts(rate: int, publisher: Log, subscriber: Log) -> None:
    """Raise UserError if more came than was sent. The ends were started by hand, some seconds
    apart."""
    sent = float(publisher.columns["sent"].sum() + publisher.rows)
    most = sent * max(1.0, subscriber.rows / publisher.rows) + MORE_S * rate
    received = float(perf_log.restored_counts(subscriber, SIZE).sum())
    if received > most:
        raise subscriber.wrong(
            "more was received than sent", f"at most {most:.0f}", f"{received:.0f}"
        )


def _without_latency(log: Log) -> Log:
    columns = {
        n: np.full(log.rows, np.nan) if n.startswith("latency_") else v
        for n, v in log.columns.items()
    }
    return replace(log, columns=columns)


def _figures(out: Published, cell: _Cell) -> None:
    runs = len(cell.received)
    received, sent = np.concatenate(cell.received), np.concatenate(cell.sent)
    restored = np.concatenate(cell.restored)
    seconds = float(sum(len(x) for x in cell.received))
    point = SeriesPoints(out, "wifi", f"{cell.rmw} {cell.rate} Hz", cell.rate, runs)
    of_rows = replace(point, count=len(received))
    no_bytes = "no data: the publisher's log has cut rates only"
    replace(point, count=len(sent))("mean_sent", "messages/s", sent.mean(), None, no_bytes)
    note = "corrected: bytes per second ÷ sizeof"
    mean_rate = restored.sum() / seconds
    per_row = f"{note}; per row of the log"
    of_rows("mean_received", "messages/s", received.mean(), mean_rate, per_row)
    point("total_received", "messages", received.sum(), restored.sum(), note)
    lost = float(np.concatenate(cell.lost).sum())
    missing = max(0.0, float(sent.sum() - received.sum()))
    note = (
        "published: gaps in ids, which end with the last message that came; corrected: sent − "
        "received of the same cut rates (the ends were started by hand: windows differ)"
    )
    point("lost", "messages", lost, missing, note)
    empty = float((restored < 0.5).sum())
    of_rows("empty_seconds", "s", float((received == 0).sum()), empty)
    stalls = float(sum(_longest_run(x < 0.5) >= STALL_S for x in cell.restored))
    point("stalled_runs", "runs", None, stalls, f"≥ {STALL_S} s without a message")
    no_latency = f"no data: {known_problems('tsc-2020-wifi').limits['latency']}"
    replace(point, count=None)("latency", "ms", None, None, no_latency)


def _longest_run(flags: np.ndarray) -> int:
    """Return the length of the longest run of true values."""
    return max((len(list(run)) for flag, run in groupby(flags) if flag), default=0)
