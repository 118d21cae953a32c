"""The text of a twin as a suite, which a person reads and changes: the topics with most of the
bytes are first, comments have the measured values, `# assumed` marks assumptions, and `# proposed`
marks values for the user to decide."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.analysis.stats.intervals import clustered_fraction
from rmwbench.command_name import command_line
from rmwbench.errors import UserError
from rmwbench.robot.twin.traffic import BagTraffic
from rmwbench.robot.twin.twin_likeness import stands_for_all_sizes
from rmwbench.robot.twin.twin_model import SMALLEST, Twin, TwinNode, TwinTopic
from rmwbench.suite.workload.arrival import (
    MOST_JITTER,
    Burst,
    Periodic,
    Poisson,
    TraceArrival,
    fewest,
)
from rmwbench.suite.workload.qos import DEFAULT_DEPTH, Qos
from rmwbench.words.numbers import counted, percent, quantity, significant

WORKLOAD = "robot"
WARMUP_S = 0.5
STEADY_S, LONGEST_S = 10.0, 120.0
FEWEST_MESSAGES = 22
"""The fewest messages of a topic that is judged, in a trial: the median needs 20."""
BLOCKS = 5
PERCENTILES = (("p99", 1100), ("p90", 110), ("p50", FEWEST_MESSAGES))
"""The percentiles, and the messages of all blocks that each needs, with a margin."""
LOSSES = (0.01, 0.02, 0.05, 0.1, 0.2)
"""The possible limits of undelivered messages."""
USUAL_QOS = Qos().wire()
"""The default QoS of an endpoint."""
NOTABLE_JITTER = 0.02
NOTABLE_SIZES = 1.1


@dataclass(frozen=True, kw_only=True)
class SuiteStyle:
    """The parts of a suite that do not depend on the twin: its name and that of its file, arms and
    blocks. Without `arms` it compares the sourced RMWs, or all middlewares. `steady_s` None: the
    length that its topics need. `limits`: whether to propose limits."""

    name: str
    source: str
    file: str = "my-robot.yaml"
    arms: Sequence[str] = ()
    blocks: str = "{minimum: 5, maximum: 8}"
    steady_s: float | None = None
    limits: bool = True


def suite_text(twin: Twin, style: SuiteStyle) -> str:
    """The text of the suite. Raises UserError if no topic could be judged."""
    steady_s = style.steady_s or window_s(twin)
    judged = judged_topics(twin, steady_s)
    if not judged:
        raise UserError(
            "no topic of this bag has a reader and enough messages to be judged",
            where=style.source,
            expected=f"one with {FEWEST_MESSAGES} messages in {steady_s:g} s",
        )
    lines = [
        *_header(twin, style),
        "",
        f"suite: {json.dumps(style.name)}",  # such as 2026-11-30, which is no text to YAML
        f"title: {json.dumps(f'Twin of {_clean(style.source)}', ensure_ascii=False)}",
        f"description: {json.dumps(_summary(twin), ensure_ascii=False)}",
        "",
        f"blocks: {style.blocks}",
        f"timeline: {{warmup_s: {WARMUP_S}, steady_s: {steady_s:g}, drain_s: 0.5}}",
        "",
        *(["arms:", *(f"  - {arm}" for arm in style.arms), ""] if style.arms else ()),
        "workloads:",
        f"  - name: {WORKLOAD}",
        "    title: as recorded",
        f"    qos: {{reliability: reliable, history: keep_last, depth: {DEFAULT_DEPTH}}}"
        "  # assumed, the default of all lines",
        *_focus(twin, judged),
        "    nodes:",
        *_nodes(twin, steady_s),
        *(_limits(judged, steady_s) if style.limits else ()),
    ]
    return "\n".join(lines) + "\n"


def window_s(twin: Twin) -> float:
    """The length of the steady state that the fastest topic with a reader needs, at least
    STEADY_S."""
    fastest = max((topic.traffic.arrivals.rate_hz for topic in twin.topics_read), default=0.0)
    needed = math.ceil(FEWEST_MESSAGES / fastest) if fastest else LONGEST_S
    return min(max(STEADY_S, needed), LONGEST_S)


def judged_topics(twin: Twin, steady_s: float) -> list[TwinTopic]:
    """The topics with a reader and with enough messages in a trial."""
    return [
        topic for topic in twin.topics_read if _steady_messages(topic, steady_s) >= FEWEST_MESSAGES
    ]


def _steady_messages(topic: TwinTopic, steady_s: float) -> int:
    """The fewest messages of all publishers of the topic in a trial."""
    begin_ns, end_ns = round(1e9 * WARMUP_S), round(1e9 * (WARMUP_S + steady_s))
    return topic.traffic.publishers * fewest(_arrival(topic, steady_s), begin_ns, end_ns)


def _summary(twin: Twin) -> str:
    traffic = twin.traffic
    return (
        f"{counted(len(twin.topics), 'topic')}, {_published(traffic)}, "
        f"from {quantity(traffic.duration_s, 's')} of a bag."
    )


def _header(twin: Twin, style: SuiteStyle) -> Iterator[str]:
    traffic = twin.traffic
    silent = f", {counted(traffic.silent, 'topic')} without a message" if traffic.silent else ""
    yield (
        f"# A twin of {_clean(style.source)}: {quantity(traffic.duration_s, 's')}, "
        f"{counted(traffic.messages, 'message')} in {counted(len(traffic.topics), 'topic')}"
        f"{silent}, {_published(traffic)}."
    )
    yield "#"
    plan, run = (_clean(command_line(verb, style.file)) for verb in ("plan", "run"))
    yield f"#     {plan}    its duration, and what cannot run"
    yield f"#     {run}"
    yield "#"
    yield "# `# assumed`: not in the bag or a graph. `# proposed`: change it as you need."
    for note in (*_assumptions(twin), *_clocks(twin), *twin.notes):
        yield f"# {_clean(note)}"


def _published(traffic: BagTraffic) -> str:
    """The throughput; metadata alone do not have it."""
    if all(topic.sizes is None for topic in traffic.topics):
        return "of unknown sizes"
    return f"{_rate(traffic.bytes_per_s)} published"


def _assumptions(twin: Twin) -> Iterator[str]:
    depth_known = [any(offer.depth for offer in topic.traffic.offers) for topic in twin.topics]
    depth = (
        ""
        if all(depth_known)
        else f"; the depth of {depth_known.count(False)} of {len(depth_known)} topics"
    )
    if all(node.assumed for node in twin.nodes):
        assumption = (
            "the publishers of each node, and one reader of each topic (`--graph FILE` has both)"
        )
    else:
        assumption = "that each node is a process of its own"
    yield f"Assumed: {assumption}{depth}; that a callback takes no time (`hold_ms`)."
    if any(topic.traffic.sizes is None for topic in twin.topics):
        yield (
            "Sizes are not in metadata.yaml: every message is assumed to have 1 kB, and rates are "
            "count ÷ duration, which every lost message lowers."
        )
    if any(_varies(topic) for topic in twin.topics):
        yield "A topic has one size here: where sizes vary it is the mean, which keeps the bytes."
    if not_alike := [
        topic.name for topic in twin.topics if not stands_for_all_sizes(topic.traffic)
    ]:
        yield f"The sizes of {', '.join(not_alike)} vary too much for one size: the twin is not like the bag there."


def _clocks(twin: Twin) -> Iterator[str]:
    traffic = twin.traffic
    if traffic.simulated:
        yield (
            "Recorded with simulated time: rates hold where the simulation runs as fast as a clock."
        )
    by_sender = sum(topic.traffic.stamp == "publish_time" for topic in twin.topics)
    if by_sender:
        yield f"Times of {by_sender} of {len(twin.topics)} topics are their senders' stamps."
    if by_sender < len(twin.topics) and any(topic.traffic.sizes for topic in twin.topics):
        times = "Times of the others" if by_sender else "Times"
        yield f"{times} are the recorder's, and include the delay to it."
    if traffic.other_clock:
        yield (
            f"publish_time of {counted(traffic.other_clock, 'topic')} is of another clock, and not "
            "used."
        )


def _focus(twin: Twin, judged: Sequence[TwinTopic]) -> list[str]:
    if len(judged) == len(twin.topics):
        return []
    names = ", ".join(topic.name for topic in judged)
    return [f"    focus: [{names}]  # the others have too few messages to be judged, or no reader"]


def _nodes(twin: Twin, steady_s: float) -> Iterator[str]:
    heading = False
    if any(topic.heavy for topic in twin.topics):
        yield "      # These carry 98 % of the bytes."
    for node in sorted(twin.nodes, key=lambda n: not _is_heavy(twin, n)):
        if not heading and not _is_heavy(twin, node):
            heading = True
            yield "      # All others."
        yield f"      - name: {node.name}{'  # assumed' * node.assumed}"
        if node.publishes:
            yield "        publishers:"
        for name, count in Counter(node.publishes).items():
            yield from _publisher(twin.topic(name), steady_s, count)
        if node.reads:
            yield "        subscriptions:"
        for reader in node.reads:
            qos = _qos(reader.qos)
            yield f"          - {{topic: {reader.topic}{f', qos: {qos}' * bool(qos)}}}"


def _is_heavy(twin: Twin, node: TwinNode) -> bool:
    names = (*node.publishes, *(reader.topic for reader in node.reads))
    return any(twin.topic(name).heavy for name in names)


def _publisher(topic: TwinTopic, steady_s: float, count: int) -> Iterator[str]:
    qos = _qos(topic.qos)
    yield f"          # {_clean(topic.traffic.type)}: {'; '.join(_measurements(topic))}"
    yield from count * [
        f"          - {{topic: {topic.name}, message: {topic.message.name}, "
        f"{_arrival_text(topic, steady_s)}{f', qos: {qos}' * bool(qos)}}}"
    ]


def _arrival(topic: TwinTopic, steady_s: float) -> Any:
    """The arrival of one of the topic's publishers, with its share of the rate."""
    arrivals = topic.traffic.arrivals
    own_hz = topic.rate_hz / topic.traffic.publishers
    rate_hz = _rate_hz(own_hz)
    if arrivals.kind == "once" or arrivals.rate_hz * (WARMUP_S + steady_s) < 1:
        return TraceArrival(kind="trace", offsets_ns=(round(1e9 * WARMUP_S),))
    if arrivals.kind == "burst":
        count = max(2, round(arrivals.per_burst))
        return Burst(kind="burst", rate_hz=_rate_hz(own_hz / count), count=count)
    if arrivals.kind == "on_change":
        return Poisson(kind="poisson", rate_hz=rate_hz)
    jitter = arrivals.jitter_ns if arrivals.kind == "periodic" else 0.0
    return Periodic(
        kind="periodic",
        rate_hz=rate_hz,
        phase_ns=topic.phase_ns,
        jitter_ms=_jitter_ms(jitter, 1e9 / rate_hz),
    )


def _jitter_ms(jitter_ns: float, period_ns: float) -> float | None:
    """The jitter in ms; None for a negligible one."""
    if jitter_ns < NOTABLE_JITTER * period_ns:
        return None
    most_ns = 0.99 * MOST_JITTER * period_ns  # less by more than the rounding may add
    return float(f"{min(jitter_ns, most_ns) / 1e6:.3g}")


def _arrival_text(topic: TwinTopic, steady_s: float) -> str:
    arrival = _arrival(topic, steady_s)
    fields = arrival.model_dump(by_alias=True, exclude_none=True)
    if set(fields) == {"kind", "rate_hz"} and fields["kind"] == "periodic":
        return f"rate_hz: {fields['rate_hz']:g}"
    parts = (f"{key}: {_yaml(value)}" for key, value in fields.items())
    return f"arrival: {{{', '.join(parts)}}}"


def _yaml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_yaml, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _measurements(topic: TwinTopic) -> Iterator[str]:
    traffic = topic.traffic
    arrivals, gaps = traffic.arrivals, traffic.arrivals.gaps
    yield counted(traffic.messages, "message")
    if traffic.bytes_per_s:
        yield _rate(traffic.bytes_per_s)
    if traffic.publishers > 1:
        yield f"{traffic.publishers} publishers, each at its share of the rate"
    if arrivals.kind == "burst":
        yield f"{significant(arrivals.per_burst)} in a burst"
    if gaps is not None and gaps.long_share:
        yield (
            f"{percent(gaps.long_share)} of gaps are 1.5 periods or longer, the longest "
            f"{quantity(gaps.longest_ns, 'ns')}"
        )
    if _varies(topic) and traffic.sizes is not None:
        sizes = traffic.sizes
        yield (
            f"sizes from {quantity(sizes.least, 'bytes')} to {quantity(sizes.most, 'bytes')}, "
            f"median {quantity(sizes.p50, 'bytes')}, 95 % below {quantity(sizes.p95, 'bytes')}"
        )
    if traffic.sizes is not None and traffic.sizes.mean < SMALLEST.cdr_bytes - 1:
        yield f"recorded with {quantity(traffic.sizes.mean, 'bytes')}, less than the smallest type"
    if traffic.sizes is None:
        yield "its size is assumed"


def _varies(topic: TwinTopic) -> bool:
    sizes = topic.traffic.sizes
    return sizes is not None and sizes.most > NOTABLE_SIZES * sizes.least


def _limits(judged: Sequence[TwinTopic], steady_s: float) -> Iterator[str]:
    """The proposed limits: a message arrives before the next one is due, and the limit of
    undelivered messages is the smallest one that the blocks can decide."""
    yield ""
    yield "outcomes:"
    yield "  # proposed: a latency of one period, or of twice the median gap where there is none, and"
    yield f"  # the smallest share of undelivered messages that {BLOCKS} blocks can show to be met"
    yield "  topics:"
    for topic in judged:
        arrivals = topic.traffic.arrivals
        gap_ns = topic.traffic.publishers * (arrivals.period_ns or 1e9 / arrivals.rate_hz)
        if arrivals.kind == "on_change" and arrivals.gaps is not None:
            gap_ns = 2 * arrivals.gaps.p50_ns
        messages = _steady_messages(topic, steady_s)
        percentile = next(name for name, needed in PERCENTILES if messages * BLOCKS >= needed)
        limits = {f"response_latency_{percentile}_ms": gap_ns / 1e6}
        if lost := _least_loss(messages):
            limits["undelivered"] = lost
        text = ", ".join(f"{metric}: {float(f'{value:.3g}'):g}" for metric, value in limits.items())
        yield f"    {topic.name}: {{{text}}}"


def _least_loss(messages: int) -> float | None:
    """The smallest of LOSSES that BLOCKS trials with that many messages show to be met if all
    arrive; None if they show none."""
    (_, _, high), _ = clustered_fraction(np.zeros(BLOCKS), np.full(BLOCKS, messages))
    return next((share for share in LOSSES if high <= share), None)


def _qos(qos: Qos) -> str:
    """The settings that differ from the workload's, in YAML."""
    settings = {key: getattr(qos, key) for key in USUAL_QOS}
    text = ", ".join(
        f"{key}: {value}" for key, value in settings.items() if value not in (USUAL_QOS[key], None)
    )
    return f"{{{text}}}" if text else ""


def _rate(bytes_per_s: float) -> str:
    return f"{quantity(bytes_per_s, 'bytes')}/s"


def _rate_hz(rate_hz: float) -> float:
    """The rate in Hz with five digits, at least the lowest rate of a suite."""
    return float(f"{max(rate_hz, 0.001):.5g}")


def _clean(text: str) -> str:
    """The text without control characters and what else YAML does not take, so that a name in a bag
    cannot end a comment."""
    return re.sub(r"[^\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+", " ", text)
