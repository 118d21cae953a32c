"""A log of `perf_test` as windows: the second's rates and aggregates, in rmwbench's units, without
zeros for absent.

Sources of the units: the tool's own printing code. Its "variance (ms)" is the variance in s² times
1000; cpu_usage is a share of all hardware threads; the ru_ columns are getrusage's, cumulative
since the process began.
"""

import re

import numpy as np

from rmwbench.published.importers.formats.perf_log import Log, restored_counts, whole_counts
from rmwbench.published.importers.published import Published, PublishedEndpoint

LATENCY = {"min": 1e6, "max": 1e6, "mean": 1e6, "variance": 1e15}
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
    """Messages received per row, NaN where that cannot be told. Exact where the log itself has
    counts (`exact`)."""
    if "latency_n" in log.columns:
        return log.columns["latency_n"]
    if exact(log):
        return log.columns["received"]
    return np.full(log.rows, np.nan) if size is None else whole_counts(restored_counts(log, size))


def exact(log: Log) -> bool:
    """Whether `received` counts messages (later versions) instead of being a rate: bytes are then a
    whole multiple, the same in every row.
    """
    received, data = log.columns["received"], log.columns["data_received"]
    some = data > 0
    if not some.any() or (received[some] == 0).any():
        return False
    size = data[some] / received[some]
    return bool((size == size[0]).all() and size[0] == int(size[0]) and _later(log))


def _later(log: Log) -> bool:
    """Later versions dropped the loop reserve; a second log with whole multiples by chance is not a
    proof."""
    return "pub_loop_res_mean (ms)" not in log.columns


def latency(log: Log, statistic: str, received: np.ndarray) -> np.ndarray:
    """Latency of each row in ns (the variance in ns²), NaN in seconds in which nothing came: the
    log says 0 there."""
    values = log.columns[f"latency_{statistic} (ms)"] * LATENCY[statistic]
    return np.where(received > 0, values, np.nan)


def arrived(log: Log) -> np.ndarray:
    """Whether anything came in a row, shape (rows,): bytes tell, since a rate below 1/s is printed
    as 0."""
    return log.columns["data_received"] > 0


def window(
    out: Published, log: Log, *, publishes: int | None, receives: int | None, size: int | None
) -> None:
    """Adds a log's rows as windows of the newest trial. `publishes` and `receives` are the
    endpoints' numbers, None where the process has none.
    """
    end = np.round(log.columns["T_experiment"] * 1e9).astype(np.int64)
    begin = end - np.round(log.columns["T_loop"] * 1e9).astype(np.int64)

    def add(endpoint: int, metric: str, unit: str, values: np.ndarray) -> None:
        out.window(endpoint, begin, end, metric, unit, values)

    c = log.columns
    if receives is not None:
        some = arrived(log)
        if exact(log) or "latency_n" in c:
            add(receives, "lost", "messages", c["lost"])
        else:
            add(receives, "received_rate_cut", "Hz", c["received"])
            add(receives, "lost_rate_cut", "Hz", c["lost"])
        add(receives, "received", "messages", counts(log, size))
        add(receives, "data_received", "bytes/s", c["data_received"])
        for statistic, factor in LATENCY.items():
            if f"latency_{statistic} (ms)" in c:
                unit = "ns²" if factor == LATENCY["variance"] else "ns"
                add(receives, f"latency_{statistic}", unit, latency(log, statistic, some))
    if publishes is not None:
        if exact(log) or "latency_n" in c:
            add(publishes, "sent", "messages", c["sent"])
        else:
            add(publishes, "sent_rate_cut", "Hz", c["sent"])
        for statistic, factor in LATENCY.items():
            name = f"pub_loop_res_{statistic} (ms)"
            if name in c:
                unit = "ns²" if factor == LATENCY["variance"] else "ns"
                add(publishes, f"reserve_{statistic}", unit, c[name] * factor)
    process = publishes if receives is None else receives
    for name, metric, unit, factor in _PROCESS:
        if name in c and process is not None:
            add(process, metric, unit, c[name] * factor)


def endpoint(
    log: Log, kind: str, process: str, host: str, middleware: str, size: int | None
) -> PublishedEndpoint:
    """An endpoint as the log's header describes it."""
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


_QOS = {
    "reliability": r"reliability: *(\w+)",
    "durability": r"durability: *(\w+)",
    "history": r"history[ _]kind: *(\w+)",
    "depth": r"history[ _]depth: *(\d+)",
}


def qos(text: str) -> dict[str, str | int]:
    """A header's QoS in the bundle's words; what it does not say is left out."""
    found = {name: re.search(pattern, text, re.IGNORECASE) for name, pattern in _QOS.items()}
    words = {name: match[1].lower() for name, match in found.items() if match}
    return {name: int(word) if name == "depth" else word for name, word in words.items()}
