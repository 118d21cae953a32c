"""Whether memory grows with the messages: a line through the PSS of each process in the second half
of the window.

The first half is left out because pools, histories and the pages of a fresh process fill then,
which ends; a leak does not. What is files in it is left out too: of a library each process counts
the less the more processes map it, and those are not the trial's alone. The slope is the median of
those between all pairs of readings (Theil 1950; Sen, JASA 63, 1968), so that one step of an
allocator or one odd reading does not make it.
"""

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from rmwbench.analysis.metrics.cost import MIDDLEWARE, NO_MESSAGE, SHARED
from rmwbench.analysis.metrics.discovery import NO_DAEMON
from rmwbench.analysis.records.columns import Row, SteadyWindow
from rmwbench.analysis.stats.missing import Measures, total

Reading = tuple[int, str, str, float]
"""(time_ns, process, `pss` or `file_pss`, bytes)"""
FEWEST = 5
"""Readings of a process in the second half; with fewer a slope is an accident."""
NOT_READ = "memory was not read within the window (sampling: {series_hz: 5, memory: true})"
SIDES = ("publisher", "subscription", "daemon")
PLACES = (("begin", 0.0, 0.1), ("middle", 0.45, 0.55), ("end", 0.9, 1.0))
"""Parts of the window whose median PSS is told."""


def growth(
    readings: Sequence[Reading],
    counters: Iterable[Row],
    window: SteadyWindow | None,
    *,
    published: int,
    heard: int,
    delivered: int,
) -> Measures:
    """`pss_growth_per_message_SIDE` in bytes and `pss_at_begin`, `_middle`, `_end` of one trial.
    `counters` tell the processes' roles; a daemon's growth is for each message delivered, the
    others' for each that publishers published and that subscriptions heard."""
    names = [f"pss_growth_per_message_{side}" for side in SIDES] + [
        f"pss_at_{place}" for place, _, _ in PLACES
    ]
    if not readings or window is None or not window.length_ns:
        return dict.fromkeys(names, NOT_READ)
    measures: Measures = {}
    role_of = {row["process"]: row["role"] for row in counters if row["role"] in MIDDLEWARE}
    series = {
        name: _series(readings, name, window)
        for name in {p for _, p, _, _ in readings} & role_of.keys()
    }
    for side, messages in zip(SIDES, (published, heard, delivered), strict=True):
        metric = f"pss_growth_per_message_{side}"
        own = [series[name] for name in series if role_of[name] == side]
        growth = total(_slope(*points) for points in own)
        if not own:
            measures[metric] = _why_none(side, role_of.values())
        elif growth is None:
            measures[metric] = (
                f"fewer than {FEWEST} readings of memory in the second half of the window"
            )
        else:
            measures[metric] = growth / messages if messages else NO_MESSAGE
    for place, begin, end in PLACES:
        parts = [pss[(at >= begin) & (at <= end)] for at, pss in series.values()]
        if parts and all(map(len, parts)):
            measures[f"pss_at_{place}"] = float(sum(np.median(part) for part in parts))
        else:
            measures[f"pss_at_{place}"] = f"memory was not read at the window's {place}"
    return measures


def _why_none(side: str, roles: Collection[str]) -> str:
    """Why a side has no readings; `roles` are those of all processes."""
    if side == "daemon" and side not in roles:
        return NO_DAEMON
    if side != "daemon" and "both" in roles:
        return SHARED
    return f"no {side} process was read"


def _series(
    readings: Sequence[Reading], process: str, window: SteadyWindow
) -> tuple[np.ndarray, np.ndarray]:
    """The readings of one process: (time as a fraction of the window, PSS in bytes without files),
    each of shape (n,)."""
    sizes: dict[str, dict[int, float]] = {"pss": {}, "file_pss": {}}
    for time_ns, name, counter, value in readings:
        if name == process:
            sizes[counter][time_ns] = value
    own = {
        time_ns: pss - sizes["file_pss"].get(time_ns, 0.0) for time_ns, pss in sizes["pss"].items()
    }
    at = (np.array(list(own), np.int64) - window.begin_ns) / window.length_ns
    return at, np.array(list(own.values()), float)


def _slope(at: np.ndarray, pss: np.ndarray) -> float | None:
    """Bytes in a whole window, from the readings of its second half; None where there are too
    few."""
    late = at >= 0.5
    at, pss = at[late], pss[late]
    if len(at) < FEWEST:
        return None
    first, second = np.triu_indices(len(at), 1)
    return float(np.median((pss[second] - pss[first]) / (at[second] - at[first])))
