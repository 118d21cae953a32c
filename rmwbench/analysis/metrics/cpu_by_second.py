"""Processor time second by second, from the time series of trials that record one: how evenly a
middleware works, and the figures of published evaluations that looked once per second.

The processor time between two samples is divided by the time between them, so a sample that came
some milliseconds late changes nothing. A second whose beginning or end was not sampled is left out.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from rmwbench.analysis.metrics.cost import middleware_processes
from rmwbench.analysis.records.columns import Row, SteadyWindow

Reading = tuple[int, str, float]
"""(time_ns, process, processor time in ns since the process began)"""
NAME = "cpu_by_second"
NOT_SAMPLED = "CPU was not sampled within the window (sampling: {series_hz: 1})"
NO_SECOND = (
    "no second of the window was sampled at both ends (sampling: {series_hz: 1}, or more "
    "by a whole number)"
)
SECOND_NS = 1_000_000_000
NEAR_NS = SECOND_NS // 20
"""How far from a second's edge a sample may be."""


def cpu_by_second(
    readings: Sequence[Reading], counters: Iterable[Row], window: SteadyWindow | None
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
