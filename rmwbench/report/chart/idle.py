"""The charts of a workload in which nothing is sent: what being there costs, processor and memory,
with intervals."""

from collections.abc import Iterator

from rmwbench.report.chart import charts
from rmwbench.report.view import Picture
from rmwbench.results.shown import WorkloadAnswer

_READING = (
    "Dot: mean over trials. Line: its interval; where two lines overlap widely, the order is open."
)
FIGURES = {
    "pss": (
        "memory",
        "Memory of an idle node",
        "memory (PSS)",
        "All its processes and daemons, without the recorder and shared segments.",
    ),
    "rss": (
        "resident",
        "Resident memory of an idle node",
        "memory (RSS)",
        "All its processes, libraries that others map too counted whole, without the recorder.",
    ),
    "cpu_cores": (
        "cpu",
        "Processor time of an idle node",
        "processor time",
        "In the steady window, after discovery: what start-up cost is not in it.",
    ),
    "wake_ups": (
        "wake_ups",
        "Wake-ups of an idle node",
        "per second",
        "How often its threads are woken per second.",
    ),
}
"""Metric → key, title, axis, and what it is of. The primary one comes first."""


def figures(workload: WorkloadAnswer, *, phone: bool) -> Iterator[Picture]:
    primary = workload.primary_metric
    for metric in dict.fromkeys((primary, *FIGURES)):
        if metric not in FIGURES:
            continue
        key, title, axis, what = FIGURES[metric]
        yield Picture(
            "comparison" if metric == primary else key,
            title,
            f"{what} {_READING}",
            wide=True,
            **charts.drawn(charts.comparison, workload, axis, metric=metric, phone=phone),
        )
