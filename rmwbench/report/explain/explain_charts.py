"""Explaining bars in Vega-Lite: one specification for paths, places and causes.

A part contains its name where the part is wide enough on the page, so a wide page names more parts.
Filled parts were counted; outlined parts are a middleware's word or an upper bound; dashed parts
are inferred. So the difference does not rest on colour."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import altair as alt

from rmwbench.report.chart import frame, style
from rmwbench.report.chart.frame import SURFACE, TEXT
from rmwbench.report.chart.style import Spec
from rmwbench.report.explain.shares import CLAIMED, COUNTED, ShareBar, percent
from rmwbench.results.show_model import WorkloadAnswer
from rmwbench.words import numbers as fmt

_LETTER = 6.4  # px of a letter of a label in a part
_HEIGHT, _TINT = 18, 0.16


def draw_share_bars(bars: Sequence[ShareBar], title: str, *, narrow: bool = False) -> Spec | None:
    """Draw `bars` from zero, in their order from top to bottom; None without any."""
    if not bars:
        return None
    ends = [sum(part.share for part in bar.parts) for bar in bars]
    top = min(1.0, 1.04 * max(ends))
    rows = [frame.labelled(bar.arm, bar.beside) for bar in bars]
    y = frame.by_arm(rows, narrow)
    scale = alt.Scale(domain=[0, top], nice=False)
    x = alt.X("begin:Q", scale=scale, axis=frame.axis(title=title, format=".2~%", tickCount=5))
    tooltip = frame.tooltip(arm="arm", name="part", tooltip=" ")
    base = alt.Chart(frame.PARTS)
    solid = base.transform_filter(f"datum.certainty == '{COUNTED}'")
    other = base.transform_filter(f"datum.certainty != '{COUNTED}'")
    colour = frame.literal("colour")
    names = base.mark_text(fontSize=11, baseline="middle", clip=True).transform_filter(
        f"(datum.end - datum.begin) / {top!r} * width > datum.need"
    )
    seam: dict[str, Any] = {"height": _HEIGHT, "xOffset": 1, "x2Offset": -1, "clip": True}
    layers = [
        solid.mark_bar(**seam).encode(x=x, x2=alt.X2("end:Q"), y=y, fill=colour, tooltip=tooltip),
        other.mark_bar(strokeWidth=1.5, **seam | {"height": _HEIGHT - 1.5}).encode(
            x=x,
            x2=alt.X2("end:Q"),
            y=y,
            fill=colour,
            fillOpacity=alt.FillOpacity("tint:Q", scale=None),
            stroke=colour,
            strokeDash=alt.StrokeDashValue(
                [4, 3], condition={"test": f"datum.certainty == '{CLAIMED}'", "value": [1, 0]}
            ),
            tooltip=tooltip,
        ),
        names.encode(
            x=alt.X("middle:Q", scale=scale),
            y=y,
            text=alt.Text("label:N"),
            color=frame.literal("ink"),
            tooltip=tooltip,
        ),
    ]
    return frame.finish_bars(layers, y, rows, _rows(bars), narrow)


def _rows(bars: Sequence[ShareBar]) -> list[dict[str, object]]:
    return [
        {
            "arm": bar.arm,
            "name": part.name,
            "begin": begin,
            "middle": (begin + end) / 2,
            "end": end,
            "certainty": part.certainty,
            "tint": {COUNTED: 1, CLAIMED: _TINT}.get(part.certainty, 0),
            "colour": style.part(part.kind),
            "ink": SURFACE if part.certainty == COUNTED else TEXT,
            "label": part.label,
            "tooltip": part.tooltip,
            "need": round(len(part.label) * _LETTER + 10),
        }
        for bar in bars
        for part, (begin, end) in zip(bar.parts, _spans(p.share for p in bar.parts), strict=True)
    ]


def _spans(lengths: Iterable[float]) -> Iterator[tuple[float, float]]:
    """Return the begin and end of each part of a bar, one after the other from zero."""
    return pairwise(accumulate(lengths, initial=0.0))


class Stretch(NamedTuple):
    """A piece of a bar: `kind` for its colour, `pale` its opacity."""

    name: str
    ns: float
    kind: str
    pale: float


def draw_stacked_bars(
    workload: WorkloadAnswer, parts: Mapping[str, Sequence[Stretch]], *, narrow: bool = False
) -> Spec | None:
    """Draw the parts of each arm as a stacked bar, in the order of the arms; None where no message
    arrived."""
    names = [arm.arm for arm in workload.arms if arm.arm in parts]
    values = [value for name in names for value in _stacked(name, parts[name])]
    if not any(value["end"] for value in values):
        return None
    rows = [frame.labelled(name, _total_text(parts[name])) for name in names]
    y = frame.by_arm(rows, narrow)
    axis = frame.axis(title="time of a typical message", labelExpr=frame.TIME_LABEL, tickCount=5)
    bars = (
        alt.Chart(frame.PARTS)
        .mark_bar(height=_HEIGHT, xOffset=0.5, x2Offset=-0.5)
        .encode(
            x=alt.X("begin:Q", axis=axis),
            x2=alt.X2("end:Q"),
            y=y,
            color=frame.literal("colour"),
            opacity=alt.Opacity("opacity:Q", scale=None),
            tooltip=frame.tooltip(arm="arm", name="part", shown="time"),
        )
    )
    return frame.finish_bars([bars], y, rows, values, narrow)


def _total_text(parts: Sequence[Stretch]) -> str:
    whole = sum(part.ns for part in parts)
    return fmt.quantity(whole, "ns") if whole else "nothing arrived"


def _stacked(arm: str, parts: Sequence[Stretch]) -> Iterator[dict[str, Any]]:
    whole = sum(part.ns for part in parts)
    for part, (begin, end) in zip(parts, _spans(part.ns for part in parts), strict=True):
        share = percent(part.ns / whole if whole else 0.0)
        yield {
            "arm": arm,
            "name": part.name,
            "begin": begin,
            "end": end,
            "shown": f"{fmt.quantity(part.ns, 'ns')}, {share}",
            "colour": style.part(part.kind),
            "opacity": part.pale,
        }
