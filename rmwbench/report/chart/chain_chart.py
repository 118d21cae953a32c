"""Where the time goes along a chain: a bar per arm, one part after the other from the intended time
to the last subscription, and the same by layer. The parts are means over the messages around the
median, which add up."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from rmwbench.report.chart import charts, style
from rmwbench.report.chart.charts import Spec
from rmwbench.report.explain.figures import numbers, with_legend
from rmwbench.report.explain.shares import COUNTED, INFERRED, KINDS, percent
from rmwbench.report.view import LegendKey, Picture
from rmwbench.results.explain.explain_model import ChainAnswer
from rmwbench.results.shown import WorkloadAnswer
from rmwbench.words import numbers as fmt

LAYER_LOOKS = {
    "waiting at the source": "machine",
    "publish to notify": "way",
    "take": "reader",
    "hand over": "shm",
    "publish: rclcpp and rcl": "publisher",
    "publish: rmw": "unix",
    "middleware: write to notify": "way",
    "notification to take": "tcp",
    "take: rcl": "process",
    "take: rmw": "reader",
    "relays": "udp",
    "remainder": "unknown",
}
_HEIGHT, _PALER = 18, 0.6


def chains(workload: WorkloadAnswer, *, phone: bool = False) -> Iterator[Picture]:
    """The figures of a workload that relays or traces; nothing for any other."""
    if any(arm.chain for arm in workload.arms):
        yield _along(workload, phone)
    if any(arm.layers for arm in workload.arms):
        yield _by_layer(workload, phone)


def _along(workload: WorkloadAnswer, phone: bool) -> Picture:
    chains = [(arm.arm, arm.chain) for arm in workload.arms if arm.chain]
    parts = {name: list(_parts(chain)) for name, chain in chains}
    reading = (
        "From left to right the way of a message from its intended time to the last subscription: "
        "means over the messages around the median, which add up to their end-to-end latency, the "
        "number beside the bar."
    )
    columns = ("arm", "part", "messages", "lost here", "typical", "median", "p95")
    rows = [
        (
            name,
            part.name if part.kind == "transport" else f"{part.kind} {part.name}",
            fmt.significant_count(part.count),
            fmt.significant_count(part.lost),
            *(fmt.metric(metric).full for metric in (part.typical, part.p50, part.p95)),
        )
        for name, chain in chains
        for part in chain.parts
    ]
    spec, narrow = _draw(workload, parts), _draw(workload, parts, narrow=True) if phone else None
    keys = [LegendKey(kind, COUNTED, name, words) for kind, name, words in KINDS.values()]
    figure = Picture(
        "chain", "Where the time goes along the chain", reading, spec, wide=True, narrow=narrow
    )
    return with_legend(figure, keys, (numbers("Part by part", columns, rows, 2),))


def _by_layer(workload: WorkloadAnswer, phone: bool) -> Picture:
    arms = [(arm.arm, arm.layers) for arm in workload.arms if arm.layers]
    parts = {
        name: [
            _Piece(one.category, fmt.finite(one.time.value) or 0.0, LAYER_LOOKS[one.category], 1)
            for one in layers
        ]
        for name, layers in arms
    }
    reading = (
        "The same time by layer, all hops together, cut at the same places for every middleware; "
        "what could not be told apart is the remainder."
    )
    rows = [
        (name, one.category, fmt.metric(one.time).full, percent(max(0.0, one.share)))
        for name, layers in arms
        for one in layers
    ]
    seen = {one.category: one.text for _, layers in arms for one in layers}
    keys = [
        LegendKey(kind, INFERRED if name == "remainder" else COUNTED, name, seen[name])
        for name, kind in LAYER_LOOKS.items()
        if name in seen
    ]
    spec, narrow = _draw(workload, parts), _draw(workload, parts, narrow=True) if phone else None
    figure = Picture(
        "layers", "Which layer takes the time", reading, spec, wide=True, narrow=narrow
    )
    return with_legend(
        figure, keys, (numbers("Layer by layer", ("arm", "layer", "time", "share"), rows, 2),)
    )


class _Piece(NamedTuple):
    """Of a bar: `kind` for its colour, `pale` its opacity."""

    name: str
    ns: float
    kind: str
    pale: float


def _parts(chain: ChainAnswer) -> Iterator[_Piece]:
    for part in chain.parts:
        kind, name, _ = KINDS[part.kind]
        pale = _PALER if part.kind == "transport" and part.hop % 2 == 0 else 1
        label = part.name if part.kind == "transport" else f"{name} {part.name}"
        yield _Piece(label, fmt.finite(part.typical.value) or 0.0, kind, pale)


def _draw(
    workload: WorkloadAnswer, parts: Mapping[str, Sequence[_Piece]], *, narrow: bool = False
) -> Spec | None:
    """Stacked bars from zero in the order of the arms; None where no message arrived."""
    rows: list[dict[str, Any]] = []
    values: list[dict[str, Any]] = []
    for name in (arm.arm for arm in workload.arms if arm.arm in parts):
        begin = 0.0
        whole = sum(part.ns for part in parts[name])
        for part in parts[name]:
            end = begin + part.ns
            share = percent(part.ns / whole if whole else 0.0)
            values.append(
                {
                    "arm": name,
                    "name": part.name,
                    "begin": begin,
                    "end": end,
                    "shown": f"{fmt.quantity(part.ns, 'ns')}, {share}",
                    "colour": style.part(part.kind),
                    "opacity": part.pale,
                }
            )
            begin = end
        text = fmt.quantity(whole, "ns") if whole else "nothing arrived"
        rows.append(
            {
                "arm": name,
                "label": text,
                "shown": text,
                "label_colour": charts.TEXT,
                "basis": None,
            }
        )
    if not any(value["end"] for value in values):
        return None
    y = charts._by_arm(rows, narrow)
    axis = charts._axis(
        title="time of a typical message", labelExpr=charts._TIME_LABEL, tickCount=5
    )
    bars = (
        alt.Chart(charts._PARTS)
        .mark_bar(height=_HEIGHT, xOffset=0.5, x2Offset=-0.5)
        .encode(
            x=alt.X("begin:Q", axis=axis),
            x2=alt.X2("end:Q"),
            y=y,
            color=charts._literal("colour"),
            opacity=alt.Opacity("opacity:Q", scale=None),
            tooltip=[
                alt.Tooltip("arm:N", title="arm"),
                alt.Tooltip("name:N", title="part"),
                alt.Tooltip("shown:N", title="time"),
            ],
        )
    )
    layers = alt.layer(bars, *charts._values_beside(alt.Chart(charts._ROWS), y, narrow))
    return charts._finish(layers, height=charts._rows_height(rows, narrow), rows=rows, parts=values)
