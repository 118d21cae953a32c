"""The charts of a workload that brings up lifecycle nodes: how many are active after how long, and
what each costs."""

from collections.abc import Iterator

import altair as alt

from rmwbench.report.chart import charts
from rmwbench.report.chart.charts import MUTED, Spec
from rmwbench.report.chart.style import looks
from rmwbench.report.view import Picture
from rmwbench.results.shown import WorkloadAnswer

_READING = (
    "Dot: mean over trials. Line: its interval; where two lines overlap widely, the order is open."
)
_HEIGHT = 300


def figures(workload: WorkloadAnswer, *, phone: bool) -> Iterator[Picture]:
    """In reading order; a chart without data has no specification."""
    yield Picture(
        "comparison",
        "Time until all nodes are active",
        f"{_READING} An arm of which a node was never active in half of its trials has no dot.",
        wide=True,
        **charts.drawn(charts.comparison, workload, "time until all nodes are active", phone=phone),
    )
    yield Picture(
        "up",
        "Nodes up",
        "How many nodes are active after how long, the mean over trials. A curve that ends below "
        "the dashed line left nodes that never were.",
        up(workload),
        wide=True,
    )
    for metric, key, title in (
        ("cpu_per_node", "cpu", "Processor time per node"),
        ("pss_per_node", "memory", "Memory per node"),
    ):
        drawn = charts.drawn(charts.comparison, workload, title.lower(), metric=metric, phone=phone)
        reading = f"Manager and daemons included. {_READING}"
        yield Picture(key, title, reading, wide=True, **drawn)


def up(workload: WorkloadAnswer) -> Spec | None:
    """A stepped curve per arm; None where no trial brought anything up."""
    arms = looks(workload.arms)
    curves = [one for one in workload.charts.up if one.arm in arms]
    if not curves:
        return None
    end_s = max(one.time_s[-1] for one in curves) * 1.03
    points = [
        {"arm": one.arm, "t": t, "y": y}
        for one in curves
        for t, y in zip([*one.time_s, end_s], [*one.active, one.active[-1]], strict=True)
    ]
    colour, dash = charts.strokes({one.arm: arms[one.arm] for one in curves}, 2)
    lines = (
        alt.Chart(alt.NamedData("points"))
        .mark_line(strokeWidth=2, interpolate="step-after")
        .encode(
            x=alt.X(
                "t:Q",
                scale=alt.Scale(nice=False),
                axis=charts._axis(title="time since the launch, s"),
            ),
            y=alt.Y("y:Q", axis=charts._axis(title="active nodes", tickCount=5)),
            order=alt.Order("t:Q"),
            color=colour,
            strokeDash=dash,
        )
    )
    nodes = max(one.nodes for one in curves)
    whole = (
        alt.Chart(alt.NamedData("whole"))
        .mark_rule(strokeDash=[3, 3], color=MUTED)
        .encode(y=alt.Y("y:Q"))
    )
    return charts._finish(
        alt.layer(whole, lines), height=_HEIGHT, points=points, whole=[{"y": nodes}]
    )
