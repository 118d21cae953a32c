"""Answers as bars around a zero line: who disagrees to the left, who agrees to the right, the
middle on both sides."""

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
    shown = [q for q in doc["questions"] if q["scale"] == name]
    rows = []
    for question in shown:
        for group, found in question["groups"].items():
            if not found["count"]:
                continue
            shares = [n / found["count"] for n in found["counts"]]
            half = len(levels) // 2
            left = sum(shares[:half]) + (shares[half] / 2 if len(levels) % 2 else 0)
            at = -left
            for place, share in enumerate(shares):
                rows.append(
                    {
                        "row": f"{question['label']} {group}",
                        "question": question["text"],
                        "level": levels[place],
                        "low": at,
                        "high": at + share,
                        "share": share,
                        "count": found["counts"][place],
                    }
                )
                at += share
    colours = [
        PARTS[_SHADES[round(i * (len(_SHADES) - 1) / (len(levels) - 1))]][0]
        for i in range(len(levels))
    ]
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
