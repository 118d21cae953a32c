"""Answers as bars around a zero line: who disagrees to the left, who agrees to the right, the
middle on both sides."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from rmwbench.report.chart import charts
from rmwbench.report.chart.charts import TEXT, Spec
from rmwbench.report.chart.style import PARTS

_SHADES = ("publisher", "reader", "machine", "way", "process")
_ROW = 22


def answers(doc: dict[str, Any]) -> Spec | None:
    """A panel per question, a bar per group; None without questions. Questions on several scales
    share no picture, so only those on the first are drawn."""
    scale = next(iter(doc["scales"].items()), None)
    if scale is None:
        return None
    name, levels = scale
    rows = [row for q in doc["questions"] if q["scale"] == name for row in _rows(q, levels)]
    places = [round(i * (len(_SHADES) - 1) / (len(levels) - 1)) for i in range(len(levels))]
    colours = [PARTS[_SHADES[place]][0] for place in places]
    order = list(dict.fromkeys(row["row"] for row in rows))
    chart = (
        alt.Chart(charts._ROWS)
        .mark_bar(height=14)
        .encode(
            x=alt.X(
                "low:Q",
                axis=charts._axis(
                    title=None, labelExpr="format(abs(datum.value), '.0%')", tickCount=7
                ),
            ),
            x2=alt.X2("high:Q"),
            y=alt.Y(
                "row:N",
                sort=order,
                axis=alt.Axis(title=None, labelLimit=260, labelColor=TEXT, ticks=False),
            ),
            color=alt.Color(
                "level:N",
                scale=alt.Scale(domain=levels, range=colours),
                legend=alt.Legend(orient="top", title=None, labelColor=TEXT, columns=3),
            ),
            tooltip=[
                alt.Tooltip("question:N"),
                alt.Tooltip("level:N"),
                alt.Tooltip("count:Q"),
                alt.Tooltip("share:Q", format=".0%"),
            ],
        )
    )
    return charts._finish(chart, height=_ROW * max(1, len(order)), rows=rows)


def _rows(question: dict[str, Any], levels: list[str]) -> Iterator[dict[str, Any]]:
    """A row per group and level: which part of the group's bar it is."""
    for group, found in question["groups"].items():
        if not found["count"]:
            continue
        shares = [n / found["count"] for n in found["counts"]]
        half = len(levels) // 2
        at = -(sum(shares[:half]) + (shares[half] / 2 if len(levels) % 2 else 0))
        for place, share in enumerate(shares):
            yield {
                "row": f"{question['label']} {group}",
                "question": question["text"],
                "level": levels[place],
                "low": at,
                "high": at + share,
                "share": share,
                "count": found["counts"][place],
            }
            at += share
