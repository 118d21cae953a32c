"""The front as a picture: latency along, processor time up, the size of a mark for memory; hollow marks lose more than
a tenth of a per cent, and what is dominated is pale."""

from typing import Any

import altair as alt

from rmwbench.analysis.decide.pareto import LOSS_ALIKE
from rmwbench.analysis.glossary import GLOSSARY
from rmwbench.report import format as fmt
from rmwbench.report.look import NEUTRAL, looks
from rmwbench.report.pictures import FONT

Spec = dict[str, Any]
WIDTH, HEIGHT = 640, 320
TEXT, GRID, SURFACE = (NEUTRAL[name][0] for name in ("text", "grid", "surface"))


def front(found: dict[str, Any], machine: dict[str, Any]) -> Spec | None:
    """Vega-Lite of one case's front; None where no candidate has both latency and processor time."""
    latency = found["latency"]
    rows = [row for one in found["candidates"] if (row := _row(one, latency, machine)) is not None]
    if not rows:
        return None
    base = alt.Chart(alt.Data(values=rows))
    x = alt.X("x:Q", scale=alt.Scale(type="log"), title=f"{GLOSSARY[latency].title}, ms (log axis)")
    y = alt.Y("y:Q", scale=alt.Scale(zero=True), title=f"{GLOSSARY['cpu_cores'].title}, cores")
    colour = alt.Color("colour:N", scale=None)
    opacity = alt.Opacity("opacity:Q", scale=None)
    across = base.mark_rule(strokeWidth=1.5).encode(x="x_low:Q", x2="x_high:Q", y=y, color=colour, opacity=opacity)
    up = base.mark_rule(strokeWidth=1.5).encode(x=x, y="y_low:Q", y2="y_high:Q", color=colour, opacity=opacity)
    size = alt.Size("mib:Q", scale=alt.Scale(range=[60, 500], zero=True), title="memory, MiB")
    marks = base.mark_point(strokeWidth=2).encode(
        x=x, y=y, color=colour, opacity=opacity, size=size, fill=alt.Fill("fill:N", scale=None)
    )
    names = base.mark_text(align="left", dx=12, dy=-9, font=FONT, fontSize=12).encode(
        x=x, y=y, text="arm:N", color=colour
    )
    chart = (across + up + marks + names).properties(width=WIDTH, height=HEIGHT, background=SURFACE)
    chart = chart.configure_axis(gridColor=GRID, labelColor=TEXT, titleColor=TEXT, labelFont=FONT, titleFont=FONT)
    return chart.configure_legend(labelColor=TEXT, titleColor=TEXT, labelFont=FONT, titleFont=FONT).to_dict()


def _row(one: dict[str, Any], latency: str, machine: dict[str, Any]) -> dict[str, Any] | None:
    ends = {}
    for axis, metric, factor in (("x", latency, 1e6), ("y", "cpu_cores", 1.0)):
        found = one["values"].get(metric)
        value = fmt.finite((found or {}).get("value"))
        if value is None:
            return None
        low, high = (fmt.finite(found[key]) for key in ("low", "high"))
        ends[axis] = value / factor
        ends[f"{axis}_low"] = (value if low is None else low) / factor
        ends[f"{axis}_high"] = (value if high is None else high) / factor
    memory = fmt.finite((one["values"].get("pss") or {}).get("value"))
    lost = fmt.finite((one["values"].get("undelivered") or {}).get("value")) or 0.0
    style = looks(machine["candidates"])[one["arm"]]
    return {
        **ends,
        "arm": one["arm"],
        "mib": 0 if memory is None else memory / (1 << 20),
        "colour": style.colour,
        "fill": SURFACE if lost > LOSS_ALIKE else style.colour,
        "opacity": 0.45 if one["standing"] == "dominated" else 1.0,
    }


def to_dark(spec: Spec) -> Spec:
    """The same for a dark page."""
    from rmwbench.report.look import to_dark as pairs

    return _replaced(spec, pairs())


def _replaced(value: Any, pairs: dict[str, str]) -> Any:
    if isinstance(value, str):
        return pairs.get(value, value)
    if isinstance(value, dict):
        return {key: _replaced(item, pairs) for key, item in value.items()}
    return [_replaced(item, pairs) for item in value] if isinstance(value, list) else value
