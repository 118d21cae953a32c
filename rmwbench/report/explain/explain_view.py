"""The view of `rmwbench explain`: for each workload where the time goes at the median; then for
each arm which path the bytes took, how the arm differs, where messages were lost, and why the
slowest messages were slow, in one line where that is enough; and the known remedies."""

from collections.abc import Iterator, Sequence

from rmwbench.analysis.causes.loss_places import Losses
from rmwbench.analysis.metrics.aggregate import FATES
from rmwbench.analysis.metrics.glossary import GLOSSARY, METRICS, Clocks
from rmwbench.analysis.metrics.judged_topics import noun
from rmwbench.report.explain import median_view
from rmwbench.report.explain.shares import KINDS, PHASES, percent
from rmwbench.report.view import Block, Facts, Section, TableCell, Text, View
from rmwbench.results.answer.progress import why_none
from rmwbench.results.explain.explain_model import (
    ArmInTopic,
    ChainAnswer,
    Explanation,
    Layer,
    TailAnswer,
)
from rmwbench.results.workload.lost_messages import measure, slow, slow_of
from rmwbench.words import numbers as fmt

MOST = 3
"""How many tails, and how many messages of each, are shown."""
NamedText = tuple[str, str]
"""A name and a text; the name is empty where the text continues the text before."""
_LATENCIES = {m.words[0]: m.name for m in METRICS if m.q == 0.5 and m.clocks is Clocks.ONE_WAY}


def view(explanations: Sequence[Explanation]) -> View:
    sections = [
        Section(arm.workload, [_facts(arm)], head=[TableCell(arm.arm, "strong")])
        for arm in explanations
    ]
    return View(
        title="Why",
        sections=[
            *median_view.sections(explanations),
            *sections,
            *median_view.helps(explanations),
            Section("", [*_once(explanations)]),
        ],
    )


def _once(explanations: Sequence[Explanation]) -> Iterator[Block]:
    """The texts for all arms together: many arms have the same causes and sampling."""
    tails = [tail for arm in explanations for tail in arm.tails[:MOST]]
    causes = {cause.cause: cause.text for tail in tails for cause in tail.causes}
    if causes:
        yield Facts([*causes.items()])
    if unwatched := list(dict.fromkeys(source for tail in tails for source in tail.unwatched)):
        yield Text(
            f"Not watched, and it may explain more of the slowest: {', '.join(unwatched)} "
            "(rmwbench run SUITE --schedule, --series 10Hz)"
        )


def _facts(arm: Explanation) -> Facts:
    if arm.trials.done:
        return Facts([*_explanation(arm)])
    # then nothing was lost, and nothing arrived either
    why = why_none(arm.trials.failures)
    return Facts([("no data", f"no trial is done{f': {why}' if why else ''}")])


def _named(name: str, texts: Sequence[str]) -> Iterator[NamedText]:
    for place, text in enumerate(texts):
        yield "" if place else name, text


def _explanation(arm: Explanation) -> Iterator[NamedText]:
    yield "path", arm.path or "no data: nothing was delivered, or nobody counted"
    yield from _named("notes", [*arm.notes, *arm.flags])
    yield from _named(f"{noun(arm.topics)}s", [_topic(topic) for topic in arm.topics])
    yield from _named("way", [*_chain(arm.chain), *_layers(arm.layers or ())])
    yield from _losses(arm.losses)
    for tail in arm.tails[:MOST]:
        yield from _named("slowest", [*_tail(tail)])
    if not arm.tails:
        yield "slowest", "no message took twice the median, or too few arrived to say"


def _topic(topic: ArmInTopic) -> str:
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


def _chain(chain: ChainAnswer | None) -> Iterator[str]:
    """How much of a typical message's time each part of the chain takes, and where messages were
    lost."""
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
    if text := slow(chain.under_way + chain.overdue, chain.wanted):
        yield text


def _layers(layers: Sequence[Layer]) -> Iterator[str]:
    for layer in layers:
        yield f"{layer.category}: {fmt.metric(layer.time).text}, {percent(max(0.0, layer.share))}"


def _losses(losses: Losses | None) -> Iterator[NamedText]:
    if losses is None:
        yield "missing", "nothing"
        return
    missed = f"{fmt.counted(losses.missing, 'message')} did not arrive sound and in time"
    yield "missing", missed if losses.missing else "nothing"
    if text := slow_of(losses):
        yield "late", text
    if not losses.missing:
        return
    for place in losses.places:
        yield "", f"{place.place}: {measure(place)}; {place.text}"
    if losses.not_located:
        yield "", f"not located: {fmt.counted(losses.not_located, 'message')}"
    if losses.uncounted:
        yield "", f"nobody counts: {', '.join(losses.uncounted)}"


def _tail(tail: TailAnswer) -> Iterator[str]:
    worst, median = fmt.quantity(tail.worst[0].latency_ns, "ns"), fmt.quantity(tail.median_ns, "ns")
    yield (
        f"{tail.messages} of {fmt.counted(tail.of, 'message')} in trial {tail.trial}, from endpoint "
        f"{tail.writer} to {tail.reader}: up to {worst}, median {median}"
    )
    yield ", ".join(f"{cause.cause} {percent(cause.share)}" for cause in tail.causes)
    for message in tail.worst[:MOST]:
        phases = ", ".join(
            f"{PHASES[name]} {fmt.quantity(ns, 'ns')}"
            for name, ns in message.phases_ns.items()
            if ns > 0
        )
        latency = fmt.quantity(message.latency_ns, "ns")
        yield f"seq {message.seq}: {latency} = {phases} ({message.cause})"
