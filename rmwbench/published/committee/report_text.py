"""A committee's report as Markdown with its charts beside it, written to be read from front to
back.

What decides comes first; every table and chart of a section is in the section's own page
(DIR/sections), so that the document stays one that people read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rmwbench.analysis.verdicts.unlike import MONTHS
from rmwbench.published.committee import answers, ran
from rmwbench.published.committee.report_parts import (
    ORDER,
    Answered,
    Report,
    SectionPart,
    Standing,
    blocks_of,
    decidable,
)
from rmwbench.published.questionnaire.questionnaire_view import summary as questionnaire_summary
from rmwbench.published.questionnaire.questionnaire_view import view as questionnaire_view
from rmwbench.report.render.markdown import (
    charts_directory,
    escape,
    file_name,
    render_blocks,
    render_markdown,
    table,
)
from rmwbench.report.show import ros
from rmwbench.report.show.conditions import conditions as condition_table
from rmwbench.report.show.files import write_markdown
from rmwbench.report.show.workload_view import KEY, matrix, topic_cell
from rmwbench.report.view import Block, TableCell
from rmwbench.results.answer import done
from rmwbench.results.answer.facts import by_what, contenders, verdict_of
from rmwbench.results.answer.headline import conditions
from rmwbench.results.decide import decide_words as decided_words
from rmwbench.results.model import GlossaryEntry
from rmwbench.results.shown import LevelsOutcome, SuiteAnswer, WorkloadAnswer, WorkloadArm
from rmwbench.suite.decidable import DECIDABLE_BLOCKS
from rmwbench.whole_file import make_directory, write_whole
from rmwbench.words import numbers as fmt

FEW = 3
"""Workloads of a section that are told one by one, and charts that it shows; more of them are
counted."""
WIDE = 8
"""Columns of a table that a page holds."""
CHARTS = ("comparison", "delivered", "up")
"""Of a section's page; `rmwbench report` of its campaign draws the others too."""
HEADS = {
    "best": "best",
    "equivalent": "as good as the best",
    "worse": "worse",
    "undecided": "open",
    "alone": "alone",
    "no data": "no data",
}
NOT_CONCLUDED = (
    "A verdict holds for this machine, these versions and these configurations; another machine "
    "may order them otherwise.",
    "*Open* says that these trials do not tell, not that two candidates are equal.",
    "Each section has its own error budget of 5 %: of twenty sections in which nothing differs, "
    "one says that something does.",
    "What earlier reports said was measured with other versions on other machines: a difference to "
    "them is not a trend.",
)


def write(report: Report) -> list[Path]:
    """Writes DIR/report.md, and for each section a page with its charts; every path written, the
    report first."""
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
    """The text; `images` has of each measured section (title, relative path) of its charts."""
    lines = [*_head(report), *_summary(report), *_beside(report, opens=True)]
    for part in report.parts:
        lines += _part(report, part, images.get(part.section.name, []))
    lines += [
        *_questions(report),
        *_since(report),
        *_beside(report, opens=False),
        *_comments(report),
    ]
    lines += [*_method(report), *_appendix(report)]
    return "\n".join(lines).rstrip() + "\n"


def _comparisons(part: SectionPart, page: Path, drawn: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Of what was drawn for the section's page the comparison of the first workloads: (title, path
    relative to the report)."""
    for workload in part.answer.workloads[:FEW]:
        path = charts_directory(page) / f"{file_name(workload.workload)}-comparison.svg"
        if path in drawn:
            yield f"{workload.title}: comparison", str(path.relative_to(page.parent.parent))


def _head(report: Report) -> Iterator[str]:
    measured = report.measured
    yield from (f"# {escape(report.title)}", "")
    trials = sum(part.answer.campaign.trials.done for part in measured)
    machines = list(dict.fromkeys(part.answer.machine.summary for part in measured))
    dates = sorted(str(part.answer.campaign.created_utc)[:10] for part in measured)
    when = (
        dates[0]
        if dates and dates[0] == dates[-1]
        else f"{dates[0]} to {dates[-1]}"
        if dates
        else "not yet"
    )
    yield (
        f"Measured {when} on {escape('; '.join(machines)) or 'no machine'}: "
        f"{fmt.counted(trials, 'trial')} in {len(measured)} of "
        f"{fmt.counted(len(report.parts), 'section')}, seed {report.session.seed}. Every number "
        "comes from the campaigns that are named with it, and every interval and verdict from "
        "their blocks; nothing was chosen by hand, and what is missing says why."
    )
    yield ""
    of = len(report.measured)
    told = [
        "- Left out of "
        f"{'every section' if count == of else f'{count} of {of} sections'}: "
        f"{escape(text)}"
        for text, count in _left_out_of_several(report).items()
    ]
    told += _outdated(report)
    if told:
        yield from (*told, "")


def _outdated(report: Report) -> Iterator[str]:
    """Which middlewares have a second name in the tables of the sections' own pages, and why."""
    found = {
        (arm.middleware, arm.version): arm
        for part in report.measured
        for workload in part.answer.workloads
        for arm in workload.arms
        if replace(arm, ungranted=()).label != arm.arm
    }
    for arm in found.values():
        series = replace(arm, arm=arm.middleware, ungranted=()).label
        why = f"released {arm.release_date}, more than {MONTHS} months before the newest beside it"
        if arm.support_ended:
            why = f"without its vendor's support since {arm.support_ended}"
        yield (
            f"- {escape(arm.middleware)} is version {escape(str(arm.version))}, {why}; tables of "
            f"the sections' own pages call it {escape(series)}."
        )


def _left_out_of_several(report: Report) -> dict[str, int]:
    """What more than one section lacks, with how many do; said once."""
    lists = (part.answer.campaign.left_out for part in report.measured)
    each = Counter(text for found in lists for text in dict.fromkeys(found))
    return {text: count for text, count in each.items() if count > 1}


def _summary(report: Report) -> Iterator[str]:
    yield from ("## Summary", "")
    if any(part.of_rmws for part in report.measured):
        yield from _of_rmws(report)
        yield from ("### All candidates", "")
    yield from _told_of(report.measured)
    yield from _needs(report.needs)
    yield from _standings(
        "Where each candidate stands", report.standings, least=min(FEW, len(report.measured))
    )
    absent = [part for part in report.parts if part.shown is None]
    if absent:
        yield from ("### Not measured", "")
        yield from table(
            ("section", "why", "what changes it"),
            [
                (
                    escape(part.section.title),
                    escape(part.why or ""),
                    f"`{part.get}`" if part.get else "",
                )
                for part in absent
            ],
        )


def _of_rmws(report: Report) -> Iterator[str]:
    """What a committee chooses from."""
    yield from ("### ROS 2's RMWs among themselves", "")
    yield (
        "Judged as if nothing else had been run: which of the RMWs that were measured would serve "
        "a robot's nodes better. Each section has an error budget of 5 % of its own, here too."
    )
    yield ""
    alone = [replace(part, shown=part.of_rmws) for part in report.measured if part.of_rmws]
    yield from _told_of(alone)
    least = min(FEW, len(alone))
    yield from _standings("Where each RMW stands", report.rmw_standings, least=least)


def _told_of(parts: Iterable[SectionPart]) -> Iterator[str]:
    for part in parts:
        if told := _told(part):
            there = ran.words([one.workload for one in part.answer.workloads], part.not_run)
            title = f"{part.section.title} ({there})" if there else part.section.title
            yield f"- **{escape(title)}.** {told}"
    yield ""


def _told(part: SectionPart) -> str:
    """One by one where a section has few workloads; else in how many of them who is best. Of
    workloads with too few blocks only that."""
    shown = part.answer
    if shown.ros_variables is not None:
        return escape(shown.ros_variables.summary)
    every, found = shown.workloads, [one for one in shown.workloads if decidable(one)]
    told = _best(found, every, conditions(shown)) if found else ""
    return " ".join(
        filter(None, (told, _too_few([one for one in every if one not in found], len(every))))
    )


def _too_few(found: Sequence[WorkloadAnswer], of: int) -> str:
    if not found:
        return ""
    blocks = fmt.counted(max(map(blocks_of, found)), "block")
    which = (
        "Nothing can be said"
        if len(found) == of
        else f"Of {len(found)} of {of} conditions nothing can be said"
    )
    return f"{which}: {blocks} at most, and fewer than {DECIDABLE_BLOCKS} decide nothing."


def _best(
    found: Sequence[WorkloadAnswer],
    every: Sequence[WorkloadAnswer],
    known: Mapping[str, LevelsOutcome],
) -> str:
    """What the workloads of a section answer that were `found` with enough blocks, of `every` one."""
    if len(found) <= FEW:
        several = len(every) > 1
        return " ".join(
            f"{escape(_title(workload, every))}: {escape(answer.answer)}"
            if several
            else escape(answer.answer)
            for workload in found
            if (answer := answers.answer(workload, known.get(workload.workload)))
        )
    best: Counter[str] = Counter()
    open_ = 0
    for workload in found:
        arms = [
            arm.arm for arm in contenders(workload) if verdict_of(arm) in ("best", "equivalent")
        ]
        best.update(arms)
        open_ += not arms
    counted = "; ".join(f"{escape(arm)} in {count}" for arm, count in best.most_common())
    told = f"Of {len(found)} conditions, best or as good as the best: {counted}." if best else ""
    return (
        f"{told} In {open_} of {len(found)} it stays open who is best.".strip() if open_ else told
    )


def _title(workload: WorkloadAnswer, among: Iterable[WorkloadAnswer]) -> str:
    """With the levels of its factors where others of the section are called the same."""
    same = sum(one.title == workload.title for one in among) > 1
    levels = workload.workload.removeprefix(workload.name).strip(" []")
    return f"{workload.title} ({levels})" if same and levels else workload.title


def _standings(title: str, standings: Iterable[Standing], *, least: int) -> Iterator[str]:
    """The table of the candidates that ran in at least so many sections."""
    found = [one for one in standings if one.sections >= least]
    if not found:
        return
    used = [name for name in ORDER if any(one.counts.get(name) for one in found)]
    yield from (f"### {title}", "")
    few = (
        f"A candidate that ran in fewer than {least} sections is not listed here, and workloads"
        if least > 1
        else "Workloads"
    )
    yield (
        "In how many workloads of this report each candidate came to each verdict, all sections "
        f"together. {few} of fewer than {DECIDABLE_BLOCKS} blocks are in none."
    )
    yield ""
    rows = [
        (
            escape(one.arm),
            *(str(one.counts.get(name, 0)) for name in used),
            str(one.workloads),
            str(one.sections),
        )
        for one in found
    ]
    yield from table(("candidate", *(HEADS[name] for name in used), "workloads", "sections"), rows)


def _needs(needs: Iterable[Answered]) -> Iterator[str]:
    found = list(needs)
    if not found:
        return
    yield from ("### Who meets which need", "")
    yield from (f"- {escape(need.decided.text)}" for need in found if need.decided is not None)
    yield ""
    yield (
        "*P* is the probability that a candidate meets all limits of that robot (`rmwbench "
        "decide`, docs/limits.md). All answers of a robot share an error of 5 %, so one whose own "
        "interval of 95 % lies just beyond a limit stays open."
    )
    yield ""
    rows = []
    for need in found:
        if need.decided is None:
            rows.append((escape(need.title), "–", "not known", "–", escape(need.why or "")))
            continue
        for machine in need.decided.machines:
            for place, one in enumerate(machine.candidates):
                probability = decided_words.probability(one.probability)
                title = escape(need.title) if not place else ""
                rows.append(
                    (
                        title,
                        escape(one.arm),
                        str(one.outcome),
                        probability,
                        escape(decided_words.reason(one)),
                    )
                )
    yield from table(("robot", "candidate", "all limits", "P", "because"), rows)


def _beside(report: Report, *, opens: bool) -> Iterator[str]:
    """The parts in which nothing runs: those that open the report, or those behind its sections."""
    for one in report.beside:
        if one.opens is opens:
            yield from (f"## {escape(one.title)}", "")
            yield from (
                render_blocks((*one.view.about, *one.view.sections), level=3)
                if one.view
                else (f"Not given. `{one.get}` makes it.", "")
            )


def _part(report: Report, part: SectionPart, images: list[tuple[str, str]]) -> Iterator[str]:
    yield from (f"## {escape(part.section.title)}", "")
    if part.shown is None:
        why = escape(part.why or "")
        yield from (
            f"Not measured: {why}." + (f" What changes it: `{part.get}`." if part.get else ""),
            "",
        )
        return
    shown = part.shown
    campaign = shown.campaign
    place = report.session.place(part.section).relative_to(report.session.directory)
    page = f"[this section's page](sections/{part.section.name}.md)"
    counts = ", ".join(map(escape, done.counts(campaign)))
    yield (
        f"Suite `{part.section.suite}`{', short version' if part.section.short else ''}; {counts}; "
        f"{escape(done.blocks(campaign))}. All tables and charts: {page}; "
        f"every message: `rmwbench query … {place}`."
    )
    yield ""
    if campaign.not_run:
        yield from (escape(campaign.not_run), "")
    said = _left_out_of_several(report)
    yield from (f"- Left out: {escape(text)}" for text in campaign.left_out if text not in said)
    yield ""
    workloads = shown.workloads
    if len(workloads) > FEW:
        yield from (_told(part), "")
    else:
        yield from _answers(workloads, conditions(shown))
    tables: list[Block] = [*condition_table(shown), *ros.sections(shown)]
    tables += [block for workload in workloads for block in matrix(workload)]
    yield from render_blocks(tables, level=3)
    if not tables:
        yield from _primary(shown)
    for title, image in images:
        yield from (f"![{escape(title)}]({image})", "")


def _answers(
    workloads: Sequence[WorkloadAnswer], known: Mapping[str, LevelsOutcome]
) -> Iterator[str]:
    """The answer of each workload with what stands behind it."""
    enough = [one for one in workloads if decidable(one)]
    for workload in enough:
        answer = answers.answer(workload, known.get(workload.workload))
        told = " ".join(escape(text) for text in (answer.limits, answer.detail) if text)
        yield from (
            f"**{escape(_title(workload, workloads))}.** {escape(answer.answer)} {told}".rstrip(),
            "",
        )
    if few := _too_few([one for one in workloads if one not in enough], len(workloads)):
        yield from (few, "")


def _primary(shown: SuiteAnswer) -> Iterator[str]:
    """The primary metric of each workload by arm, with the verdict in each cell; of one with unlike
    topics, which together have no number, by topic."""
    of_topics = [one for one in shown.workloads if any(topic.judged for topic in one.topics)]
    whole = [one for one in shown.workloads if one not in of_topics]
    if whole:
        yield from _by_workload(whole, shown.glossary)
    for workload in of_topics:
        title = _title(workload, shown.workloads)
        yield from (
            f"{escape(title)}: {_metrics([workload], shown.glossary)}, by topic. {KEY}.",
            "",
        )
        heads = ("arm", *(escape(topic.topic) for topic in workload.topics))
        rows = [
            (
                escape(arm.arm),
                *(_of_topic(topic_cell(topic, topic.arms[place])) for topic in workload.topics),
            )
            for place, arm in enumerate(workload.arms)
        ]
        yield from table(heads, rows)


def _of_topic(cell: TableCell) -> str:
    return escape(", ".join(filter(None, (cell.text, cell.detail))))


def _metrics(workloads: Iterable[WorkloadAnswer], glossary: Mapping[str, GlossaryEntry]) -> str:
    """The titles of what they are judged by."""
    names = dict.fromkeys(workload.primary_metric for workload in workloads)
    return escape("; ".join(glossary[name].title if name in glossary else name for name in names))


def _by_workload(
    workloads: Sequence[WorkloadAnswer], glossary: Mapping[str, GlossaryEntry]
) -> Iterator[str]:
    arms = list(dict.fromkeys(arm.arm for workload in workloads for arm in workload.arms))
    found = {
        (workload.workload, arm.arm): _cell(arm, workload)
        for workload in workloads
        for arm in workload.arms
    }
    yield from (
        f"{_metrics(workloads, glossary)}, by workload. **Bold** is best or as good as the best.",
        "",
    )
    names = [workload.workload for workload in workloads]
    if len(names) <= min(WIDE, len(arms)):
        heads = ("arm", *map(escape, names))
        yield from table(
            heads, [(escape(arm), *(found.get((name, arm), "") for name in names)) for arm in arms]
        )
    else:
        heads = ("workload", *map(escape, arms))
        yield from table(
            heads, [(escape(name), *(found.get((name, arm), "") for arm in arms)) for name in names]
        )


def _cell(arm: WorkloadArm, workload: WorkloadAnswer) -> str:
    if arm.not_supported:
        return "not supported"
    verdict = verdict_of(arm)
    value = escape(fmt.metric(arm.metrics.get(workload.primary_metric)).full)
    if verdict in ("best", "equivalent"):
        return f"**{value}**"
    if verdict == "worse":
        return f"{value}, worse {escape(by_what(arm))}".rstrip()
    return f"{value}, open" if verdict == "undecided" else value


def _questions(report: Report) -> Iterator[str]:
    made = report.questionnaire
    yield from (
        "## The committee's questionnaire",
        "",
        f"**{escape(questionnaire_summary(made))}.**",
        "",
    )
    yield (
        "In each cell how the question is answered, and in how many values; [every answer with its "
    )
    yield "place and date](sections/questionnaire.md)."
    yield ""
    heads = ("question", *map(escape, made["middlewares"]))
    rows = []
    for question in made["questions"]:
        cells = []
        for answer in question["answers"]:
            values = sum(row["value"] is not None for row in answer["measured"])
            counted = f", {values} {'value' if values == 1 else 'values'}" if values else ""
            cells.append(escape(answer["state"] + counted))
        rows.append((escape(question["asks"]), *cells))
    yield from table(heads, rows)


def _since(report: Report) -> Iterator[str]:
    rows = [row for part in report.measured for row in part.evaluated.table]
    yield from ("## What the reports of 2020 and 2021 said, and what holds here", "")
    if not rows:
        yield from ("No section that was measured repeats what they said.", "")
        return
    yield (
        "Their statements, what their own data says of them, and what these campaigns say. They "
        "had other versions and another machine: *proxy* marks what holds here and neither "
        "confirms nor refutes them."
    )
    yield ""
    yield from table(
        ("statement", "as published", "as corrected", "here"),
        [tuple(map(escape, row)) for row in rows],
    )


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
    yield from (f"- {text}" for text in NOT_CONCLUDED)
    for text, titles in _cautions(report).items():
        where = "All sections" if len(titles) == len(report.measured) else "; ".join(titles)
        yield f"- **{escape(where)}:** {escape(text)}"
    yield ""
    machines = {part.answer.machine.summary: part.answer.machine for part in report.measured}
    for summary, machine in machines.items():
        yield from (f"### {escape(summary)}", "", escape(machine.calibration.text), "")
        yield from (f"- Warning: {escape(text)}" for text in machine.warnings)
        yield ""
        rows = ((one.name, one.value, one.note or "") for one in machine.facts)
        yield from table(("fact", "value", "note"), (map(escape, row) for row in rows))


def _cautions(report: Report) -> dict[str, list[str]]:
    """Each caution about a whole campaign, with the titles of the sections that it is of."""
    found: dict[str, list[str]] = {}
    for part in report.measured:
        lines = part.answer.conclusions
        texts = [line.text for line in lines if line.kind == "caution" and not line.workload]
        for text in dict.fromkeys(texts):
            found.setdefault(text, []).append(part.section.title)
    return found


def _appendix(report: Report) -> Iterator[str]:
    yield from ("## Appendix: every table", "")
    for part in report.measured:
        yield f"- [{escape(part.section.title)}](sections/{part.section.name}.md)"
    yield from ("- [The questionnaire](sections/questionnaire.md)", "")
