"""The answer of a campaign. A page and Markdown begin with a sentence per workload; a terminal
shows the tables first, and then the cautions, a sentence per workload, and the open questions.

A terminal only says that there is more about the machine and single arms: facts about an arm are in
`rmwbench explain` and on the page."""

from collections.abc import Callable, Iterator, Sequence
from math import inf
from pathlib import Path

from markupsafe import Markup

from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.command_name import command_line
from rmwbench.report import machine_view
from rmwbench.report.evaluated import NOT_EVALUATED, Evaluated
from rmwbench.report.show import evidence_view, level_view, ros
from rmwbench.report.show.matrices import conditions as condition_table
from rmwbench.report.show.workload_view import (
    TONES,
    comparison,
    note_on_single_arms,
    notes_of_most_arms,
    workload_section,
)
from rmwbench.report.view import (
    Block,
    Facts,
    Html,
    Items,
    On,
    Picture,
    Section,
    Table,
    TableCell,
    TableColumn,
    Text,
    View,
)
from rmwbench.results.answer import advice_sentences, progress
from rmwbench.results.answer.conclusions import Kind, merged_lines
from rmwbench.results.answer.facts import verdict_basis
from rmwbench.results.answer.headline import Headline, conditions, headline
from rmwbench.results.show_model import SuiteAnswer, WorkloadAnswer, WorkloadArm
from rmwbench.words import numbers as fmt

VERDICTS = {
    "best": "decided: every other contender is worse",
    "equivalent": "as good as the best, within the margin",
    "undecided": "these trials do not tell",
    "worse": "decided: its judged metric is worse than that of the arm it is compared with, it "
    "delivers less, or it never worked",
    "alone": "the only contender with data; of a factor, its levels are compared with each other",
    "reference": "the floor: a bound, not a contender",
    "no data": "nothing to compare",
}
MOST_OPEN = 4
"""The most lines about open questions that a terminal shows."""
MOST_CAUTIONS = 6
MOST_FIRST = 3
"""The most factors with which a page begins; with more factors it begins with the best arms."""
METHOD = (
    Text(
        "Each trial starts fresh processes in their own namespaces, waits until they have found "
        "each other, warms up, then measures. Nothing is kept between trials.",
        lead="Trials.",
    ),
    Text(
        "A block runs every arm once, in random order, back to back. What the machine does to one "
        "arm in a block it does to all; comparisons are made within blocks.",
        lead="Blocks.",
    ),
    Text(
        "A schedule says when each message is due, whether or not the middleware keeps up. Latency "
        "counts from that time until the reader has the message. What did not arrive stays in the "
        "count: lost (sent, and never arrived), late (still under way at the end) or never sent "
        "(due, and not sent).",
        lead="Messages.",
    ),
    Text(
        "Percentiles come from messages; intervals come from trials, because messages of one trial "
        "are alike. A percentile with too few messages behind it is printed as a bound (≥) or not "
        "at all.",
        lead="Intervals.",
    ),
    Text(
        "Loss is judged first, then latency. An arm is worse only when the interval of its ratio "
        "is clear of 1, corrected for the number of comparisons. What is not decided is called "
        "undecided.",
        lead="Verdicts.",
    ),
)


def view(
    doc: SuiteAnswer,
    evaluated: Evaluated = NOT_EVALUATED,
    *,
    draw: bool = False,
    redrawn: str | None = None,
) -> View:
    """`draw` makes the pictures and the evidence of each arm too; `redrawn` is the page with the
    redrawn figures of a published evaluation, if there is one."""
    campaign = doc.campaign
    whole = [*condition_table(doc), *ros.sections(doc)]
    tables = [section.only(On.TERMINAL) for section in whole]
    along = [*level_view.sections(doc, draw)]
    pictures = [evidence_view.drawn(doc, workload) if draw else None for workload in doc.workloads]
    workloads = [
        workload_section(doc, workload, number, pictures[number])
        for number, workload in enumerate(doc.workloads)
    ]
    return View(
        title=campaign.title or campaign.suite or "campaign",
        about=[*_about(doc, redrawn)],
        answer=[
            *(section.only(On.DOCUMENT) for section in whole),
            *(section.only(On.DOCUMENT) for section in along if len(along) <= MOST_FIRST),
            *_cards(doc, pictures),
            *_last(doc),
        ],
        sections=[
            machine_view.conclusions(
                _by_workload(doc, "conclude"), _by_workload(doc, "caution"), on=On.DOCUMENT
            ),
            *workloads,
            *tables,
            *(
                section.only(On.TERMINAL if len(along) <= MOST_FIRST else On.EVERYWHERE)
                for section in along
            ),
            *_growth(doc),
            *(section.only(On.DOCUMENT) for section in _more(doc)),
            *evaluated.sections(draw),
            *_helps(doc),
            Section("Read with care", [*_care(doc)], on=On.TERMINAL),
            machine_view.section(doc.machine, _campaign(doc)),
            _method(doc),
        ],
        glossary=doc.glossary,
        tool_version=campaign.tool_version or "",
    )


def _about(doc: SuiteAnswer, redrawn: str | None) -> Iterator[Block]:
    campaign = doc.campaign
    yield from (Text(text, "alarm") for text in progress.whole_failures(doc))
    counts = "; ".join([*progress.counts(campaign), progress.blocks(campaign)])
    date = str(campaign.created_utc)[:10]
    took = fmt.duration(campaign.wall_s)
    yield Text(f"{campaign.name or ''} · {counts} · {date}, took {took}", "muted")
    yield Text(doc.machine.summary, "muted")
    yield from machine_view.calibrated(doc.machine)
    if redrawn:
        link = Markup('<p class="meta"><a href="{}">The figures of the published evaluation</a>: ')
        rest = Markup("as published, as corrected, and as measured in this campaign.</p>")
        yield Html(link.format(redrawn) + rest)
    for text in filter(None, (progress.selection(campaign), campaign.not_run)):
        yield Text(text, "muted")
    yield from (Text(f"Left out: {text}", "muted") for text in campaign.left_out)
    if campaign.added:
        yield Text(f"Added to the suite's arms: {', '.join(campaign.added)}", "muted")
    if not campaign.finished:
        resume = command_line("resume", campaign.directory)
        yield Text(
            f"`{resume}` continues the campaign, unless it is still running.",
            "warning",
            lead="Not finished.",
        )
    yield from machine_view.warnings(doc.machine)


def _answers(doc: SuiteAnswer) -> list[tuple[WorkloadAnswer, Headline]]:
    """The workloads with their headlines, without workloads in which an arm was measured
    alone: their answer is the effect of the factor."""
    limits, answered = conditions(doc), level_view.answered(doc)
    return [
        (workload, headline(workload, limits.get(workload.workload)))
        for workload in doc.workloads
        if workload.workload not in answered or workload.workload in limits
    ]


def _cards(doc: SuiteAnswer, pictures: Sequence[list[Picture] | None]) -> Iterator[Block]:
    """Each workload's sentence, its arms by verdict, and their picture."""
    numbers = {workload.workload: number for number, workload in enumerate(doc.workloads)}
    for workload, answer in _answers(doc):
        number = numbers[workload.workload]
        says: list[Block] = []
        if answer.limits:
            says.append(Text(answer.limits, "limits"))
        says.append(Text(answer.lead or answer.answer, "strong"))
        says += [Text(text) for text in (answer.rest, answer.detail) if text]
        says.append(Facts(_by_verdict(workload), "groups"))
        title = Section(workload.title, says, look="says", link=f"#w-{number}")
        beside: list[Block] = [*comparison(workload, number, pictures[number])]
        look = "answer by-topic" if workload.topics else "answer"
        yield Section("", [title, *beside], look=look, on=On.PAGE)


def _by_verdict(workload: WorkloadAnswer) -> list[tuple[str, TableCell | str]]:
    """The contenders by verdict; for a worse arm, how it is worse."""
    groups: list[tuple[str, TableCell | str]] = []
    for verdict in VERDICTS:
        arms = [a for a in workload.arms if a.verdict.verdict == verdict and a.role != "floor"]
        if verdict == "worse":
            cost = words(workload.primary_metric).as_lower_is_better
            arms.sort(key=lambda arm: _worse_by(arm, cost))
        if arms:
            names = ", ".join(f"{arm.arm} {verdict_basis(arm)}".rstrip() for arm in arms)
            groups.append((verdict, names))
    return groups


def _worse_by(arm: WorkloadArm, cost: Callable[[float], float]) -> float:
    ratio = arm.verdict.ratio
    value = fmt.finite(ratio.value if ratio else None)
    return inf if value is None else cost(value)


def _last(doc: SuiteAnswer) -> Iterator[Block]:
    """The end of a terminal's output: a sentence per workload, and the open questions."""
    facts: list[tuple[str, TableCell | str]] = [*level_view.facts(doc)]
    for workload, answer in _answers(doc):
        tone = TONES.get(answer.tone, "")
        if answer.limits:
            facts.append((workload.workload, TableCell(answer.limits, "strong")))
        facts.append(("" if answer.limits else workload.workload, TableCell(answer.answer, tone)))
        if answer.detail:
            facts.append(("", answer.detail))
    summaries = [
        answer.summary for answer in (doc.outcomes, doc.ros_variables) if answer is not None
    ]
    facts += [("", text) for text in summaries]
    yield Text("The answer", "strong", on=On.TERMINAL)
    yield Facts(facts, on=On.TERMINAL)
    yield from (section.only(On.TERMINAL) for section in _more(doc))


def _care(doc: SuiteAnswer) -> Iterator[Block]:
    """The wrong conclusions that the tables invite, first those about single workloads."""
    cautions = merged_lines(doc, "caution")
    texts = [
        f"{at}: {text}" if at else text
        for at, text in sorted(cautions, key=lambda caution: not caution[0])
    ]
    yield Items([*notes_of_most_arms(doc), *texts], "open", "✗", most=MOST_CAUTIONS)
    if text := note_on_single_arms(doc):
        yield Text(text, "muted")


def _helps(doc: SuiteAnswer) -> Iterator[Section]:
    """A line for each symptom that costs messages or seconds; `rmwbench explain` has all."""
    if lines := advice_sentences.lines(doc.advice, harm_only=True):
        blocks = [Items(lines)]
        yield Section("What helps", blocks, anchor="helps", nav="what helps", look="panel")


def _by_workload(doc: SuiteAnswer, kind: Kind) -> machine_view.TextGroups:
    """The texts by the titles of their workloads, in the document's order, general texts
    last."""
    titles = {workload.workload: workload.title for workload in doc.workloads}
    texts: dict[str, list[str]] = {}
    for where, text in merged_lines(doc, kind, titles):
        texts.setdefault(where or "In general", []).append(text)
    return list(texts.items())


def _growth(doc: SuiteAnswer) -> Iterator[Section]:
    if not doc.growth:
        return
    columns = [
        TableColumn("arm"),
        TableColumn("cost"),
        TableColumn("exponent", right=True),
        TableColumn("nodes", on=On.DOCUMENT),
        TableColumn("it"),
    ]
    rows: list[list[TableCell | str]] = [
        [
            row.arm,
            doc.glossary[row.metric].title,
            TableCell(fmt.exponent(row), why=fmt.counted(row.blocks, "block")),
            ", ".join(map(str, row.nodes)),
            row.text,
        ]
        for row in doc.growth
    ]
    meaning = (
        "The exponent k of cost ∝ nodes^k, from the slope within each block; 1: every further node "
        "costs the same, 2: every node pays for every other."
    )
    blocks = [Text(meaning, "muted"), Table(columns, rows)]
    yield Section("Growth with the number of nodes", blocks, anchor="growth", look="panel")


def _more(doc: SuiteAnswer) -> Iterator[Section]:
    if lines := progress.open_lines(doc):
        meaning = Text("This assumes that ratios and scatter stay as they are.", "muted")
        blocks = [meaning, Items(lines, "open", "?", most=MOST_OPEN)]
        yield Section("What more blocks would decide", blocks, anchor="more", look="panel")


def _campaign(doc: SuiteAnswer) -> dict[str, object]:
    campaign = doc.campaign
    return {
        "name": campaign.name,
        "suite": campaign.suite,
        "begun": campaign.created_utc,
        "took": fmt.duration(campaign.wall_s),
        "seed": campaign.seed,
        "directory": campaign.directory,
        "rmwbench": campaign.tool_version,
    }


def _method(doc: SuiteAnswer) -> Section:
    return machine_view.method(METHOD, doc.glossary, Facts([*VERDICTS.items()], "groups"))


def write_html(doc: SuiteAnswer, path: Path | str, evaluated: Evaluated = NOT_EVALUATED) -> None:
    """One page of about 3 MB; beside it NAME-figures.html where its suite repeats figures of a
    published evaluation."""
    from altair.utils.schemapi import debug_mode

    from rmwbench.report.render import html

    redrawn = evaluated.write_figures(Path(path))
    with debug_mode(False):  # the schema's checks of what we write take longer than to write it
        html.write_html(view(doc, evaluated, draw=True, redrawn=redrawn), path)


def write_markdown(
    doc: SuiteAnswer,
    path: Path | str,
    evaluated: Evaluated = NOT_EVALUATED,
    *,
    bitmaps: bool = True,
    charts: tuple[str, ...] | None = None,
) -> list[Path]:
    """The text and its charts; every path written."""
    from altair.utils.schemapi import debug_mode

    from rmwbench.report.render import markdown

    with debug_mode(False):
        shown = view(doc, evaluated, draw=True)
    return markdown.write_markdown(shown, path, bitmaps=bitmaps, charts=charts)
