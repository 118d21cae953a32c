"""The charts as Vega-Lite specifications: one source for the page, SVG and PNG.

A specification is built for the light page; the dark one is the same with its colours replaced
(`look.to_dark`), so the two cannot drift apart. `usermeta.rmwbench.facet` says how a page fits a
chart to its box: charts with panels get a width per panel, the others a width for the whole
picture; `narrow` draws the variant for a phone. Lines are labelled where they run instead of in a
legend; label positions are computed here, because Vega-Lite has no layout for them.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil, exp, floor, inf, log, log10
from typing import Any

import altair as alt

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.verdicts.ordered_by import words
from rmwbench.report.chart.style import NEUTRAL, LineStyle, looks
from rmwbench.results.model import Estimate
from rmwbench.results.shown import Part, WorkloadAnswer, WorkloadArm
from rmwbench.words import numbers as fmt

Spec = dict[str, Any]
Numbers = Sequence[float | None]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"
TEXT, MUTED, GRID, SURFACE, LOST = (
    NEUTRAL[name][0] for name in ("text", "muted", "grid", "surface", "lost")
)

# height of a row of a horizontal chart, px; a narrow one has the name above the mark
_ROW, _NARROW_ROW = 26, 40
_LINE_HEIGHT = 300
_PANEL_HEIGHT = 54
_LABEL_GAP = 15  # px between the centres of two labels
# px: a letter of a label, the plot of the smallest page that labels its curves
_LETTER, _LABELLED_WIDTH = 7.1, 380
HELPERS = "daemons and helpers"
_OPACITIES = {"subscription": 0.45, HELPERS: 0.2}  # of parts of a stacked bar; others are dark


def _unit_label(scales: tuple[tuple[str, str], ...]) -> str:
    """A Vega expression that writes an axis value with its unit."""
    *steps, (least, smallest) = scales
    text = "".join(
        f"abs(datum.value) >= {size} ? format(datum.value / {size}, '.3~g') + ' {unit}' : "
        for size, unit in steps
    )
    return f"datum.value == 0 ? '0' : {text}format(datum.value / {least}, '.3~g') + ' {smallest}'"


_TIME_LABEL = _unit_label((("1e9", "s"), ("1e6", "ms"), ("1e3", "µs"), ("1", "ns")))
_LABELS = {
    "ns": _TIME_LABEL,
    "bytes": _unit_label((("1e9", "GB"), ("1e6", "MB"), ("1e3", "kB"), ("1", "B"))),
    "cores": "abs(datum.value) >= 0.01 ? format(datum.value, '.3~g') + ' cores' : "
    + _unit_label((("1e-3", "mcores"), ("1e-6", "µcores"))),
    "hz": _unit_label((("1e6", "MHz"), ("1e3", "kHz"), ("1", "Hz"))),
}
"""Unit → how an axis writes it, as the numbers beside it are written."""
_PLAIN_LABEL = "format(datum.value, '.3~g')"
HAS_INTERVAL = "isValid(datum.low) && isValid(datum.high)"


def comparison(
    part: Part,
    title: str = "response latency, median",
    *,
    narrow: bool = False,
    metric: str | None = None,
) -> Spec | None:
    """A metric (the primary one) with its interval per arm on a log axis, fastest first; multiples
    of the floor along the top."""
    metric = metric or part.primary_metric
    units = (found.unit for arm in part.arms if (found := arm.metrics.get(metric)) is not None)
    label = next((_LABELS[unit] for unit in units if unit in _LABELS), _PLAIN_LABEL)
    rows = _rows(part, metric)
    cost = words(metric).cost
    rows.sort(
        key=lambda row: (not row["floor"], inf if row["value"] is None else cost(row["value"]))
    )
    domain = _domain([row[key] for row in rows for key in ("value", "low", "high")])
    if domain is None:
        return None
    for row in rows:  # an interval without upper end runs off the picture, it does not vanish
        if row["endless"]:
            row["high"] = domain[1]
    scale = alt.Scale(type="log", domain=domain, nice=False)
    y = _by_arm(rows, narrow)
    axis = _log_axis(domain, f"{title} (log axis)", label=label)
    layers = dots(
        alt.X("low:Q", scale=scale, axis=axis),
        alt.X("value:Q", scale=scale, axis=None),
        y,
        narrow,
    )
    bound = min((row["value"] for row in rows if row["floor"] and row["value"]), default=None)
    if bound is not None:
        layers.insert(0, _floor_line(bound, domain, scale))
    return _finish(
        alt.layer(*layers).resolve_axis(x="independent"),
        height=_rows_height(rows, narrow),
        rows=rows,
    )


def dots(interval: alt.X, value: alt.X, y: alt.Y, narrow: bool) -> list[alt.Chart]:
    """The layers of `_rows`: the interval of each as a line, its value as a dot, and as a number
    beside it."""
    base = alt.Chart(_ROWS)
    lines = base.mark_rule(strokeWidth=2.5, opacity=0.55, clip=True).transform_filter(HAS_INTERVAL)
    points = base.mark_point(size=95, strokeWidth=2, opacity=1)
    return [
        lines.encode(x=interval, x2=alt.X2("high:Q"), y=y, color=_literal("colour")),
        points.transform_filter("isValid(datum.value)").encode(
            x=value,
            y=y,
            color=_literal("colour"),
            fill=_literal("fill"),
            shape=alt.Shape("shape:N", scale=None),
            tooltip=_TOOLTIP,
        ),
        *_values_beside(base, y, narrow),
    ]


def ecdf(part: Part, *, narrow: bool = False) -> Spec | None:
    """Share of messages that arrived within a time; a curve that stays below 100 % misses the
    rest."""
    curves = _curves(part, ((one.arm, one.latency_ns, one.fraction) for one in part.charts.ecdf))
    domain = _domain([point["latency"] for curve in curves for point in curve["points"]])
    if domain is None:
        return None
    points = _long(curves, lambda p: {"latency": p["latency"], "share": p["other"]})
    # Labels sit on their curves at staggered heights, the faster half to the left, so that none
    # hides another label and the outermost have the free side of the picture.
    ordered = sorted(curves, key=lambda curve: _at(curve["points"], 0.5))
    labels = []
    for place, curve in enumerate(ordered):
        share = min(0.94 - 0.88 * (place + 0.5) / len(ordered), curve["points"][-1]["other"])
        labels.append(
            {
                "arm": curve["arm"],
                "latency": _at(curve["points"], share),
                "share": share,
                "left": place < len(ordered) / 2,
                "colour": curve["look"].colour,
            }
        )
    if not narrow:
        domain = _with_room(domain, labels)
    x = alt.X(
        "latency:Q",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=_log_axis(domain, "arrived within (log axis)"),
    )
    y = alt.Y(
        "share:Q",
        scale=alt.Scale(domain=[0, 1]),
        axis=_axis(title="share of messages", format=".0%", tickCount=5),
    )
    lines = _lines(curves, x, y, "share:Q", narrow)
    if narrow:
        return _finish(lines, height=_LINE_HEIGHT, points=points)
    layers = [lines]
    for left in (True, False):
        chosen = chart_of([label for label in labels if label["left"] is left])
        layers += _halo(
            chosen, x, alt.Y("share:Q"), align="right" if left else "left", dx=-7 if left else 7
        )
    return _finish(alt.layer(*layers), height=_LINE_HEIGHT, points=points)


def spectrum(part: Part, title: str = "response latency", *, narrow: bool = False) -> Spec | None:
    """Latency at every percentile with the tail spread out: each step to the right is ten times
    rarer."""
    curves = _curves(
        part, ((one.arm, one.latency_ns, one.quantile) for one in part.charts.spectrum)
    )
    for curve in curves:
        curve["points"] = [
            p | {"rarity": 1 / (1 - p["other"])} for p in curve["points"] if p["other"] < 1
        ]
    curves = [curve for curve in curves if curve["points"]]
    domain = _domain([point["latency"] for curve in curves for point in curve["points"]])
    if domain is None:
        return None
    never = _never(curves, part)
    rarities = [point["rarity"] for curve in curves for point in curve["points"]]
    far = max([*rarities, *(one["rarity"] for one in never)]) * 1.02
    points = _long(curves, lambda p: {"latency": p["latency"], "rarity": p["rarity"]})
    ends = [
        curve["points"][-1] | {"arm": curve["arm"], "colour": curve["look"].colour}
        for curve in curves
    ]
    ends.sort(key=lambda end: end["latency"])
    for end, place in zip(
        ends, _spread([end["latency"] for end in ends], domain, _LINE_HEIGHT), strict=True
    ):
        end["place"] = place
    x = alt.X(
        "rarity:Q",
        scale=alt.Scale(type="log", domain=[1, far], nice=False),
        axis=_axis(
            title="percentile (each step ten times rarer)",
            values=[rarity for rarity in (2, 10, 100, 1e3, 1e4, 1e5, 1e6) if rarity <= far],
            labelExpr="format(100 - 100 / datum.value, '.6~g') + ' %'",
        ),
    )
    y = alt.Y(
        "latency:Q",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=_log_axis(domain, f"{title} (log axis)"),
    )
    layers: list[alt.Chart] = [_lines(curves, x, y, "rarity:Q", narrow)]
    if never:  # Vega warns of a layer without a row, and the page is to be quiet
        upright = alt.Chart(alt.NamedData(name="never"))
        layers.append(
            upright.mark_rule(color=LOST, strokeWidth=1.5, strokeDash=[4, 3]).encode(
                x=x,
                y=y,
                y2=_fixed(alt.Y2Value, 0),
                tooltip=[alt.Tooltip("arm:N", title="arm"), alt.Tooltip("shown:N", title="value")],
            )
        )
    datasets = {"points": points} | ({"never": never} if never else {})
    if narrow:
        return _finish(alt.layer(*layers), height=_LINE_HEIGHT, **datasets)
    ending = chart_of(ends)
    layers += [
        ending.mark_rule(opacity=0.45, strokeWidth=1).encode(
            x=x,
            x2=_fixed(alt.X2Value, alt.ExprRef("width + 14")),
            y=y,
            y2=alt.Y2("place:Q"),
            color=_literal("colour"),
        ),
        ending.mark_text(align="left", fontSize=12, fontWeight=600).encode(
            x=_fixed(alt.XValue, alt.ExprRef("width + 18")),
            y=alt.Y("place:Q"),
            text=alt.Text("arm:N"),
            color=_literal("colour"),
        ),
    ]
    return _finish(alt.layer(*layers), height=_LINE_HEIGHT, **datasets)


def _never(curves: list[dict[str, Any]], part: Part) -> list[dict[str, Any]]:
    """Where messages that did not arrive reach the percentiles of a curve: the first of these, at
    the latency at which the curve ends."""
    found = {one.arm: one for one in part.charts.spectrum}
    out = []
    for curve in curves:
        one = found[curve["arm"]]
        pairs = zip(one.quantile, one.latency_ns, strict=True)
        first = next((q for q, ns in pairs if q is not None and fmt.finite(ns) is None), 1.0)
        if first < 1:
            out.append(
                {
                    "arm": curve["arm"],
                    "rarity": 1 / (1 - first),
                    "latency": curve["points"][-1]["latency"],
                    "shown": f"never arrived from {fmt.percent(first, 3)} on",
                }
            )
    return out


def series(part: Part) -> Spec | None:
    """The messages of one trial per arm over time, a panel per arm on one log axis; lost ones mark
    the top edge."""
    arms = looks(part.arms)
    listed = [one for one in part.charts.series if one.arm in arms and one.latency_ns]
    values, names, colours = [], [], []
    for one in listed:
        names.append(f"{one.arm}, trial {one.trial}")
        colours.append(arms[one.arm].colour)
        messages = zip(one.time_s, map(fmt.finite, one.latency_ns), strict=True)
        panel = len(names) - 1
        values += [{"n": panel, "t": t, "y": ns and float(f"{ns:.4g}")} for t, ns in messages]
    domain = _domain([value["y"] for value in values])
    if domain is None:
        return None
    few = max(len(one.latency_ns) for one in listed) < 100
    x = alt.X("t:Q", axis=_axis(title="time in the trial, s", tickCount=5))
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=_log_axis(domain, None, most=4, apart=0.3),
    )
    arrived = (
        alt.Chart()
        .transform_filter("datum.y != null")
        .mark_circle(size=30 if few else 9, opacity=0.75)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "n:N", scale=alt.Scale(domain=list(range(len(names))), range=colours), legend=None
            ),
        )
    )
    lost = (
        alt.Chart()
        .transform_filter("datum.y == null")
        .mark_tick(orient="vertical", thickness=1.5, size=9, color=LOST)
        .encode(x=x, y=_fixed(alt.YValue, 5))
    )
    layers = [arrived, lost] if any(value["y"] is None for value in values) else [arrived]
    return _finish(_panels(layers, names, _PANEL_HEIGHT), height=None, points=values)


def _panels(layers: list[Any], names: list[str], height: int) -> Any:
    """The layers of `_POINTS` in two columns, a panel for each number `n`, headed by its name."""
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
            data=_POINTS,
            spacing={"row": 14, "column": 20},
        )
    )


def fate(part: Part, metric: str, title: str, *, narrow: bool = False) -> Spec | None:
    """A share of messages that did not arrive, with its interval; None where it is 0 with all arms
    (a sentence says that better). `title`: of the axis."""
    rows = _rows(part, metric)
    if not any(row["value"] for row in rows):
        return None
    top = min(1.0, 1.08 * max(max(row["high"] or 0, row["value"] or 0) for row in rows))
    y = _by_arm(rows, narrow)
    base = alt.Chart(_ROWS)
    layers = [
        base.mark_bar(height=11, strokeWidth=1.5, clip=True)
        .transform_filter("isValid(datum.value) && datum.value > 0")
        .encode(
            x=alt.X(
                "value:Q",
                scale=alt.Scale(domain=[0, top], nice=False),
                axis=_axis(title=title, format=".2~%", tickCount=5),
            ),
            y=y,
            fill=_literal("fill"),
            stroke=_literal("colour"),
        ),
        base.mark_rule(strokeWidth=1.5, color=MUTED, clip=True)
        .transform_filter(HAS_INTERVAL)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y),
        *_values_beside(base, y, narrow),
    ]
    return _finish(alt.layer(*layers), height=_rows_height(rows, narrow), rows=rows)


def parts(
    workload: WorkloadAnswer,
    split: Callable[[WorkloadArm], Mapping[str, float]],
    total: str,
    title: str,
    *,
    narrow: bool = False,
) -> Spec | None:
    """Stacked bars per arm: `split` gives the parts of an arm that has the metric `total`, which
    add up to it and stand in their order; `total` is printed beside the bar."""
    rows = _rows(workload, total)
    arms = looks(workload.arms)
    values = []
    unit = GLOSSARY[total].unit
    for arm in workload.arms:
        if fmt.finite(arm.value(total)) is None:
            continue
        for place, (part, value) in enumerate(split(arm).items()):
            values.append(
                {
                    "arm": arm.arm,
                    "part": part,
                    "place": place,
                    "value": value,
                    "shown": fmt.quantity(value, unit),
                    "colour": arms[arm.arm].colour,
                    "opacity": _OPACITIES.get(part, 0.9),
                }
            )
    if not values:
        return None
    y = _by_arm(rows, narrow)
    label = _LABELS[unit]
    bars = (
        alt.Chart(_PARTS)
        .mark_bar(height=12)
        .encode(
            x=alt.X("value:Q", stack="zero", axis=_axis(title=title, labelExpr=label, tickCount=4)),
            y=y,
            order=alt.Order("place:O"),
            color=_literal("colour"),
            opacity=alt.Opacity("opacity:Q", scale=None),
            tooltip=[
                alt.Tooltip("arm:N", title="arm"),
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("shown:N", title="value"),
            ],
        )
    )
    return _finish(
        alt.layer(bars, *_values_beside(alt.Chart(_ROWS), y, narrow)),
        height=_rows_height(rows, narrow),
        rows=rows,
        parts=values,
    )


def drawn(
    draw: Callable[..., Spec | None], *arguments: Any, phone: bool, **named: Any
) -> dict[str, Any]:
    """Of a picture its chart, and the `narrow` variant where a page is also for a phone."""
    narrow = draw(*arguments, **named, narrow=True) if phone else None
    return {"spec": draw(*arguments, **named), "narrow": narrow}


def with_card(spec: Spec, title: str, card: list[str], width: int = 720) -> Spec:
    """The chart to be taken away: title and experiment card (suite, machine, blocks, date) are part
    of the picture."""
    heading = {
        "text": title,
        "subtitle": card,
        "anchor": "start",
        "frame": "bounds",
        "offset": 14,
        "color": TEXT,
    }
    heading |= {
        "fontSize": 15,
        "subtitleFontSize": 11,
        "subtitleColor": MUTED,
        "subtitlePadding": 5,
    }
    out = {**spec, "background": SURFACE, "title": heading, "padding": 14}
    if spec["usermeta"]["rmwbench"]["facet"]:
        out["spec"] = {**spec["spec"], "width": width // 2 - 60}
    else:
        out["width"] = width
    return out


# --- pieces
# --------------------------------------------------------------------------------------------------

_ROWS, _POINTS, _PARTS = (alt.NamedData(name=name) for name in ("rows", "points", "parts"))
_TOOLTIP = [
    alt.Tooltip("arm:N", title="arm"),
    alt.Tooltip("shown:N", title="value"),
    alt.Tooltip("basis:N", title="from"),
]


def _rows(part: Part, metric: str) -> list[dict[str, Any]]:
    """One row per arm with the metric's value, interval, label and look; absent and infinite values
    are None."""
    arms = looks(part.arms)
    rows = []
    for arm in part.arms:
        entry = arm.metrics.get(metric)
        shown, look = fmt.metric(entry), arms[arm.arm]
        found = entry or Estimate(unit="")
        bound, low = fmt.finite(found.at_least), fmt.finite(found.low)
        rows.append(
            {
                "arm": arm.arm,
                "floor": arm.role == "floor",
                "value": fmt.finite(found.value) if bound is None else bound,
                "low": low,
                "high": fmt.finite(found.high),
                "endless": found.high == inf and low is not None,
                "label": shown.text,
                "shown": shown.full,
                "basis": shown.basis,
                "colour": look.colour,
                "fill": SURFACE if look.hollow else look.colour,
                "shape": "circle" if bound is None else "triangle-right",
                "label_colour": {"never": LOST, "absent": MUTED}.get(shown.state, TEXT),
            }
        )
    return rows


def _curves(part: Part, found: Iterable[tuple[str, Numbers, Numbers]]) -> list[dict[str, Any]]:
    """The curves of the arms, of which (arm, latencies in ns, what stands beside each) are found:
    each with its `look` and its finite, positive points as {latency, other}."""
    arms = looks(part.arms)
    curves = []
    for arm, latency_ns, other in found:
        pairs = zip(map(fmt.finite, latency_ns), other, strict=True)
        points = [{"latency": ns, "other": q} for ns, q in pairs if ns is not None and ns > 0]
        if points and arm in arms:
            curves.append({"arm": arm, "look": arms[arm], "points": points})
    return curves


def _long(
    curves: list[dict[str, Any]], row: Callable[[dict[str, Any]], dict[str, Any]]
) -> list[dict[str, Any]]:
    return [{"arm": curve["arm"]} | row(point) for curve in curves for point in curve["points"]]


def _lines(curves: list[dict[str, Any]], x: alt.X, y: alt.Y, order: str, legend: bool) -> alt.Chart:
    colour, dash = strokes({curve["arm"]: curve["look"] for curve in curves}, 2 if legend else 0)
    lines: alt.Chart = (
        alt.Chart(_POINTS)
        .mark_line(strokeWidth=1.8)
        .encode(
            x=x,
            y=y,
            order=order,
            color=colour,
            strokeDash=dash,
            tooltip=[alt.Tooltip("arm:N", title="arm")],
        )
    )
    return lines


def strokes(looks: Mapping[str, LineStyle], columns: int) -> tuple[alt.Color, alt.StrokeDash]:
    """How the line of each arm is drawn. The legend below the picture has so many columns; 0: there
    is none."""
    names = list(looks)
    colours = alt.Scale(domain=names, range=[look.colour for look in looks.values()])
    dashes = alt.Scale(domain=names, range=[list(look.dash) or [1, 0] for look in looks.values()])
    key = None
    if columns:
        key = alt.Legend(
            orient="bottom",
            columns=columns,
            title=None,
            symbolType="stroke",
            symbolSize=300,
            labelColor=TEXT,
        )
    return (
        alt.Color("arm:N", scale=colours, legend=key),
        alt.StrokeDash("arm:N", scale=dashes, legend=key),
    )


def _halo(chart: alt.Chart, x: alt.X, y: alt.Y, **mark: Any) -> list[alt.Chart]:
    """The arm's name in its colour over a seam of the page's surface, legible where it crosses
    other curves."""
    mark |= {"baseline": "middle", "fontSize": 12, "fontWeight": 600}
    seam = chart.mark_text(stroke=SURFACE, strokeWidth=4, strokeJoin="round", **mark)
    return [
        seam.encode(x=x, y=y, text=alt.Text("arm:N")),
        chart.mark_text(**mark).encode(x=x, y=y, text=alt.Text("arm:N"), color=_literal("colour")),
    ]


def _fixed(channel: Any, value: Any) -> Any:
    """A place that no datum gives. Of `alt.value` Altair tries all of its classes."""
    return channel(value)


def _values_beside(base: alt.Chart, y: alt.Y, narrow: bool) -> list[alt.Chart]:
    """The numbers in a column of their own right of the picture, where they align; and the names,
    if narrow."""
    numbers = base.mark_text(align="left", fontSize=12, fontWeight=600).encode(
        x=_fixed(alt.XValue, alt.ExprRef("width + 12")),
        y=y,
        text=alt.Text("label:N"),
        color=_literal("label_colour"),
        tooltip=_TOOLTIP,
    )
    if not narrow:
        return [numbers]
    name: dict[str, Any] = {"align": "left", "fontSize": 12, "dy": -15}
    seam = base.mark_text(stroke=SURFACE, strokeWidth=4, strokeJoin="round", **name)
    left, text = _fixed(alt.XValue, 0), alt.Text("arm:N")
    names = [
        mark.encode(x=left, y=y, text=text) for mark in (seam, base.mark_text(color=TEXT, **name))
    ]
    return [numbers, *names]


def _floor_line(bound: float, domain: list[float], scale: alt.Scale) -> alt.Chart:
    """A line at the floor, and the axis of its multiples along the top."""
    span = domain[1] / domain[0]
    mantissas = (
        (1, 1.5, 2, 3, 5, 7)
        if span < 12
        else (1, 2, 5)
        if span < 300
        else (1, 3)
        if span < 3000
        else (1,)
    )
    steps = [m * 10.0**d for d in range(9) for m in mantissas if bound * m * 10.0**d <= domain[1]]
    top = _axis(
        orient="top",
        values=[bound * step for step in steps],
        labelExpr=f"format(datum.value / {bound!r}, '.3~g') + '×'",
        title="multiples of the floor",
        titleAnchor="start",
        titlePadding=4,
        grid=False,
        ticks=False,
        domain=False,
    )
    rule = chart_of([{"value": bound}]).mark_rule(strokeDash=[2, 3], strokeWidth=1, color=MUTED)
    found: alt.Chart = rule.encode(x=alt.X("value:Q", scale=scale, axis=top))
    return found


def _by_arm(rows: list[dict[str, Any]], narrow: bool) -> alt.Y:
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


def _rows_height(rows: list[dict[str, Any]], narrow: bool) -> int:
    return (_NARROW_ROW if narrow else _ROW) * len(rows)


def _literal(field: str) -> alt.Color:
    return alt.Color(f"{field}:N", scale=None, legend=None)


def chart_of(rows: list[dict[str, Any]]) -> alt.Chart:
    """Of rows that stand in the specification itself."""
    data = alt.Data(values=rows)  # type: ignore[no-untyped-call] # it has no types
    return alt.Chart(data)


def _axis(**settings: Any) -> alt.Axis:
    own: dict[str, Any] = {"grid": True, "labelOverlap": "greedy"}
    return alt.Axis(**own | settings)


def _log_axis(
    domain: list[float],
    title: str | None,
    *,
    most: int = 9,
    apart: float = 0.0,
    label: str = _TIME_LABEL,
) -> alt.Axis:
    return _axis(values=_ticks(domain, most, apart), labelExpr=label, title=title)


def _ticks(domain: list[float], most: int, apart: float) -> list[float]:
    """The finest round steps with at most `most` ticks, each at least the share `apart` of the axis
    from the next."""
    span = log(domain[1] / domain[0])
    decades = range(floor(log10(domain[0])), ceil(log10(domain[1])) + 1)
    found: list[float] = []
    for mantissas in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        found = [
            m * 10.0**d for d in decades for m in mantissas if domain[0] <= m * 10.0**d <= domain[1]
        ]
        close = any(log(b / a) < apart * span for a, b in pairwise(found))
        if len(found) <= most and not close:
            return found
    return found[:: max(1, ceil(len(found) / most))]


def _domain(values: list[float | None]) -> list[float] | None:
    """A log domain a little wider than the positive values, and not narrower than a factor 1.5, so
    that noise does not look like a mountain; None without any."""
    positive = [value for value in values if value is not None and value > 0]
    if not positive:
        return None
    ratio = max(positive) / min(positive)
    pad = max(ratio**0.04, 1.06, (1.5 / ratio) ** 0.5)
    return [min(positive) / pad, max(positive) * pad]


def _at(points: list[dict[str, float]], share: float) -> float:
    """Where a curve passes `share`, between its points; its last point where it never does."""
    for before, after in pairwise(points):
        if after["other"] >= share:
            width = after["other"] - before["other"]
            part = min(1.0, max(0.0, (share - before["other"]) / width)) if width else 1.0
            return float(before["latency"] * (after["latency"] / before["latency"]) ** part)
    return points[-1]["latency"]


def _with_room(domain: list[float], labels: list[dict[str, Any]]) -> list[float]:
    """The domain widened until the labels stay inside a picture of the smallest width that has
    them."""
    low, high = log(domain[0]), log(domain[1])
    for label in labels:
        share = min(0.6, (len(label["arm"]) * _LETTER + 12) / _LABELLED_WIDTH)
        at = log(label["latency"])
        if label["left"]:
            low = min(low, (at - share * high) / (1 - share))
        else:
            high = max(high, (at - share * low) / (1 - share))
    return [exp(low), exp(high)]


def _spread(values: list[float], domain: list[float], height: float) -> list[float]:
    """Label places for ascending values of a log axis: `_LABEL_GAP` px apart, else as near to them
    as possible."""
    scale = height / log(domain[1] / domain[0])
    # (centre of the wanted places, labels); touching groups merge
    groups: list[tuple[float, int]] = []
    for value in values:
        groups.append((log(value / domain[0]) * scale, 1))
        while (
            len(groups) > 1
            and groups[-1][0] - groups[-2][0] < _LABEL_GAP * (groups[-1][1] + groups[-2][1]) / 2
        ):
            (high, m), (low, n) = groups.pop(), groups.pop()
            groups.append(((low * n + high * m) / (n + m), n + m))
    places = [centre + _LABEL_GAP * (i - (n - 1) / 2) for centre, n in groups for i in range(n)]
    return [domain[0] * exp(place / scale) for place in places]


def _finish(
    chart: alt.TopLevelMixin, *, height: int | None, **datasets: list[dict[str, Any]]
) -> Spec:
    """The specification with the common style and its data sets, which are put in here instead of
    handed to Altair: it takes a second to walk through ten thousand rows."""
    return _styled(chart.to_dict(validate=False), height=height, **datasets)


def _styled(spec: Spec, *, height: int | None, **datasets: list[dict[str, Any]]) -> Spec:
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
            "width": 720,
        }
    spec["usermeta"] = {"rmwbench": {"facet": facet}}
    return spec
