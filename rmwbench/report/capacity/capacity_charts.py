"""Three pictures of a capacity search: the capacities with their intervals, latency against load
for all arms, and loss against load.

In the second picture, a line shows an arm's median and points above it the limit's percentile. A
horizontal line is the limit. A vertical line marks each arm's capacity, a band its interval. A
level whose queue grows has no latency: it is a mark at the top edge."""

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import altair as alt

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.report.capacity.capacity_view import FEWEST_TRIALS, latency
from rmwbench.report.chart import frame
from rmwbench.report.chart.charts import dots
from rmwbench.report.chart.frame import LOST, MUTED, SURFACE, TEXT
from rmwbench.report.chart.style import Spec, looks
from rmwbench.report.view import Picture
from rmwbench.results.capacity import capacity_words
from rmwbench.results.capacity.capacity_model import CapacityArm, RaisedFactor, Searched
from rmwbench.words import numbers as fmt

_SCALES = {
    "hz": (("1e6", "MHz"), ("1e3", "kHz"), ("1", "Hz")),
    "bytes": (("1e9", "GB"), ("1e6", "MB"), ("1e3", "kB"), ("1", "B")),
    "": (("1", ""),),
}
_HEIGHT = 360


def figures(answer: Searched) -> list[Picture]:
    """The figures in reading order. A figure without data has no specification, nor has the
    loss where nothing was lost; the caption then says so."""
    search = answer.search
    tail = _percentile(search.curve[1])
    lost = frame.drawn(loss, answer)
    share = "Share of the messages sent that were lost."
    meaning = f"up to which {search.title} the limit holds"

    return [
        Picture(
            "capacities",
            "Capacity",
            f"Dot: {meaning}. Line: its 95 % interval. An arrow to the right: at least this; to the "
            "left: less than this.",
            wide=True,
            **frame.drawn(capacities, answer),
        ),
        Picture(
            "curve",
            f"Latency against {search.title}",
            f"Line: median. Dots: {tail}, with its interval from three trials on. Vertical "
            "lines: capacities, shaded over their intervals. At the top edge a triangle where the queue "
            "grew, so that there is no steady latency, and a cross where messages that did not "
            f"arrive reach the {tail}. Diamonds: the knee.",
            wide=True,
            **frame.drawn(curve, answer),
        ),
        Picture(
            "loss",
            f"Loss against {search.title}",
            share if lost["spec"] else _none_lost(answer),
            wide=True,
            **lost,
        ),
    ]


def capacities(answer: Searched, *, narrow: bool = False) -> Spec | None:
    """A row per arm, the highest capacity first."""
    arms, search = looks(answer.arms), answer.search
    rows: list[dict[str, Any]] = []
    for arm in answer.arms:
        held, style = arm.capacity, arms[arm.arm]
        value = fmt.finite(held.value) or fmt.finite(held.low) or fmt.finite(held.high)
        rows.append(
            {
                "arm": arm.arm,
                "value": value,
                "low": fmt.finite(held.low),
                "high": fmt.finite(held.high),
                "bracketed": held.state == "bracketed",
                "label": capacity_words.without_interval(held, search.title),
                "shown": capacity_words.capacity(held, search.title),
                "basis": f"{fmt.counted(held.trials, 'trial')}; {arm.answer}",
                "colour": style.colour,
                "fill": SURFACE if style.hollow else style.colour,
                "shape": {"at least": "triangle-right", "below": "triangle-left"}.get(
                    held.state, "circle"
                ),
                "label_colour": MUTED if held.state == "no data" else TEXT,
            }
        )
    rows.sort(key=lambda row: -(row["value"] or 0))
    ends = [row[key] for row in rows for key in ("low", "high")]
    extent = frame.log_range([row["value"] for row in rows], ends)
    if extent is None:
        return None
    for row in rows:
        if row["bracketed"]:
            _close(row, extent)
    x = _level_axis(extent, search, f"holds up to ({search.title}, log axis)")
    layers = dots(x("low:Q"), x("value:Q"), frame.by_arm(rows, narrow), narrow)
    height = frame.rows_height(rows, narrow)
    return frame.finish(alt.layer(*layers), height=height, rows=rows)


def curve(answer: Searched, *, narrow: bool = False) -> Spec | None:
    """Latency against load, all arms in one picture."""
    arms, search = looks(answer.arms), answer.search
    source = GLOSSARY[search.curve[0]].source
    limits = [c.below for c in search.limit.conditions if GLOSSARY[c.metric].source == source]
    points = [row for arm in answer.arms for row in _latencies(arm, search)]
    above = [row for arm in answer.arms for row in _without_latency(arm, search)]
    marks = [
        _capacity_mark(arm, search) for arm in answer.arms if arm.capacity.state == "bracketed"
    ]
    knees = [row for arm in answer.arms if (row := _knee(arm, search)) is not None]
    extent = frame.log_range([p["value"] for p in points], limits)
    across = frame.log_range(
        [p["level"] for p in [*points, *above]],
        [m[k] for m in marks for k in ("value", "low", "high")],
    )
    if extent is None or across is None or not points:
        return None
    for mark in marks:
        _close(mark, across)
    extent = extent.with_room()
    extent.put(points, "value", "low", "high")
    x = _level_axis(across, search, f"{search.title} (log axis)")
    y = alt.Y("value:Q", scale=extent.scale(), axis=extent.axis("response latency (log axis)"))
    strokes = frame.strokes(arms, frame.legend_below(2 if narrow else 4))
    layers = [
        *_curve_layers(x, y, alt.Y("low:Q", scale=extent.scale()), strokes),
        *_limit_lines(limits, y),
        *_marks(knees, above, x, y, strokes[0]),
    ]
    return frame.finish(alt.layer(*layers), height=_HEIGHT, points=points, parts=marks)


def _curve_layers(
    x: Callable[[str], alt.X], y: alt.Y, low: alt.Y, strokes: tuple[alt.Color, alt.StrokeDash]
) -> list[alt.Chart]:
    """The medians, the capacities with their intervals, and the percentiles with theirs; the legend
    looks like the first layer, which has the colour."""
    colour, dash = strokes
    base, capacities = alt.Chart(frame.POINTS), alt.Chart(frame.PARTS)
    medians, tails = (
        base.transform_filter(f"datum.kind == '{kind}'") for kind in ("median", "tail")
    )
    return [
        medians.mark_line(strokeWidth=1.8).encode(
            x=x("level:Q"), y=y, order=alt.Order("level:Q"), color=colour, strokeDash=dash
        ),
        capacities.mark_rect(fillOpacity=0.1, opacity=1, clip=True)
        .transform_filter(frame.HAS_INTERVAL)
        .encode(x=x("low:Q"), x2=alt.X2("high:Q"), color=colour),
        capacities.mark_rule(strokeWidth=1.5, opacity=0.9).encode(
            x=x("value:Q"), color=colour, strokeDash=dash, tooltip=frame.TOOLTIP
        ),
        tails.mark_rule(strokeWidth=1.2, opacity=0.5)
        .transform_filter(frame.HAS_INTERVAL)
        .encode(x=x("level:Q"), y=low, y2=alt.Y2("high:Q"), color=colour),
        tails.mark_circle(size=34, opacity=0.9).encode(
            x=x("level:Q"), y=y, color=colour, tooltip=frame.TOOLTIP
        ),
    ]


def _latencies(arm: CapacityArm, search: RaisedFactor) -> Iterator[dict[str, Any]]:
    """The points of an arm's curve: its median and its percentile at each level that has them."""
    for level in arm.levels:
        for kind, name in zip(("median", "tail"), search.curve, strict=True):
            entry = level.metrics[name]
            value = fmt.finite(entry.value)
            if level.unstable or value is None:
                continue
            enough = (entry.trials or 0) >= FEWEST_TRIALS
            cell = latency(entry)
            yield {
                "arm": arm.arm,
                "level": level.level,
                "kind": kind,
                "value": value,
                "low": fmt.finite(entry.low) if enough else None,
                "high": fmt.finite(entry.high) if enough else None,
                "shown": f"{_percentile(name)} {cell.text} {cell.detail}".rstrip(),
                "basis": fmt.metric(entry).basis,
            }


def _without_latency(arm: CapacityArm, search: RaisedFactor) -> Iterator[dict[str, Any]]:
    """The points at the top edge: levels at which the queue grew, or at which messages that did not
    arrive make the percentile infinite."""
    tail = search.curve[1]
    for level in arm.levels:
        place = {"arm": arm.arm, "level": level.level}
        if level.unstable:
            growth = level.queue_growth_hz
            by = f" by {fmt.significant(growth)} messages/s" if growth else ""
            shown, basis = "unstable", f"the queue grows{by}"
            yield place | {"shape": "triangle-up", "shown": shown, "basis": basis}
        elif level.metrics[tail].value == inf:
            lost = fmt.metric(level.metrics["undelivered"]).text
            shown, basis = f"{_percentile(tail)} never", f"{lost} did not arrive"
            yield place | {"shape": "cross", "shown": shown, "basis": basis}


def _capacity_mark(arm: CapacityArm, search: RaisedFactor) -> dict[str, Any]:
    return {
        "arm": arm.arm,
        "value": arm.capacity.value,
        "low": fmt.finite(arm.capacity.low),
        "high": fmt.finite(arm.capacity.high),
        "shown": capacity_words.capacity(arm.capacity, search.title),
        "basis": arm.answer,
    }


def _knee(arm: CapacityArm, search: RaisedFactor) -> dict[str, Any] | None:
    if arm.knee.by != "latency" or arm.knee.base_ns is None:
        return None
    twice = 2 * arm.knee.base_ns
    at = capacity_words.level(arm.knee.value, search.unit, search.title)
    return {
        "arm": arm.arm,
        "level": arm.knee.value,
        "value": twice,
        "shown": f"knee at {at}",
        "basis": f"the median reaches {fmt.quantity(twice, 'ns')}, twice its least",
    }


def _limit_lines(limits: list[float], y: alt.Y, *, named: bool = True) -> list[alt.Chart]:
    """A line across at each limit, with its name at its left end where it is `named`."""
    if not limits:
        return []
    name = {"text": "limit"} if named else {}
    line = frame.chart_of([{"value": limit, **name} for limit in limits])
    rule = line.mark_rule(color=LOST, strokeWidth=1.2, strokeDash=[6, 3]).encode(y=y)
    if not named:
        return [rule]
    text = line.mark_text(color=LOST, align="left", baseline="bottom", dx=4, dy=-3, fontSize=11)
    left = frame.fixed(alt.XValue, 0)
    return [rule, text.encode(x=left, y=y, text=alt.Text("text:N"))]


def _marks(
    knees: list[dict[str, Any]],
    above: list[dict[str, Any]],
    x: Callable[[str], alt.X],
    y: alt.Y,
    colour: alt.Color,
) -> Iterator[alt.Chart]:
    """The knees on their curves, and at the top edge the levels without a latency."""
    if knees:
        diamonds = frame.chart_of(knees).mark_point(
            shape="diamond", size=90, filled=True, opacity=1, stroke=SURFACE, strokeWidth=1
        )
        yield diamonds.encode(x=x("level:Q"), y=y, color=colour, tooltip=frame.TOOLTIP)
    if above:
        edge = frame.chart_of(above).mark_point(size=45, filled=True, opacity=0.85)
        yield edge.encode(
            x=x("level:Q"),
            y=frame.fixed(alt.YValue, 7),
            color=colour,
            shape=alt.Shape("shape:N", scale=None),
            tooltip=frame.TOOLTIP,
        )


def _none_lost(answer: Searched) -> str:
    """The caption in the place of a picture of losses."""
    losses = [level.metrics["loss"] for arm in answer.arms for level in arm.levels]
    if all(fmt.finite(entry.value) is None for entry in losses):
        return "No data."
    messages = fmt.significant_count(sum(entry.count or 0 for entry in losses))
    return f"None of the {messages} messages sent was lost at any level."


def loss(answer: Searched, *, narrow: bool = False) -> Spec | None:
    """Loss against load; None where nothing was lost."""
    search = answer.search
    points: list[dict[str, Any]] = []
    levels = [(arm.arm, level) for arm in answer.arms for level in arm.levels]
    for arm, level in levels:
        entry = level.metrics["loss"]
        if (value := fmt.finite(entry.value)) is not None:
            shown = fmt.metric(entry)
            point = {"arm": arm, "level": level.level, "value": value}
            points.append(point | {"shown": shown.full, "basis": shown.basis})
    across = frame.log_range(p["level"] for p in points)
    if across is None or not any(p["value"] for p in points):
        return None
    colour, dash = frame.strokes(looks(answer.arms), frame.legend_below(2 if narrow else 4))
    x = _level_axis(across, search, f"{search.title} (log axis)")
    top = max(p["value"] for p in points)
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(domain=[0, top], nice=True),
        axis=frame.axis(title="messages lost", format=".2~%", tickCount=5),
    )
    base = alt.Chart(frame.POINTS)
    limits = [c.below for c in search.limit.conditions if c.metric == "loss" and c.below <= top]
    layers = [
        base.mark_line(strokeWidth=1.8).encode(
            x=x("level:Q"), y=y, order=alt.Order("level:Q"), color=colour, strokeDash=dash
        ),
        base.mark_circle(size=30, opacity=0.9).encode(
            x=x("level:Q"), y=y, color=colour, tooltip=frame.TOOLTIP
        ),
        *_limit_lines(limits, y, named=False),
    ]
    return frame.finish(alt.layer(*layers), height=170, points=points)


def _close(interval: dict[str, Any], extent: frame.LogRange) -> None:
    """Draw an open end of an interval (0, or none) to the edge of the picture."""
    interval["low"] = interval["low"] or extent.low
    interval["high"] = interval["high"] or extent.high


def _level_axis(extent: frame.LogRange, search: RaisedFactor, title: str) -> Callable[[str], alt.X]:
    """A function that gives a field its place on the log axis of levels, which has one unit."""
    axis = extent.axis(title, label=frame.unit_label(_SCALES[search.unit]))
    scale = extent.scale()
    return lambda field: alt.X(field, scale=scale, axis=axis)


def _percentile(metric: str) -> str:
    """`p99`, `p99.9`, or `median`."""
    q = GLOSSARY[metric].q
    return "median" if q == 0.5 else f"p{q * 100:g}"
