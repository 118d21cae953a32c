"""Any log of `performance_test` (perf_test): the text of 2020, the CSV of later versions, and JSON.

Each file is one trial, because nothing in a log says which other process it belongs to. The CSV of
later versions has the text's layout without the loop reserve and without the trailing separator,
and has counts in place of rates. JSON has the number of latencies in each row, so its counts are
exact, and it writes 0 for what is not finite.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rmwbench.published.importers.data_source import Source, SourceFile, malformed
from rmwbench.published.importers.formats import perf_log
from rmwbench.published.importers.formats.perf_log import SIZEOF, Log
from rmwbench.published.importers.published import (
    Published,
    PublishedCell,
    SeriesPoints,
    known_problems,
)
from rmwbench.published.importers.sheet import Once

_JSON_HEADER = {
    "com_mean_str": "Communication mean",
    "rmw_implementation": "RMW Implementation",
    "perf_test_version": "Performance Test Version",
    "rate": "Publishing rate",
    "topic_name": "Topic name",
    "msg_name": "Msg name",
    "number_of_publishers": "Number of publishers",
    "number_of_subscribers": "Number of subscribers",
    "roundtrip_mode": "Roundtrip Mode",
}
_JSON_COLUMNS = {
    "experiment_start": ("T_experiment", 1e-9),
    "loop_start": ("T_loop", 1e-9),
    "num_samples_received": ("received", 1.0),
    "num_samples_sent": ("sent", 1.0),
    "num_samples_lost": ("lost", 1.0),
    "total_data_received": ("data_received", 1.0),
    "latency_n": ("latency_n", 1.0),
    "latency_min": ("latency_min (ms)", 1e3),
    "latency_max": ("latency_max (ms)", 1e3),
    "latency_mean": ("latency_mean (ms)", 1e3),
    "latency_variance": ("latency_variance (ms)", 1e3),
    "sys_tracker_ru_utime": ("ru_utime", 1e-9),
    "sys_tracker_ru_stime": ("ru_stime", 1e-9),
    "sys_tracker_ru_maxrss": ("ru_maxrss", 1.0),
    "sys_tracker_ru_minflt": ("ru_minflt", 1.0),
    "sys_tracker_ru_majflt": ("ru_majflt", 1.0),
    "sys_tracker_ru_inblock": ("ru_inblock", 1.0),
    "sys_tracker_ru_oublock": ("ru_oublock", 1.0),
    "sys_tracker_ru_nvcsw": ("ru_nvcsw", 1.0),
    "sys_tracker_ru_nivcsw": ("ru_nivcsw", 1.0),
    "cpu_info_cpu_usage": ("cpu_usage (%)", 1.0),
}
"""JSON key → (column of the text format, factor to its unit): nanoseconds and seconds become the
text's units."""

TWO_CLOCKS = "no data: some latencies are negative, so stamps of two clocks are subtracted"
CUT_RATES = (
    "no data: rates cut to whole numbers, and the publisher's log has no bytes to restore them from"
)
_OPTIONAL = ("latency_n", "ru_", "cpu_", "latency_variance")


def recognises(item: SourceFile) -> bool:
    return perf_log.is_log(item) or _is_json(item.data)


def read(source: Source, out: Published) -> None:
    """Read one trial from each log; the headers decide the cells."""
    out.add_known("perf-test")
    for log in _logs(source):
        perf_log.check_latency(log, one_clock=False)
        h = log.header
        mean = h.get("Communication mean") or h.get("Communicator") or "unknown"
        rmw = h.get("RMW Implementation", "")
        through_ros = mean.upper().startswith(("ROS2", "RCLCPP"))
        middleware = rmw if rmw and through_ros else mean
        kind = (h.get("Msg name") or h.get("Topic name") or "unknown").rpartition("/")[2]
        rate, mode = h.get("Publishing rate", ""), h.get("Roundtrip Mode", "NONE").upper()
        publishers, subscribers = _ends(log, "publishers"), _ends(log, "subscribers")
        cell = PublishedCell(
            workload=f"{kind} at {rate or '?'} Hz",
            arm=f"{middleware} ({mean})",
            middleware=middleware,
            layer="rclcpp" if through_ros else "native",
            factors={
                "message": kind,
                "rate_hz": rate,
                "publishers": publishers,
                "subscribers": subscribers,
            },
            definition={"header": h},
        )
        key = (cell.workload, cell.arm, h.get("QOS", ""), mode, publishers, subscribers)
        _trial(out, log, cell, key, mode)


def _trial(out: Published, log: Log, cell: PublishedCell, key: object, mode: str) -> None:
    size = SIZEOF.get(cell.factors["message"])
    publishers, subscribers = cell.factors["publishers"], cell.factors["subscribers"]
    kinds = [*(["publisher"] if publishers else []), *(["subscription"] if subscribers else [])]
    ends = [
        perf_log.endpoint(log, kind, "perf_test", "host", cell.middleware, size) for kind in kinds
    ]
    duration_ns = round(float(log.columns["T_experiment"][-1]) * 1e9)
    out.trial(out.cell(cell, key), ends, duration_ns=duration_ns)
    publishes = kinds.index("publisher") if publishers else None
    receives = kinds.index("subscription") if subscribers else None
    perf_log.window(out, log, publishes=publishes, receives=receives, size=size)
    _figures(out, log, size, receives is not None, publishes is not None, mode)


def _figures(
    out: Published, log: Log, size: int | None, receives: bool, publishes: bool, mode: str
) -> None:
    c = log.columns
    counted = perf_log.has_counts(log)
    seconds = float(np.sum(c["T_loop"]))
    point = SeriesPoints(out, "", log.name, count=log.rows)
    if receives:
        counts = (
            perf_log.counts(log, size)
            if counted or size is None
            else perf_log.all_counts(perf_log.restored_counts(log, size))
        )
        _received_rate(point, log, float(np.sum(counts)) / seconds if counted else None, size)
        _latency_mean(point, log, counts, mode)
        _lost_share(point, log, counts)
    if publishes:
        rate = float(np.sum(c["sent"])) / seconds if counted else None
        point("sent_rate", "Hz", float(np.mean(c["sent"])), rate, None if counted else CUT_RATES)
    if "cpu_usage (%)" in c:
        _cpu(point, c["cpu_usage (%)"])


def _cpu(point: SeriesPoints, shares: np.ndarray) -> None:
    """Add the mean of the rows that have a value: the tool writes -nan where it has none."""
    present = shares[np.isfinite(shares)]
    corrected = float(np.mean(present)) if len(present) else None
    note = None if len(present) == len(shares) else f"of the {len(present)} rows that have a value"
    if corrected is None:
        note = "no data: no row has a value"
    point("cpu", "% of the machine", float(np.mean(shares)), corrected, note)


def _received_rate(point: SeriesPoints, log: Log, rate: float | None, size: int | None) -> None:
    """Add the rate of received messages. `rate`: messages per second if the log has counts."""
    c, note = log.columns, None
    if rate is None and size is None:
        cut = known_problems("perf-test").errors["rates cut to whole numbers"]["text"]
        note = f"no data: the size of the type is unknown, so {cut}"
    elif rate is None and size is not None:
        rate = float(np.mean(c["data_received"])) / size
        note = "published: mean of rates cut to whole numbers; corrected: bytes per second ÷ sizeof"
    point("received_rate", "Hz", float(np.mean(c["received"])), rate, note)


def _latency_mean(point: SeriesPoints, log: Log, counts: np.ndarray, mode: str) -> None:
    c = log.columns
    mean, with_messages = c["latency_mean (ms)"], perf_log.arrived(log)
    finite = np.isfinite(mean)
    is_weighted = with_messages & finite & (counts > 0)
    least = c["latency_min (ms)"][with_messages] if "latency_min (ms)" in c else mean
    two_clocks = bool((least < 0).any())
    weighted, note = None, "no data: nothing was received, or not known how much"
    if two_clocks:
        note = TWO_CLOCKS
    elif is_weighted.any():
        weighted = float(np.average(mean[is_weighted], weights=counts[is_weighted]))
        note = "published: mean of seconds, 0 where nothing came; corrected: weighted by messages"
    published = float(np.nanmean(mean[finite])) if finite.any() else None
    name = "latency_mean" + (" (round trip)" if mode == "MAIN" else "")
    replace(point, count=int(is_weighted.sum()))(name, "ms", published, weighted, note)


def _lost_share(point: SeriesPoints, log: Log, counts: np.ndarray) -> None:
    c = log.columns
    lost, sent = float(np.sum(c["lost"])), float(np.sum(c["sent"]))
    received = np.nansum(counts) if np.isfinite(counts).any() else np.sum(c["received"])
    total = lost + float(received)
    note = "no data: nothing was received"
    if total:
        limit = known_problems("perf-test").limits["loss after the last message that came"]
        note = (
            f"published: lost ÷ sent of one process; corrected: lost ÷ (lost + received), {limit}"
        )
    point("lost_share", "fraction", _ratio(lost, sent), _ratio(lost, total), note)


def _ratio(part: float, total: float) -> float | None:
    return part / total if total > 0 else None


def _ends(log: Log, which: str) -> int:
    text = log.header.get(f"Number of {which}", "")
    try:
        return int(text)
    except ValueError:
        raise log.wrong(
            f"the header does not say the number of {which}", "a whole number", text
        ) from None


def _logs(source: Source) -> Iterator[Log]:
    text: list[SourceFile] = []
    once = Once("the same log")
    for item in source:
        once.content(item)
        if _is_json(item.data):
            yield from perf_log.read_logs(text)
            text = []
            yield _json(item)
        else:
            text.append(item)
            if len(text) >= perf_log.PER_BATCH:
                yield from perf_log.read_logs(text)
                text = []
    yield from perf_log.read_logs(text)


def _is_json(data: bytes) -> bool:
    return (
        data.lstrip()[:1] == b"{"
        and b'"analysis_results"' in data
        and b'"experiment_start"' in data
    )


def _json(item: SourceFile) -> Log:
    text = item.text()
    try:
        document = json.loads(text)
        results = document["analysis_results"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        where = f"{item.where}:{getattr(error, 'lineno', 1)}"
        raise malformed(
            where, "not perf_test's JSON", "an object with analysis_results", str(error)
        ) from None
    if (
        not isinstance(results, list)
        or not results
        or not all(isinstance(row, dict) for row in results)
    ):
        raise item.wrong("analysis_results has no rows", "a list of objects, one per second")
    columns = {}
    for key, (name, factor) in _JSON_COLUMNS.items():
        if key not in results[0] and name.startswith(_OPTIONAL):
            continue
        columns[name] = (
            np.array([_value(item, i, row, key) for i, row in enumerate(results)]) * factor
        )
    if "latency_n" in columns:
        uncounted = (columns["latency_n"] == 0) & (columns["data_received"] > 0)
        for name in (n for n in columns if n.endswith("(ms)")):
            columns[name] = np.where(uncounted, np.nan, columns[name])
    perf_log.check_columns(columns, f"{item.where} (analysis_results)", None)
    header = {
        _JSON_HEADER.get(k, k): str(v)
        for k, v in document.items()
        if not isinstance(v, (list, dict))
    }
    qos = (f"{k}: {document[k]}" for k in sorted(document) if k.startswith("qos_"))
    return Log(item.name, item.where, header | {"QOS": " ".join(qos)}, columns)


def _value(item: SourceFile, i: int, row: dict[str, Any], key: str) -> float:
    value, where = row.get(key), f"{item.where} (analysis_results[{i}])"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise malformed(where, f"{key} is not a number", "a finite number", json.dumps(value)[:80])
    if value < 0 and not key.startswith("latency_m"):
        raise malformed(where, f"{key} is negative", "a number from 0 on", value)
    return float(value)
