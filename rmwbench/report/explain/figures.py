"""The figures that explain an arm's numbers on the page. Each has its legend in words and its data
as tables, so that nothing is shown by a picture or a colour alone. Where there is nothing to
explain, a sentence says so.

Paths, places and causes have one specification in Vega-Lite. A part contains its name where the
part is wide enough on the page, so a wide page names more parts. Filled parts were counted;
outlined parts are a middleware's word or an upper bound; dashed parts are inferred. So the
difference does not rest on colour."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import altair as alt

from rmwbench.analysis.metrics.network.link_bytes import BYTES
from rmwbench.analysis.records.frames import CLASSES
from rmwbench.report.chart import frame, style
from rmwbench.report.chart.frame import SURFACE, TEXT, drawn
from rmwbench.report.chart.style import Spec
from rmwbench.report.explain import shares
from rmwbench.report.explain.shares import (
    CLAIMED,
    COUNTED,
    INFERRED,
    KINDS,
    PHASES,
    BarPart,
    ShareBar,
    percent,
)
from rmwbench.report.view import LegendKey, Picture, Table, TableColumn
from rmwbench.results.explain.explain_model import ChainAnswer
from rmwbench.results.show_model import WorkloadAnswer, WorkloadArm
from rmwbench.results.workload.groups import VERDICTS, slowest
from rmwbench.results.workload.lost_messages import measure, slow_of
from rmwbench.words import numbers as fmt

WORST = 3  # the slowest messages of an arm that have a row
_LETTER = 6.4  # px of a letter of a label in a part
_HEIGHT, _TINT = 18, 0.16
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
"""Layer → the path or side that gives its colour."""
PALER = 0.6  # the opacity of every second transport
TRAFFIC_CLASSES = {
    "data": ("udp", "messages with their headers, repeats included"),
    "acknowledgement": (
        "reader",
        "acknowledgements, heartbeats, gaps, TCP segments without payload",
    ),
    "discovery": ("shm", "the middleware's own discovery"),
    "resolution": ("publisher", "address resolution and group membership"),
    "other": ("machine", "anything else"),
}
"""Class of traffic → the path or side that gives its colour, and its meaning."""
LEAST_CLASS = 0.002  # of the bytes, that is drawn


class Stretch(NamedTuple):
    """A piece of a bar: `kind` for its colour, `pale` its opacity."""

    name: str
    ns: float
    kind: str
    pale: float


def _numbers(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], first: int) -> Table:
    """Return a table whose columns from `first` on are numbers."""
    columns = [TableColumn(head, right=n >= first) for n, head in enumerate(heads)]
    return Table(columns, rows, title)


def explained(workload: WorkloadAnswer) -> Iterator[Picture]:
    """Yield the figures of a workload: along the chain where messages are relayed, by layer where
    they are traced; paths, causes and losses; and traffic where hosts have links."""
    arms = workload.arms
    if any(arm.chain for arm in arms):
        yield _along(workload)
    if any(arm.layers for arm in arms):
        yield _by_layer(workload)
    yield _paths(arms)
    yield _causes(arms)
    yield _places(arms)
    yield from _links([arm for arm in arms if arm.network])


def _paths(arms: Sequence[WorkloadArm]) -> Picture:
    bars = shares.paths(arms)
    title = "Where the bytes went"
    if not bars:
        return Picture(
            "paths", title, "No data: the paths of these trials were not recorded.", None
        )
    reading = "The share of the payload that took each path."
    meanings = {
        COUNTED: ("filled", "counted by the kernel"),
        CLAIMED: (
            "outlined",
            "the middleware's own word, and the kernel's counters leave room for it",
        ),
        INFERRED: ("dashed", "inferred: what the counters leave over"),
    }
    certainties = {part.certainty for bar in bars for part in bar.parts}
    keys = shares.path_keys(bars)
    keys += [
        LegendKey("unknown", certainty, *meaning)
        for certainty, meaning in meanings.items()
        if certainty in certainties
    ]
    rows = [
        (
            arm.arm,
            shares.PATHS.get(path.path, path.path),
            path.interface or "–",
            path.label,
            percent(path.fraction),
        )
        for arm in arms
        for path in arm.paths
    ]
    table = _numbers("", ("arm", "path", "interface", "how it is known", "share"), rows, 4)
    drawing = drawn(draw_share_bars, bars, "share of the payload")
    return Picture("paths", title, reading, keys=keys, tables=(table,), **drawing)


def _places(arms: Sequence[WorkloadArm]) -> Picture:
    bars = shares.places(arms)
    title = "Where messages went missing"
    under_way = "".join(f" {arm.arm}: {text}." for arm in arms if (text := slow_of(arm.losses)))
    if not bars:
        done = sum(bool(arm.trials.done) for arm in arms)
        which = "" if done == len(arms) else " with a completed trial"
        reading = f"Nowhere: no arm{which} misses a message.{under_way}"
        if not done:
            reading = "No data: no trial was completed."
        return Picture("places", title, reading, None, wide=True)
    reading = (
        "The share of the wanted messages that did not arrive sound and in time, only of arms that "
        "miss some. Filled: counted there. Outlined: an upper limit: the counter there does "
        f"not count messages. Dashed: inferred, or not located.{under_way}"
    )
    rows = []
    for arm in arms:
        losses = arm.losses
        if losses is None:
            continue
        for place in losses.places:
            if place.messages:
                share = percent(place.messages / losses.wanted)
                rows.append((arm.arm, place.place, place.text, measure(place), share))
        if losses.not_located:
            share = percent(losses.not_located / losses.wanted)
            count = fmt.counted(losses.not_located, "message")
            rows.append((arm.arm, "not located", "", count, share))
    table = _numbers("", ("arm", "place", "what it means", "messages", "of the wanted"), rows, 4)
    drawing = drawn(draw_share_bars, bars, "share of the wanted messages")
    keys = shares.place_keys(arms)
    return Picture("places", title, reading, wide=True, keys=keys, tables=(table,), **drawing)


def _causes(arms: Sequence[WorkloadArm]) -> Picture:
    bars = shares.causes(arms)
    title = "Why the slowest were slow"
    if not bars:
        reading = "No arm has a message that took twice its median, or too few arrived to say."
        return Picture("causes", title, reading, None)
    reading = (
        "The slowest messages of each arm's worst trial by their cause; the number is the slowest "
        "of all. A cause is named where evidence covers half of what the message took beyond the "
        "median."
    )
    rows, worst = [], []
    unwatched: dict[str, None] = {}
    for arm in arms:
        for tail in arm.tails[:1]:
            unwatched |= dict.fromkeys(tail.unwatched)
            rows += [
                (arm.arm, cause.cause, str(cause.messages), percent(cause.share))
                for cause in tail.causes
            ]
            worst += [
                (
                    arm.arm,
                    f"trial {tail.trial}, seq {message.seq}",
                    message.cause,
                    *(fmt.quantity(message.phases_ns.get(phase), "ns") for phase in PHASES),
                    fmt.quantity(message.latency_ns, "ns"),
                )
                for message in tail.worst[:WORST]
            ]
    if unwatched:
        reading += f" Not watched: {', '.join(unwatched)}."
    tables = (
        _numbers(
            f"The {WORST} slowest of each arm",
            ("arm", "message", "cause", *PHASES.values(), "together"),
            worst,
            3,
        ),
        _numbers("All by cause", ("arm", "cause", "messages", "share"), rows, 2),
    )
    drawing = drawn(draw_share_bars, bars, "share of the slowest messages")
    keys = shares.cause_keys(arms)
    return Picture("causes", title, reading, keys=keys, tables=tables, **drawing)


def _links(arms: Sequence[WorkloadArm]) -> Iterator[Picture]:
    """Yield the picture of arms whose hosts have links, none without such arms."""
    if not arms:
        return
    bars = [bar for arm in arms if (bar := _traffic_bar(arm)).parts]
    reading = (
        "The bytes that hosts sent into the network by what they carried; the number is all of "
        "them for each payload byte that reached another host."
    )
    drawn_classes = {part.name for bar in bars for part in bar.parts}
    keys = [
        LegendKey(kind, COUNTED, name, words)
        for name, (kind, words) in TRAFFIC_CLASSES.items()
        if name in drawn_classes
    ]
    tables = [table for table in (_sent(arms), _lost(arms), _recovered(arms)) if table.rows]
    yield Picture(
        "links",
        "What crossed the links",
        reading,
        wide=True,
        keys=keys,
        tables=tables,
        **drawn(draw_share_bars, bars, "share of the bytes"),
    )


def _traffic_bar(arm: WorkloadArm) -> ShareBar:
    sent = arm.network.sent if arm.network else ()
    parts = []
    for name in CLASSES:
        share = sum(traffic.share for traffic in sent if traffic.class_ == name)
        if share >= LEAST_CLASS:
            text, (kind, meaning) = percent(share), TRAFFIC_CLASSES[name]
            label, tooltip = f"{name} {text}", f"{text} {meaning}"
            parts.append(BarPart(name, share, kind, COUNTED, label, tooltip))
    return ShareBar(arm.arm, parts, fmt.metric(arm.metrics.get(BYTES)).text)


def _sent(arms: Sequence[WorkloadArm]) -> Table:
    rows = [
        (
            arm.arm,
            traffic.host,
            traffic.class_,
            fmt.significant_count(traffic.frames),
            fmt.metric(traffic.bytes_per_s).full,
            percent(traffic.share),
        )
        for arm in arms
        if arm.network
        for traffic in arm.network.sent
    ]
    columns = ("arm", "from", "what", "frames", "bytes per second", "of all bytes")
    return _numbers("Who sent what", columns, rows, 3)


def _lost(arms: Sequence[WorkloadArm]) -> Table:
    rows = [
        (
            arm.arm,
            f"{link.host} {link.direction}",
            _reasons(link.verdicts),
            fmt.metric(link.bytes_per_s).full,
            fmt.metric(link.lost).full,
        )
        for arm in arms
        if arm.network
        for link in arm.network.links
    ]
    columns = ("arm", "link", "frames lost to", "let through", "lost")
    return _numbers("What each link lost", columns, rows, 3)


def _reasons(verdicts: Mapping[str, int]) -> str:
    counts = (f"{VERDICTS.get(v, v)} {fmt.significant_count(n)}" for v, n in verdicts.items())
    return ", ".join(counts) or "none"


def _recovered(arms: Sequence[WorkloadArm]) -> Table:
    rows = [(arm.arm, *line) for arm in arms for line in slowest(arm)]
    columns = ("arm", "what", "away", "stream", "time to recover")
    return _numbers("Who recovered when", columns, rows, 4)


def _along(workload: WorkloadAnswer) -> Picture:
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
    keys = [LegendKey(kind, COUNTED, name, words) for kind, name, words in KINDS.values()]
    return Picture(
        "chain",
        "Where the time goes along the chain",
        reading,
        wide=True,
        keys=keys,
        tables=(_numbers("Part by part", columns, rows, 2),),
        **drawn(draw_stacked_bars, workload, parts),
    )


def _by_layer(workload: WorkloadAnswer) -> Picture:
    arms = [(arm.arm, arm.layers) for arm in workload.arms if arm.layers]
    parts = {
        name: [
            Stretch(
                layer.category, fmt.finite(layer.time.value) or 0.0, LAYER_LOOKS[layer.category], 1
            )
            for layer in layers
        ]
        for name, layers in arms
    }
    reading = (
        "The same time by layer, all hops together, cut at the same places for every middleware; "
        "what could not be told apart is the remainder."
    )
    rows = [
        (name, layer.category, fmt.metric(layer.time).full, percent(max(0.0, layer.share)))
        for name, layers in arms
        for layer in layers
    ]
    texts = {layer.category: layer.text for _, layers in arms for layer in layers}
    keys = [
        LegendKey(kind, INFERRED if name == "remainder" else COUNTED, name, texts[name])
        for name, kind in LAYER_LOOKS.items()
        if name in texts
    ]
    return Picture(
        "layers",
        "Which layer takes the time",
        reading,
        wide=True,
        keys=keys,
        tables=(_numbers("Layer by layer", ("arm", "layer", "time", "share"), rows, 2),),
        **drawn(draw_stacked_bars, workload, parts),
    )


def _parts(chain: ChainAnswer) -> Iterator[Stretch]:
    for part in chain.parts:
        kind, name, _ = KINDS[part.kind]
        pale = PALER if part.kind == "transport" and part.hop % 2 == 0 else 1
        label = part.name if part.kind == "transport" else f"{name} {part.name}"
        yield Stretch(label, fmt.finite(part.typical.value) or 0.0, kind, pale)


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
