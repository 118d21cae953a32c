"""Charts of a part of a figure: one panel each for published, corrected and measured, on the same
axes.

Colour stands for the middleware, as in every report; series of the same middleware (publish modes,
variants) differ in line or shade. A missing bar is marked, because a missing bar and a bar of
height zero are not the same.
"""

import json
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import altair as alt

from rmwbench.published.figures.drawn_figures import (
    DrawnPart,
    FigurePoint,
    MeasuredPoint,
    MeasuredPoints,
)
from rmwbench.published.figures.figures_file import FigureAxis, FigurePart
from rmwbench.report.chart import frame
from rmwbench.report.chart.frame import MUTED, TEXT
from rmwbench.report.chart.style import NEUTRAL, Spec, looks_of_middlewares

TITLES = {"published": "as published", "corrected": "as corrected"}
HEIGHT, SMALL_HEIGHT, EXPORT_WIDTH = 220, 74, 1040
_FEW = 60
"""Small multiples mark their points if they have at most this many."""
_LETTERS = 120
"""Category names are drawn level if all panels together have at most this many letters."""
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3])
_SHADES = (0.95, 0.6, 0.36, 0.22, 0.14)
_FAMILIES = (
    ("cyclone", "cyclonedds"),
    ("fast", "fastdds"),
    ("zenoh", "zenoh"),
    ("iceoryx", "iceoryx2"),
)
_HEAT = looks_of_middlewares(["zenoh"])["zenoh"].colour
Rows = list[dict[str, Any]]
Version = tuple[str, str, Sequence[FigurePoint]]
"""A version's name, its title and its points."""
_SAME = "published, and as corrected: the same"


def specs(drawn: DrawnPart, *, legend: bool = False) -> list[tuple[str, Spec]]:
    """Return (title, chart) of each chart of a part: one chart with a panel per version, or one
    chart per version if a version consists of small multiples. The list is empty if there is
    nothing to draw. A page writes its own legend (`legend_of`); a picture contains one."""
    versions = _versions(drawn)
    if not versions:
        return []
    part, styles = drawn.original, _styles(drawn, versions, legend)
    if part.columns:
        return [
            (title, _multiples(part, part.columns, points, versions, styles))
            for _, title, points in versions
        ]
    return [("", _panels(part, versions, styles))]


def legend_of(drawn: DrawnPart) -> list[dict[str, Any]]:
    """Return the series of a part with the light `colour`, the `dash` and the `shade` that they are
    drawn with. The list is empty if no legend is needed: for a single series that is the only one
    of the original, or for ten runs of one thing."""
    styles = _styles(drawn, _versions(drawn), False)
    chart = drawn.original.chart
    if (len(styles.names) < 2 and not styles.named) or chart == "heat" or styles.runs:
        return []
    line = chart in ("lines", "steps")
    return [
        {
            "name": name,
            "colour": colour,
            "dash": " ".join(map(str, dash)) if line else None,
            "shade": 1 if line else shade,
        }
        for name, colour, dash, shade in zip(
            styles.names, styles.colours, styles.dashes, styles.shades, strict=True
        )
    ]


def _versions(drawn: DrawnPart) -> list[Version]:
    """Return the versions that have a value; published and corrected become one if they are the
    same."""
    titles = TITLES | {"measured": _measured_title(drawn.measured)}
    versions = [
        (name, titles[name], version.points)
        for name, version in drawn.versions.items()
        if drawn.counts[name]
    ]
    names = [name for name, *_ in versions]
    if names[:2] == ["published", "corrected"] and _equals_published(drawn):
        versions[:2] = [("published", _SAME, versions[0][2])]
    return versions


def _measured_title(measured: MeasuredPoints) -> str:
    """Return `measured here`, or the machine on which the shipped values were measured."""
    if not any(campaign.shipped for campaign in measured.from_):
        return "measured here"
    machines = dict.fromkeys(str(campaign.machine).partition(",")[0] for campaign in measured.from_)
    return f"measured on {next(iter(machines))}" if len(machines) == 1 else "measured"


def _equals_published(drawn: DrawnPart) -> bool:
    pairs = zip(drawn.published.points, drawn.corrected.points, strict=True)
    return not drawn.corrected.changed and all((a.y is None) == (b.y is None) for a, b in pairs)


def _panels(part: FigurePart, versions: Sequence[Version], styles: "_Styles") -> Spec:
    rows = [
        _row(part, point) | {"v": place}
        for place, (_, _, points) in enumerate(versions)
        for point in points
        if part.chart != "lines" or point.y is not None
    ]
    titles = [title for _, title, _ in versions]
    layers = _layers(part, rows, versions, styles)
    height, resolve = HEIGHT, {}
    if part.chart == "heat":  # the measured middlewares may be others than the published ones
        height = 30 * max(1, len({row["s"] for row in rows}))
        resolve = {"scale": {"x": "independent", "y": "independent"}}
    elif part.chart == "stacked" and part.x.scale == "category" and not part.x.order:
        resolve = {"scale": {"x": "independent"}}
    elif part.chart == "bars":  # a panel's bars share its room among themselves
        resolve = {"scale": {"xOffset": "independent"}}
    spec = _facet(
        layers,
        titles,
        len(versions),
        height,
        {"labelFontWeight": 600, "labelFontSize": 12.5},
        resolve,
    )
    return _sized(spec, rows, {"wide": len(versions), "narrow": 1})


def _facet(
    layers: list[alt.Chart],
    titles: list[str],
    columns: int,
    height: int,
    header: Mapping[str, Any],
    resolve: Any = None,
) -> Spec:
    """Return a chart with a panel for each number `v`, headed by its title. It is put together here
    because Altair copies every layer several times on the way to a facet, which makes a page of a
    hundred charts slow."""
    label = {
        "labelExpr": f"{json.dumps(titles, ensure_ascii=False)}[datum.value]",
        "labelAnchor": "start",
        "labelColor": TEXT,
    }
    spec = {
        "$schema": alt.SCHEMA_URL,
        "data": {"name": "points"},
        "facet": {
            "field": "v",
            "type": "nominal",
            "title": None,
            "header": label | {"labelPadding": 3} | dict(header),
        },
        "columns": columns,
        "spacing": {"row": 14, "column": 12},
        "spec": {"height": height, "layer": [_plain(layer) for layer in layers]},
    }
    return spec | ({"resolve": resolve} if resolve else {})


def _plain(layer: alt.Chart) -> dict[str, Any]:
    document = layer.to_dict(validate=False)
    return {key: document[key] for key in ("mark", "encoding", "transform") if key in document}


def _multiples(
    part: FigurePart,
    columns: int,
    points: Sequence[FigurePoint],
    versions: Sequence[Version],
    styles: "_Styles",
) -> Spec:
    """Return the small multiples of one version, on axes that fit all versions."""
    panels = list(dict.fromkeys(str(point.panel) for point in points))
    rows = [
        _row(part, point) | {"v": panels.index(str(point.panel))}
        for point in points
        if point.y is not None
    ]
    layers = _layers(part, rows, versions, styles)
    spec = _facet(layers, panels, columns, SMALL_HEIGHT, {"labelFontSize": 11})
    return _sized(spec, rows, {"wide": columns, "narrow": 2})


def _sized(spec: Spec, rows: Rows, columns: dict[str, int]) -> Spec:
    spec = frame.styled(spec, height=None, points=rows)
    spec["usermeta"]["rmwbench"]["columns"] = columns
    spec["config"]["axis"] |= {"labelFontSize": 10.5}
    return spec


def _row(part: FigurePart, point: FigurePoint) -> dict[str, Any]:
    x: Any = point.x
    if part.x.positions:
        x = part.x.positions[x]
    elif part.x.scale != "category":
        x = float(x)
    row = {"s": point.series, "x": x, "y": _short(point.y), "at": point.x}
    if point.low is not None:
        row |= {"lo": _short(point.low), "hi": _short(point.high)}
    if point.note:
        row["note"] = point.note
    return row


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def _domain(part: FigurePart, points: Sequence[FigurePoint]) -> list[float] | None:
    """Return the range of the y axis: the original's limits, stretched so that the values of all
    versions fit."""
    ends = [point.y for point in points if point.y is not None]
    if not ends:
        return None
    # Bars of the original end where they end; a measured interval may run off the picture.
    ends += [
        end
        for point in points
        if not isinstance(point, MeasuredPoint)
        for end in (point.low, point.high)
        if end is not None
    ]
    limits = part.y.limits
    low, high = (
        (limits[0], max(limits[1], *ends)) if limits else (min(0.0, *ends), max(0.0, *ends) * 1.05)
    )
    return [low, high if high > low else low + 1]


def _layers(
    part: FigurePart, rows: Rows, versions: Sequence[Version], styles: "_Styles"
) -> list[Any]:
    draw = {"heat": _heat, "bars": _bars, "stacked": _stacked_bars}.get(part.chart, _lines)
    domain = _domain(part, [point for _, _, points in versions for point in points])
    return draw(part, rows, domain, styles)


class _Styles:
    """The colour, dash and shade of every series."""

    def __init__(
        self,
        names: list[str],
        middlewares: Mapping[str, str],
        plain: bool,
        legend: bool,
        named: bool,
    ):
        self.names, self.with_legend, self.named = names, legend, named
        self.runs = len(names) > 4 and all(name.startswith("run ") for name in names)
        families: dict[str, list[str]] = {}
        for name in names:
            families.setdefault(_family(name, middlewares), []).append(name)
        # An arm of ours looks like the first of its middleware in the original: they are in
        # different panels.
        places = {
            name: place
            for of_family in families.values()
            for is_ours in (True, False)
            for place, name in enumerate(x for x in of_family if (x in middlewares) is is_ours)
        }
        colours = {name: look.colour for name, look in looks_of_middlewares(families).items()}
        self.colours, self.dashes, self.shades = [], [], []
        for name in names:
            family = _family(name, middlewares)
            place = places[name]
            self.colours.append(colours[family])
            self.dashes.append(_DASHES[0] if plain else _DASHES[place % len(_DASHES)])
            earlier = list(families)[: list(families).index(family)]
            same_colour = sum(colours[other] == colours[family] for other in earlier)
            self.shades.append(_SHADES[(place + same_colour) % len(_SHADES)])

    def legend(self, symbol: str) -> Any:
        if (len(self.names) < 2 and not self.named) or not self.with_legend:
            return None
        return alt.Legend(
            orient="bottom",
            title=None,
            columns=3,
            symbolType=symbol,
            labelColor=TEXT,
            labelLimit=230,
            symbolSize=140,
        )

    def colour(self, symbol: str = "square") -> alt.Color:
        scale = alt.Scale(domain=self.names, range=self.colours)
        return alt.Color("s:O", scale=scale, legend=self.legend(symbol))

    def dash(self) -> alt.StrokeDash:
        scale = alt.Scale(domain=self.names, range=self.dashes)
        return alt.StrokeDash("s:O", scale=scale, legend=self.legend("stroke"))

    def shade(self) -> alt.Opacity:
        scale = alt.Scale(type="ordinal", domain=self.names, range=self.shades)
        return alt.Opacity("s:O", scale=scale, legend=self.legend("square"))


def _styles(drawn: DrawnPart, versions: Sequence[Version], legend: bool) -> _Styles:
    part = drawn.original
    all_points = [point for _, _, points in versions for point in points]
    present = list(dict.fromkeys(point.series for point in all_points))
    order = part.series or ()
    names = [*(n for n in order if n in present), *(n for n in present if n not in order)]
    middlewares = {
        point.series: point.middleware
        for point in all_points
        if isinstance(point, MeasuredPoint) and point.middleware and point.series == point.arm
    }
    # A single series needs a legend if nothing was published, since others may be measured later.
    named = not drawn.counts["published"]
    return _Styles(names, middlewares, bool(part.columns), legend, named)


def _family(name: str, middlewares: Mapping[str, str]) -> str:
    low = name.lower()
    for word, family in _FAMILIES:
        if word in low:
            return family
    return "run" if low.startswith("run ") else str(middlewares.get(name, name))


def _x(part: FigurePart, rows: Rows) -> alt.X:
    panels = 1 + max((row["v"] for row in rows), default=0)
    x = part.x
    title = None if part.columns else axis_title(x)
    if x.scale == "category":
        present = list(dict.fromkeys(row["x"] for row in rows))
        order = [c for c in x.order if c in present] if x.order else _ordered(present)
        order += [c for c in present if c not in order]
        long = max((len(str(c)) for c in order), default=0) * len(order) * min(panels, 3) > _LETTERS
        axis = alt.Axis(title=title, labelAngle=-40 if long else 0, labelLimit=130, grid=False)
        bands = part.chart in ("bars", "stacked")
        scale = alt.Scale(paddingInner=0.25, paddingOuter=0.12) if bands else alt.Undefined
        return alt.X("x:O", sort=order, axis=axis, scale=scale)
    if x.positions:
        names = {position: name for name, position in x.positions.items()}
        last = max(names)
        labelled = {p: n for p, n in names.items() if p != last or len(names) == 1}
        choices = (f"datum.value == {p} ? {json.dumps(n)} : " for p, n in labelled.items())
        axis = alt.Axis(
            title=title,
            values=list(labelled),
            labelExpr="".join(choices) + "''",
            labelAngle=-40,
            labelOverlap=False,
        )
    else:
        axis = alt.Axis(title=title, tickCount=5, labelOverlap="greedy")
    span: dict[str, Any] = (
        {"domain": x.limits} if x.limits else {"zero": False} if x.scale == "linear" else {}
    )
    scale = alt.Scale(type=x.scale, nice=False, **span)
    return alt.X("x:Q", scale=scale, axis=axis)


def axis_title(axis: FigureAxis) -> str:
    """Return the title of an axis, with its unit."""
    unit = axis.unit
    return f"{axis.title}, {unit}" if unit and unit not in axis.title else axis.title


def _ordered(present: list[Any]) -> list[Any]:
    try:
        return sorted(present, key=float)
    except ValueError:
        return present


def _y(part: FigurePart, domain: list[float] | None) -> alt.Y:
    y = part.y
    title = None if part.columns else axis_title(y)
    span: dict[str, Any] = {"type": y.scale} | ({"domain": domain} if domain else {})
    scale = alt.Scale(nice=False, **span)
    return alt.Y("y:Q", scale=scale, axis=frame.axis(title=title, tickCount=5, format=",.4~r"))


def _tips(part: FigurePart) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("s:N", title="series"),
        alt.Tooltip("at:N", title=part.x.title),
        alt.Tooltip("y:Q", title=part.y.unit or part.y.title, format=".5~g"),
    ]


def _lines(part: FigurePart, rows: Rows, domain: list[float] | None, styles: _Styles) -> list[Any]:
    x, y = _x(part, rows), _y(part, domain)
    steps = part.chart == "steps"
    many = len(rows) > 300 or bool(part.columns)
    mark: dict[str, Any] = {"strokeWidth": 1.5 if many else 1.8, "clip": True} | (
        {"interpolate": "step-after"} if steps else {}
    )
    line = alt.Chart().mark_line(**mark, opacity=0.75 if styles.runs else 1)
    encoded: dict[str, Any] = {"x": x, "y": y, "tooltip": _tips(part)}
    if styles.runs:  # ten runs of one thing are not ten things: one colour, no legend
        return [
            line.encode(
                **encoded, detail=alt.Detail("s:N"), color=alt.ColorValue(styles.colours[0])
            )
        ]
    layers = [line.encode(**encoded, color=styles.colour("stroke"), strokeDash=styles.dash())]
    if any("lo" in row for row in rows):
        rule = _interval_rule(strokeWidth=1.2, opacity=0.7)
        layers.append(
            rule.encode(x=x, y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q"), color=styles.colour("stroke"))
        )
    if not steps and (not many or len(rows) <= _FEW):  # a line of one point cannot be seen
        limits = part.x.limits
        inside = not limits or all(limits[0] <= row["x"] <= limits[1] for row in rows)
        dot = alt.Chart().mark_circle(size=34, opacity=1, clip=not inside)
        layers.append(dot.encode(**encoded, color=styles.colour("stroke")))
    return layers


def _interval_rule(**mark: Any) -> alt.Chart:
    rule: alt.Chart = alt.Chart().transform_filter("isValid(datum.lo)").mark_rule(**mark, clip=True)
    return rule


def _bars(part: FigurePart, rows: Rows, domain: list[float] | None, styles: _Styles) -> list[Any]:
    x, y = _x(part, rows), _y(part, domain)
    offset = alt.XOffset("s:N", sort=styles.names, scale=alt.Scale(paddingInner=0.08))
    base = domain[0] if domain else 0
    bar = alt.Chart().transform_filter("isValid(datum.y)").mark_bar(clip=True)
    encoded: dict[str, Any] = {"x": x, "xOffset": offset, "tooltip": _tips(part)}
    colour, shade = styles.colour(), styles.shade()
    layers = [bar.encode(**encoded, y=y, y2=alt.Y2Datum(base), color=colour, opacity=shade)]
    if any("lo" in row for row in rows):
        rule = _interval_rule(strokeWidth=1, color=MUTED)
        layers.append(rule.encode(x=x, xOffset=offset, y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q")))
    if any(row["y"] is None for row in rows):
        cross = (
            alt.Chart()
            .transform_filter("!isValid(datum.y)")
            .mark_text(text="×", fontSize=10, color=NEUTRAL["lost"][0], baseline="bottom")
        )
        note = [alt.Tooltip("s:N", title="series"), alt.Tooltip("note:N", title="no value")]
        layers.append(cross.encode(x=x, xOffset=offset, y=alt.YDatum(base), tooltip=note))
    return layers


def _stacked_bars(
    part: FigurePart, rows: Rows, domain: list[float] | None, styles: _Styles
) -> list[Any]:
    sums: dict[Any, float] = {}
    for row in rows:
        sums[row["v"], row["x"]] = sums.get((row["v"], row["x"]), 0.0) + (row["y"] or 0.0)
    most = (part.y.limits or (0.0, 0.0))[1]
    y = _y(part, [0.0, max(most, 1.05 * max(sums.values(), default=1.0))])
    y["stack"] = "zero"
    place = {name: n for n, name in enumerate(styles.names)}
    for row in rows:
        row["o"] = place[row["s"]]
    bar = alt.Chart().mark_bar(clip=True, stroke=NEUTRAL["surface"][0], strokeWidth=0.6)
    return [
        bar.encode(
            x=_x(part, rows),
            y=y,
            order=alt.Order("o:Q"),
            color=styles.colour(),
            opacity=styles.shade(),
            tooltip=_tips(part),
        )
    ]


def _heat(part: FigurePart, rows: Rows, domain: list[float] | None, styles: _Styles) -> list[Any]:
    """Return a chart that writes each value over a square, darker for a larger value; all panels
    share the shades."""
    x = _x(part, rows)
    x["axis"]["labelAngle"] = -40
    y = alt.Y("s:N", title=None, sort=styles.names, axis=alt.Axis(grid=False, labelLimit=120))
    values = [row["y"] for row in rows if row["y"] is not None]
    reach = [min(values, default=0.0), max(values, default=1.0)]
    shade = alt.FillOpacity("y:Q", scale=alt.Scale(domain=reach, range=[0.08, 0.6]), legend=None)
    square = (
        alt.Chart().mark_rect(fill=_HEAT).encode(x=x, y=y, fillOpacity=shade, tooltip=_tips(part))
    )
    number = (
        alt.Chart()
        .mark_text(fontSize=10.5, color=TEXT)
        .encode(x=x, y=y, text=alt.Text("y:Q", format=".3~g"))
    )
    return [square, number]


def for_export(spec: Spec, title: str, card: list[str]) -> Spec:
    """Return the chart for use outside a page: with its title and the origin of its numbers."""
    columns = spec["usermeta"]["rmwbench"]["columns"]["wide"]
    out = frame.with_card(spec, title, card)
    out["columns"] = columns
    out["spec"] = {**spec["spec"], "width": max(60, ceil(EXPORT_WIDTH / columns) - 60)}
    return out
