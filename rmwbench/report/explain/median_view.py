"""Where the time goes at the median, as one table per workload with a sentence for each arm."""

from collections.abc import Iterator, Mapping, Sequence

from rmwbench.analysis.causes.median import Phase
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.verdicts.verdict import BlockRatio, Family
from rmwbench.report.view import (
    Block,
    Head,
    Items,
    Section,
    Table,
    TableCell,
    TableColumn,
    TableRow,
    Text,
)
from rmwbench.results.answer import advice_sentences
from rmwbench.results.explain.explain_model import Explanation, MedianAnswer
from rmwbench.results.model import Estimate
from rmwbench.words import numbers as fmt

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


def sections(explanations: Sequence[Explanation]) -> Iterator[Section]:
    """A section for each workload that has done trials."""
    workloads: dict[str, list[Explanation]] = {}
    for arm in explanations:
        if arm.medians:
            workloads.setdefault(arm.workload, []).append(arm)
    for workload, arms in workloads.items():
        texts = [text for arm in arms for text in sentences(arm)]
        blocks: list[Block] = [_table(arms), Items(texts, most=MOST_SENTENCES)]
        yield Section(workload, blocks, head=[TableCell("the median", "strong")], look="panel")
    if workloads:
        yield Section("", [Text(MEANING, "muted")])


def helps(explanations: Sequence[Explanation]) -> Iterator[Section]:
    """The known remedies, a line for each symptom."""
    advice = {
        (advised.symptom, advised.middleware): advised
        for arm in explanations
        for advised in arm.advice
    }
    if lines := advice_sentences.lines([*advice.values()]):
        yield Section("What helps", [Items(lines)], look="panel")


def _table(arms: Sequence[Explanation]) -> Table:
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


def sentences(arm: Explanation) -> Iterator[str]:
    """`fastdds takes 11.6× as long as zenoh at the median: 95 % of it passes …; over shm; …`."""
    for median in arm.medians:
        name = " · ".join(filter(None, (arm.arm, median.topic)))
        if median.response.no_data or median.response.value is None:
            yield f"{name}: no data, {median.response.no_data or 'too few messages'}"
            continue
        yield "; ".join([f"{name} {_main(median)}", *_facts(arm, median)])


def _main(median: MedianAnswer) -> str:
    value = fmt.metric(median.response)
    if value.state == "never":
        return "has no median: half of its messages or more never arrived"
    ratio = median.ratio
    if isinstance(ratio, BlockRatio) and median.against:
        head = f"takes {fmt.ratio(ratio).full} as long as {median.against} at the median"
        head += f" ({median.verdict})" if median.verdict in ("undecided", "equivalent") else ""
    else:
        head = f"takes {value.text} at the median"
    known = [phase for phase in median.phases if phase.share is not None and phase.phase in WHERE]
    if not known:
        return head
    most = max(known, key=lambda phase: phase.share or 0.0)
    return f"{head}: {fmt.percent(most.share or 0.0)} of it passes {WHERE[most.phase]}"


def _facts(arm: Explanation, median: MedianAnswer) -> Iterator[str]:
    """The path and the pieces of an arm, and the symptoms that cost messages or seconds."""
    packets = median.beside["packets_per_message"].value
    if arm.path and packets is not None and packets >= 2:
        yield f"it leaves in {fmt.significant(packets)} packets ({arm.path})"
    elif arm.path:
        yield f"its bytes went by {arm.path}"
    for advice in arm.advice:
        if advice.is_harm:
            yield advice_sentences.symptom_of(advice, arm.workload, arm.arm)
