"""The evidence for the numbers of a workload: its pictures, the causes of an arm's results, and for
each arm its settings, every metric, and the values of its trials."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from shlex import quote

from rmwbench.report.chart import style
from rmwbench.report.show import level_view
from rmwbench.report.view import (
    Bar,
    Facts,
    On,
    Picture,
    Section,
    Table,
    TableCell,
    TableColumn,
    TableRow,
    Tone,
    Verbatim,
    with_data,
)
from rmwbench.results.answer.facts import verdict_basis
from rmwbench.results.model import Estimate
from rmwbench.results.show_model import (
    SuiteAnswer,
    TopicAnswer,
    TrialValue,
    WorkloadAnswer,
    WorkloadArm,
)
from rmwbench.results.workload import spread_words
from rmwbench.suite.file.suite_files import argument_of
from rmwbench.words import numbers as fmt
from rmwbench.words.level_names import named_level

METRICS = (
    TableColumn("metric"),
    TableColumn("value", right=True, key="value"),
    TableColumn("interval", key="interval"),
    TableColumn("from", key="basis"),
    TableColumn("trials", key="trials"),
)
MOST_READERS = 20
"""How many readers of an arm are listed one by one, where they turned out unlike."""
COMPARISON = "comparison"
"""The key of the picture that compares the arms by the primary metric."""
STATES: dict[str, Tone] = {"never": "bad", "absent": "muted"}
"""The tone of a number, by its state."""
SETTINGS = ("path", "publish_mode", "take", "when_full", "schedule", "qos", "touch", "conditions")


def drawn(doc: SuiteAnswer, workload: WorkloadAnswer) -> list[Picture]:
    """The pictures of a workload that have data, each drawn once; `comparison` goes beside the
    sentences, the others into their own section."""
    from rmwbench.report.chart.workload_charts import figures

    return [
        _carded(doc, workload, picture, On.EVERYWHERE if picture.key == COMPARISON else On.DOCUMENT)
        for picture in with_data(figures(workload))
    ]


def _carded(
    doc: SuiteAnswer,
    workload: WorkloadAnswer,
    picture: Picture,
    on: On = On.EVERYWHERE,
    topic: str = "",
) -> Picture:
    """The picture with its experiment card."""
    from rmwbench.report.chart.workload_charts import card

    of = f"{workload.workload} {topic}".rstrip()
    return replace(picture, of=of, card=card(doc, workload), on=on)


def figures(
    doc: SuiteAnswer, workload: WorkloadAnswer, pictures: Sequence[Picture]
) -> Iterator[Section]:
    """The pictures of a workload after the first, and those that explain its arms."""
    from rmwbench.report.explain.figures import explained

    others = [picture for picture in pictures if picture.key != COMPARISON]
    yield Section("", others, look="figures")
    why = [_carded(doc, workload, picture, On.PAGE) for picture in explained(workload)]
    title = "Where the bytes went, where messages went missing, why the slowest were slow"
    yield Section(title, [Section("", why, look="figures why")], on=On.PAGE)


def topic_figures(doc: SuiteAnswer, workload: WorkloadAnswer, topic: TopicAnswer) -> Section:
    from rmwbench.report.chart.workload_charts import of_topic

    carded = [
        _carded(doc, workload, picture, topic=topic.topic) for picture in with_data(of_topic(topic))
    ]
    figures = Section("", carded, look="figures")
    return Section(f"Charts of {topic.topic}", [figures], folded=True, on=On.PAGE)


def arms(doc: SuiteAnswer, workload: WorkloadAnswer, number: int) -> Iterator[Section]:
    looks = style.looks(workload.arms)
    sections = []
    for place, arm in enumerate(workload.arms):
        key = f"{number}-{place}"
        blocks = [Facts([*_facts(doc, workload, arm)], "facts"), _metrics(doc, arm, key)]
        head = [TableCell(arm.version or "", "muted"), TableCell(arm.verdict.verdict, badge=True)]
        anchor, swatch = f"arm-{key}", looks[arm.arm]
        sections.append(
            Section(arm.arm, blocks, anchor, look="arm", folded=True, swatch=swatch, head=head)
        )
    yield Section("The evidence, arm by arm", sections, on=On.PAGE)


def _facts(
    doc: SuiteAnswer, workload: WorkloadAnswer, arm: WorkloadArm
) -> Iterator[tuple[str, TableCell | Verbatim | str]]:
    campaign, verdict, trials = doc.campaign, arm.verdict, arm.trials
    floor, basis = fmt.ratio(arm.times_floor), verdict_basis(arm, whole=True)
    answer = f"{basis}. {verdict.reason}" if basis else verdict.reason
    if verdict.verdict == "alone" and workload.workload in level_view.compared(doc):
        answer += "; its levels are compared with each other"
    if verdict.minutes_to_decide:
        more = fmt.minutes(verdict.minutes_to_decide)
        answer += f"; a campaign of about {more} would decide it"
    yield "verdict", TableCell(f"{verdict.verdict}: {answer}")
    yield "× floor", TableCell(floor.full, detail=floor.basis)
    yield from (("note", flag) for flag in arm.flags)
    if arm.spread:
        yield "readers", spread_words.between(arm.spread)
        yield from list(spread_words.each(arm.spread))[:MOST_READERS]
    numbers = ", ".join(map(str, trials.numbers))
    counts = f"({trials.done} done, {trials.failed} failed, {trials.void} void)"
    yield "trials", f"{numbers} {counts}".lstrip()
    for failure in trials.failures:
        yield f"trial {failure.trial} {failure.status}", Verbatim(failure.reason or "")
    version = f" {arm.version}" if arm.version else ""
    released = f", released {arm.release_date}" if arm.release_date else ""
    yield "middleware", f"{arm.middleware}{version}{released}, layer {arm.layer}"
    for name in SETTINGS:
        if value := getattr(arm, name):
            yield name.replace("_", " "), str(value)
    if arm.options:
        yield "options", ", ".join(f"{key}: {value}" for key, value in arm.options.items())
    configuration = arm.configuration
    yield "profile", f"{arm.profile}{f' ({configuration.format})' if configuration else ''}"
    if configuration:
        yield "", Verbatim(configuration.text or "")
    yield "environment", TableCell(doc.machine.summary, link="#machine")
    levels = (f" --at {quote(named_level(*level))}" for level in workload.levels.items())
    added = f" --with {quote(arm.arm)}" if arm.arm in campaign.added else ""
    names = f"--workload {quote(workload.name)}{''.join(levels)} --arm {quote(arm.arm)}{added}"
    if campaign.suite:
        suite = argument_of(campaign.suite)
        yield "again", f"`rmwbench run {suite} --seed {campaign.seed} {names}`"
    query = f'"SELECT * FROM trials WHERE cell = {arm.cell}"'
    yield "raw", f"`rmwbench query {query} {quote(campaign.directory)}`"


def _metrics(doc: SuiteAnswer, arm: WorkloadArm, key: str) -> Table:
    rows = []
    for name, entry in arm.metrics.items():
        shown = fmt.metric(entry)
        title = doc.glossary[name].title if name in doc.glossary else name
        value = TableCell(shown.text, STATES.get(shown.state, ""))
        bars = TableCell("", bars=tuple(_bars(entry, arm.per_trial.get(name, ()))))
        cells: list[TableCell | str] = [title, value, shown.interval, shown.basis, bars]
        rows.append(TableRow(cells, anchor=f"m-{key}-{name}", metric=name))
    return Table(METRICS, rows, look="metrics")


def _bars(entry: Estimate, values: tuple[TrialValue, ...]) -> Iterator[Bar]:
    # a latency between two clocks may be below 0, where a bar has no length
    lengths = [max(fmt.finite(trial.value) or 0.0, 0.0) for trial in values]
    largest = max(lengths, default=0.0) or 1.0
    for trial, length in zip(values, lengths, strict=True):
        never = trial.value == inf
        yield Bar(
            trial=trial.trial,
            block=trial.block,
            text=fmt.never(entry) if never else fmt.quantity(trial.value, entry.unit),
            percent=None if never else round(100 * length / largest),
        )
