"""The common parts of all charts: axes, ticks, legends, labels, the row of each arm, and the style
of a Vega-Lite specification.

A specification is built for the light page; the dark page replaces its colours (`style.to_dark`),
so the two pages have the same charts. `usermeta.rmwbench.facet` says how a page fits a chart to its
box: charts with panels get a width per panel, the others a width for the whole picture; `narrow`
draws the variant for a phone."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor, inf, log, log10
from typing import Any

import altair as alt

from rmwbench.report.chart.style import NEUTRAL, LineStyle, Spec, looks
from rmwbench.results.model import Estimate
from rmwbench.results.show_model import Part
from rmwbench.words import numbers as fmt

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"
TEXT, MUTED, GRID, SURFACE, LOST = (
    NEUTRAL[name][0] for name in ("text", "muted", "grid", "surface", "lost")
)
# height of a row of a horizontal chart, px; a narrow row has the name above the mark
_ROW, _NARROW_ROW = 26, 40
_WIDTH = 720


def unit_label(scales: tuple[tuple[str, str], ...]) -> str:
    """Return a Vega expression that writes an axis value with its unit."""
    *steps, (least, smallest) = scales
    text = "".join(
        f"abs(datum.value) >= {size} ? format(datum.value / {size}, '.3~g') + ' {unit}' : "
        for size, unit in steps
    )
    return f"datum.value == 0 ? '0' : {text}format(datum.value / {least}, '.3~g') + ' {smallest}'"


TIME_LABEL = unit_label((("1e9", "s"), ("1e6", "ms"), ("1e3", "µs"), ("1", "ns")))

LABELS = {
    "ns": TIME_LABEL,
    "bytes": unit_label((("1e9", "GB"), ("1e6", "MB"), ("1e3", "kB"), ("1", "B"))),
    "bytes/s": unit_label((("1e9", "GB/s"), ("1e6", "MB/s"), ("1e3", "kB/s"), ("1", "B/s"))),
    "cores": "abs(datum.value) >= 0.01 ? format(datum.value, '.3~g') + ' cores' : "
    + unit_label((("1e-3", "mcores"), ("1e-6", "µcores"))),
    "hz": unit_label((("1e6", "MHz"), ("1e3", "kHz"), ("1", "Hz"))),
    "fraction": "format(100 * datum.value, '.3~g') + ' %'",
}
"""Unit → the expression of its axis labels, which look like the numbers beside the marks."""
PLAIN_LABEL = "format(datum.value, '.3~g')"
HAS_INTERVAL = "isValid(datum.low) && isValid(datum.high)"
_AT_ZERO = "square"


def of_zero(spec: Spec | None) -> str:
    """Return the sentence for the caption of a chart in which a value is 0; empty for other
    charts."""
    rows = spec["datasets"]["rows"] if spec else []
    at_zero = any(row.get("shape") == _AT_ZERO for row in rows)
    return " Square at the edge: 0, which has no place on a log axis." if at_zero else ""


def panels(layers: list[Any], names: list[str], height: int) -> Any:
    """Return the layers of `POINTS` in two columns, a panel for each number `n` under its name."""
    header = alt.Header(
        labelExpr=f"{json.dumps(names)}[datum.value]",
        labelAnchor="start",
        labelFontWeight=600,
        labelFontSize=12,
        labelColor=TEXT,
        labelPadding=3,
    )
    return (
        alt.layer(*layers)
        .properties(height=height)
        .facet(
            facet=alt.Facet("n:N", title=None, header=header),
            columns=2,
            data=POINTS,
            spacing={"row": 14, "column": 20},
        )
    )


def drawn(draw: Callable[..., Spec | None], *arguments: Any, **named: Any) -> dict[str, Any]:
    """Return the chart of a picture and its variant for a phone, as arguments of `Picture`."""
    narrow = draw(*arguments, **named, narrow=True)
    return {"spec": draw(*arguments, **named), "narrow": narrow}


def with_card(spec: Spec, title: str, card: list[str]) -> Spec:
    """Return the chart for export: its title and experiment card (suite, machine, blocks, date) are
    part of the picture."""
    heading = {
        "text": title,
        "subtitle": card,
        "anchor": "start",
        "frame": "bounds",
        "offset": 14,
        "color": TEXT,
        "fontSize": 15,
        "subtitleFontSize": 11,
        "subtitleColor": MUTED,
        "subtitlePadding": 5,
    }
    exported = {**spec, "background": SURFACE, "title": heading, "padding": 14}
    if spec["usermeta"]["rmwbench"]["facet"]:
        exported["spec"] = {**spec["spec"], "width": _WIDTH // 2 - 60}
    else:
        exported["width"] = _WIDTH
    return exported


ROWS, POINTS, PARTS = (alt.NamedData(name=name) for name in ("rows", "points", "parts"))


def tooltip(**titles: str) -> list[alt.Tooltip]:
    """Return a tooltip of the fields with these titles."""
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]


TOOLTIP = tooltip(arm="arm", shown="value", basis="from")


def rows_of(part: Part, metric: str) -> list[dict[str, Any]]:
    """Return a row per arm with the metric's value, interval, label and look; absent and infinite
    values are None."""
    arms = looks(part.arms)
    rows = []
    for arm in part.arms:
        shown, look = fmt.metric(arm.metrics.get(metric)), arms[arm.arm]
        entry = arm.metrics.get(metric) or Estimate(unit="")
        bound, low = fmt.finite(entry.at_least), fmt.finite(entry.low)
        value = fmt.finite(entry.value) if bound is None else bound
        rows.append(
            {
                "arm": arm.arm,
                "floor": arm.role == "floor",
                "value": value,
                "low": low,
                "high": fmt.finite(entry.high),
                "endless": entry.high == inf and low is not None,
                "label": shown.text,
                "shown": shown.full,
                "basis": shown.basis,
                "colour": look.colour,
                "fill": SURFACE if look.hollow else look.colour,
                "shape": shape_of(value) if bound is None else "triangle-right",
                "label_colour": {"never": LOST, "absent": MUTED}.get(shown.state, TEXT),
            }
        )
    return rows


def shape_of(value: float | None) -> str:
    return "circle" if value is None or value > 0 else _AT_ZERO


def labelled(arm: str, text: str) -> dict[str, Any]:
    """Return the row of an arm with this text beside its bar."""
    return {"arm": arm, "label": text, "shown": text, "label_colour": TEXT, "basis": None}


def strokes(
    looks: Mapping[str, LineStyle], legend: alt.Legend | None, field: str = "arm:N"
) -> tuple[alt.Color, alt.StrokeDash]:
    """Return the colour and the dash of the line of each value of `field`."""
    names = list(looks)
    colours = alt.Scale(domain=names, range=[look.colour for look in looks.values()])
    dashes = alt.Scale(domain=names, range=[list(look.dash) or [1, 0] for look in looks.values()])
    return (
        alt.Color(field, scale=colours, legend=legend),
        alt.StrokeDash(field, scale=dashes, legend=legend),
    )


def legend_below(columns: int) -> alt.Legend:
    return alt.Legend(
        orient="bottom",
        columns=columns,
        title=None,
        symbolType="stroke",
        symbolSize=300,
        labelColor=TEXT,
    )


def fixed(channel: Any, value: Any) -> Any:
    """Return a place that is the same for all rows. `alt.value` would try all classes of Altair."""
    return channel(value)


def values_beside(base: alt.Chart, y: alt.Y, narrow: bool) -> list[alt.Chart]:
    """Return the layers of the numbers, in a column at the right of the picture, and, if narrow, of
    the names."""
    numbers = base.mark_text(align="left", fontSize=12, fontWeight=600).encode(
        x=fixed(alt.XValue, alt.ExprRef("width + 12")),
        y=y,
        text=alt.Text("label:N"),
        color=literal("label_colour"),
        tooltip=TOOLTIP,
    )
    if not narrow:
        return [numbers]
    name: dict[str, Any] = {"align": "left", "fontSize": 12, "dy": -15}
    outline = base.mark_text(stroke=SURFACE, strokeWidth=4, strokeJoin="round", **name)
    left, text = fixed(alt.XValue, 0), alt.Text("arm:N")
    marks = (outline, base.mark_text(color=TEXT, **name))
    return [numbers, *(mark.encode(x=left, y=y, text=text) for mark in marks)]


def by_arm(rows: list[dict[str, Any]], narrow: bool) -> alt.Y:
    order = [row["arm"] for row in rows]
    axis = alt.Axis(
        labels=not narrow,
        ticks=False,
        domain=False,
        grid=False,
        labelPadding=10,
        labelFontSize=12.5,
        labelColor=TEXT,
        labelLimit=220,
    )
    return alt.Y(
        "arm:N",
        sort=order,
        scale=alt.Scale(domain=order, paddingOuter=0.35 if narrow else 0.05),
        axis=axis,
        title=None,
    )


def rows_height(rows: list[dict[str, Any]], narrow: bool) -> int:
    return (_NARROW_ROW if narrow else _ROW) * len(rows)


def literal(field: str) -> alt.Color:
    return alt.Color(f"{field}:N", scale=None, legend=None)


def chart_of(rows: list[dict[str, Any]]) -> alt.Chart:
    """Return a chart whose rows are in the specification itself."""
    data = alt.Data(values=rows)  # type: ignore[no-untyped-call] # Data has no types
    return alt.Chart(data)


def axis(**settings: Any) -> alt.Axis:
    defaults: dict[str, Any] = {"grid": True, "labelOverlap": "greedy"}
    return alt.Axis(**defaults | settings)


@dataclass(frozen=True)
class LogRange:
    """The range of a logarithmic axis, from `low` to `high`. Values of 0 and less are drawn at
    `edge`, a little before `low`; without such values `edge` is `low`. Only latencies between two
    clocks are below 0."""

    low: float
    high: float
    edge: float
    zero: str
    """The label of the edge: `0` or `≤ 0`; empty where no value is at the edge."""

    @property
    def ends(self) -> list[float]:
        return [self.edge, self.high]

    def with_room(self) -> "LogRange":
        """Return the range with room for marks after `high`."""
        return replace(self, high=self.high * (self.high / self.low) ** 0.06)

    def put(self, rows: Iterable[dict[str, Any]], *keys: str) -> None:
        """Move values of these fields that lie outside the range to its end."""
        for row in rows:
            for key in keys:
                if row[key] is not None:
                    row[key] = min(max(row[key], self.edge), self.high)

    def scale(self) -> alt.Scale:
        return alt.Scale(type="log", domain=self.ends, nice=False)

    def axis(
        self,
        title: str | None,
        *,
        most: int = 9,
        apart: float = 0.0,
        label: str = TIME_LABEL,
    ) -> alt.Axis:
        ticks = ticks_of(self.low, self.high, most, apart)
        if self.zero:
            ticks = [self.edge, *ticks]
            label = f"datum.value <= {self.edge!r} ? '{self.zero}' : {label}"
        return axis(values=ticks, labelExpr=label, title=title)


_NARROW = (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9)
"""Steps of which any range has two: between 3 and 5, coarser steps have none."""


def ticks_of(low: float, high: float, most: int, apart: float) -> list[float]:
    """Return the finest round steps with at most `most` ticks, each at least the share `apart` of
    the axis from the next tick."""
    span = log(high / low)
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks: list[float] = []
    for mantissas in (_NARROW, (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0**d for d in decades for m in mantissas if low <= m * 10.0**d <= high]
        close = any(log(b / a) < apart * span for a, b in pairwise(ticks))
        if len(ticks) <= most and not close:
            return ticks
    return ticks[:: max(1, ceil(len(ticks) / most))]


def log_range(
    values: Iterable[float | None], intervals: Iterable[float | None] = ()
) -> LogRange | None:
    """Return a range a little wider than the positive values, of at least a factor 1.5, so that
    noise does not look like a large difference; None without values. An interval that begins at 0
    is drawn from the edge and does not widen the range."""
    present = [value for value in values if value is not None]
    positive = [value for value in (*present, *intervals) if value is not None and value > 0]
    if not present and not positive:
        return None
    least = min(present, default=1.0)
    zero = "" if least > 0 else "0" if least == 0 else "≤ 0"
    low, high = min(positive, default=1.0), max(positive, default=10.0)
    ratio = high / low
    pad = max(ratio**0.04, 1.06, (1.5 / ratio) ** 0.5)
    low, high = low / pad, high * pad
    return LogRange(low, high, low / (high / low) ** 0.09 if zero else low, zero)


def finish(
    chart: alt.TopLevelMixin, *, height: int | None, **datasets: list[dict[str, Any]]
) -> Spec:
    """Return the specification with the common style and its data sets. Altair does not add the
    data sets, because it takes a second to go through ten thousand rows."""
    return styled(chart.to_dict(validate=False), height=height, **datasets)


def finish_bars(
    layers: list[alt.Chart],
    y: alt.Y,
    rows: list[dict[str, Any]],
    parts: list[dict[str, Any]],
    narrow: bool,
) -> Spec:
    """Return a chart of bars that are stacked from `parts`, with the numbers of `rows` beside the
    bars."""
    whole = alt.layer(*layers, *values_beside(alt.Chart(ROWS), y, narrow))
    return finish(whole, height=rows_height(rows, narrow), rows=rows, parts=parts)


def styled(spec: Spec, *, height: int | None, **datasets: list[dict[str, Any]]) -> Spec:
    spec["datasets"] = datasets
    facet = "facet" in spec
    spec["config"] = {
        "font": FONT,
        "background": "transparent",
        "view": {"stroke": None},
        "axis": {
            "labelColor": MUTED,
            "titleColor": MUTED,
            "titleFontWeight": "normal",
            "labelFontSize": 11,
            "titleFontSize": 11.5,
            "titlePadding": 8,
            "gridColor": GRID,
            "domainColor": GRID,
            "tickColor": GRID,
        },
    }
    spec["padding"] = {"left": 6, "top": 4, "bottom": 4, "right": 6}
    if not facet:
        spec |= {
            "autosize": {"type": "fit-x", "contains": "padding"},
            "height": height,
            "width": _WIDTH,
        }
    spec["usermeta"] = {"rmwbench": {"facet": facet}}
    return spec
