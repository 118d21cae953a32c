"""The charts as Vega-Lite specifications: one source for the page, SVG and PNG.

Lines have their labels beside them instead of a legend; the places of labels are computed here,
because Vega-Lite has no layout for labels. A chart without data is None."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, inf, log
from typing import Any

import altair as alt

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.report.chart import frame
from rmwbench.report.chart.frame import LOST, MUTED, SURFACE
from rmwbench.report.chart.style import FLOOR, LineStyle, Spec, looks
from rmwbench.results.answer import level_sentences
from rmwbench.results.show_model import Delivered, Levels, Part, WorkloadAnswer, WorkloadArm
from rmwbench.words import numbers as fmt

Numbers = Sequence[float | None]

_LINE_HEIGHT, _LEVELS_HEIGHT = 300, 260
_PANEL_HEIGHT, _RATES_HEIGHT = 54, 72
_LABEL_GAP = 15  # px between the centres of two labels
# px: a letter of a label, the plot of the smallest page that labels its curves
_LETTER, _LABELLED_WIDTH = 7.1, 380
_DOTS: dict[str, Any] = {"size": 60, "opacity": 1, "filled": True}
_GREY = LineStyle(*FLOOR, hollow=False, dash=())
"""The look of a line whose arm no workload of the report has."""

HELPERS = "daemons and helpers"
_OPACITIES = {"subscription": 0.45, HELPERS: 0.2}  # of parts of a stacked bar; others are dark


def comparison(
    part: Part,
    title: str = "response latency, median",
    *,
    narrow: bool = False,
    metric: str | None = None,
) -> Spec | None:
    """Draw a metric (the primary metric by default) with its interval per arm on a log axis, best
    first, and multiples of the floor along the top, unless families have floors of their own."""
    metric = metric or part.primary_metric
    units = (entry.unit for arm in part.arms if (entry := arm.metrics.get(metric)) is not None)
    label = next((frame.LABELS[unit] for unit in units if unit in frame.LABELS), frame.PLAIN_LABEL)
    rows = frame.rows_of(part, metric)
    cost = words(metric).as_lower_is_better
    rows.sort(
        key=lambda row: (not row["floor"], inf if row["value"] is None else cost(row["value"]))
    )
    ends = [row[key] for row in rows for key in ("low", "high")]
    extent = frame.log_range([row["value"] for row in rows], ends)
    if extent is None:
        return None
    # the first floor of a family is that of its ratios
    first_floors = {arm.family: arm.arm for arm in reversed(part.arms) if arm.role == "floor"}
    floors = [row["value"] for row in rows if row["arm"] in first_floors.values() and row["value"]]
    for row in rows:  # an interval without upper end runs off the picture, it does not vanish
        if row["endless"]:
            row["high"] = extent.high
    extent.put(rows, "value", "low", "high")
    scale = extent.scale()
    y = frame.by_arm(rows, narrow)
    axis = extent.axis(f"{title} (log axis)", label=label)
    layers = dots(
        alt.X("low:Q", scale=scale, axis=axis),
        alt.X("value:Q", scale=scale, axis=None),
        y,
        narrow,
    )
    if floors:
        layers.insert(0, _floor_lines(floors, extent.ends, scale))
    return frame.finish(
        alt.layer(*layers).resolve_axis(x="independent"),
        height=frame.rows_height(rows, narrow),
        rows=rows,
    )


def dots(interval: alt.X, value: alt.X, y: alt.Y, narrow: bool) -> list[alt.Chart]:
    """Return the layers of a chart of `frame.rows_of`: each interval as a line, its value as a dot
    and as a number beside the dot."""
    base = alt.Chart(frame.ROWS)
    lines = base.mark_rule(strokeWidth=2.5, opacity=0.55, clip=True).transform_filter(
        frame.HAS_INTERVAL
    )
    points = base.mark_point(size=95, strokeWidth=2, opacity=1)
    return [
        lines.encode(x=interval, x2=alt.X2("high:Q"), y=y, color=frame.literal("colour")),
        points.transform_filter("isValid(datum.value)").encode(
            x=value,
            y=y,
            color=frame.literal("colour"),
            fill=frame.literal("fill"),
            shape=alt.Shape("shape:N", scale=None),
            tooltip=frame.TOOLTIP,
        ),
        *frame.values_beside(base, y, narrow),
    ]


def ecdf(part: Part, *, narrow: bool = False) -> Spec | None:
    """Draw the share of messages that arrived within a time. Where a curve stays below 100 %, the
    other messages did not arrive."""
    curves = _curves(part, ((e.arm, e.latency_ns, e.fraction) for e in part.charts.ecdf))
    if (extent := _extent(curves)) is None:
        return None
    points = _rows(curves, lambda p: {"latency": p["latency"], "share": p["other"]})
    # Labels are on their curves at staggered heights, the faster half to the left, so that no label
    # hides another and the outermost labels use the free sides of the picture. Left of 0 there is
    # no room.
    ordered = sorted(curves, key=lambda curve: _latency_at(curve["points"], 0.5))
    labels = []
    for place, curve in enumerate(ordered):
        share = min(0.94 - 0.88 * (place + 0.5) / len(ordered), curve["points"][-1]["other"])
        labels.append(
            {
                "arm": curve["arm"],
                "latency": _latency_at(curve["points"], share),
                "share": share,
                "left": not extent.zero and place < len(ordered) / 2,
                "colour": curve["look"].colour,
            }
        )
    if not narrow:
        extent = _with_room(extent, labels)
    x = alt.X("latency:Q", scale=extent.scale(), axis=extent.axis("arrived within (log axis)"))
    y = alt.Y(
        "share:Q",
        scale=alt.Scale(domain=[0, 1]),
        axis=frame.axis(title="share of messages", format=".0%", tickCount=5),
    )
    lines = _lines(curves, x, y, "share:Q", narrow)
    if narrow:
        return frame.finish(lines, height=_LINE_HEIGHT, points=points)
    layers = [lines]
    for left in (True, False):
        chart = frame.chart_of([label for label in labels if label["left"] is left])
        align, dx = ("right", -7) if left else ("left", 7)
        layers += _outlined_names(chart, x, alt.Y("share:Q"), align=align, dx=dx)
    return frame.finish(alt.layer(*layers), height=_LINE_HEIGHT, points=points)


def spectrum(part: Part, title: str = "response latency", *, narrow: bool = False) -> Spec | None:
    """Draw the latency at every percentile, with the tail spread out: each step to the right is ten
    times rarer."""
    curves = _curves(part, ((s.arm, s.latency_ns, s.quantile) for s in part.charts.spectrum))
    for curve in curves:
        curve["points"] = [
            p | {"rarity": 1 / (1 - p["other"])} for p in curve["points"] if p["other"] < 1
        ]
    curves = [curve for curve in curves if curve["points"]]
    if (extent := _extent(curves)) is None:
        return None
    never = _first_infinite(curves, part)
    rarities = [point["rarity"] for curve in curves for point in curve["points"]]
    end = max([*rarities, *(mark["rarity"] for mark in never)]) * 1.02
    points = _rows(curves, lambda p: {"latency": p["latency"], "rarity": p["rarity"]})
    x = alt.X(
        "rarity:Q",
        scale=alt.Scale(type="log", domain=[1, end], nice=False),
        axis=frame.axis(
            title="percentile (each step ten times rarer)",
            values=[rarity for rarity in (2, 10, 100, 1e3, 1e4, 1e5, 1e6) if rarity <= end],
            labelExpr="format(100 - 100 / datum.value, '.6~g') + ' %'",
        ),
    )
    y = alt.Y("latency:Q", scale=extent.scale(), axis=extent.axis(f"{title} (log axis)"))
    layers: list[alt.Chart] = [_lines(curves, x, y, "rarity:Q", narrow)]
    if never:  # Vega warns of a layer without a row, and a page has no warnings
        layers.append(
            alt.Chart(alt.NamedData(name="never"))
            .mark_rule(color=LOST, strokeWidth=1.5, strokeDash=[4, 3])
            .encode(
                x=x,
                y=y,
                y2=frame.fixed(alt.Y2Value, 0),
                tooltip=frame.tooltip(arm="arm", shown="value"),
            )
        )
    datasets = {"points": points} | ({"never": never} if never else {})
    if narrow:
        return frame.finish(alt.layer(*layers), height=_LINE_HEIGHT, **datasets)
    layers += _names_at_ends(curves, extent.ends, x, y)
    return frame.finish(alt.layer(*layers), height=_LINE_HEIGHT, **datasets)


def _names_at_ends(
    curves: list[dict[str, Any]], domain: list[float], x: alt.X, y: alt.Y
) -> list[alt.Chart]:
    """Return the layers with the name of each curve at the right of the picture, and a line to the
    curve's end."""
    ends = [
        curve["points"][-1] | {"arm": curve["arm"], "colour": curve["look"].colour}
        for curve in curves
    ]
    ends.sort(key=lambda end: end["latency"])
    places = _spread([end["latency"] for end in ends], domain, _LINE_HEIGHT)
    for end, place in zip(ends, places, strict=True):
        end["place"] = place
    chart = frame.chart_of(ends)
    return [
        chart.mark_rule(opacity=0.45, strokeWidth=1).encode(
            x=x,
            x2=frame.fixed(alt.X2Value, alt.ExprRef("width + 14")),
            y=y,
            y2=alt.Y2("place:Q"),
            color=frame.literal("colour"),
        ),
        chart.mark_text(align="left", fontSize=12, fontWeight=600).encode(
            x=frame.fixed(alt.XValue, alt.ExprRef("width + 18")),
            y=alt.Y("place:Q"),
            text=alt.Text("arm:N"),
            color=frame.literal("colour"),
        ),
    ]


def _first_infinite(curves: list[dict[str, Any]], part: Part) -> list[dict[str, Any]]:
    """Return the first percentile of each curve that messages without arrival reach, at the latency
    at which the curve ends."""
    spectra = {spectrum.arm: spectrum for spectrum in part.charts.spectrum}
    rows = []
    for curve in curves:
        spectrum = spectra[curve["arm"]]
        pairs = zip(spectrum.quantile, spectrum.latency_ns, strict=True)
        first = next((q for q, ns in pairs if q is not None and fmt.finite(ns) is None), 1.0)
        if first < 1:
            rows.append(
                {
                    "arm": curve["arm"],
                    "rarity": 1 / (1 - first),
                    "latency": curve["points"][-1]["latency"],
                    "shown": f"never arrived from {fmt.percent(first, 3)} on",
                }
            )
    return rows


def series(part: Part) -> Spec | None:
    """Draw the messages of one trial per arm over time, a panel per arm on one log axis; lost
    messages are marks at the top edge."""
    arms = looks(part.arms)
    panels = [arm for arm in part.charts.series if arm.arm in arms and arm.latency_ns]
    values: list[dict[str, Any]] = [
        {"n": panel, "t": t, "y": None if ns is None else float(f"{ns:.4g}")}
        for panel, arm in enumerate(panels)
        for t, ns in zip(arm.time_s, map(fmt.finite, arm.latency_ns), strict=True)
    ]
    extent = frame.log_range([value["y"] for value in values])
    if extent is None:
        return None
    extent.put(values, "y")
    few = max(len(arm.latency_ns) for arm in panels) < 100
    x = alt.X("t:Q", axis=frame.axis(title="time in the trial, s", tickCount=5))
    y = alt.Y("y:Q", scale=extent.scale(), axis=extent.axis(None, most=4, apart=0.3))
    arrived = (
        alt.Chart()
        .transform_filter("datum.y != null")
        .mark_circle(size=30 if few else 9, opacity=0.75)
        .encode(x=x, y=y, color=_panel_colour([arms[arm.arm] for arm in panels]))
    )
    lost = (
        alt.Chart()
        .transform_filter("datum.y == null")
        .mark_tick(orient="vertical", thickness=1.5, size=9, color=LOST)
        .encode(x=x, y=frame.fixed(alt.YValue, 5))
    )
    layers = [arrived, lost] if any(value["y"] is None for value in values) else [arrived]
    names = [f"{arm.arm}, trial {arm.trial}" for arm in panels]
    return frame.finish(frame.panels(layers, names, _PANEL_HEIGHT), height=None, points=values)


def _panel_colour(styles: Sequence[LineStyle]) -> alt.Color:
    """Return the colour of each panel by its number `n`."""
    colours = [style.colour for style in styles]
    scale = alt.Scale(domain=list(range(len(colours))), range=colours)
    return alt.Color("n:N", scale=scale, legend=None)


def fate(part: Part, metric: str, title: str, *, narrow: bool = False) -> Spec | None:
    """Draw a share of messages that did not arrive, with its interval; None where the share is 0
    for all arms (a sentence says that better). `title` is that of the axis."""
    rows = frame.rows_of(part, metric)
    if not any(row["value"] for row in rows):
        return None
    top = min(1.0, 1.08 * max(max(row["high"] or 0, row["value"] or 0) for row in rows))
    y = frame.by_arm(rows, narrow)
    base = alt.Chart(frame.ROWS)
    layers = [
        base.mark_bar(height=11, strokeWidth=1.5, clip=True)
        .transform_filter("isValid(datum.value) && datum.value > 0")
        .encode(
            x=alt.X(
                "value:Q",
                scale=alt.Scale(domain=[0, top], nice=False),
                axis=frame.axis(title=title, format=".2~%", tickCount=5),
            ),
            y=y,
            fill=frame.literal("fill"),
            stroke=frame.literal("colour"),
        ),
        base.mark_rule(strokeWidth=1.5, color=MUTED, clip=True)
        .transform_filter(frame.HAS_INTERVAL)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y),
        *frame.values_beside(base, y, narrow),
    ]
    return frame.finish(alt.layer(*layers), height=frame.rows_height(rows, narrow), rows=rows)


def parts(
    workload: WorkloadAnswer,
    split: Callable[[WorkloadArm], Mapping[str, float]],
    total: str,
    title: str,
    *,
    narrow: bool = False,
) -> Spec | None:
    """Draw a stacked bar per arm: `split` gives the parts of an arm that has the metric `total`.
    The parts add up to `total` and are stacked in their order; `total` is printed beside the
    bar."""
    values = [row for arm in workload.arms for row in _parts(arm, split, total)]
    if not values:
        return None
    arms = looks(workload.arms)
    for value in values:
        value["colour"] = arms[value["arm"]].colour
    rows = frame.rows_of(workload, total)
    y = frame.by_arm(rows, narrow)
    axis = frame.axis(title=title, labelExpr=frame.LABELS[GLOSSARY[total].unit], tickCount=4)
    bars = (
        alt.Chart(frame.PARTS)
        .mark_bar(height=12)
        .encode(
            x=alt.X("value:Q", stack="zero", axis=axis),
            y=y,
            order=alt.Order("place:O"),
            color=frame.literal("colour"),
            opacity=alt.Opacity("opacity:Q", scale=None),
            tooltip=frame.tooltip(arm="arm", part="part", shown="value"),
        )
    )
    return frame.finish_bars([bars], y, rows, values, narrow)


def _parts(
    arm: WorkloadArm, split: Callable[[WorkloadArm], Mapping[str, float]], total: str
) -> Iterator[dict[str, Any]]:
    if fmt.finite(arm.value(total)) is None:
        return
    for place, (part, value) in enumerate(split(arm).items()):
        yield {
            "arm": arm.arm,
            "part": part,
            "place": place,
            "value": value,
            "shown": fmt.quantity(value, GLOSSARY[total].unit),
            "opacity": _OPACITIES.get(part, 0.9),
        }


def delivered(workload: WorkloadAnswer) -> Spec | None:
    """Draw a panel per arm on common axes: the mean over trials as a thick line, each trial as a
    thin line, the messages due as a dashed line, outages as shaded bands. None where no trial has
    its messages by stream."""
    arms = looks(workload.arms)
    panels = [arm for arm in workload.charts.delivered if arm.arm in arms]
    if not panels:
        return None
    rows = [row for panel, arm in enumerate(panels) for row in _rates(panel, arm)]
    outages = [row for panel, arm in enumerate(panels) for row in _outage_rows(panel, arm)]
    colour = _panel_colour([arms[arm.arm] for arm in panels])
    x = alt.X(
        "t:Q",
        scale=alt.Scale(nice=False),
        axis=frame.axis(title="time in the steady state, s", tickCount=6),
    )
    y = alt.Y("y:Q", axis=frame.axis(title=None, tickCount=3, format="~s"))
    tooltip = [
        alt.Tooltip("line:N", title="line"),
        alt.Tooltip("y:Q", title="per second", format=".4~s"),
    ]
    step: dict[str, Any] = {"interpolate": "step-after", "clip": True}
    layers = [
        *_shades(outages, x),
        _of_kind("trial")
        .mark_line(strokeWidth=0.8, opacity=0.35, **step)
        .encode(x=x, y=y, color=colour, detail=alt.Detail("line:N")),
        _of_kind("due")
        .mark_line(strokeWidth=1, strokeDash=[3, 3], color=MUTED, **step)
        .encode(x=x, y=y, tooltip=tooltip),
        _of_kind("mean")
        .mark_line(strokeWidth=2, **step)
        .encode(x=x, y=y, color=colour, tooltip=tooltip),
    ]
    chart = frame.panels(layers, [arm.arm for arm in panels], _RATES_HEIGHT)
    return frame.finish(chart, height=None, points=[*rows, *outages])


def _of_kind(kind: str) -> alt.Chart:
    chart: alt.Chart = alt.Chart().transform_filter(f"datum.kind == '{kind}'")
    return chart


def _rates(panel: int, arm: Delivered) -> Iterator[dict[str, Any]]:
    """Yield the rows of the steps of each line of an arm."""
    lines = [("due", "due", arm.wanted_hz), ("mean", "mean", arm.rate_hz)]
    lines += [(f"trial {trial.trial}", "trial", trial.rate_hz) for trial in arm.trials]
    for line, kind, rates in lines:
        for t, y in zip(_edges(arm), [*rates, rates[-1]], strict=True):
            point = {"t": round(t, 6), "y": float(f"{y:.6g}")}
            yield {"n": panel, "line": line, "kind": kind} | point


def _outage_rows(panel: int, arm: Delivered) -> Iterator[dict[str, Any]]:
    """Yield a row for each outage of an arm; an outage that is too short for a band is a
    `moment`."""
    for outage in arm.outages:
        end = round(_edges(arm)[-1], 6) if outage.end_s is None else outage.end_s
        span = {"t": outage.begin_s, "t2": end, "text": outage.text}
        moment = end - outage.begin_s < arm.bin_s / 4
        yield {"n": panel, "kind": "outage", **span, "moment": moment}


def _edges(arm: Delivered) -> list[float]:
    half = arm.bin_s / 2
    return [*(time - half for time in arm.time_s), arm.time_s[-1] + half]


def _shades(outages: list[dict[str, Any]], x: alt.X) -> Iterator[alt.Chart]:
    """Yield the layers of bands and of moments that have rows: Vega warns of a layer without
    rows."""
    chart, tip = _of_kind("outage"), frame.tooltip(text="interrupted")
    if any(not row["moment"] for row in outages):
        band = chart.transform_filter("!datum.moment").mark_rect(color=MUTED, opacity=0.16)
        yield band.encode(x=x, x2=alt.X2("t2:Q"), tooltip=tip)
    if any(row["moment"] for row in outages):
        moment = chart.transform_filter("datum.moment").mark_rule(color=MUTED, strokeWidth=2)
        yield moment.encode(x=x, tooltip=tip)


def up(workload: WorkloadAnswer) -> Spec | None:
    """Draw the number of active nodes over time as a stepped curve per arm; None where no trial
    brought up a node."""
    arms = looks(workload.arms)
    curves = [arm for arm in workload.charts.up if arm.arm in arms]
    if not curves:
        return None
    end_s = max(arm.time_s[-1] for arm in curves) * 1.03
    points = [
        {"arm": arm.arm, "t": t, "y": y}
        for arm in curves
        for t, y in zip([*arm.time_s, end_s], [*arm.active, arm.active[-1]], strict=True)
    ]
    colour, dash = frame.strokes({arm.arm: arms[arm.arm] for arm in curves}, frame.legend_below(2))
    lines = (
        alt.Chart(alt.NamedData("points"))
        .mark_line(strokeWidth=2, interpolate="step-after")
        .encode(
            x=alt.X(
                "t:Q",
                scale=alt.Scale(nice=False),
                axis=frame.axis(title="time since the launch, s"),
            ),
            y=alt.Y("y:Q", axis=frame.axis(title="active nodes", tickCount=5)),
            order=alt.Order("t:Q"),
            color=colour,
            strokeDash=dash,
        )
    )
    nodes = max(arm.nodes for arm in curves)
    whole = (
        alt.Chart(alt.NamedData("whole"))
        .mark_rule(strokeDash=[3, 3], color=MUTED)
        .encode(y=alt.Y("y:Q"))
    )
    return frame.finish(
        alt.layer(whole, lines), height=_LINE_HEIGHT, points=points, whole=[{"y": nodes}]
    )


def along(ladders: Sequence[Levels], looks: Mapping[str, LineStyle], title: str) -> Spec | None:
    """Draw the ladders of one factor, which have the same levels; None where fewer than two levels
    have a value. A line ends at a level without a value: a cross at the top edge marks a level at
    which messages never arrived, and `no data` at the foot a level without data."""
    rows = [row for number, ladder in enumerate(ladders) for row in _levels(number, ladder)]
    with_value = [row for row in rows if row["value"] is not None]
    ends = [row[key] for row in with_value for key in ("low", "high")]
    extent = frame.log_range([row["value"] for row in with_value], ends)
    if extent is None or len({row["level"] for row in with_value}) < 2:
        return None
    if any(row["state"] == "never" for row in rows):
        extent = extent.with_room()
    extent.put(with_value, "value", "low", "high")
    unit = next(entry.unit for entry in ladders[0].values[ladders[0].primary_metric])
    scale = extent.scale()
    label = frame.LABELS.get(unit, frame.PLAIN_LABEL)
    x = alt.X(
        "level:N",
        scale=alt.Scale(domain=level_sentences.names(ladders[0])),
        axis=frame.axis(title=None, labelAngle=0, grid=False),
    )
    y = alt.Y("value:Q", scale=scale, axis=extent.axis(f"{title} (log)", label=label))
    styles = {level_sentences.title(ladder): looks.get(ladder.arm, _GREY) for ladder in ladders}
    key = None
    if len(styles) > 1:
        key = alt.Legend(title=None, orient="top", symbolType="stroke", symbolOpacity=1)
    colour, dash = frame.strokes(styles, key, "line:N")
    base = alt.Chart(frame.ROWS)
    layers = [
        base.mark_line(strokeWidth=2).encode(
            x=x, y=y, color=colour, strokeDash=dash, order=alt.Order("place:Q")
        ),
        base.mark_rule(strokeWidth=2.5, opacity=0.5, clip=True)
        .transform_filter(frame.HAS_INTERVAL)
        .encode(x=x, y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q"), color=colour),
        base.mark_point(**_DOTS)
        .transform_filter("isValid(datum.value)")
        .encode(
            x=x,
            y=y,
            color=colour,
            shape=alt.Shape("shape:N", scale=None),
            tooltip=frame.TOOLTIP,
        ),
        *_levels_without_value(rows, len(ladders), x, colour),
    ]
    return frame.finish(alt.layer(*layers), height=_LEVELS_HEIGHT, rows=rows)


def _levels_without_value(
    rows: list[dict[str, Any]], lines: int, x: alt.X, colour: alt.Color
) -> Iterator[alt.Chart]:
    """Yield crosses at the top edge, side by side where several lines have a cross at a level, and
    `no data` at the foot."""
    top = frame.fixed(alt.YValue, 7)
    for row in (row for row in rows if row["state"] == "never"):
        aside = 11 * (row["n"] - (lines - 1) / 2)
        mark = frame.chart_of([row]).mark_point(**_DOTS, shape="cross", xOffset=aside)
        yield mark.encode(x=x, y=top, color=colour, tooltip=frame.TOOLTIP)
    for place, row in enumerate(row for row in rows if row["state"] == "absent"):
        foot = frame.fixed(alt.YValue, _LEVELS_HEIGHT - 8 - 13 * place)
        text = frame.chart_of([row]).mark_text(fontSize=11).encode(text="shown:N")
        yield text.encode(x=x, y=foot, color=colour, tooltip=frame.TOOLTIP)


def _levels(number: int, ladder: Levels) -> Iterator[dict[str, Any]]:
    """Yield the row of each level of a ladder that has its primary metric."""
    line = level_sentences.title(ladder)
    values = ladder.values.get(ladder.primary_metric, ())
    pairs = zip(level_sentences.names(ladder), values, strict=False)
    for place, (name, entry) in enumerate(pairs):
        shown = fmt.metric(entry)
        bound, exact = fmt.finite(entry.at_least), fmt.finite(entry.value)
        value = exact if bound is None else bound
        yield {
            "n": number,
            "line": line,
            "arm": f"{line}, {name}",
            "level": name,
            "place": place,
            "state": shown.state,
            "value": value,
            "shape": frame.shape_of(value) if bound is None else "triangle-up",
            "low": None if value is None else fmt.finite(entry.low),
            "high": None if value is None else fmt.finite(entry.high),
            "shown": shown.text,
            "interval": shown.interval,
        }


def _curves(part: Part, rows: Iterable[tuple[str, Numbers, Numbers]]) -> list[dict[str, Any]]:
    """Return the curve of each arm, with its `look` and its finite points as {latency, other}. Each
    of `rows` is (arm, latencies in ns, other coordinates)."""
    arms = looks(part.arms)
    curves = []
    for arm, latency_ns, other in rows:
        pairs = zip(map(fmt.finite, latency_ns), other, strict=True)
        points = [{"latency": ns, "other": q} for ns, q in pairs if ns is not None]
        if points and arm in arms:
            curves.append({"arm": arm, "look": arms[arm], "points": points})
    return curves


def _extent(curves: Sequence[dict[str, Any]]) -> frame.LogRange | None:
    """Return the range of the points' latencies, and move points outside it to its ends."""
    points = [point for curve in curves for point in curve["points"]]
    extent = frame.log_range(point["latency"] for point in points)
    if extent is not None:
        extent.put(points, "latency")
    return extent


def _rows(
    curves: list[dict[str, Any]], row: Callable[[dict[str, Any]], dict[str, Any]]
) -> list[dict[str, Any]]:
    return [{"arm": curve["arm"]} | row(point) for curve in curves for point in curve["points"]]


def _lines(curves: list[dict[str, Any]], x: alt.X, y: alt.Y, order: str, legend: bool) -> alt.Chart:
    styles = {curve["arm"]: curve["look"] for curve in curves}
    colour, dash = frame.strokes(styles, frame.legend_below(2) if legend else None)
    lines: alt.Chart = (
        alt.Chart(frame.POINTS)
        .mark_line(strokeWidth=1.8)
        .encode(
            x=x,
            y=y,
            order=order,
            color=colour,
            strokeDash=dash,
            tooltip=frame.tooltip(arm="arm"),
        )
    )
    return lines


def _outlined_names(chart: alt.Chart, x: alt.X, y: alt.Y, **mark: Any) -> list[alt.Chart]:
    """Return the layers of the arms' names in their colours. An outline in the colour of the page
    keeps a name legible where it crosses other curves."""
    mark |= {"baseline": "middle", "fontSize": 12, "fontWeight": 600}
    outline = chart.mark_text(stroke=SURFACE, strokeWidth=4, strokeJoin="round", **mark)
    return [
        outline.encode(x=x, y=y, text=alt.Text("arm:N")),
        chart.mark_text(**mark).encode(
            x=x, y=y, text=alt.Text("arm:N"), color=frame.literal("colour")
        ),
    ]


def _floor_lines(bounds: list[float], domain: list[float], scale: alt.Scale) -> alt.Chart:
    """Draw a line at the floor of each family, and along the top the axis of its multiples if there
    is one floor."""
    rule: alt.Chart = frame.chart_of([{"value": bound} for bound in bounds]).mark_rule(
        strokeDash=[2, 3], strokeWidth=1, color=MUTED
    )
    if len(bounds) > 1:
        return rule.encode(x=alt.X("value:Q", scale=scale, axis=None))
    bound = bounds[0]
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
    top = frame.axis(
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
    return rule.encode(x=alt.X("value:Q", scale=scale, axis=top))


def _latency_at(points: list[dict[str, float]], share: float) -> float:
    """Return the latency at which a curve passes `share`, interpolated between its points; that of
    its last point where it stays below `share`."""
    for before, after in pairwise(points):
        if after["other"] >= share:
            width = after["other"] - before["other"]
            part = min(1.0, max(0.0, (share - before["other"]) / width)) if width else 1.0
            return float(before["latency"] * (after["latency"] / before["latency"]) ** part)
    return points[-1]["latency"]


def _with_room(extent: frame.LogRange, labels: list[dict[str, Any]]) -> frame.LogRange:
    """Return the range, widened until the labels stay inside a picture of the smallest width that
    has labels."""
    low, high = log(extent.edge), log(extent.high)
    for label in labels:
        share = min(0.6, (len(label["arm"]) * _LETTER + 12) / _LABELLED_WIDTH)
        at = log(label["latency"])
        if label["left"]:
            low = min(low, (at - share * high) / (1 - share))
        else:
            high = max(high, (at - share * low) / (1 - share))
    if extent.zero:
        return replace(extent, high=exp(high))
    return replace(extent, low=exp(low), edge=exp(low), high=exp(high))


def _spread(values: list[float], domain: list[float], height: float) -> list[float]:
    """Return the places of labels for ascending values on a log axis: at least `_LABEL_GAP` px
    apart, and as near to their values as possible."""
    scale = height / log(domain[1] / domain[0])
    # A group is (the centre of its labels' own places, the number of labels); groups that touch
    # merge.
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
