"""The build farm's figures: as published (the value of the merged table) and as corrected.

What cannot be corrected from a summary has no corrected value: the percentile of 27 means of a
second is not one of messages, and the earliest sample of a mean since start is not a 95th
percentile of load.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rmwbench.published.importers.formats.perf_log import SIZEOF
from rmwbench.published.importers.published import Published, SeriesPoints, known

if TYPE_CHECKING:
    from rmwbench.published.importers.formats.build_farm.build_farm import Result

MIB = 1024 * 1024
PAGES = 4.0
"""Pages of 4 KiB that were divided by 1024 and called Mb."""

_MEMORY = {
    "virtual memory (Mb)": PAGES,
    "physical memory (Mb)": 1.0,
    "resident anonymous memory (Mb)": PAGES,
}
_STATISTICS = (("mean", "mean "), ("median", "median "), ("p95", ""))

PAGES_NOTE = "pages ÷ 1024, not MiB: × 4"
ANONYMOUS_NOTE = f"{PAGES_NOTE}; and all resident pages, not only anonymous ones"
CPU_NOTE = "a mean since the process began, over all hardware threads: start-up dominates"
P95_CPU = "no data: samples are means since the process began, so the highest is the earliest"
P95_SECONDS = "no data: the 95th percentile of 27 means of a second, not of messages"
CUT = "no data: rates per second cut to whole numbers, and counts are not stored"
NO_LOG = "no data: the publisher wrote no log, 0 stands for absent"
RELAY = "no data: the relay measures no latency, 0 stands for absent"


def windows(r: "Result") -> Iterator[tuple[str, str, float | None]]:
    """(metric, unit, value) of one result in rmwbench's units, None for what is absent."""
    v = r.values
    if r.experiment in ("node", "interop"):
        for name, factor in _MEMORY.items():
            metric = {"virtual": "virtual", "physical": "rss", "resident": "resident_pages"}[
                name.split()[0]
            ]
            for statistic, prefix in _STATISTICS:
                yield f"{metric}_{statistic}", "bytes", v[prefix + name] * factor * MIB
        for statistic, prefix in _STATISTICS:
            yield (
                f"cpu_share_{statistic}",
                "fraction of all hardware threads",
                v[f"{prefix}cpu_usage (%)"] / 100,
            )
    if r.experiment == "node":
        return
    relay = r.side == "sub"
    kind = "round_trip" if r.experiment == "interop" else "latency"
    for statistic in ("mean", "median"):
        value = v[f"{statistic} latency_mean (ms)"]
        yield f"{kind}_{statistic}_of_seconds", "ns", None if relay else value * 1e6
    yield "peak_rss", "bytes", v["max ru_maxrss"] * 1024
    yield "received_rate_cut_mean", "Hz", v["mean received"]
    absent = r.experiment == "two_process" or relay
    yield "sent_rate_cut_mean", "Hz", None if absent else v["mean sent"]
    yield "lost_rate_cut_sum", "messages", v["sum lost"]
    if r.experiment == "interop":
        return
    yield "latency_p95_of_seconds", "ns", v["95th Percentile Latency"] * 1e6
    for statistic, name in (
        ("mean", "mean cpu_usage (%)"),
        ("median", "median cpu_usage (%)"),
        ("p95", "95th Percentile CPU"),
    ):
        yield f"cpu_share_{statistic}_of_seconds", "fraction of all hardware threads", v[name] / 100
    data = "data_received (Mb)"
    for statistic, name in (
        ("mean", f"mean {data}"),
        ("median", f"median {data}"),
        ("p95", "95th Percentile Data Received (Mb)"),
    ):
        yield f"data_received_{statistic}_of_seconds", "bytes/s", v[name] * MIB


def add(out: Published, r: "Result") -> None:
    """The points that one result has in the figures."""
    if r.experiment == "node":
        _node(out, r)
    elif r.experiment == "interop":
        _interop(out, r)
    else:
        _pubsub(out, r)


def _node(out: Published, r: "Result") -> None:
    point = SeriesPoints(out, "spin", r.arm)
    for statistic, prefix in _STATISTICS:
        cpu = r.values[f"{prefix}cpu_usage (%)"]
        right = None if statistic == "p95" else cpu
        why = P95_CPU if right is None else None
        bar = "published: rounded to two decimals, times 100"
        point(f"cpu_{statistic}", "% of the machine", cpu, right, why or CPU_NOTE)
        point(f"cpu_bar_{statistic}", "% of the machine", round(cpu, 2) * 100, right, why or bar)
    _memory(point, r)


def _memory(point: SeriesPoints, r: "Result") -> None:
    for name, factor in _MEMORY.items():
        short = name.split()[0].replace("resident", "anonymous")
        note = {"virtual": PAGES_NOTE, "anonymous": ANONYMOUS_NOTE}.get(short)
        for statistic, prefix in _STATISTICS:
            value = r.values[prefix + name]
            point(f"{short}_{statistic}", "MiB", value, value * factor, note)


def _pubsub(out: Published, r: "Result") -> None:
    v, point = r.values, SeriesPoints(out, r.experiment, r.arm, r.type, 27)
    data = v["mean data_received (Mb)"]
    received = data * MIB / SIZEOF[r.type]
    note = "bytes per second ÷ sizeof"
    point("received", "messages/s", v["mean received"], received, note)
    two = r.experiment == "two_process"
    point("sent", "messages/s", v["mean sent"], None, NO_LOG if two else CUT)
    point("lost", "messages", v["sum lost"], None, CUT)
    mean = "unweighted mean of 27 means of a second"
    median = "median of 27 means of a second"
    for name, note in (("mean", mean), ("median", median)):
        value = v[f"{name} latency_mean (ms)"]
        point(f"latency_{name}", "ms", value, value, note)
    point("latency_p95", "ms", v["95th Percentile Latency"], None, P95_SECONDS)
    for name, column in (
        ("mean", "mean cpu_usage (%)"),
        ("median", "median cpu_usage (%)"),
        ("p95", "95th Percentile CPU"),
    ):
        point(f"cpu_{name}", "% of the machine", v[column], v[column], "of seconds")
    point("peak_rss", "KiB", v["max ru_maxrss"], v["max ru_maxrss"])
    for name, column in (
        ("mean", "mean data_received (Mb)"),
        ("median", "median data_received (Mb)"),
        ("p95", "95th Percentile Data Received (Mb)"),
    ):
        point(f"data_{name}", "MiB/s", v[column], v[column], "published as Mb")


def _interop(out: Published, r: "Result") -> None:
    v, relay = r.values, r.side == "sub"
    point = SeriesPoints(out, "interop_relay" if relay else "interop", r.arm, r.to, 25)
    wrong = known("build-farm").errors
    for statistic in ("mean", "median"):
        value = v[f"{statistic} latency_mean (ms)"]
        note = RELAY if relay else "a round trip"
        point(f"latency_{statistic}", "ms", value, None if relay else value, note)
    top5 = "no data: " + wrong["top 5 % latency"]["text"]
    point("latency_top5", "ms", v["Top 5% latency (ms)"], None, RELAY if relay else top5)
    point("received", "messages/s", v["mean received"], None, CUT)
    sent = "no data: the relay's 0 stands for absent" if relay else CUT
    point("sent", "messages/s", v["mean sent"], None, sent)
    lost = "no data: at 5 Hz one lost message is a rate below 1, cut to 0"
    point("lost", "messages", v["sum lost"], None, lost)
    busy = "no data: " + wrong["relay's busy loop"]["text"]
    for statistic, prefix in _STATISTICS:
        cpu = v[f"{prefix}cpu_usage (%)"]
        p95 = statistic == "p95"
        note = busy if relay else P95_CPU if p95 else CPU_NOTE
        point(f"cpu_{statistic}", "% of the machine", cpu, None if relay or p95 else cpu, note)
    point("peak_rss", "KiB", v["max ru_maxrss"], v["max ru_maxrss"])
    _memory(replace(point, count=None), r)
