"""What arrived per second over the window, a panel per arm: where a stream stalls, when it comes
back, and whether it comes back whole. Outages are shaded, so that what the network did and what the
middleware made of it stand apart.
"""

from typing import Any

import altair as alt

from rmwbench.report.chart import charts
from rmwbench.report.chart.charts import MUTED, Spec
from rmwbench.report.chart.style import looks
from rmwbench.results.shown import WorkloadAnswer

_HEIGHT = 72
_SHADE = 0.16


def interrupted(workload: WorkloadAnswer) -> bool:
    """Whether any panel has something to shade."""
    return any(one.outages for one in workload.charts.delivered)


def delivered(workload: WorkloadAnswer) -> Spec | None:
    """A panel per arm on common axes: the mean over trials as a line, each trial as a thin one,
    what was due as a dashed line, outages as shaded bands. None where no trial was looked at stream
    by stream."""
    arms = looks(workload.arms)
    listed = [one for one in workload.charts.delivered if one.arm in arms]
    if not listed:
        return None
    rows: list[dict[str, Any]] = []
    for panel, one in enumerate(listed):
        steps = [("due", one.wanted_hz), ("mean", one.rate_hz)]
        steps += [(f"trial {trial.trial}", trial.rate_hz) for trial in one.trials]
        half = one.bin_s / 2
        edges = [*(time - half for time in one.time_s), one.time_s[-1] + half]
        for line, rates in steps:
            kind = line if line in ("due", "mean") else "trial"
            rows += [
                {"n": panel, "line": line, "kind": kind, "t": round(t, 6), "y": float(f"{y:.6g}")}
                for t, y in zip(edges, [*rates, rates[-1]], strict=True)
            ]
        for outage in one.outages:
            end = round(edges[-1], 6) if outage.end_s is None else outage.end_s
            mark = {
                "n": panel,
                "kind": "outage",
                "t": outage.begin_s,
                "t2": end,
                "text": outage.text,
            }
            rows.append(mark | {"moment": end - outage.begin_s < one.bin_s / 4})
    colours = alt.Scale(
        domain=list(range(len(listed))), range=[arms[one.arm].colour for one in listed]
    )
    colour = alt.Color("n:N", scale=colours, legend=None)
    x = alt.X(
        "t:Q",
        scale=alt.Scale(nice=False),
        axis=charts._axis(title="time in the steady state, s", tickCount=6),
    )
    y = alt.Y("y:Q", axis=charts._axis(title=None, tickCount=3, format="~s"))
    told = [
        alt.Tooltip("line:N", title="line"),
        alt.Tooltip("y:Q", title="per second", format=".4~s"),
    ]
    step: dict[str, Any] = {"interpolate": "step-after", "clip": True}

    def of(kind: str) -> alt.Chart:
        return alt.Chart().transform_filter(f"datum.kind == '{kind}'")

    layers = [
        of("trial")
        .mark_line(strokeWidth=0.8, opacity=0.35, **step)
        .encode(x=x, y=y, color=colour, detail=alt.Detail("line:N")),
        of("due")
        .mark_line(strokeWidth=1, strokeDash=[3, 3], color=MUTED, **step)
        .encode(x=x, y=y, tooltip=told),
        of("mean").mark_line(strokeWidth=2, **step).encode(x=x, y=y, color=colour, tooltip=told),
    ]
    outages = of("outage")
    tip = [alt.Tooltip("text:N", title="interrupted")]
    # Vega warns of a layer without a row, and the page is to be quiet.
    if any(row.get("moment") for row in rows):
        moment = outages.transform_filter("datum.moment").mark_rule(color=MUTED, strokeWidth=2)
        layers.insert(0, moment.encode(x=x, tooltip=tip))
    if any(row.get("moment") is False for row in rows):
        band = outages.transform_filter("!datum.moment").mark_rect(color=MUTED, opacity=_SHADE)
        layers.insert(0, band.encode(x=x, x2=alt.X2("t2:Q"), tooltip=tip))
    chart = charts._panels(layers, [one.arm for one in listed], _HEIGHT)
    return charts._finish(chart, height=None, points=rows)
