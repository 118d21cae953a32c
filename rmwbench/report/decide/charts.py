"""The front as a picture: latency along, processor time up, the size of a mark for memory; hollow
marks do not deliver more than a tenth of a per cent, and what is dominated is pale. Squares have no
value of memory or delivery: absent is neither the smallest nor nothing."""

from math import exp, log
from typing import Any

import altair as alt

from rmwbench.analysis.decide.pareto import LOSS_ALIKE, Standing
from rmwbench.analysis.metrics.aggregate import judged_loss
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.report.chart.charts import FONT, chart_of
from rmwbench.report.chart.style import NEUTRAL, looks
from rmwbench.results.decide.model import Front, Machine, Place
from rmwbench.words import numbers as fmt

Spec = dict[str, Any]
WIDTH, HEIGHT = 640, 320
LETTER, LINE = 7.0, 15
"""Of a name: px of a letter, and between two lines."""
TEXT, GRID, SURFACE = (NEUTRAL[name][0] for name in ("text", "grid", "surface"))


def front(found: Front, machine: Machine) -> Spec | None:
    """Vega-Lite of one case's front; None where no candidate has both latency and processor
    time."""
    latency = found.latency
    rows = [row for one in found.candidates if (row := _row(one, latency, machine)) is not None]
    if not rows:
        return None
    horizontal, vertical = (_domain(rows, axis) for axis in "xy")
    _cut(rows, horizontal, vertical)
    _place_names(rows, horizontal, vertical)
    base = chart_of(rows)
    x_scale = alt.Scale(type="log", domain=horizontal, nice=False)
    y_scale = alt.Scale(type="log", domain=vertical, nice=False)
    few: dict[str, Any] = {"tickCount": 6, "format": "~g"}
    x_axis = alt.Axis(title=f"{GLOSSARY[latency].title}, ms (log axis)", **few)
    y_axis = alt.Axis(title=f"{GLOSSARY['cpu_cores'].title}, cores (log axis)", **few)
    x, y = alt.X("x:Q", scale=x_scale, axis=x_axis), alt.Y("y:Q", scale=y_scale, axis=y_axis)
    colour = alt.Color("colour:N", scale=None)
    opacity = alt.Opacity("opacity:Q", scale=None)
    rule = base.mark_rule(strokeWidth=1.5, clip=True)
    low_x, low_y = alt.X("x_low:Q", scale=x_scale), alt.Y("y_low:Q", scale=y_scale)
    across = rule.encode(x=low_x, x2=alt.X2("x_high:Q"), y=y, color=colour, opacity=opacity)
    up = rule.encode(x=x, y=low_y, y2=alt.Y2("y_high:Q"), color=colour, opacity=opacity)
    size = alt.Size("mib:Q", scale=alt.Scale(range=[50, 450], zero=True), legend=None)
    marks = base.mark_point(strokeWidth=2).encode(
        x=x,
        y=y,
        color=colour,
        opacity=opacity,
        size=size,
        fill=alt.Fill("fill:N", scale=None),
        shape=alt.Shape("shape:N", scale=None),
    )
    at_x, at_y = alt.X("name_x:Q", scale=x_scale), alt.Y("name_y:Q", scale=y_scale)
    names = base.mark_text(align="left", baseline="middle", font=FONT, fontSize=12).encode(
        x=at_x, y=at_y, text=alt.Text("arm:N"), color=colour
    )
    chart = (across + up + marks + names).properties(width=WIDTH, height=HEIGHT, background=SURFACE)
    chart = chart.configure_axis(
        gridColor=GRID, labelColor=TEXT, titleColor=TEXT, labelFont=FONT, titleFont=FONT
    )
    spec: Spec = chart.configure_view(stroke=GRID).to_dict()
    return spec


def _domain(rows: list[dict[str, Any]], axis: str) -> list[float]:
    """Around all values and their intervals up to thrice as far; names need room to the right."""
    values = [row[axis] for row in rows]
    low = max(min(row[f"{axis}_low"] for row in rows), min(values) / 3)
    high = min(max(row[f"{axis}_high"] for row in rows), max(values) * 3)
    spread = max(high / low, 1.5)
    return [low / spread**0.08, low * spread ** (1.35 if axis == "x" else 1.08)]


def _cut(rows: list[dict[str, Any]], horizontal: list[float], vertical: list[float]) -> None:
    """Intervals that are longer than the picture, or without end, end at its edge; an unknown
    amount of memory is drawn halfway."""
    most = max((row["mib"] for row in rows if row["mib"] is not None), default=1.0)
    for row in rows:
        for axis, (low, high) in (("x", horizontal), ("y", vertical)):
            row[f"{axis}_low"] = max(row[f"{axis}_low"], low)
            row[f"{axis}_high"] = min(row[f"{axis}_high"], high)
        row["mib"] = most / 2 if row["mib"] is None else row["mib"]


def _place_names(
    rows: list[dict[str, Any]], horizontal: list[float], vertical: list[float]
) -> None:
    """Each beside its mark, moved up or down until it covers no other; Vega-Lite does not do it."""
    across, up = WIDTH / log(horizontal[1] / horizontal[0]), HEIGHT / log(vertical[1] / vertical[0])
    taken: list[tuple[float, float, float]] = []
    for row in sorted(rows, key=lambda row: row["y"]):
        left = across * log(row["x"] / horizontal[0]) + 14
        middle = up * log(row["y"] / vertical[0])
        right = left + LETTER * len(row["arm"])
        steps = sorted(range(-20, 21), key=abs)
        free = (
            middle + LINE * step
            for step in steps
            if 0 <= middle + LINE * step <= HEIGHT
            and not any(
                abs(middle + LINE * step - other) < LINE and left < end and begin < right
                for begin, end, other in taken
            )
        )
        at = next(free, middle)
        taken.append((left, right, at))
        row["name_x"] = horizontal[0] * exp(left / across)
        row["name_y"] = vertical[0] * exp(at / up)


def _row(one: Place, latency: str, machine: Machine) -> dict[str, Any] | None:
    ends: dict[str, float] = {}
    for axis, metric, factor in (("x", latency, 1e6), ("y", "cpu_cores", 1.0)):
        found = one.values.get(metric)
        value = None if found is None else fmt.finite(found.value)
        if found is None or value is None or value <= 0:
            return None
        ends[axis] = value / factor
        ends[f"{axis}_low"] = (value if found.low is None else found.low) / factor
        ends[f"{axis}_high"] = (value if found.high is None else found.high) / factor
    memory, lost = _value(one, "pss"), _value(one, judged_loss(latency))
    style = looks(machine.candidates)[one.arm]
    return {
        **ends,
        "arm": one.arm,
        "mib": None if memory is None else memory / (1 << 20),
        "colour": style.colour,
        "fill": SURFACE if lost is None or lost > LOSS_ALIKE else style.colour,
        "shape": "square" if memory is None or lost is None else "circle",
        "opacity": 0.45 if one.standing == Standing.DOMINATED else 1.0,
    }


def _value(one: Place, metric: str) -> float | None:
    found = one.values.get(metric)
    return None if found is None else fmt.finite(found.value)


def to_dark(spec: Spec) -> Spec:
    """The same for a dark page."""
    from rmwbench.report.chart.style import to_dark as pairs

    dark: Spec = _replaced(spec, pairs())
    return dark


def _replaced(value: Any, pairs: dict[str, str]) -> Any:
    if isinstance(value, str):
        return pairs.get(value, value)
    if isinstance(value, dict):
        return {key: _replaced(item, pairs) for key, item in value.items()}
    return [_replaced(item, pairs) for item in value] if isinstance(value, list) else value
