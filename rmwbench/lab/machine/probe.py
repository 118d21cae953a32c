"""How the machine behaves around a trial: a few milliseconds of probing before it, and the kernel's tick counters over
its window.

The counters cost one read before and one after the window, so nothing of ours runs inside it.
"""

import time
from pathlib import Path
from typing import Any, NamedTuple

SLEEPS = 4
SLEEP_NS = 1_000_000
_STAT = Path("/proc/stat")
_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


class Ticks(NamedTuple):
    """Sums over all processors since boot, in ticks of 10 ms (USER_HZ)."""

    busy: int
    idle: int
    softirq: int
    steal: int

    @property
    def total(self) -> int:
        return self.busy + self.idle + self.softirq + self.steal


def read_ticks(text: str | None = None) -> Ticks:
    """The first line of /proc/stat. Guest time is part of user time and not counted twice."""
    words = (text if text is not None else _STAT.read_text()).split("\n", 1)[0].split()
    value = dict(zip(_FIELDS, map(int, words[1:]), strict=False))
    busy = sum(value.get(name, 0) for name in ("user", "nice", "system", "irq"))
    return Ticks(busy, value["idle"] + value.get("iowait", 0), value.get("softirq", 0), value.get("steal", 0))


def idle_probe() -> list[dict[str, Any]]:
    """Rows of the table `probes`, `at` = `before`: how late short sleeps wake, and how many tasks want to run. About 5
    ms.

    The sleeps use the default timer slack of 50 µs: a slack set here would be inherited by every worker.
    """
    late = []
    for _ in range(SLEEPS):
        due = time.monotonic_ns() + SLEEP_NS
        time.sleep(SLEEP_NS / 1e9)
        late.append(time.monotonic_ns() - due)
    runnable = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0]) - 1  # less ourselves
    return [
        {"probe": "sleep_overshoot_median", "unit": "ns", "at": "before", "value": float(sorted(late)[SLEEPS // 2])},
        {"probe": "sleep_overshoot_max", "unit": "ns", "at": "before", "value": float(max(late))},
        {"probe": "runnable_tasks", "unit": "count", "at": "before", "value": float(max(0, runnable))},
    ]


def window_probes(begin: Ticks, end: Ticks) -> list[dict[str, Any]]:
    """Rows with `at` = `window`: shares of all processor time between two readings; none where no tick passed."""
    total = end.total - begin.total
    if total <= 0:
        return []
    return [
        {
            "probe": name,
            "unit": "fraction",
            "at": "window",
            "value": (getattr(end, name) - getattr(begin, name)) / total,
        }
        for name in Ticks._fields
    ]
