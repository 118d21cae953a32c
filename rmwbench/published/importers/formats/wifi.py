"""OSRF's WiFi test of 2020: two laptops, 2 middlewares × 3 rates × 10 runs, a log of `perf_test` at
each end.

Which two logs belong together is in their names alone (`f-p-80-3.txt` and `f-s-80-3.txt`);
everything else is read from their content, and a name that contradicts it is an error.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from rmwbench.published.importers.formats import perf_log, perf_windows
from rmwbench.published.importers.formats.perf_log import SIZEOF, Log
from rmwbench.published.importers.published import Published
from rmwbench.published.importers.source.sheet import Once, malformed
from rmwbench.published.importers.source.source import Item, Source

VERSION = "Performance Test Version"
NAME = re.compile(r"(?P<rmw>[fc])-(?P<end>[ps])-(?P<rate>\d+)-(?P<run>\d+)\.txt")
RMW = {"f": "rmw_fastrtps_cpp", "c": "rmw_cyclonedds_cpp"}
MODE = {"rmw_fastrtps_cpp": "async", "rmw_cyclonedds_cpp": "sync"}
"""What they published in by default then."""
SIZE = SIZEOF["Array60k"]
STALL_S = 5
"""Seconds in a row without a message that make a stall."""
MORE_S = 2
"""Seconds' worth of messages that may be received above those sent in as many rows: what was under
way at the start."""
NO_LATENCY = "stamps of two hosts' monotonic clocks are subtracted: about −7·10⁸ ms"


@dataclass
class _Cell:
    """What one middleware at one rate did, over its runs."""

    received: list[np.ndarray] = field(default_factory=list)
    restored: list[np.ndarray] = field(default_factory=list)
    lost: list[np.ndarray] = field(default_factory=list)
    sent: list[np.ndarray] = field(default_factory=list)


def recognises(item: Item) -> bool:
    """A log of one end of a 60 kB topic that leaves out the first second, sent at a rate of the
    test."""
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
    """A trial per run, of two hosts."""
    _known_errors(out)
    cells: dict[tuple[str, int], tuple[int, _Cell]] = {}
    waiting: dict[tuple[str, int, int], dict[str, Log]] = {}
    once = Once("the same log")
    for log in _logs(source, once):
        rmw, end, rate, run = _identity(log)
        pair = waiting.setdefault((rmw, rate, run), {})
        if end in pair:
            raise malformed(
                log.where, "a second log of the same end", "one per run", pair[end].where
            )
        pair[end] = log
        if len(pair) == 2:
            del waiting[rmw, rate, run]
            if (rmw, rate) not in cells:
                cells[rmw, rate] = _cell(out, rmw, rate), _Cell()
            number, cell = cells[rmw, rate]
            _run(out, number, cell, rmw, rate, run, pair["p"], pair["s"])
    for (rmw, rate, run), pair in waiting.items():
        end, log = next(iter(pair.items()))
        other = "subscriber's" if end == "p" else "publisher's"
        what = f"the {other} log of {rmw} at {rate} Hz, run {run}, is missing"
        raise malformed(
            log.where,
            what,
            "two logs per run",
            fix="`rmwbench published import perf-test` reads single logs",
        )
    for (rmw, rate), (_, cell) in sorted(cells.items(), key=lambda entry: entry[0]):
        _figures(out, f"{rmw} {rate} Hz", rate, cell)


def _logs(source: Source, once: Once) -> Iterable[Log]:
    items = iter(source)
    while batch := list(islice(items, perf_log.PER_BATCH)):
        for item in batch:
            once(hashlib.sha256(item.data).digest(), item.where)
        yield from perf_log.read_logs(batch)


def _identity(log: Log) -> tuple[str, str, int, int]:
    name = NAME.fullmatch(log.name.rpartition("/")[2])
    if name is None:
        raise malformed(
            log.where, "the name does not say which run this is", "f|c-p|s-RATE-RUN.txt", log.name
        )
    h = log.header
    end = {("1", "0"): "p", ("0", "1"): "s"}.get(
        (h.get("Number of publishers") or "", h.get("Number of subscribers") or "")
    )
    said = (RMW[name["rmw"]], name["end"], name["rate"], "Array60k")
    found = (h.get("RMW Implementation"), end, h.get("Publishing rate"), h.get("Topic name"))
    if said != found:
        raise malformed(log.where, "the name contradicts the content", f"{said}", f"{found}")
    return RMW[name["rmw"]], name["end"], int(name["rate"]), int(name["run"])


def _cell(out: Published, rmw: str, rate: int) -> int:
    return out.cell(
        workload=f"Array60k at {rate} Hz over WiFi",
        arm=f"{rmw} {MODE[rmw]}",
        middleware=rmw,
        version="Rolling of October 2020",
        profile="untouched",
        factors={"message": "Array60k", "rate_hz": rate, "publish_mode": MODE[rmw]},
        definition={
            "qos": "reliable, volatile, keep_last 10",
            "network": "802.11 at 2.4 GHz, ASUS RT-AC86U",
        },
    )


def _run(
    out: Published,
    number: int,
    cell: _Cell,
    rmw: str,
    rate: int,
    run: int,
    publisher: Log,
    subscriber: Log,
) -> None:
    perf_log.require_header(
        subscriber, {key: publisher.header.get(key, "") for key in (VERSION, "QOS")}
    )
    _check_counts(rate, publisher, subscriber)
    subscriber = _without_latency(subscriber)
    ends = (
        perf_windows.endpoint(publisher, "publisher", "pub", "laptop 1", rmw, SIZE),
        perf_windows.endpoint(subscriber, "subscription", "sub", "laptop 2", rmw, SIZE),
    )
    out.trial(number, ends, duration_ns=30_000_000_000)
    perf_windows.window(out, publisher, publishes=0, receives=None, size=SIZE)
    perf_windows.window(out, subscriber, publishes=None, receives=1, size=SIZE)
    received = subscriber.columns["received"]
    restored = perf_log.restored_counts(subscriber, SIZE)
    cell.received.append(received)
    cell.restored.append(restored)
    cell.lost.append(subscriber.columns["lost"])
    cell.sent.append(publisher.columns["sent"])
    rates = subscriber.columns["data_received"] / SIZE
    for second, (cut, right) in enumerate(zip(received, rates, strict=True), start=1):
        out.figure(
            "wifi_received",
            f"{rmw} {rate} Hz run {run}",
            second,
            "messages/s",
            float(cut),
            float(right),
        )


def _check_counts(rate: int, publisher: Log, subscriber: Log) -> None:
    """Raises UserError where more came than was sent. The ends were started by hand, some seconds
    apart."""
    sent = float(publisher.columns["sent"].sum() + publisher.rows)
    most = sent * max(1.0, subscriber.rows / publisher.rows) + MORE_S * rate
    received = float(perf_log.restored_counts(subscriber, SIZE).sum())
    if received > most:
        raise malformed(
            subscriber.where,
            "more was received than sent",
            f"at most {most:.0f}",
            f"{received:.0f}",
        )


def _without_latency(log: Log) -> Log:
    columns = {
        n: np.full(log.rows, np.nan) if n.startswith("latency_") else v
        for n, v in log.columns.items()
    }
    return Log(log.name, log.where, log.header, columns, log.first_line)


def _figures(out: Published, series: str, rate: int, cell: _Cell) -> None:
    runs = len(cell.received)
    received, sent = np.concatenate(cell.received), np.concatenate(cell.sent)
    restored = np.concatenate(cell.restored)
    bytes_note = "corrected: bytes per second ÷ sizeof"
    no_bytes = "no data: the publisher's log has cut rates only"
    out.figure(
        "wifi_mean_sent",
        series,
        rate,
        "messages/s",
        sent.mean(),
        None,
        count=len(sent),
        note=no_bytes,
    )
    seconds = float(sum(len(x) for x in cell.received))
    out.figure(
        "wifi_mean_received",
        series,
        rate,
        "messages/s",
        received.mean(),
        restored.sum() / seconds,
        count=len(received),
        note=f"{bytes_note}; per row of the log",
    )
    out.figure(
        "wifi_total_received",
        series,
        rate,
        "messages",
        received.sum(),
        restored.sum(),
        count=runs,
        note=bytes_note,
    )
    lost = float(np.concatenate(cell.lost).sum())
    missing = max(0.0, float(sent.sum() - received.sum()))
    out.figure(
        "wifi_lost",
        series,
        rate,
        "messages",
        lost,
        missing,
        count=runs,
        note="published: gaps in ids, which end with the last message that came; corrected: sent − "
        "received of the same cut rates (the ends were started by hand: windows differ)",
    )
    empty = float((restored < 0.5).sum())
    out.figure(
        "wifi_empty_seconds",
        series,
        rate,
        "s",
        float((received == 0).sum()),
        empty,
        count=len(received),
        note=None,
    )
    stalls = float(sum(_longest(x < 0.5) >= STALL_S for x in cell.restored))
    out.figure(
        "wifi_stalled_runs",
        series,
        rate,
        "runs",
        None,
        stalls,
        count=runs,
        note=f"≥ {STALL_S} s without a message",
    )
    out.figure("wifi_latency", series, rate, "ms", None, None, note=f"no data: {NO_LATENCY}")


def _longest(flags: np.ndarray) -> int:
    """The longest run of true values."""
    best = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        best = max(best, run)
    return best


def _known_errors(out: Published) -> None:
    perf_windows.limits(out)
    out.limit("latency", NO_LATENCY)
    out.limit("discovery", "the first second was left out")
    out.limit("loss of single messages", "both ends were started by hand, so their windows differ")
    out.error(
        "stalls count as small loss",
        "gaps in ids say nothing about what never came after a stall",
        "wifi_lost",
    )
    out.error(
        "publish mode follows the vendor",
        "Fast RTPS published async and Cyclone DDS sync, each by default: the two differ in more "
        "than the name",
    )
