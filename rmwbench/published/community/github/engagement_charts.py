"""The pictures of engagement: how long items stay open, until somebody answers, and what happened
each month."""

from typing import Any

import altair as alt

from rmwbench.report.chart import charts
from rmwbench.report.chart.charts import TEXT, Spec
from rmwbench.report.chart.style import looks_of_middlewares

LEAST_DAYS = 1 / 24
"""The left end of the time axis: whatever took less than an hour is drawn there."""
_TICKS = (1 / 24, 0.25, 1, 3, 7, 14, 30, 90, 180, 365, 730)
_TICK_LABEL = (
    "datum.value < 1 ? format(datum.value * 24, '.2~g') + ' h' : format(datum.value, '~g') + ' d'"
)
_HEIGHT = 300


def waiting(repositories: list[dict[str, Any]], kind: str, what: str, title: str) -> Spec | None:
    """The share of items still waiting against time, a step line per repository; dots where its
    curve ends with items still open. None without any curve."""
    names, points, ends = [], [], []
    for repository in repositories:
        if rows := _curve(repository, repository[kind].get(what, {})):
            names.append(repository["name"])
            points += rows
            last = rows[-1]
            ends += [{key: last[key] for key in ("name", "days", "share")}] * (last["share"] > 0)
    if not names:
        return None
    most = max(p["days"] for p in points)
    scale = alt.Scale(type="log", domain=[LEAST_DAYS, max(most, 1.0)], nice=False, clamp=True)
    axis = charts._axis(
        values=[t for t in _TICKS if t <= most], labelExpr=_TICK_LABEL, title=f"{title} (log axis)"
    )
    colour = _colours(repositories, names)
    x = alt.X("days:Q", scale=scale, axis=axis)
    y = alt.Y(
        "share:Q",
        scale=alt.Scale(domain=[0, 1]),
        axis=charts._axis(title=None, format=".0%", tickCount=5),
    )
    base = alt.Chart(charts._POINTS)
    layers = [
        base.mark_line(interpolate="step-after", strokeWidth=2).encode(
            x=x, y=y, order=alt.Order("n:Q"), color=colour
        ),
        base.mark_area(interpolate="step-after", opacity=0.1).encode(
            x=x, y=alt.Y("low:Q", scale=alt.Scale(domain=[0, 1])), y2=alt.Y2("high:Q"), color=colour
        ),
    ]
    if ends:
        layers.append(
            alt.Chart(alt.InlineData(values=ends))
            .mark_circle(size=45, opacity=1)
            .encode(x=x, y=y, color=colour)
        )
    return charts._finish(alt.layer(*layers), height=_HEIGHT, points=points)


def _curve(repository: dict[str, Any], found: dict[str, Any]) -> list[dict[str, Any]]:
    """A point per step, to the end of the data where items are still open."""
    if not found.get("curve"):
        return []
    steps = [
        [LEAST_DAYS, 1.0, 1.0, 1.0],
        *([max(row[0], LEAST_DAYS), *row[1:]] for row in found["curve"]),
    ]
    if steps[-1][1] > 0:
        steps.append([max(repository["days"], steps[-1][0]), *steps[-1][1:]])
    return [
        dict(name=repository["name"], days=days, share=share, low=low, high=high, n=n)
        for n, (days, share, low, high) in enumerate(steps)
    ]


def months(repositories: list[dict[str, Any]], what: str, title: str) -> Spec | None:
    """A count per calendar month, a group of bars per month; months without data have none."""
    rows = [
        {"name": r["name"], "month": m["month"], "value": m[what], "days": m["days"]}
        for r in repositories
        for m in r["months"]
        if m[what] is not None
    ]
    if not any(row["value"] for row in rows):
        return None
    names = list(dict.fromkeys(row["name"] for row in rows))
    chart = (
        alt.Chart(charts._ROWS)
        .mark_bar(opacity=0.9)
        .encode(
            x=alt.X("month:O", axis=charts._axis(title=None, grid=False, labelAngle=0)),
            xOffset=alt.XOffset("name:N", scale=alt.Scale(domain=names)),
            y=alt.Y("value:Q", axis=charts._axis(title=title, tickMinStep=1, tickCount=5)),
            color=_colours(repositories, names),
            tooltip=[
                alt.Tooltip("name:N", title="repository"),
                alt.Tooltip("month:N"),
                alt.Tooltip("value:Q", title=title),
                alt.Tooltip("days:Q", title="days of the month covered"),
            ],
        )
    )
    return charts._finish(chart, height=220, rows=rows)


def _colours(repositories: list[dict[str, Any]], names: list[str]) -> alt.Color:
    """The same colour for a repository in every picture of a page."""
    styles = looks_of_middlewares(r["name"] for r in repositories)
    legend = alt.Legend(
        orient="bottom",
        columns=2,
        title=None,
        symbolSize=160,
        symbolOpacity=1,
        labelColor=TEXT,
        labelLimit=320,
    )
    return alt.Color(
        "name:N",
        scale=alt.Scale(domain=names, range=[styles[n].colour for n in names]),
        legend=legend,
    )
