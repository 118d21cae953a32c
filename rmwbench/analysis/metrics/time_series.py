"""The time series of the trials that record one: processor time second by second, and whether
memory grows with the messages.

The processor time between two samples is divided by the time between them, so a sample that came
some milliseconds late changes nothing. A second whose beginning or end was not sampled is left out.
It shows how evenly a middleware works, and published evaluations looked once per second.

The growth of memory is a line through the PSS of each process in the second half of the window. The
first half is left out because pools, histories and the pages of a fresh process fill then, and a
leak goes on. File-backed pages are left out: a library's share of PSS shrinks when other processes
map it, even processes outside the trial. The slope is the median of the slopes between all pairs of
readings (Theil 1950; Sen, JASA 63, 1968), so that one step of an allocator or one odd reading does
not decide it. Where one process was not read there is no sum."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rmwbench.analysis.metrics.cost import NO_MESSAGE, middleware_processes, reason_without_side
from rmwbench.analysis.records.columns import Row, SteadyWindow
from rmwbench.analysis.stats.estimate import Measures

CpuReading = tuple[int, str, float]
"""(time_ns, process, processor time in ns since the process began)"""
CPU_BY_SECOND = "cpu_by_second"
NOT_SAMPLED = "CPU was not sampled within the window (sampling: {series_hz: 1})"
NO_SECOND = (
    "no second of the window was sampled at both ends (sampling: {series_hz: 1}, or more "
    "by a whole number)"
)
SECOND_NS = 1_000_000_000
NEAR_NS = SECOND_NS // 20
"""How far from a second's edge a sample may be."""


def cpu_by_second(
    readings: Sequence[CpuReading], counters: Iterable[Row], window: SteadyWindow | None
) -> tuple[np.ndarray, str | None]:
    """The cores that all processes of the middleware used together in each second of one trial's
    window, shape (seconds,), and the reason if there are none. `counters` have the processes'
    roles."""
    none = np.empty(0)
    processes = middleware_processes(counters)
    if not readings or not processes or window is None:
        return none, NOT_SAMPLED
    edges_ns = np.arange(window.begin_ns, window.end_ns + 1, SECOND_NS, dtype=np.int64)
    cores, whole = np.zeros(len(edges_ns) - 1), np.ones(len(edges_ns) - 1, bool)
    for _, name in processes:
        own = sorted((time_ns, value) for time_ns, process, value in readings if process == name)
        if not own:
            return none, f"CPU of {name} is in no sample"
        of_process, sampled = _of_process(
            np.array([at for at, _ in own]), np.array([cpu for _, cpu in own]), edges_ns
        )
        cores += of_process
        whole &= sampled
    return (cores[whole], None) if whole.any() else (none, NO_SECOND)


def _of_process(
    times_ns: np.ndarray, cpu_ns: np.ndarray, edges_ns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(cores, whether both ends were sampled) of each second; `times_ns` ascend, shapes (samples,)
    and (edges,)."""
    last = len(times_ns) - 1
    after = np.searchsorted(times_ns, edges_ns).clip(0, last)
    before = (after - 1).clip(0, last)
    nearest = np.where(
        np.abs(times_ns[before] - edges_ns) <= np.abs(times_ns[after] - edges_ns), before, after
    )
    near = np.abs(times_ns[nearest] - edges_ns) <= NEAR_NS
    passed_ns = np.maximum(np.diff(times_ns[nearest]), 1)
    return np.diff(cpu_ns[nearest]) / passed_ns, near[1:] & near[:-1]


MemoryReading = tuple[int, str, str, float]
"""(time_ns, process, `pss` or `file_pss`, bytes)"""
Points = tuple[np.ndarray, np.ndarray]
"""(time as a fraction of the window, PSS in bytes without files), each of shape (readings,)"""
FEWEST_READINGS = 5
"""The fewest readings of a process in the second half that give a slope."""
NOT_READ = "memory was not read within the window (sampling: {series_hz: 5, memory: true})"
SIDES = ("publisher", "subscription", "daemon")
PLACES = (("begin", 0.0, 0.1), ("middle", 0.45, 0.55), ("end", 0.9, 1.0))
"""The parts of the window that have a metric of their median PSS."""


def memory_growth(
    readings: Sequence[MemoryReading],
    counters: Iterable[Row],
    window: SteadyWindow | None,
    *,
    published: int,
    heard: int,
    delivered: int,
) -> Measures:
    """`pss_growth_per_message_SIDE` in bytes and `pss_at_begin`, `_middle`, `_end` of one trial.
    `counters` have the processes' roles; the growth of publishers is for each message published, of
    subscriptions for each message heard, of daemons for each message delivered."""
    names = [f"pss_growth_per_message_{side}" for side in SIDES] + [
        f"pss_at_{place}" for place, _, _ in PLACES
    ]
    processes = middleware_processes(counters)
    if not readings or not processes or window is None or not window.length_ns:
        return dict.fromkeys(names, NOT_READ)
    measures: Measures = {}
    series = {process: _series(readings, process[1], window) for process in processes}
    for side, messages in zip(SIDES, (published, heard, delivered), strict=True):
        own = {name: points for (role, name), points in series.items() if role == side}
        lack = reason_without_side(processes, side)
        measures[f"pss_growth_per_message_{side}"] = lack or _growth_per_message(own, messages)
    for place, begin, end in PLACES:
        parts = {name: pss[(at >= begin) & (at <= end)] for (_, name), (at, pss) in series.items()}
        unread = [name for name, part in parts.items() if not len(part)]
        measures[f"pss_at_{place}"] = (
            f"memory of {unread[0]} was not read at the window's {place}"
            if unread
            else float(sum(np.median(part) for part in parts.values()))
        )
    return measures


def _growth_per_message(own: Mapping[str, Points], messages: int) -> float | str:
    """Bytes per message, of all these processes together, or the reason why it is not known."""
    slopes = []
    for name, points in own.items():
        slope = _slope(*points)
        if slope is None:
            few = f"fewer than {FEWEST_READINGS} times in the window's second half"
            return f"memory of {name} was read {few}"
        slopes.append(slope)
    if not slopes:
        return NOT_READ
    return sum(slopes) / messages if messages else NO_MESSAGE


def _series(readings: Sequence[MemoryReading], process: str, window: SteadyWindow) -> Points:
    """The readings of one process."""
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
    if len(at) < FEWEST_READINGS:
        return None
    first, second = np.triu_indices(len(at), 1)
    return float(np.median((pss[second] - pss[first]) / (at[second] - at[first])))
