"""The build farm's figures: as published (the value of the merged table) and as corrected.

What cannot be corrected from a summary has no corrected value: the percentile of 27 means of a
second is not one of messages, and the earliest sample of a mean since start is not a 95th
percentile of load.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rmwbench.published.importers.formats.perf_log import SIZEOF
from rmwbench.published.importers.published import Published

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
TOP5 = (
    "no data: the percentile over four numbers (maximum, mean, sum, median), about 21 times "
    "the mean"
)
RELAY = "no data: the relay measures no latency, 0 stands for absent"
BUSY = (
    "no data: a quarter of the machine is the relay's own busy loop (its publisher thread "
    "never sleeps)"
)


def known_errors(out: Published, year: int) -> None:
    """The errors of the original of that year, by name, and what it has no data for."""
    out.error(
        "pages as megabytes",
        "virtual and `resident anonymous` memory are page counts ÷ 1024: 4 times too small",
        "spin_",
    )
    out.error(
        "anonymous is resident",
        "`resident anonymous memory` counts all resident pages (physical ÷ 4)",
        "spin_",
    )
    out.error(
        "CPU times 100",
        "the bar chart rounds to two decimals and multiplies by 100 under a percent axis",
        "spin_cpu_bar",
    )
    if year == 2021:
        out.error(
            "bars of other middlewares",
            "the notebook takes an empty node's rows by their numbers in the table of 2020, whose "
            "order is another: `Cyclone DDS` is Connext, `Fast DDS sync` Connext sync, `Fast DDS "
            "async` Fast DDS's dynamic variant",
            "spin_",
        )
    out.error(
        "p95 of a running mean",
        "each sample is CPU time since start ÷ age, so the p95 is the earliest sample",
        "spin_cpu_p95",
    )
    out.error(
        "mangled vendor and config",
        "four of six vendors read `ps`, `config` lost its last letter: file_name is right",
    )
    out.error(
        "received cut to whole numbers",
        "mean of rates cut to whole numbers; corrected: bytes ÷ sizeof",
        "_received",
    )
    out.error(
        "p95 of seconds",
        "the `95th percentile latency` is one of 27 means, not of messages",
        "_latency_p95",
    )
    out.error(
        "sent is 0",
        "in two processes the publisher wrote no log: `mean sent` 0 is absent",
        "two_process_sent",
    )
    out.error("MiB as Mb", "`data_received (Mb)` is MiB/s", "_data")
    out.error("top 5 % latency", TOP5.removeprefix("no data: "), "interop_latency_top5")
    out.error("1000 messages", "a cell is 1000 messages per second for 30 s, not 1000 messages")
    out.error("relay's busy loop", BUSY.removeprefix("no data: "), "interop_relay_cpu")
    out.error(
        "round trip called latency",
        "the interoperability figures are round trips",
        "interop_latency",
    )
    out.error(
        "one process's configuration in two",
        "the setting for Fast RTPS sync in two processes is looked up under another name than it "
        "has (process, processes), so the file for one process, with intra-process delivery, is "
        "used",
    )
    out.error(
        "transports differ",
        "on one host Fast RTPS shares memory while Cyclone DDS sends over the loopback: the "
        "figures compare transports",
    )
    out.error(
        "prose against data",
        "the discussion says Cyclone DDS is better above 1 MB; by its own table Fast RTPS sync is",
        "two_process_",
    )
    out.limit("percentiles of latency", "only statistics of 27 means of a second are stored")
    out.limit("repetitions", "one run in one night: no interval is possible")
    out.limit("publisher in two processes", "not measured: loss cannot be told from back-pressure")
    out.limit("time series", "the seconds behind the statistics were not published")


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
    v = r.values
    for statistic, prefix in _STATISTICS:
        cpu = v[f"{prefix}cpu_usage (%)"]
        p95 = statistic == "p95"
        out.figure(
            f"spin_cpu_{statistic}",
            r.arm,
            "",
            "% of the machine",
            cpu,
            None if p95 else cpu,
            note=P95_CPU if p95 else CPU_NOTE,
        )
        out.figure(
            f"spin_cpu_bar_{statistic}",
            r.arm,
            "",
            "% of the machine",
            round(cpu, 2) * 100,
            None if p95 else cpu,
            note=P95_CPU if p95 else "published: rounded to two decimals, times 100",
        )
    _memory(out, r, "spin", r.arm, "")


def _memory(out: Published, r: "Result", figure: str, series: str, x: str) -> None:
    for name, factor in _MEMORY.items():
        short = name.split()[0].replace("resident", "anonymous")
        note = {"virtual": PAGES_NOTE, "anonymous": ANONYMOUS_NOTE}.get(short)
        for statistic, prefix in _STATISTICS:
            value = r.values[prefix + name]
            out.figure(
                f"{figure}_{short}_{statistic}", series, x, "MiB", value, value * factor, note=note
            )


def _pubsub(out: Published, r: "Result") -> None:
    v, figure, series, x = r.values, r.experiment, r.arm, r.type
    data = v["mean data_received (Mb)"]

    def point(
        name: str, unit: str, published: float, corrected: float | None, note: str | None = None
    ) -> None:
        out.figure(f"{figure}_{name}", series, x, unit, published, corrected, count=27, note=note)

    point(
        "received",
        "messages/s",
        v["mean received"],
        data * MIB / SIZEOF[r.type],
        "bytes per second ÷ sizeof",
    )
    two = r.experiment == "two_process"
    point("sent", "messages/s", v["mean sent"], None, NO_LOG if two else CUT)
    point("lost", "messages", v["sum lost"], None, CUT)
    mean = "unweighted mean of 27 means of a second"
    point("latency_mean", "ms", v["mean latency_mean (ms)"], v["mean latency_mean (ms)"], mean)
    point(
        "latency_median",
        "ms",
        v["median latency_mean (ms)"],
        v["median latency_mean (ms)"],
        "median of 27 means of a second",
    )
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
    v, series, x = r.values, r.arm, r.to
    relay = r.side == "sub"
    figure = "interop_relay" if relay else "interop"

    def point(
        name: str, unit: str, published: float, corrected: float | None, note: str | None = None
    ) -> None:
        out.figure(f"{figure}_{name}", series, x, unit, published, corrected, count=25, note=note)

    for statistic in ("mean", "median"):
        value = v[f"{statistic} latency_mean (ms)"]
        point(
            f"latency_{statistic}",
            "ms",
            value,
            None if relay else value,
            RELAY if relay else "a round trip",
        )
    point("latency_top5", "ms", v["Top 5% latency (ms)"], None, RELAY if relay else TOP5)
    point("received", "messages/s", v["mean received"], None, CUT)
    point(
        "sent",
        "messages/s",
        v["mean sent"],
        None,
        "no data: the relay's 0 stands for absent" if relay else CUT,
    )
    point(
        "lost",
        "messages",
        v["sum lost"],
        None,
        "no data: at 5 Hz one lost message is a rate below 1, cut to 0",
    )
    for statistic, prefix in _STATISTICS:
        cpu = v[f"{prefix}cpu_usage (%)"]
        wrong = relay or statistic == "p95"
        note = BUSY if relay else P95_CPU if wrong else CPU_NOTE
        point(f"cpu_{statistic}", "% of the machine", cpu, None if wrong else cpu, note)
    point("peak_rss", "KiB", v["max ru_maxrss"], v["max ru_maxrss"])
    _memory(out, r, figure, series, x)
