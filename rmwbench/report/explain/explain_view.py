"""The view of `rmwbench explain`: for each workload where the time goes at the median; then for
each arm which path the bytes took, how the arm differs, where messages were lost, and why the
slowest messages were slow, in one line where that is enough; and the known remedies."""

from collections.abc import Iterator, Mapping, Sequence

from rmwbench.analysis.causes.loss_places import Losses
from rmwbench.analysis.causes.median import Phase
from rmwbench.analysis.metrics.aggregate import FATES
from rmwbench.analysis.metrics.glossary import GLOSSARY, METRICS, Clocks
from rmwbench.analysis.metrics.judged_topics import noun
from rmwbench.analysis.verdicts.verdict import BlockRatio, Family
from rmwbench.report.explain.shares import KINDS, PHASES, percent
from rmwbench.report.view import (
    Block,
    Facts,
    Head,
    Items,
    Section,
    Table,
    TableCell,
    TableColumn,
    TableRow,
    Text,
    View,
)
from rmwbench.results.answer import advice_sentences
from rmwbench.results.answer.facts import worse_by
from rmwbench.results.answer.progress import why_none
from rmwbench.results.explain.explain_model import (
    ArmInTopic,
    ChainAnswer,
    Explanation,
    Layer,
    MedianAnswer,
    TailAnswer,
)
from rmwbench.results.model import Estimate
from rmwbench.results.workload.lost_messages import measure, slow, slow_of
from rmwbench.words import numbers as fmt

MOST = 3
"""How many tails, and how many messages of each, are shown."""
COLUMNS: Mapping[Phase, str] = {
    Phase.BEFORE: "before",
    Phase.PUBLISH: "call",
    Phase.WAY: "way",
    Phase.TAKE: "take",
    Phase.READ: "read",
}
WHERE: Mapping[Phase, str] = {
    Phase.BEFORE: "before the publish call",
    Phase.PUBLISH: "in the publish call",
    Phase.WAY: "between the call's return and the reader's wake-up",
    Phase.TAKE: "in the reader's take",
}
MEANING = (
    "Before: from the intended time to the publish call, waiting and writing. Way: from the call's "
    "return until the reader is woken. Take: until it has the message; these four add up to its "
    "latency. Read: by its consumer, after the latency. Means of the messages around the median of "
    "each trial, intervals over trials. Packets and switches of threads are per message."
)
MOST_ROWS, MOST_SENTENCES = 16, 8
"""How many rows and sentences of a workload a terminal shows."""
NamedText = tuple[str, str]
"""A name and a text; the name is empty where the text continues the text before."""
_LATENCIES = {m.words[0]: m.name for m in METRICS if m.q == 0.5 and m.clocks is Clocks.ONE_WAY}


def view(explanations: Sequence[Explanation]) -> View:
    sections = [
        Section(arm.workload, [_facts(arm)], head=[TableCell(arm.arm, "strong")])
        for arm in explanations
    ]
    if not explanations:
        text = "No message is judged here, so there is nothing to explain; `rmwbench show` has the answer."
        return View(title="Why", sections=[Section("", [Text(text)])])
    return View(
        title="Why",
        sections=[
            *_medians(explanations),
            *sections,
            *_helps(explanations),
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
    if arm.trials.done and not arm.medians:
        notes = _named("notes", [*arm.notes, *arm.flags])
        return Facts([*notes, ("messages", "none: its nodes alone are measured")])
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
    """`front: worse by loss; response 175 ms, service …, consumed …; lost 12 %`."""
    shown = {name: fmt.metric(topic.metrics.get(key)).text for name, key in _LATENCIES.items()}
    verdict = topic.verdict.verdict
    basis = f"{verdict} {worse_by(topic.verdict)}".rstrip()
    judged = "" if verdict == "no data" else f"{basis}; "
    latencies = ", ".join(f"{name} {text}" for name, text in shown.items())
    fates = ", ".join(
        f"{GLOSSARY[name].title} {fmt.metric(topic.metrics.get(name)).text}"
        for name in FATES
        if name == FATES.lost or ((of := topic.metrics.get(name)) is not None and of.value)
    )
    return f"{topic.topic}: {judged}{latencies}; {fates}"


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
    wanted = fmt.significant_count(chain.wanted)
    for part in chain.parts:
        if part.lost:
            yield f"{part.name} lost {fmt.counted(part.lost, 'message')} of {wanted}"
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


def _medians(explanations: Sequence[Explanation]) -> Iterator[Section]:
    """A section for each workload that has done trials."""
    workloads: dict[str, list[Explanation]] = {}
    for arm in explanations:
        if arm.medians:
            workloads.setdefault(arm.workload, []).append(arm)
    for workload, arms in workloads.items():
        texts = [text for arm in arms for text in _sentences(arm)]
        blocks: list[Block] = [_median_table(arms), Items(texts, most=MOST_SENTENCES)]
        yield Section(workload, blocks, head=[TableCell("the median", "strong")], look="panel")
    if workloads:
        yield Section("", [Text(MEANING, "muted")])


def _helps(explanations: Sequence[Explanation]) -> Iterator[Section]:
    """The known remedies, a line for each symptom."""
    advice = {
        (advised.symptom, advised.middleware, advised.arm, advised.setting): advised
        for arm in explanations
        for advised in arm.advice
    }
    if lines := advice_sentences.lines([*advice.values()]):
        yield Section("What helps", [Items(lines)], look="panel")


def _median_table(arms: Sequence[Explanation]) -> Table:
    medians = [median for arm in arms for median in arm.medians]
    beside = [name for name in medians[0].beside if any(_has(median, name) for median in medians)]
    columns: list[Head] = [TableColumn("arm"), _column("median")]
    columns += [_column(name) for name in COLUMNS.values()]
    columns += [_column(GLOSSARY[name].column) for name in beside] + [TableColumn("taken")]
    families = [family for family in Family if any(arm.family is family for arm in arms)]
    rows = [
        TableRow(
            [
                " · ".join(filter(None, (arm.arm, median.topic))),
                _cell(median.response),
                *(_cell(median.time(phase)) for phase in COLUMNS),
                *(_cell(median.beside[name]) for name in beside),
                median.taken or TableCell("no data", "odd"),
            ],
            heading=f"by {family}" if len(families) > 1 and not place else "",
        )
        for family in families
        for place, (arm, median) in enumerate(
            (arm, median) for arm in arms if arm.family is family for median in arm.medians
        )
    ]
    return Table(columns, rows, most=MOST_ROWS)


def _column(title: str) -> TableColumn:
    return TableColumn(title, right=True, detail="below")


def _has(median: MedianAnswer, name: str) -> bool:
    return median.beside[name].value is not None


def _cell(value: Estimate | None) -> TableCell:
    shown = fmt.metric(value)
    if shown.state == "never":
        return TableCell("never", "bad", "", shown.basis)
    if shown.state == "absent":
        return TableCell("no data", "odd", "", shown.basis)
    return TableCell(shown.text, "", shown.interval, shown.basis)


def _sentences(arm: Explanation) -> Iterator[str]:
    """`fastdds takes 11.6× as long as zenoh at the median: 95 % of it passes …; over shm; …`."""
    for median in arm.medians:
        name = " · ".join(filter(None, (arm.arm, median.topic)))
        if median.response.no_data or median.response.value is None:
            yield f"{name}: no data, {median.response.no_data or 'too few messages'}"
            continue
        yield "; ".join([f"{name} {_median_clause(median)}", *_median_facts(arm, median)])


def _median_clause(median: MedianAnswer) -> str:
    value = fmt.metric(median.response)
    if value.state == "never":
        return "has no median: half of its messages or more never arrived"
    ratio = median.ratio
    if isinstance(ratio, BlockRatio) and median.against:
        head = f"takes {fmt.ratio(ratio).full} as long as {median.against} at the median"
        head += f" ({median.verdict})" if median.verdict in ("undecided", "equivalent") else ""
    else:
        head = f"takes {value.text} at the median"
    phases = [phase for phase in median.phases if phase.share is not None and phase.phase in WHERE]
    if not phases:
        return head
    most = max(phases, key=lambda phase: phase.share or 0.0)
    return f"{head}: {fmt.percent(most.share or 0.0)} of it passes {WHERE[most.phase]}"


def _median_facts(arm: Explanation, median: MedianAnswer) -> Iterator[str]:
    """The path and the pieces of an arm, and the symptoms that cost messages or seconds."""
    packets = median.beside["packets_per_message"].value
    if arm.path and packets is not None and packets >= 2:
        yield f"it leaves in {fmt.significant(packets)} packets ({arm.path})"
    elif arm.path:
        yield f"its bytes went by {arm.path}"
    for advice in arm.advice:
        if advice.is_harm:
            yield advice_sentences.symptom_of(advice, arm.workload, arm.arm)
