"""The output of Cyclone DDS's `ddsperf`: a line per second and kind, `[PID] SECONDS …`.

Latencies are half round trips (unless marked `sublat`), and the rates in parentheses cover the last
ten seconds, divided by ten from the first second on.
"""

import re
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from rmwbench.published.importers.data_source import Source, SourceFile, malformed
from rmwbench.published.importers.published import (
    Published,
    PublishedCell,
    PublishedEndpoint,
    SeriesPoints,
)
from rmwbench.published.importers.sheet import COUNT, Once, Plausible, Range, number

_N = r"\d{1,15}(?:\.\d+)?"
LINE = re.compile(r"\[(?P<pid>\d+)\] (?P<rest>.*)")
TIMED = re.compile(rf"(?P<t>{_N})  ?(?P<what>\S.*|\s+\S.*)")
RECEIVED = re.compile(
    r"size (?P<size>\d{1,12}) total (?P<total>\d{1,18}) lost (?P<total_lost>\d{1,18}) delta "
    r"(?P<delta>\d{1,18}) "
    rf"lost (?P<lost>\d{{1,18}}) rate (?P<rate>{_N}) kS/s (?P<bits>{_N}) Mb/s "
    rf"\((?P<rate10>{_N}) kS/s (?P<bits10>{_N}) Mb/s\)"
)
LATENCY = re.compile(
    rf"(?P<sub>sublat )?(?P<peer>\S+) size (?P<size>\d{{1,12}}) mean (?P<mean>{_N})us min "
    rf"(?P<min>{_N})us "
    rf"50% (?P<p50>{_N})us 90% (?P<p90>{_N})us 99% (?P<p99>{_N})us max (?P<max>{_N})us cnt "
    rf"(?P<cnt>[1-9]\d{{0,9}})"
)
SENT = re.compile(
    rf"(?P<rate>{_N}(?:e[+-]?\d+)?)(?P<unit>[kM]?)/s +(?P<least>inf|\d+[num s]) .*\|.*\| +\d+% "
    r"+\d+[nums]"
)
PROCESS = re.compile(
    rf"(?P<stale>\(stale\) )?(?P<remote>@\S+ )?"
    rf"(?:rss:(?P<rss>{_N})(?P<unit>MB|kB) )?vcsw:(?P<vcsw>\d+) ivcsw:(?P<ivcsw>\d+)"
    r"(?P<threads>( [^ ]+:\d+%\+\d+%)*)"
)
NETWORK = re.compile(rf"\S+: xmit {_N}(%| Mb/s) recv {_N}(%| Mb/s) \[\d+ \d+\]")
DISCARDED = re.compile(
    r"discarded (?P<discarded>\d+) rexmit (?P<rexmit>\d+) Trexmit \d+ Tthrottle \d+ Nthrottle "
    r"(?P<throttle>\d+)"
)
UNTIMED = re.compile(
    r"(participant \S+: (new( \(self\))?|gone|failed to match.*)|ping timed out.*|error: .*|note: "
    r".*)"
)
THREAD = re.compile(r"[^ ]+:(\d+)%\+(\d+)%")
LONGEST_S = 1e8
_MICROSECONDS = Range(0, LONGEST_S * 1e6)
PLAUSIBLE = Plausible(
    {
        "size": Range(0, 1e10),
        **dict.fromkeys(("total", "total_lost", "delta", "lost", "cnt"), COUNT),
        **dict.fromkeys(("rate", "rate10"), Range(0, 1e6)),
        **dict.fromkeys(("bits", "bits10"), Range(0, 1e7)),
        **dict.fromkeys(("mean", "min", "p50", "p90", "p99", "max"), _MICROSECONDS),
    },
    orders=[("min", "p50", "p90", "p99", "max"), ("min", "mean", "max"), ("delta", "total")],
)
"""What lines about reception (kS/s, Mb/s) and about latencies (µs) may say."""
NO_TIME = "no data: no time passed"
QUANTILES = {"p50": 0.5, "p90": 0.1, "p99": 0.01}
"""Name → the share of messages above it."""


Lines = list[tuple[float, re.Match[str]]]
"""(time in s, its values) of each line of a kind."""


@dataclass
class _Output:
    item: SourceFile
    received: Lines = field(default_factory=list)
    latency: dict[tuple[str, bool], Lines] = field(default_factory=dict)
    sent: Lines = field(default_factory=list)
    process: Lines = field(default_factory=list)
    discarded: Lines = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def recognises(item: SourceFile) -> bool:
    lines = item.data[:8192].decode("utf-8", errors="replace").splitlines()[:20]
    return any(
        (m := LINE.fullmatch(line))
        and (UNTIMED.fullmatch(m["rest"]) or "kS/s" in line or " cnt " in line)
        for line in lines
    )


def read(source: Source, out: Published) -> None:
    """Read one cell and one trial from the output of each process."""
    out.add_known("ddsperf")
    once = Once("the same output")
    for item in source:
        once.content(item)
        _trial(_parse(item), out)


def _parse(item: SourceFile) -> _Output:
    output = _Output(item)
    last = 0.0
    for line, text in enumerate(item.text().splitlines(), start=1):
        if not text.strip():
            continue
        where = f"{item.where}:{line}"
        outer = LINE.fullmatch(text)
        if outer is None:
            raise malformed(where, "not a line of ddsperf", "[PID] SECONDS …", text[:80])
        rest = outer["rest"].rstrip()
        if UNTIMED.fullmatch(rest):
            if rest.startswith("error: "):
                output.errors.append(rest.removeprefix("error: "))
            continue
        timed = TIMED.fullmatch(rest)
        if timed is None:
            raise malformed(
                where, "an unknown line of ddsperf", "a time and what was counted", text[:80]
            )
        time = number(timed["t"], where, "the time")
        if not last <= time < LONGEST_S:
            raise malformed(
                where,
                "time goes back, or is not a valid time",
                f"at least {last:g} s",
                f"{time:g} s",
            )
        last = time
        if not _take(output, time, timed["what"].strip(), where):
            raise malformed(
                where,
                "an unknown line of ddsperf",
                "received, latency, sent, process or network",
                text[:80],
            )
    if not (output.received or output.latency or output.sent):
        raise item.wrong(
            "no second of results", "a line per second", f"{len(output.process)} lines of processes"
        )
    return output


def _take(output: _Output, time: float, what: str, where: str) -> bool:
    for pattern, lines in (
        (RECEIVED, output.received),
        (SENT, output.sent),
        (PROCESS, output.process),
        (DISCARDED, output.discarded),
    ):
        match = pattern.fullmatch(what)
        if match:
            if pattern is RECEIVED:
                _check(match, where)
            lines.append((time, match))
            return True
    match = LATENCY.fullmatch(what)
    if match:
        _check(match, where)
        output.latency.setdefault((match["peer"], bool(match["sub"])), []).append((time, match))
        return True
    return NETWORK.fullmatch(what) is not None


def _check(match: re.Match[str], where: str) -> None:
    PLAUSIBLE.check_values(
        {k: float(v) for k, v in match.groupdict().items() if k in PLAUSIBLE.ranges}, where
    )


def _trial(output: _Output, out: Published) -> None:
    sized = chain(output.received, *output.latency.values())
    size = next((int(m["size"]) for _, m in sized), None)
    receives = bool(output.received) or any(sub for _, sub in output.latency)
    kinds = [
        *(["subscription"] if receives else []),
        *(["publisher"] if output.sent or not receives else []),
    ]
    role = " and ".join(kinds)
    cell = PublishedCell(
        workload=f"ddsperf {role}{f', {size} B' if size else ''}",
        arm="cyclonedds",
        middleware="cyclonedds",
        layer="native",
        factors={"role": role, "payload_bytes": size, "output": output.item.name},
    )
    ends = [
        PublishedEndpoint(k, "ddsperf", "host", "DDSPerf", "ddsperf", size, middleware="cyclonedds")
        for k in kinds
    ]
    lines = chain(output.received, output.sent, output.process, *output.latency.values())
    out.trial(out.cell(cell), ends, duration_ns=round(max(t for t, _ in lines) * 1e9))
    name = output.item.name
    if output.received:
        _received(name, output.received, out)
    if output.sent:
        _sent(name, output.sent, kinds.index("publisher"), out)
    for (peer, sub), of_peer in output.latency.items():
        _latency(name, peer, sub, of_peer, out)
    own = [(t, m) for t, m in output.process if not m["remote"]]
    if own:
        _process(own, out)


def _spans(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (begin, end) in ns of each second's line: it covers the time since the line before it,
    the first one since 0."""
    end = np.round(times * 1e9).astype(np.int64)
    return np.concatenate(([0], end[:-1])), end


def _columns(lines: Lines, *names: str) -> list[np.ndarray]:
    return [np.array([float(m[name]) for _, m in lines]) for name in names]


def _per_second(messages: np.ndarray, seconds: np.ndarray) -> float | None:
    """Return thousands per second, None if no time passed."""
    return float(messages.sum() / seconds.sum()) / 1e3 if seconds.sum() > 0 else None


def _received(name: str, lines: Lines, out: Published) -> None:
    times = np.array([t for t, _ in lines])
    begin, end = _spans(times)
    delta, lost, rate, rate10, total, total_lost = _columns(
        lines, "delta", "lost", "rate", "rate10", "total", "total_lost"
    )
    for metric, values in (("received", delta), ("lost", lost)):
        out.window(0, begin, end, metric, "messages", values)
    out.window(0, begin, end, "data_received", "bits/s", _columns(lines, "bits")[0] * 1e6)
    seconds = np.diff(times, prepend=0.0)
    whole = _per_second(delta, seconds)
    note = "corrected: messages ÷ seconds" if whole is not None else NO_TIME
    point = SeriesPoints(out, "ddsperf", name, count=len(rate))
    point("rate", "kS/s", float(rate.mean()), whole, note)
    for t, published, i in zip(times, rate10, range(len(times)), strict=True):
        since = slice(max(0, i - 9), i + 1)
        corrected = _per_second(delta[since], seconds[since])
        why = None if corrected is not None else NO_TIME
        at = SeriesPoints(out, "ddsperf", name, f"{i + 1} ({t:g} s)", min(10, i + 1))
        at("rate_10s", "kS/s", float(published), corrected, why)
    all_received, all_lost = float(total[-1]), float(total_lost[-1])
    note = "by sequence number; what never came at the end is not counted"
    SeriesPoints(out, "ddsperf", name, count=int(all_received))(
        "lost", "messages", all_lost, all_lost, note
    )
    SeriesPoints(out, "ddsperf", name)("received", "messages", all_received, all_received)


def _sent(name: str, lines: Lines, endpoint: int, out: Published) -> None:
    begin, end = _spans(np.array([t for t, _ in lines]))
    factor = {"": 1.0, "k": 1e3, "M": 1e6}
    rate = np.array([float(m["rate"]) * factor[m["unit"]] for _, m in lines])
    out.window(endpoint, begin, end, "sent_rate_rounded", "Hz", rate)
    note = "no data: three digits per second, and no count beside them"
    point = SeriesPoints(out, "ddsperf", name, count=len(rate))
    point("sent_rate", "Hz", float(rate.mean()), None, note)


def _latency(name: str, peer: str, sub: bool, lines: Lines, out: Published) -> None:
    begin, end = _spans(np.array([t for t, _ in lines]))
    kind = "latency" if sub else "half_round_trip"
    (count,) = _columns(lines, "cnt")
    for statistic in ("mean", "min", "p50", "p90", "p99", "max"):
        (values,) = _columns(lines, statistic)
        if statistic in QUANTILES:
            values = np.where(count * QUANTILES[statistic] >= 10, values, np.nan)
        out.window(0, begin, end, f"{kind}_{statistic}", "ns", values * 1e3)
    out.window(0, begin, end, f"{kind}_count", "messages", count)
    mean, least, most = _columns(lines, "mean", "min", "max")
    series = f"{name} {'from' if sub else 'with'} {peer}"
    n = int(count.sum())
    weighted = float(np.average(mean, weights=count))
    note = (
        "weighted by pings"
        if not sub
        else "weighted by messages; clocks of two hosts are subtracted where there are two"
    )
    point = SeriesPoints(out, "ddsperf_latency", series, count=n)
    point("mean", "µs", float(mean.mean()), weighted, note)
    point("min", "µs", float(least.min()), float(least.min()))
    point("max", "µs", float(most.max()), float(most.max()))
    for statistic in QUANTILES:
        (values,) = _columns(lines, statistic)
        why = "no data: percentiles of seconds do not make one of the run"
        point(statistic, "µs", float(values.mean()), None, why)


def _process(lines: Lines, out: Published) -> None:
    begin, end = _spans(np.array([t for t, _ in lines]))
    factor = {"MB": 1048576.0, "kB": 1024.0}
    rss = np.array([float(m["rss"]) * factor[m["unit"]] if m["rss"] else np.nan for _, m in lines])
    out.window(0, begin, end, "peak_rss", "bytes", rss)
    out.window(0, begin, end, "voluntary_switches", "Hz", _columns(lines, "vcsw")[0])
    out.window(0, begin, end, "involuntary_switches", "Hz", _columns(lines, "ivcsw")[0])
    cpu = np.array(
        [sum(int(u) + int(s) for u, s in THREAD.findall(m["threads"])) / 100 for _, m in lines]
    )
    out.window(0, begin, end, "cpu_of_busy_threads", "fraction of one processor", cpu)
