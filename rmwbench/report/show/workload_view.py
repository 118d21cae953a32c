"""A workload of a campaign: its table and its topics' tables, the effects of single changes, groups
of metrics, its pictures, and the evidence of each arm.

Notes say how an arm differs from the others of its table, and how the machine disturbed it. A note
that holds for most arms is given once, in words; a note on a single arm is where the arm is
explained."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.judged_topics import PREPOSITION, noun
from rmwbench.command_name import command_line
from rmwbench.report import table_columns as choice
from rmwbench.report.chart import style
from rmwbench.report.show import evidence_view, level_view
from rmwbench.report.show.matrices import pairs
from rmwbench.report.view import (
    Block,
    Facts,
    Items,
    On,
    Picture,
    Section,
    Table,
    TableCell,
    TableColumn,
    TableRow,
    Text,
    Tone,
    Verbatim,
)
from rmwbench.results.answer import facts, progress
from rmwbench.results.answer.headline import conditions, headline
from rmwbench.results.model import Estimate
from rmwbench.results.show_model import (
    AnyArm,
    SuiteAnswer,
    TopicAnswer,
    TopicArm,
    WorkloadAnswer,
    WorkloadArm,
)
from rmwbench.results.workload import effects, groups, spread_words, topic_answers
from rmwbench.words import numbers as fmt

TONES: dict[str, Tone] = {"decided": "good", "shared": "good", "open": "open", "none": "odd"}
"""The tone of a headline."""
VERDICTS: dict[str, Tone] = {
    "best": "good",
    "equivalent": "good",
    "worse": "bad",
    "undecided": "open",
    "reference": "muted",
    "no data": "odd",
}
MARKS = {"best": "★", "equivalent": "=", "worse": "✗", "undecided": "?", "no data": "·"}
KEY = "★ best, = equivalent, ✗ worse, ? undecided, · no data"


def workload_section(
    doc: SuiteAnswer, workload: WorkloadAnswer, number: int, pictures: Sequence[Picture] | None
) -> Section:
    name, title = workload.workload, workload.title
    description = f"{workload.description.rstrip('.')}. " if workload.description else ""
    blocks: list[Block] = [
        Text(f"{description}Every number opens what it rests on.", "muted", on=On.PAGE),
        *_sentences(doc, workload),
        *(replace(block, on=On.MARKDOWN) for block in comparison(workload, number, pictures)),
        *pairs(workload),
        *(block.only(On.TERMINAL) for block in topic_blocks(workload, number)),
        results(workload, number),
        *_notes(workload),
        *_topics(doc, workload, number, pictures is not None),
        *_effects(doc, workload),
        *_groups(workload, number),
        *_failures(workload),
    ]
    if pictures is not None:
        blocks += evidence_view.figures(doc, workload, pictures)
        blocks += evidence_view.arms(doc, workload, number)
    return Section(
        title,
        blocks,
        anchor=f"w-{number}",
        nav=title,
        look="workload",
        head=[] if title == name else [TableCell(name, "muted")],
    )


def _sentences(doc: SuiteAnswer, workload: WorkloadAnswer) -> Iterator[Block]:
    """The sentences of a workload in Markdown, where it has a heading and no card; none for an arm
    alone whose answer is the effect of the factor."""
    answer = headline(workload, conditions(doc).get(workload.workload))
    if answer.is_alone and not answer.limits and workload.workload in level_view.compared(doc):
        return
    if answer.limits:
        yield Text(answer.limits, "strong", on=On.MARKDOWN)
    yield Text(answer.detail, lead=answer.answer, on=On.MARKDOWN)


def comparison(
    workload: WorkloadAnswer, number: int, pictures: Sequence[Picture] | None
) -> Iterator[Block]:
    """The blocks beside the sentences of a card: the picture of the primary metric, and the
    topics."""
    yield from (picture for picture in pictures or () if picture.key == evidence_view.COMPARISON)
    yield from topic_blocks(workload, number)


def _key(number: int, place: int) -> str:
    return f"{number}-{place}"


def results(workload: WorkloadAnswer, number: int) -> Table:
    """The table of results, an arm per row: the columns of this workload, and the verdict, which a
    terminal shows beside the latencies. Only documents have the release date and the distance from
    the floor."""
    chosen = [(column, choice.chosen(workload, column)) for column in choice.of(workload)]
    first = [pair for pair in chosen if pair[0].leads]
    others = [pair for pair in chosen if pair not in first]
    columns = [
        TableColumn("arm"),
        *(_column(column, metric, workload) for column, metric in first),
        TableColumn("verdict", detail="beside", on=On.TERMINAL),
        *(_column(column, metric, workload) for column, metric in others),
        TableColumn("released", on=On.DOCUMENT),
        TableColumn("× floor", right=True, on=On.DOCUMENT),
        TableColumn("verdict", on=On.DOCUMENT),
    ]
    looks = style.looks(workload.arms)
    letters = list(arms_by_note(workload))
    before = PREPOSITION[noun(workload.topics)]
    rows = []
    for place, arm in enumerate(workload.arms):
        key = _key(number, place)
        note = ",".join(note_letter(letters, flag) for flag in arm.flags)
        why, link, released = "; ".join(arm.flags), f"#arm-{key}", arm.release_date or ""
        cells = [
            TableCell(arm.label, swatch=looks[arm.arm], link=link, why=why, note=note),
            *(metric_cell(arm, metric, key) for _, metric in first),
            verdict_cell(arm, facts.verdict_basis(arm), before=before),
            *(metric_cell(arm, metric, key) for _, metric in others),
            TableCell(released[:7] or "–", "muted", why=released),
            _floor_cell(arm, link),
            verdict_cell(arm, facts.verdict_basis(arm, whole=True), link, before),
        ]
        tone: Tone = "muted" if arm.role == "floor" else ""
        rows.append(TableRow(cells, choice.family_begins(workload, place), tone))
    return Table(columns, rows, look="results")


def _floor_cell(arm: WorkloadArm, link: str) -> TableCell:
    """The distance of an arm from the floor."""
    floor = fmt.ratio(arm.times_floor)
    if floor.state != "measured":
        return TableCell("–", why=floor.basis)
    return TableCell(floor.text, detail=floor.interval, why=floor.basis, link=link)


def _column(column: choice.Column, metric: str | None, workload: WorkloadAnswer) -> TableColumn:
    """The column of a metric; a terminal shows the interval of the primary metric alone."""
    whole = metric == workload.primary_metric
    return TableColumn(
        choice.title(column, metric),
        right=True,
        metric=metric or "",
        detail="beside" if whole else "",
    )


def metric_cell(arm: AnyArm, metric: str | None, key: str = "") -> TableCell:
    """The cell of a metric; `key`: that of the arm whose evidence the number opens."""
    value = arm.metrics.get(metric or "")
    shown = fmt.metric(value)
    return TableCell(
        shown.text,
        evidence_view.STATES.get(shown.state, ""),
        shown.interval,
        shown.basis,
        f"#m-{key}-{metric}" if key and value is not None else "",
    )


def verdict_cell(arm: AnyArm, difference: str, link: str = "", before: str = "in") -> TableCell:
    """`worse 1.84×`, `worse by loss`. `difference` is empty where the arm does not differ;
    `before` is the word before the topic on which the verdict rests."""
    if isinstance(arm, WorkloadArm) and arm.not_supported:
        return TableCell("not supported", "muted", why=arm.not_supported)
    verdict = arm.verdict
    topic = arm.verdict.topic if isinstance(arm, WorkloadArm) else None
    where = f"{before} {topic}" if topic and verdict.verdict in ("worse", "undecided") else ""
    detail = " ".join(filter(None, (difference, where)))
    tone = VERDICTS.get(verdict.verdict, "")
    return TableCell(verdict.verdict, tone, detail, verdict.reason, link, badge=True)


def _notes(workload: WorkloadAnswer) -> Iterator[Block]:
    """The evidence on which the table rests, and the peculiarities of single arms."""
    for arm in workload.arms:
        if text := spread_words.unlike(arm.spread):
            yield Text(f"{arm.label}: {text}.", "strong", on=On.TERMINAL)
    if text := _resolved(workload):
        yield Text(text, "muted", on=On.TERMINAL)
    arms = {note: ", ".join(names) for note, names in arms_by_note(workload).items()}
    if arms:
        letters = [note_letter(list(arms), note) for note in arms]
        texts = [f"{note} ({names})" for note, names in arms.items()]
        yield Facts([*zip(letters, texts, strict=True)], "notes", on=On.PAGE)
        yield Items([f"{names}: {note}" for note, names in arms.items()], on=On.MARKDOWN)
    if workload.resolution.text:
        yield Text(workload.resolution.text, "muted", on=On.DOCUMENT)


def _resolved(workload: WorkloadAnswer) -> str:
    """`95 % t interval on the log of 5 trial medians; n = 400 messages per arm. A difference of
    2.00× would be found with 95 % certainty.`"""
    measured = [
        entry
        for arm in workload.arms
        if (entry := arm.metrics.get(workload.primary_metric)) and entry.value is not None
    ]
    parts = []
    if measured:
        counts = _range([entry.count for entry in measured])
        primary = GLOSSARY.get(workload.primary_metric)
        items = "messages" if primary is None else primary.items
        if all(entry.count == entry.trials for entry in measured):
            items = "trials"
        printed = [entry for entry in measured if fmt.metric(entry).state == "measured"]
        spread = f"[low–high]: {intervals(printed)}; " if printed else ""
        parts.append(f"{spread}n = {counts} {items} per arm.")
    ratio = fmt.finite(workload.resolution.resolvable_ratio)
    if ratio is not None and ratio < fmt.LARGEST_RATIO:
        blocks = fmt.counted(workload.resolution.blocks, "block")
        parts.append(
            f"{blocks} find a difference of {fmt.significant(ratio)}× with 95 % certainty."
        )
    return " ".join(parts)


def intervals(measured: Sequence[Estimate]) -> str:
    """How the intervals of most arms were made, with the fewest and the most trials behind them,
    since decided arms stop early."""
    kinds: dict[str, list[Estimate]] = {}
    for entry in measured:
        kind = (entry.interval or "interval").replace(f" {entry.trials} trial", " {} trial")
        kinds.setdefault(kind, []).append(entry)
    kind, alike = max(kinds.items(), key=lambda item: len(item[1]))
    most = "" if len(kinds) == 1 else "of most arms a "
    return most + kind.replace("{}", _range([entry.trials for entry in alike]))


def _range(counts: Sequence[int | None]) -> str:
    present = sorted(count for count in counts if count is not None)
    if not present:
        return "unknown"
    low, high = fmt.significant_count(present[0]), fmt.significant_count(present[-1])
    return low if low == high else f"{low} to {high}"


def topic_blocks(workload: WorkloadAnswer, number: int) -> Iterator[Block]:
    """The table of arms by topics; empty where the workload has one topic, or alike topics."""
    topics = workload.topics
    if not topics:
        return
    looks = style.looks(workload.arms)
    columns = [TableColumn("arm")]
    for place, topic in enumerate(topics):
        link = f"#{_topic_anchor(number, place)}"
        columns.append(TableColumn(topic.topic, right=True, detail="below", link=link))
    rows = []
    for place, arm in enumerate(workload.arms):
        cells = [topic_cell(topic, topic.arms[place]) for topic in topics]
        tone: Tone = "muted" if arm.role == "floor" else ""
        rows.append(TableRow([TableCell(arm.label, swatch=looks[arm.arm]), *cells], tone=tone))
    yield Table(columns, rows, look="results topics")
    metric = topics[0].primary_metric.replace("_", " ")
    judged = any(topic.judged for topic in topics)
    key = KEY if judged else "shown and not judged: the workload is judged by another metric"
    facts_of_topics = "; ".join(f"{topic.topic}: {topic_answers.facts(topic)}" for topic in topics)
    yield Text(
        f"By {noun(topics)}: {metric}, and what did not arrive; {key}. {facts_of_topics}.", "muted"
    )
    for topic in topics:
        for own, whole in zip(topic.arms, workload.arms, strict=True):
            if text := spread_words.unlike(own.spread):
                yield Text(f"{topic.topic}: {whole.label}: {text}.", "strong")


def topic_cell(topic: TopicAnswer, arm: TopicArm) -> TableCell:
    """`175 ms ✗`, and below it the share that did not arrive."""
    shown = fmt.metric(arm.metrics.get(topic.primary_metric))
    verdict = facts.verdict_of(arm) if topic.judged else ""
    text = "never" if shown.state == "never" else shown.text
    return TableCell(
        f"{text} {MARKS.get(verdict, '')}".rstrip(),
        VERDICTS.get(verdict, ""),
        facts.fates_of(arm, topic).short(),
        "; ".join(filter(None, (shown.full, facts.verdict_basis(arm), arm.verdict.reason))),
    )


def _topics(
    doc: SuiteAnswer, workload: WorkloadAnswer, number: int, draw: bool
) -> Iterator[Section]:
    """Each topic by itself, on a page."""
    for place, topic in enumerate(workload.topics):
        about = topic_answers.facts(topic)
        if len(topic.members) > 1:
            about += f": {', '.join(topic.members)}"
        blocks: list[Block] = [Text(f"{about}.", "muted")]
        if topic.judged:
            answer = headline(topic)
            blocks.append(Text(answer.detail, lead=answer.answer))
        blocks.append(_topic_table(workload, topic))
        between = [
            f"{arm.arm}: {spread_words.between(arm.spread)}" for arm in topic.arms if arm.spread
        ]
        if between:
            blocks.append(Items(between))
        if draw:
            blocks.append(evidence_view.topic_figures(doc, workload, topic))
        anchor = _topic_anchor(number, place)
        yield Section(
            f"{noun([topic]).capitalize()} {topic.topic}", blocks, anchor=anchor, on=On.PAGE
        )


def _topic_anchor(number: int, place: int) -> str:
    return f"t-{number}-{place}"


def _topic_table(workload: WorkloadAnswer, topic: TopicAnswer) -> Table:
    chosen = [(column, choice.chosen(topic, column)) for column in choice.of(topic)]
    columns = [TableColumn("arm")]
    columns += [
        TableColumn(choice.title(column, name), right=True, metric=name or "")
        for column, name in chosen
    ]
    columns.append(TableColumn("verdict"))
    looks = style.looks(topic.arms)
    rows = [
        [
            TableCell(whole.label, swatch=looks[arm.arm]),
            *(metric_cell(arm, name) for _, name in chosen),
            verdict_cell(arm, facts.verdict_basis(arm, whole=True)) if topic.judged else "–",
        ]
        for arm, whole in zip(topic.arms, workload.arms, strict=True)
    ]
    return Table(columns, rows, look="results")


def _effects(doc: SuiteAnswer, workload: WorkloadAnswer) -> Iterator[Block]:
    """The table of arms against the arm from which they differ in one thing, as ratios."""
    shown = effects.columns(workload)
    if not shown:
        return
    columns = [TableColumn("one thing changed")]
    columns += [
        TableColumn(doc.glossary[name].title, right=True, metric=name, detail="below")
        for name in shown
    ]
    rows: list[list[TableCell | str]] = []
    for effect in workload.effects:
        ratios = [fmt.ratio(effect.ratios.get(name)) for name in shown]
        cells = [
            TableCell(ratio.text, detail=ratio.interval, why=ratio.basis)
            if ratio.state == "measured"
            else TableCell("–", "muted", why=ratio.basis)
            for ratio in ratios
        ]
        rows.append([effect.name, *cells])
    meaning = (
        "Ratios of pairs within a block, each with its interval at the level at which it was "
        "judged: all of this report share one error of 5 %."
    )
    blocks = [Table(columns, rows, look="effects"), Text(meaning, "muted", on=On.PAGE)]
    yield Section("One thing changed", blocks)


def _groups(workload: WorkloadAnswer, number: int) -> Iterator[Section]:
    """Links, late nodes, interruptions."""
    looks = style.looks(workload.arms)
    for group in groups.groups(workload):
        columns = [TableColumn("arm")]
        columns += [
            TableColumn(title, right=True, metric=name) for title, name in group.metrics.items()
        ]
        rows = [
            [
                TableCell(arm.label, swatch=looks[arm.arm]),
                *(metric_cell(arm, name, _key(number, place)) for name in group.metrics.values()),
            ]
            for place, arm in enumerate(workload.arms)
        ]
        reading = Text(group.reading, "muted", on=On.DOCUMENT)
        yield Section(group.title, [Table(columns, rows, look="results effects"), reading])


def _failures(workload: WorkloadAnswer) -> Iterator[Block]:
    """The arms that could not run, each reason with its arms, and the trials that failed, on a page
    with their whole text."""
    reasons: dict[str, list[str]] = {}
    for arm in workload.arms:
        if arm.not_supported:
            reasons.setdefault(arm.not_supported, []).append(arm.arm)
    if reasons:
        texts = [f"{', '.join(arms)} not supported: {why}" for why, arms in reasons.items()]
        yield Items(texts, "muted")
    lines = []
    for arm in workload.arms:
        for failure in progress.undone_trials(arm):
            reason = failure.reason or "no reason recorded"
            line = f"{arm.arm}, trial {failure.trial} {failure.status}: {reason.splitlines()[0]}"
            lines.append(line)
            blocks = [Verbatim(reason)]
            yield Section(line, blocks, look="failure", folded=True, on=On.PAGE)
    if lines:
        yield Items(lines, on=On.MARKDOWN)


MOST_ARMS = 0.5
"""The share of the arms of a campaign above which a note holds for most of them."""


def notes_of_most_arms(doc: SuiteAnswer) -> list[str]:
    """Each flag that more than half of the arms have, in the words of the first."""
    arms = [arm for workload in doc.workloads for arm in workload.arms]
    texts_by_code: dict[str, list[str]] = {}
    for arm in arms:
        for code, text in _keyed_flags(arm):
            texts_by_code.setdefault(code, []).append(text)
    notes = []
    for texts in texts_by_code.values():
        if len(arms) > 1 and len(texts) > MOST_ARMS * len(arms):
            who = "Every arm" if len(texts) == len(arms) else "Most arms"
            alike = "" if len({*texts}) == 1 else ", for example"
            notes.append(f"{who}{alike}: {texts[0]}")
    return notes


def note_on_single_arms(doc: SuiteAnswer) -> str:
    """A sentence that names the arms with notes of their own, and says where to read them; empty
    if there are none."""
    arms = [arm for workload in doc.workloads for arm in workload.arms]
    flagged = list(dict.fromkeys(arm.arm for arm in arms if set(arm.flags) - set(arm.disturbed)))
    if not flagged:
        return ""
    explain = command_line("explain", doc.campaign.directory)
    return f"What is special about {', '.join(flagged)}: `{explain}` and the report say it."


def arms_by_note(workload: WorkloadAnswer) -> dict[str, list[str]]:
    """Each note of a workload -> its arms."""
    arms_by_text: dict[str, list[str]] = {}
    for arm in workload.arms:
        for flag in arm.flags:
            arms_by_text.setdefault(flag, []).append(arm.arm)
    return arms_by_text


def note_letter(keys: Sequence[str], key: str) -> str:
    """`a` to `z`, then `aa`, `ab`: the letter of a note by its place."""
    place, text = keys.index(key), ""
    while place >= 0:
        place, last = divmod(place, 26)
        text, place = chr(ord("a") + last) + text, place - 1
    return text


def _keyed_flags(arm: WorkloadArm) -> list[tuple[str, str]]:
    """(key, text) of each flag: equal notes of all arms have the same key; for flags of the machine
    the key is the code."""
    codes = dict(zip(arm.disturbed, arm.disturbed_by, strict=False))
    return [(codes.get(flag, flag), flag) for flag in arm.flags]
