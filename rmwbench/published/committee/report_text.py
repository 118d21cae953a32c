"""A committee's report as Markdown with its charts beside it, written to be read from front to
back.

What decides comes first. Every table and chart of a section is on the section's own page
(DIR/sections), so that the document stays short enough to be read.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rmwbench.analysis.stats.resolution import Threshold, resolvable_ratio
from rmwbench.analysis.verdicts.unlike_arms import MONTHS
from rmwbench.published.committee import answers, need_conclusions
from rmwbench.published.committee import report_annex as annex
from rmwbench.published.committee.report_parts import (
    Report,
    SectionGroup,
    SectionPart,
    Standing,
    blocks_of,
    decidable,
)
from rmwbench.published.committee.sections import SCATTER
from rmwbench.published.questionnaire.questionnaire_view import summary as questionnaire_summary
from rmwbench.published.questionnaire.questionnaire_view import view as questionnaire_view
from rmwbench.report.render.markdown import (
    charts_directory,
    escape,
    file_name,
    render_blocks,
    render_markdown,
)
from rmwbench.report.show import ros
from rmwbench.report.show.matrices import conditions as condition_table
from rmwbench.report.show.matrices import pairs
from rmwbench.report.show.suite_view import write_markdown
from rmwbench.report.show.workload_view import KEY, topic_cell
from rmwbench.report.view import Block, Items, Section, Table, TableCell, Text
from rmwbench.results.answer import progress
from rmwbench.results.answer.facts import contenders, verdict_basis, verdict_of
from rmwbench.results.answer.headline import conditions
from rmwbench.results.machine.machine_model import Machine
from rmwbench.results.model import GlossaryEntry
from rmwbench.results.show_model import LevelsOutcome, SuiteAnswer, WorkloadAnswer, WorkloadArm
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS
from rmwbench.whole_file import make_directory, write_whole
from rmwbench.words import numbers as fmt
from rmwbench.words.level_names import named_level

MOST_ANSWERS = 3
"""The most decided workloads of a section that has the answer of each; otherwise answers are
counted."""
MOST_CHARTS = 3
"""The most charts of a section's page that the report shows."""
LEAST_SECTIONS = 3
"""The fewest sections in which a candidate must have run to be in the table of standings."""
WIDE = 8
"""The most columns of a table that fit on a page."""
CHARTS = ("comparison", "delivered", "up")
"""The charts of a section's page; `rmwbench report` of its campaign also draws the others."""
HEADS = {
    "best": "best",
    "equivalent": "as good as the best",
    "worse": "worse",
    "undecided": "open",
    "alone": "alone",
    "no data": "no data",
}
"""Verdict -> the head of its column, in the order of the columns."""
MOST_CLAIMS = 5
"""The most statements of earlier reports beside a section; the section's own page has all."""


def write(report: Report) -> list[Path]:
    """Write DIR/report.md, and a page with charts for each section. Return every path, the report's
    first."""
    path = report.session.directory / "report.md"
    sections = path.with_name("sections")
    make_directory(sections)
    images, written = {}, [path]
    for part in report.measured:
        page = sections / f"{part.section.name}.md"
        drawn = write_markdown(part.answer, page, part.evaluated, bitmaps=False, charts=CHARTS)
        images[part.section.name] = list(_comparisons(part, page, drawn))
        written += drawn
    write_whole(
        sections / "questionnaire.md", render_markdown(questionnaire_view(report.questionnaire))
    )
    write_whole(path, render(report, images))
    return [*written, sections / "questionnaire.md"]


def render(report: Report, images: Mapping[str, list[tuple[str, str]]]) -> str:
    """Return the text. `images`: (title, relative path) of the charts of each measured section."""
    lacking = _common_gaps(report)
    versions = [*annex.versions(report), *_left_out(report, lacking), *_not_measured(report)]
    opening = [
        _head(report),
        Section("Conclusions", list(need_conclusions.page(report.needs))),
        Section(annex.VERSIONS_TITLE, versions),
    ]
    lines = [f"# {escape(report.title)}", "", *render_blocks(opening, level=2)]
    lines += _community(report, opens=True)
    for part in report.measured:
        lines += _part(report, part, images.get(part.section.name, []), lacking)
    lines += [*_questions(report), *_community(report, opens=False)]
    lines += [*_comments(report), *_method(report), *_appendix(report)]
    return "\n".join(lines).rstrip() + "\n"


def _comparisons(part: SectionPart, page: Path, drawn: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield (title, path relative to the report) of the charts on the section's page that compare
    the first workloads."""
    for workload in part.answer.workloads[:MOST_CHARTS]:
        path = charts_directory(page) / f"{file_name(workload.workload)}-comparison.svg"
        if path in drawn:
            yield f"{workload.title}: comparison", str(path.relative_to(page.parent.parent))


def _head(report: Report) -> Text:
    measured = report.measured
    if not measured:
        return Text("Nothing is measured yet.")
    trials = sum(part.answer.campaign.trials.done for part in measured)
    machines = list(dict.fromkeys(part.answer.machine.summary for part in measured))
    dates = sorted(str(part.answer.campaign.created_utc)[:10] for part in measured)
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    return Text(
        f"Measured {when} on {'; '.join(machines)}: "
        f"{fmt.counted(trials, 'trial')} in {len(measured)} of "
        f"{fmt.counted(len(report.parts), 'section')}, seed {report.session.seed}. Every number "
        "comes from the campaigns that are named with it, and every interval and verdict from "
        "their blocks; nothing was chosen by hand, and what is missing says why."
    )


def _left_out(report: Report, lacking: Mapping[str, int]) -> Iterator[Block]:
    of = len(report.measured)
    texts = [
        f"Left out of {'every section' if count == of else f'{count} of {of} sections'}: {text}"
        for text, count in lacking.items()
    ]
    if texts := [*texts, *_second_names(report)]:
        yield Items(texts)


def _second_names(report: Report) -> Iterator[str]:
    """Yield, for each middleware with a second name on the sections' own pages, that name and its
    reason."""
    outdated = {
        (arm.middleware, arm.version): arm
        for part in report.measured
        for workload in part.answer.workloads
        for arm in workload.arms
        if replace(arm, ungranted=()).label != arm.arm
    }
    for arm in outdated.values():
        series = replace(arm, arm=arm.middleware, ungranted=()).label
        why = f"released {arm.release_date}, more than {MONTHS} months before the newest beside it"
        if arm.support_ended:
            why = f"without its vendor's support since {arm.support_ended}"
        yield (
            f"{arm.middleware} is version {arm.version}, {why}; tables of the sections' own pages "
            f"call it {series}."
        )


def _common_gaps(report: Report) -> dict[str, int]:
    """Return what more than one section lacks, with how many lack it, so that the report says it
    once."""
    lists = (part.answer.campaign.left_out for part in report.measured)
    counts = Counter(text for texts in lists for text in dict.fromkeys(texts))
    return {text: count for text, count in counts.items() if count > 1}


def _not_measured(report: Report) -> Iterator[Block]:
    rows = [
        (
            part.section.title,
            part.not_measured_because or "",
            f"`{part.command}`" if part.command else "",
        )
        for part in report.parts
        if part.shown is None
    ]
    if rows:
        yield Section("Not measured", [Table(("section", "why", "what changes it"), rows)])


def _answer_text(shown: SuiteAnswer) -> str:
    """Return the answers of a section's workloads: each by itself if there are few, else how often
    each arm is best. For workloads with too few blocks it says only that."""
    if shown.ros_variables is not None:
        return ""  # stands above its table
    every = shown.workloads
    decided = [workload for workload in every if decidable(workload)]
    text = (
        _answers(decided, every, conditions(shown))
        if len(decided) <= MOST_ANSWERS
        else _best_counted(decided)
    )
    undecided = [workload for workload in every if workload not in decided]
    return " ".join(filter(None, (text, _too_few_blocks(undecided, len(every)))))


def _too_few_blocks(undecided: Sequence[WorkloadAnswer], total: int) -> str:
    if not undecided:
        return ""
    blocks = fmt.counted(max(map(blocks_of, undecided)), "block")
    which = (
        "Nothing can be said"
        if len(undecided) == total
        else f"Of {len(undecided)} of {total} conditions nothing can be said"
    )
    return f"{which}: {blocks} at most, and fewer than {DECIDABLE_BLOCKS} decide nothing."


def _answers(
    decided: Sequence[WorkloadAnswer],
    every: Sequence[WorkloadAnswer],
    outcomes: Mapping[str, LevelsOutcome],
) -> str:
    """Return the answer of each `decided` workload, with its title if the section has several
    (`every`)."""
    texts = []
    for workload in decided:
        if answer := answers.answer(workload, outcomes.get(workload.workload)):
            title = f"{escape(_title(workload, every))}: " if len(every) > 1 else ""
            texts.append(f"{title}{escape(answer.answer)}")
    return " ".join(texts)


def _best_counted(decided: Sequence[WorkloadAnswer]) -> str:
    """Count in how many of these workloads each arm is best, and in how many none is shown to
    be."""
    best: Counter[str] = Counter()
    without_best = 0
    for workload in decided:
        arms = [
            arm.arm for arm in contenders(workload) if verdict_of(arm) in ("best", "equivalent")
        ]
        best.update(arms)
        without_best += not arms
    sentences = []
    if best:
        counts = "; ".join(f"{escape(arm)} in {count}" for arm, count in best.most_common())
        sentences.append(f"Of {len(decided)} conditions, best or as good as the best: {counts}.")
    if without_best:
        sentences.append(f"In {without_best} of {len(decided)} it stays open who is best.")
    return " ".join(sentences)


def _title(workload: WorkloadAnswer, among: Iterable[WorkloadAnswer]) -> str:
    """Return the workload's title, with the levels of its factors if other workloads of the section
    have the same title."""
    is_shared = sum(other.title == workload.title for other in among) > 1
    levels = ", ".join(named_level(name, level) for name, level in workload.levels.items())
    return f"{workload.title} ({levels})" if is_shared and levels else workload.title


def _standings(standings: Iterable[Standing], *, least: int) -> Iterator[Block]:
    """Yield the table of the candidates that ran in at least `least` sections."""
    listed = [standing for standing in standings if standing.sections >= least]
    if not listed:
        return
    used = [name for name in HEADS if any(standing.counts.get(name) for standing in listed)]
    few = (
        f"A candidate that ran in fewer than {least} sections is not listed here, and workloads"
        if least > 1
        else "Workloads"
    )
    about = (
        "In how many workloads of this report each candidate came to each verdict, all sections "
        f"together. {few} of fewer than {DECIDABLE_BLOCKS} blocks are in none."
    )
    heads = ("candidate", *(HEADS[name] for name in used), "workloads", "sections")
    rows = [
        (
            standing.arm,
            *(str(standing.counts.get(name, 0)) for name in used),
            str(standing.workloads),
            str(standing.sections),
        )
        for standing in listed
    ]
    yield Section("Appendix: where each candidate stands", [Text(about), Table(heads, rows)])


def _community(report: Report, *, opens: bool) -> Iterator[str]:
    """Yield the parts on the community: those that open the report, or those after its sections."""
    for part in (part for part in report.beside if part.opens is opens):
        if part.view:
            blocks = [*part.view.about, *part.view.sections]
            yield from render_blocks([Section(part.title, blocks)], level=2)
        else:
            yield from (f"## {escape(part.title)}", "")
            yield from (f"Not given. `{part.command}` makes it.", "")


def _part(
    report: Report,
    part: SectionPart,
    images: list[tuple[str, str]],
    lacking: Mapping[str, int],
) -> Iterator[str]:
    shown = part.answer
    campaign = shown.campaign
    yield from (f"## {escape(part.heading)}", "")
    if part.question:
        yield from (f"*{escape(part.question)}*", "")
    for picture, image in images[:1]:
        yield from (f"![{escape(picture)}]({image})", "")
    for group in part.groups:
        lead = f"**{group.title.capitalize()}.** " if group.title else ""
        yield from ((answer, "") if (answer := lead + _answer_text(group.shown)) else ())
        yield from render_blocks(_tables(shown, group), level=3)
    yield from _earlier_reports(part)
    notes = [f"- Left out: {escape(text)}" for text in campaign.left_out if text not in lacking]
    if part.section.problem:
        notes.append(f"- It could not go on: {escape(part.section.problem)}")
    yield from ([*notes, ""] if notes else ())
    place = report.session.place(part.section).relative_to(report.session.directory)
    counts = ", ".join(map(escape, progress.counts(campaign)))
    yield (
        f"{counts}; {escape(progress.blocks(campaign))}. All tables and charts: [this section's page]"
        f"(sections/{part.section.name}.md); every message: `rmwbench query … {place}`; again: "
        f"`{report.session.command(part.section)}`."
    )
    yield from ("", *([escape(campaign.not_run), ""] if campaign.not_run else ()))
    yield from ((resolution, "") if (resolution := _resolution(shown)) else ())


def _resolution(shown: SuiteAnswer) -> str:
    """Say which ratio the section's blocks resolve, and which ratio twice as many would, with the
    share of the error and the number of comparisons by which it was judged. Empty if nothing is
    compared, or no ratio can be found."""
    compared = [workload for workload in shown.workloads if len(contenders(workload)) > 1]
    blocks = max(map(blocks_of, compared), default=0)
    tests = max((workload.resolution.comparisons for workload in compared), default=0)
    if blocks < DECIDABLE_BLOCKS or not tests:
        return ""
    level = Threshold(alpha=min(workload.judged.alpha for workload in compared))
    ratio, ratio_of_twice = (
        resolvable_ratio(n, tests, SCATTER, level) for n in (blocks, 2 * blocks)
    )
    if math.isinf(ratio):
        return ""
    return (
        f"{fmt.counted(blocks, 'block')} find a true ratio of {fmt.significant(ratio)}× in 95 of "
        f"100 campaigns where block log-ratios scatter by {SCATTER:g}; twice as many would find "
        f"{fmt.significant(ratio_of_twice)}×."
    )


def _tables(shown: SuiteAnswer, group: SectionGroup) -> Iterator[Block]:
    """Yield the table of a group's kind if it has one, else that of its primary metrics."""
    tables: list[Block] = [*condition_table(group.shown)]
    tables += [block for feature in ros.sections(shown) for block in feature.blocks]
    tables += [block for workload in group.shown.workloads for block in pairs(workload)]
    yield from tables or _primary(group.shown)


def _earlier_reports(part: SectionPart) -> Iterator[str]:
    """Yield what the reports of 2020 and 2021 said about the section's suite, and what holds
    here."""
    rows = part.evaluated.table
    if not rows:
        return
    more = f"; {len(rows) - MOST_CLAIMS} more on its own page" if len(rows) > MOST_CLAIMS else ""
    yield from (
        f"What earlier reports said (*proxy*: it neither confirms nor refutes them){more}:",
        "",
    )
    heads = ("statement", "as published", "as corrected", "here")
    yield from render_blocks([Table(heads, rows[:MOST_CLAIMS])], level=3)


def _primary(shown: SuiteAnswer) -> Iterator[Block]:
    """Yield the primary metric of each workload by arm, with the verdict in each cell. A workload
    with unlike topics has no number for all of them, so its table is by topic."""
    by_topic = [x for x in shown.workloads if any(topic.judged for topic in x.topics)]
    whole = [x for x in shown.workloads if x not in by_topic]
    if whole:
        yield from _by_workload(whole, shown.glossary)
    for workload in by_topic:
        title = _title(workload, shown.workloads)
        yield Text(f"{title}: {_metrics([workload], shown.glossary)}, by topic. {KEY}.")
        heads = ("arm", *(topic.topic for topic in workload.topics))
        rows = []
        for n, arm in enumerate(workload.arms):
            cells = [topic_cell(topic, topic.arms[n]) for topic in workload.topics]
            texts = (", ".join(filter(None, (cell.text, cell.detail))) for cell in cells)
            rows.append([arm.arm, *texts])
        yield Table(heads, rows)


def _metrics(workloads: Iterable[WorkloadAnswer], glossary: Mapping[str, GlossaryEntry]) -> str:
    names = dict.fromkeys(workload.primary_metric for workload in workloads)
    return "; ".join(glossary[name].title if name in glossary else name for name in names)


def _by_workload(
    workloads: Sequence[WorkloadAnswer], glossary: Mapping[str, GlossaryEntry]
) -> Iterator[Block]:
    arms = list(dict.fromkeys(arm.arm for workload in workloads for arm in workload.arms))
    cells = {
        (workload.workload, arm.arm): _cell(arm, workload)
        for workload in workloads
        for arm in workload.arms
    }
    yield Text(
        f"{_metrics(workloads, glossary)}, by workload. Bold is best or as good as the best."
    )
    names = [workload.workload for workload in workloads]
    if len(names) <= min(WIDE, len(arms)):
        rows = [[arm, *(cells.get((name, arm), "") for name in names)] for arm in arms]
        yield Table(("arm", *names), rows)
    else:
        rows = [[name, *(cells.get((name, arm), "") for arm in arms)] for name in names]
        yield Table(("workload", *arms), rows)


def _cell(arm: WorkloadArm, workload: WorkloadAnswer) -> TableCell:
    if arm.not_supported:
        return TableCell("not supported")
    verdict = verdict_of(arm)
    value = fmt.metric(arm.metrics.get(workload.primary_metric)).full
    if verdict in ("best", "equivalent"):
        return TableCell(value, badge=True)
    if verdict == "worse":
        return TableCell(f"{value}, worse {verdict_basis(arm)}".rstrip())
    return TableCell(f"{value}, open" if verdict == "undecided" else value)


def _questions(report: Report) -> Iterator[str]:
    questionnaire = report.questionnaire
    yield from (
        "## The committee's questionnaire",
        "",
        f"**{escape(questionnaire_summary(questionnaire))}.**",
        "",
        "In each cell how the question is answered, and in how many values; [every answer with its ",
        "place and date](sections/questionnaire.md).",
        "",
    )
    rows = []
    for question, middleware_answers in questionnaire.by_question:
        cells = []
        for answer in middleware_answers:
            values = sum(value.has_value for value in answer.measured)
            count = f", {fmt.counted(values, 'value')}" if values else ""
            cells.append(answer.state + count)
        rows.append((question.asks, *cells))
    yield from render_blocks([Table(("question", *questionnaire.middlewares), rows)], level=3)


def _comments(report: Report) -> Iterator[str]:
    yield from ("## Comments of the vendors", "")
    if not report.comments:
        yield from (
            "None was given. A file `comments/NAME.md` in the report's directory is quoted here.",
            "",
        )
    for comment in report.comments:
        yield from (f"**{escape(comment.who)}:**", "")
        yield from (f"> {line}".rstrip() for line in comment.text.strip().split("\n"))
        yield ""


def _method(report: Report) -> Iterator[str]:
    yield from ("## Method, machine, and what not to conclude", "")
    yield (
        "Latency counts from the intended send time; the unit of inference is the trial, with "
        "fresh processes in fresh namespaces; blocks hold every arm once in random order; a lost "
        "message counts as never arrived; loss is judged first; comparisons are corrected for "
        "their number (docs/method.md)."
    )
    yield ""
    for text, titles in _cautions(report).items():
        where = "All sections" if len(titles) == len(report.measured) else "; ".join(titles)
        yield f"- **{escape(where)}:** {escape(text)}"
    yield ""
    machines: dict[str, list[Machine]] = {}
    for part in report.measured:
        machines.setdefault(part.answer.machine.summary, []).append(part.answer.machine)
    for summary, of_sections in machines.items():
        machine = of_sections[-1]
        yield from (f"### {escape(summary)}", "", escape(machine.calibration.text), "")
        red = dict.fromkeys(text for each in of_sections for text in each.red_warnings)
        others = dict.fromkeys(text for each in of_sections for text in each.other_warnings)
        yield from (f"- **Warning: {escape(text)}**" for text in red)
        yield from (f"- Warning: {escape(text)}" for text in others)
        yield ""
        rows = [(fact.name, fact.value, fact.note or "") for fact in machine.facts]
        yield from render_blocks([Table(("fact", "value", "note"), rows)], level=3)


def _cautions(report: Report) -> dict[str, list[str]]:
    """Return each caution about a whole campaign, with the titles of the sections that have it."""
    titles_by_text: dict[str, list[str]] = {}
    for part in report.measured:
        lines = part.answer.conclusions
        texts = [line.text for line in lines if line.kind == "caution" and not line.workload]
        for text in dict.fromkeys(texts):
            titles_by_text.setdefault(text, []).append(part.section.title)
    return titles_by_text


def _appendix(report: Report) -> Iterator[str]:
    yield from (f"## {need_conclusions.LIMITS_TITLE}", "")
    yield (
        "*P* is the probability that a candidate meets all limits (`rmwbench decide`, "
        "docs/limits.md). All answers of a case share an error of 5 %, so one whose own interval of "
        "95 % lies just beyond a limit stays open; what is asked stands behind its *P*."
    )
    standings = _standings(report.standings, least=min(LEAST_SECTIONS, len(report.measured)))
    costs = Section(f"Appendix: {annex.COSTS_TITLE}", list(annex.costs(report)))
    limits = need_conclusions.limits_table(report.needs)
    yield from ("", *render_blocks([limits, *standings, costs], level=2))
    yield from ("## Appendix: every table", "")
    for part in report.measured:
        yield f"- [{escape(part.section.title)}](sections/{part.section.name}.md)"
    yield from ("- [The questionnaire](sections/questionnaire.md)", "")
