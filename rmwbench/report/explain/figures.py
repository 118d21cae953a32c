"""The figures that explain an arm's numbers on the page. Each has its legend in words and its data
as tables, so that nothing is shown by a picture or a colour alone. Where there is nothing to
explain, a sentence says so."""

from collections.abc import Iterator, Mapping, Sequence

from rmwbench.analysis.metrics.network.link_bytes import BYTES
from rmwbench.analysis.records.frames import CLASSES
from rmwbench.report.chart.frame import drawn
from rmwbench.report.explain import shares
from rmwbench.report.explain.explain_charts import Stretch, draw_share_bars, draw_stacked_bars
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
