"""Explanations for a person at a terminal: a line where there is little to say, a list where there
is more."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.markup import escape

from rmwbench.analysis.causes.loss_places import Losses
from rmwbench.analysis.metrics.aggregate import FATES
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.report.chart.chain import KINDS
from rmwbench.report.explain.shares import percent
from rmwbench.results.explain.model import Chain, Explanation, Layer, Tail, Topic
from rmwbench.results.workload.losses import slow_of
from rmwbench.words import numbers as fmt
from rmwbench.words.printable import printable

INDENT = " " * 11
MOST = 3
"""Tails, and messages of each, that are told."""


def print_explanations(found: Sequence[Explanation], console: Console) -> None:
    for one in map(printable, found):
        console.print(f"[bold]{escape(one.workload)}[/bold]  {escape(one.arm)}")
        if one.trials.done:
            _explanation(one, console)
        else:  # then nothing was lost, and nothing arrived either
            failures = one.trials.failures
            why = f": {failures[-1].status}, {failures[-1].reason}" if failures else ""
            _item(console, "no data", f"no trial was done{why}")
        console.print()
    # once for all: many arms have the same causes, and a suite is sampled alike
    causes = {c.cause: c.text for one in found for tail in one.tails[:MOST] for c in tail.causes}
    for cause, text in causes.items():
        console.print(f"[dim]{escape(cause)}:[/dim] {escape(text)}", soft_wrap=True)
    if causes:
        console.print()
    unwatched = dict.fromkeys(
        what for one in found for tail in one.tails[:MOST] for what in tail.unwatched
    )
    if unwatched:
        console.print(
            f"Not watched, and it may explain more of the slowest: {', '.join(unwatched)} "
            "(rmwbench run SUITE --schedule, --series 10Hz)",
            soft_wrap=True,
        )
        console.print()


def _explanation(one: Explanation, console: Console) -> None:
    _item(console, "path", one.path or "no data: nothing was delivered, or nobody counted")
    for note in one.notes:
        if note.startswith("path:"):
            _item(console, "", note.removeprefix("path:").strip())
    for place, topic in enumerate(one.topics):
        _item(console, "" if place else "topics", _topic(topic))
    for place, text in enumerate([*_chain(one.chain), *_layers(one.layers or ())]):
        _item(console, "" if place else "way", text)
    _losses(console, one.losses)
    for tail in one.tails[:MOST]:
        _tail(console, tail)
    if not one.tails:
        _item(console, "slowest", "no message took twice the median, or too few arrived to say")


_LATENCIES: Mapping[str, str] = {
    "response": "response_latency_p50",
    "service": "service_latency_p50",
    "consumed": "consumed_latency_p50",
}


def _topic(topic: Topic) -> str:
    """`front: worse by delivery; response 175 ms, service …, consumed …; lost 12 %`."""
    shown = {name: fmt.metric(topic.metrics.get(key)).text for name, key in _LATENCIES.items()}
    by = f" by {topic.verdict.by}" if topic.verdict.by else ""
    latencies = ", ".join(f"{name} {text}" for name, text in shown.items())
    fates = ", ".join(
        f"{GLOSSARY[name].title} {fmt.metric(topic.metrics.get(name)).text}"
        for name in FATES
        if name == FATES.lost or ((of := topic.metrics.get(name)) is not None and of.value)
    )
    return f"{topic.topic}: {topic.verdict.verdict}{by}; {latencies}; {fates}"


def _chain(chain: Chain | None) -> Iterator[str]:
    """Who takes how much of a typical message's time, and where messages were lost."""
    if chain is None:
        return
    sums = {
        kind: sum(fmt.finite(p.typical.value) or 0.0 for p in chain.parts if p.kind == kind)
        for kind in KINDS
    }
    whole = sum(sums.values())
    shares = ", ".join(
        f"{KINDS[kind][1]} {fmt.quantity(ns, 'ns')} ({percent(ns / whole)})"
        for kind, ns in sums.items()
        if whole
    )
    nodes = " to ".join(dict.fromkeys(str(n) for n in chain.nodes))
    ways = f", {chain.ways} ways" if chain.ways > 1 else ""
    yield f"{nodes} nodes{ways}; a typical message: {shares or 'nothing arrived'}"
    for part in chain.parts:
        if part.lost:
            yield f"{part.name} lost {fmt.counted(part.lost, 'message')} of {chain.wanted}"
    if text := slow_of(chain):
        yield text


def _layers(layers: Sequence[Layer]) -> Iterator[str]:
    for one in layers:
        yield f"{fmt.metric(one.time).text:>8}  {percent(max(0.0, one.share)):>7}  {one.category}"


def _losses(console: Console, losses: Losses | None) -> None:
    if losses is None:
        _item(console, "missing", "nothing")
        return
    missing = losses.missing
    told = f"{missing} messages did not arrive sound and in time" if missing else "nothing"
    _item(console, "missing", told)
    if text := slow_of(losses):
        _item(console, "late", text)
    if not missing:
        return
    for place in losses.places:
        count = "" if place.unit == "messages" else f", {place.count} {place.unit} counted there"
        most = "up to " if place.label == "at most" else ""
        inferred = ", inferred" if place.label == "inferred" else ""
        where = f"{place.place}{count}{inferred}: {place.text}"
        _item(console, "", f"{most}{place.messages}  {where}")
    if losses.not_located:
        _item(console, "", f"{losses.not_located}  not located")
    if losses.uncounted:
        _item(console, "", f"nobody counts: {', '.join(losses.uncounted)}")


def _tail(console: Console, tail: Tail) -> None:
    worst, median = fmt.quantity(tail.worst[0].latency_ns, "ns"), fmt.quantity(tail.median_ns, "ns")
    _item(
        console,
        "slowest",
        f"{tail.messages} of {tail.of} messages in trial {tail.trial}, from endpoint {tail.writer} "
        f"to {tail.reader}: up to {worst}, median {median}",
    )
    shares = ", ".join(f"{cause.cause} {percent(cause.share)}" for cause in tail.causes)
    _item(console, "", shares)
    for message in tail.worst[:MOST]:
        phases = ", ".join(
            f"{name} {fmt.quantity(ns, 'ns')}" for name, ns in message.phases_ns.items() if ns > 0
        )
        latency = fmt.quantity(message.latency_ns, "ns")
        _item(console, "", f"seq {message.seq}: {latency} = {phases} ({message.cause})")


def _item(console: Console, name: str, text: str) -> None:
    console.print(
        f"  [dim]{name:<9}[/dim]{escape(text)}" if name else f"{INDENT}{escape(text)}",
        soft_wrap=True,
    )
