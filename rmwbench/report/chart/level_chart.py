"""The primary metric of each arm along a factor: a line per arm with the interval at each level."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import altair as alt

from rmwbench.report.chart import charts
from rmwbench.report.chart.charts import Spec
from rmwbench.report.chart.style import FLOOR, LineStyle
from rmwbench.results.answer import level_sentences as said
from rmwbench.results.shown import Levels
from rmwbench.words import numbers as fmt

_HEIGHT = 260


def along(found: Sequence[Levels], looks: Mapping[str, LineStyle], title: str) -> Spec | None:
    """`found`: of one factor, each with the same levels. None where fewer than two levels of any
    have a value."""
    rows = [row for number, one in enumerate(found) for row in _rows(number, one, looks)]
    values = [row[key] for row in rows for key in ("value", "low", "high")]
    domain = charts._domain(values)
    if domain is None or len({row["level"] for row in rows}) < 2:
        return None
    names = list(dict.fromkeys(row["line"] for row in rows))
    of_line = {row["line"]: row for row in rows}
    unit = next(entry.unit for entry in found[0].values[found[0].primary_metric])
    scale = alt.Scale(type="log", domain=domain, nice=False)
    label = charts._LABELS.get(unit, charts._PLAIN_LABEL)
    x = alt.X(
        "level:N",
        scale=alt.Scale(domain=said.names(found[0])),
        axis=charts._axis(title=None, labelAngle=0, grid=False),
    )
    y = alt.Y("value:Q", scale=scale, axis=charts._log_axis(domain, f"{title} (log)", label=label))
    key = alt.Legend(title=None, orient="top", symbolType="stroke") if len(names) > 1 else None
    colour = alt.Color(
        "line:N",
        scale=alt.Scale(domain=names, range=[of_line[name]["colour"] for name in names]),
        legend=key,
    )
    dash = alt.StrokeDash(
        "line:N",
        scale=alt.Scale(domain=names, range=[of_line[name]["dash"] or [1, 0] for name in names]),
        legend=key,
    )
    base = alt.Chart(charts._ROWS)
    layers = [
        base.mark_line(strokeWidth=2).encode(
            x=x, y=y, color=colour, strokeDash=dash, order=alt.Order("place:Q")
        ),
        base.mark_rule(strokeWidth=2.5, opacity=0.5, clip=True)
        .transform_filter(charts.HAS_INTERVAL)
        .encode(x=x, y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q"), color=colour),
        base.mark_circle(size=60, opacity=1).encode(
            x=x, y=y, color=colour, tooltip=charts._TOOLTIP
        ),
    ]
    return charts._finish(alt.layer(*layers), height=_HEIGHT, rows=rows)


def _rows(number: int, one: Levels, looks: Mapping[str, LineStyle]) -> list[dict[str, Any]]:
    look = looks.get(one.arm)
    out = []
    for place, (name, entry) in enumerate(
        zip(said.names(one), one.values.get(one.primary_metric, ()), strict=False)
    ):
        if entry.value is None or not isfinite(entry.value) or entry.value <= 0:
            continue
        shown = fmt.metric(entry)
        out.append(
            {
                "n": number,
                "line": said.title(one),
                "arm": f"{said.title(one)}, {name}",
                "level": name,
                "place": place,
                "value": entry.value,
                "low": fmt.finite(entry.low),
                "high": fmt.finite(entry.high),
                "shown": shown.text,
                "interval": shown.interval,
                "colour": look.colour if look else FLOOR[0],
                "dash": list(look.dash) if look else [],
            }
        )
    return out
