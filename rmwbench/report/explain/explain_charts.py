"""Explaining bars as Vega-Lite: one specification for paths, places and causes, with the pieces of
every other chart.

A name stands in its part where that is wide enough on the page it is drawn on, so a wide page names
more of them. Filled parts are counted, outlined ones somebody's word or an upper bound, dashed ones
inferred: that does not rest on colour.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from rmwbench.report.chart import charts, style
from rmwbench.report.chart.charts import SURFACE, TEXT, Spec
from rmwbench.report.explain.shares import CLAIMED, COUNTED, ShareBar

_LETTER = 6.4  # px of a letter of a label in a part
_HEIGHT, _TINT = 18, 0.16


def shares(bars: Sequence[ShareBar], title: str, *, narrow: bool = False) -> Spec | None:
    """Bars of shares from zero, `bars` in their order from top to bottom; None without any."""
    if not bars:
        return None
    ends = [sum(part.share for part in bar.parts) for bar in bars]
    top = min(1.0, 1.04 * max(ends))
    rows = [
        {
            "arm": bar.arm,
            "label": bar.beside,
            "shown": bar.beside,
            "label_colour": TEXT,
            "basis": None,
        }
        for bar in bars
    ]
    y = charts._by_arm(rows, narrow)
    scale = alt.Scale(domain=[0, top], nice=False)
    x = alt.X("begin:Q", scale=scale, axis=charts._axis(title=title, format=".2~%", tickCount=5))
    told = [
        alt.Tooltip("arm:N", title="arm"),
        alt.Tooltip("name:N", title="part"),
        alt.Tooltip("told:N", title=" "),
    ]
    base = alt.Chart(charts._PARTS)
    solid = base.transform_filter(f"datum.known == '{COUNTED}'")
    other = base.transform_filter(f"datum.known != '{COUNTED}'")
    colour = charts._literal("colour")
    names = base.mark_text(fontSize=11, baseline="middle", clip=True).transform_filter(
        f"(datum.end - datum.begin) / {top!r} * width > datum.need"
    )
    seam: dict[str, Any] = {"height": _HEIGHT, "xOffset": 1, "x2Offset": -1, "clip": True}
    layers = [
        solid.mark_bar(**seam).encode(x=x, x2=alt.X2("end:Q"), y=y, fill=colour, tooltip=told),
        other.mark_bar(strokeWidth=1.5, **seam | {"height": _HEIGHT - 1.5}).encode(
            x=x,
            x2=alt.X2("end:Q"),
            y=y,
            fill=colour,
            fillOpacity=alt.FillOpacity("tint:Q", scale=None),
            stroke=colour,
            strokeDash=alt.StrokeDashValue(
                [4, 3], condition={"test": f"datum.known == '{CLAIMED}'", "value": [1, 0]}
            ),
            tooltip=told,
        ),
        names.encode(
            x=alt.X("middle:Q", scale=scale),
            y=y,
            text=alt.Text("label:N"),
            color=charts._literal("ink"),
            tooltip=told,
        ),
        *charts._values_beside(alt.Chart(charts._ROWS), y, narrow),
    ]
    spec = charts._finish(
        alt.layer(*layers), height=charts._rows_height(rows, narrow), rows=rows, parts=_rows(bars)
    )
    return spec


def _rows(bars: Sequence[ShareBar]) -> list[dict[str, object]]:
    out: list[dict[str, object]] = []
    for bar in bars:
        begin = 0.0
        for part in bar.parts:
            end = begin + part.share
            out.append(
                {
                    "arm": bar.arm,
                    "name": part.name,
                    "begin": begin,
                    "middle": (begin + end) / 2,
                    "end": end,
                    "known": part.known,
                    "tint": {COUNTED: 1, CLAIMED: _TINT}.get(part.known, 0),
                    "colour": style.part(part.kind),
                    "ink": SURFACE if part.known == COUNTED else TEXT,
                    "label": part.label,
                    "told": part.told,
                    "need": round(len(part.label) * _LETTER + 10),
                }
            )
            begin = end
    return out
