"""Probes of the machine around a trial: a few milliseconds before it, and the kernel's counters
over its window; and, for plans, the speed at which the machine copies memory.

The counters cost one reading before and one after the window, so nothing of ours runs inside it. No
spinning loop searches for gaps: in the few milliseconds that a trial can spend on it, it would
detect almost nothing, and the sampler's canary watches the window itself.
"""

import os
import time
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from math import floor, log10
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from rmwbench.lab import probe_row
from rmwbench.lab.kernel_files import cpu_quotas

SLEEPS = 4
SLEEP_NS = 1_000_000
COPIED_BYTES = 64 << 20
"""More than the caches hold, as ten large messages of a history are."""
COPYING_S = 0.15
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_STAT = Path("/proc/stat")
USABLE = "processors_usable"
"""The probe with the number of processors that the other probes' shares refer to."""
_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


class Ticks(NamedTuple):
    """The usable processors' times since boot, in ticks of 10 ms (USER_HZ)."""

    busy: int
    idle: int
    softirq: int
    steal: int

    @property
    def total(self) -> int:
        return self.busy + self.idle + self.softirq + self.steal


def usable_processors() -> Collection[int]:
    """The processors that this process may use, and so may its trials."""
    return os.sched_getaffinity(0)


def read_ticks(text: str | None = None, processors: Collection[int] | None = None) -> Ticks:
    """The ticks of these processors by /proc/stat; of the usable ones where None is given. If the
    file lacks one of them, they are those of all that it has: a container may have a file of its
    own, with other numbers. Guest time is part of user time and not counted twice."""
    return _ticks_of(_STAT.read_text() if text is None else text, processors)[0]


def _ticks_of(stat: str, processors: Collection[int] | None = None) -> tuple[Ticks, int]:
    """The ticks that `read_ticks` returns, and the number of their processors."""
    rows = (line.split() for line in stat.splitlines() if line.startswith("cpu"))
    ticks = {name: [int(word) for word in words] for name, *words in rows}
    asked = usable_processors() if processors is None else processors
    names, number = [f"cpu{processor}" for processor in asked], len(asked)
    if not ticks.keys() >= set(names):
        names, number = ["cpu"], len(ticks) - 1 or number
    lines = [dict(zip(_FIELDS, ticks[name], strict=False)) for name in names]
    value = {name: sum(line.get(name, 0) for line in lines) for name in _FIELDS}
    busy = value["user"] + value["nice"] + value["system"] + value["irq"]
    return Ticks(busy, value["idle"] + value["iowait"], value["softirq"], value["steal"]), number


def idle_probe() -> list[dict[str, Any]]:
    """Rows of the table `probes`, `at` = `before`: how late short sleeps wake, and the number of
    runnable tasks. It takes about 5 ms. The sleeps use the default timer slack of 50 µs: every
    worker would inherit a slack that is set here."""
    late = []
    for _ in range(SLEEPS):
        due = time.monotonic_ns() + SLEEP_NS
        time.sleep(SLEEP_NS / 1e9)
        late.append(time.monotonic_ns() - due)
    others_runnable = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0]) - 1
    return [
        probe_row("sleep_overshoot_median", median(late), "ns", "before"),
        probe_row("sleep_overshoot_max", float(max(late)), "ns", "before"),
        probe_row("runnable_tasks", float(max(0, others_runnable)), "count", "before"),
    ]


class EdgeReading(NamedTuple):
    """The reading at an edge of the window. `slewed_ns` and `raw_ns` are CLOCK_MONOTONIC and
    CLOCK_MONOTONIC_RAW at the same moment; `throttled_ns` is the time for which a CPU quota has
    stopped this control group so far, None without a quota; `processors` is the number of
    processors that the ticks are of."""

    ticks: Ticks
    slewed_ns: int
    raw_ns: int
    throttled_ns: int | None
    processors: int


def read_edge() -> EdgeReading:
    """Takes the reading of an edge, in about 60 µs."""
    ticks, processors = _ticks_of(_STAT.read_text())
    return EdgeReading(ticks, *read_clocks(), read_throttled_ns(), processors)


def read_clocks() -> tuple[int, int]:
    """Reads CLOCK_MONOTONIC, which NTP slews and every stamp uses, and CLOCK_MONOTONIC_RAW, which
    is never adjusted. The fastest of a few tries counts, so that a preemption in between does not
    look like a wrong clock."""
    best: tuple[int, int, int] | None = None
    for _ in range(5):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if best is None or after - before < best[0]:
            best = after - before, (before + after) // 2, raw
    assert best is not None
    return best[1], best[2]


def read_throttled_ns() -> int | None:
    """The time for which CPU quotas have stopped this process; None without a quota."""
    throttled_ns = None
    for path, name, factor in _throttled_files():
        try:
            words = path.read_text().split()
            throttled_ns = (throttled_ns or 0) + int(words[words.index(name) + 1]) * factor
        except (OSError, ValueError):
            continue
    return throttled_ns


@cache
def _throttled_files() -> tuple[tuple[Path, str, int], ...]:
    """The (file, counter, ns per unit) of this process's control groups with a quota."""
    return tuple(
        (group / "cpu.stat", *(("throttled_time", 1) if version1 else ("throttled_usec", 1000)))
        for group, version1, _ in cpu_quotas()
    )


def edge_probes(begin: EdgeReading, end: EdgeReading) -> list[dict[str, Any]]:
    """Rows with `at` = `window` from the readings at both edges: the shares of processor time, and
    `processors_usable`, the number of processors that they refer to; `stolen` (steal divided by the
    window's length: 2 where two processors were away all the time) and `stolen_ticks`;
    `clock_slew`; and `throttled` (share of the window) where there is a quota."""
    rows = window_probes(begin.ticks, end.ticks)
    rows.append(probe_row(USABLE, end.processors, "count"))
    raw_ns = end.raw_ns - begin.raw_ns
    if raw_ns > 0:
        stolen = end.ticks.steal - begin.ticks.steal
        rows.append(probe_row("stolen", stolen * TICK_NS / raw_ns))
        rows.append(probe_row("stolen_ticks", stolen, "count"))
        rows.append(probe_row("clock_slew", abs((end.slewed_ns - begin.slewed_ns) / raw_ns - 1)))
        if begin.throttled_ns is not None and end.throttled_ns is not None:
            rows.append(probe_row("throttled", (end.throttled_ns - begin.throttled_ns) / raw_ns))
    return rows


def window_probes(begin: Ticks, end: Ticks) -> list[dict[str, Any]]:
    """Rows with `at` = `window`: the shares of processor time between two readings; no rows where
    no tick passed. `steal` is a share of the demanded time: a hypervisor steals only from
    processors that have work, so as a share of all time it would be larger for an arm that works
    more."""
    total = end.total - begin.total
    if total <= 0:
        return []
    growth = {name: getattr(end, name) - getattr(begin, name) for name in Ticks._fields}
    demanded = total - growth["idle"]
    shares = {name: ticks / total for name, ticks in growth.items()}
    shares["steal"] = growth["steal"] / demanded if demanded > 0 else 0.0
    return [probe_row(name, share) for name, share in shares.items()]


def awake_as_idle(probes: Sequence[Mapping[str, Any]], awake: float) -> list[dict[str, Any]]:
    """The probes with the share of the spinners of `host_idle: awake` moved from busy to idle: a
    processor is available to the trial while a spinner runs on it."""
    busy = next(
        (row["value"] for row in probes if (row["probe"], row["at"]) == ("busy", "window")), 0.0
    )
    corrections = {"busy": -min(awake, busy), "idle": min(awake, busy)}
    return [
        {**row, "value": row["value"] + corrections[row["probe"]]}
        if row["at"] == "window" and row["probe"] in corrections
        else dict(row)
        for row in probes
    ]


def attributed_probes(
    window: Sequence[Mapping[str, Any]], cpu_ns: Mapping[str, int], window_ns: int
) -> list[dict[str, Any]]:
    """Rows `own` and `foreign`: the shares of processor time that the trial's processes and those
    of others used. `window` are rows of `edge_probes`; `cpu_ns` maps each role to its processor
    time in the window. `own` counts every role but the spinners of `host_idle: awake`; `foreign` is
    the rest of the busy time, without softirq, most of which is the trial's own traffic."""
    share = {row["probe"]: float(row["value"]) for row in window}
    if "busy" not in share or window_ns <= 0 or not share.get(USABLE) or not cpu_ns:
        return []
    used_ns = sum(value for role, value in cpu_ns.items() if role != "awake")
    own_share = used_ns / (window_ns * share[USABLE])
    return [
        probe_row("own", min(1.0, own_share)),
        probe_row("foreign", max(0.0, share["busy"] - own_share)),
    ]


@cache
def copy_bytes_per_s() -> float:
    """The bytes that a thread copies per second, which bounds every middleware for large messages:
    the fastest of the copies that fit into COPYING_S, since a slower one was interrupted. It is
    rounded to one significant digit, so that two plans of a day agree, and measured once per
    process."""
    import numpy as np

    source, target = np.ones(COPIED_BYTES, dtype=np.uint8), np.empty(COPIED_BYTES, dtype=np.uint8)
    np.copyto(target, source)  # its pages are there from now on
    best_s, end_s = float("inf"), time.perf_counter() + COPYING_S
    while True:
        begin_s = time.perf_counter()
        np.copyto(target, source)
        now_s = time.perf_counter()
        best_s = min(best_s, now_s - begin_s)
        if now_s >= end_s:
            break
    exact = COPIED_BYTES / best_s
    digit = 10 ** floor(log10(exact))
    return float(round(exact / digit) * digit)
