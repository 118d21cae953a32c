"""Checks of a committee's finished document: its sentences against its own tables.

Each check is for a fault that readers found in earlier reports: advice beside limits that the
candidate misses, a loss that another line denies, sums that do not add up, names that nothing
measured has, a title that promises more than ran, and one list of arms with and without security.
The checks parse the text that readers see, so they also find faults of a renderer.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from markdown_it import MarkdownIt

from rmwbench.published.committee import need_conclusions
from rmwbench.published.committee.need_conclusions import NeedFact
from rmwbench.published.committee.needs import NeedAnswer, NeedMark
from rmwbench.published.committee.report_parts import SECURITY, Report, SectionPart
from rmwbench.results.answer.facts import contenders


class Contradiction(StrEnum):
    """The two things that do not agree in a document."""

    MARK = "a sentence and the table of needs"
    LIMITS = "a sentence and the table of limits"
    NAME = "a name and what was measured"
    SUM = "a sum and its parts"
    TITLE = "a title and what ran"
    SECURITY = "security and its absence in one list"


@dataclass(frozen=True)
class DocumentFault:
    """A contradiction in the document. `where`: the need or the section."""

    code: Contradiction
    where: str
    what: str


def check(report: Report, text: str) -> list[DocumentFault]:
    """Return the faults of `text`, the finished document in Markdown that was made of `report`."""
    document = _MarkdownText(text)
    return [
        *_needs(report, document),
        *_sums(report, document),
        *(fault for part in report.measured for fault in _section(part, document)),
    ]


def _needs(report: Report, document: "_MarkdownText") -> Iterator[DocumentFault]:
    columns = need_conclusions.subjects(report.needs)
    marks = {row[0]: row[1:] for row in document.table(need_conclusions.TITLE)}
    limits = {(row[0], row[1]): row[2] for row in document.table(need_conclusions.LIMITS_TITLE)}
    measured = {arm.candidate_name for part in report.measured for arm in part.arms.values()}
    for need, sentence in zip(report.needs, need_conclusions.sentences(report.needs), strict=True):
        title = sentence.title
        if f"{title}. {sentence.text}" not in document.plain:
            yield DocumentFault(Contradiction.MARK, title, "the document lacks its sentence")
        cells = marks.get(title, ())
        cell_of_installed = {
            installed.candidate_name: cell
            for column, cell in zip(columns, cells, strict=False)
            if (installed := column.installed(need))
        }
        for fact in sentence.facts:
            name = fact.candidate
            if name not in measured:
                yield DocumentFault(Contradiction.NAME, title, name)
            if not _has_mark(cells, cell_of_installed.get(name), fact):
                yield DocumentFault(Contradiction.MARK, title, f"{name}: {fact.mark}, {cells}")
            yield from _limits(need, fact, limits)


def _limits(
    need: NeedAnswer, fact: NeedFact, limits: Mapping[tuple[str, str], str]
) -> Iterator[DocumentFault]:
    """Check the mark and the text of a fact against the rows of the appendix, `limits`: (need and
    case, candidate) -> outcome."""
    title, name = need.need.title, fact.candidate
    outcomes = {
        case.case.title: limits.get((f"{title}: {case.case.title}", name))
        for case, _ in need.cases_of(name)
    }
    unmeasured = [None] * (len(need.cases) - len(outcomes))
    has_lost_row = None in outcomes.values()
    if has_lost_row or fact.mark is not NeedMark.of([*outcomes.values(), *unmeasured]):
        listed = ", ".join(f"{case}: {outcome or 'no row'}" for case, outcome in outcomes.items())
        yield DocumentFault(Contradiction.LIMITS, title, f"{name}: {fact.mark}, limits: {listed}")
    for case in _unnamed_misses(fact, outcomes.items()):
        yield DocumentFault(Contradiction.LIMITS, title, f"{name}: misses {case}, not named")


def _has_mark(cells: Sequence[str], own_cell: str | None, fact: NeedFact) -> bool:
    """Whether the `cells` of a need have the mark of the fact. The cell of a candidate as installed
    begins with its mark; `own_cell` is None for a tuned candidate, which stands with its name."""
    if own_cell is not None:
        return own_cell.split(", ")[0] == fact.mark
    return any(f"{fact.candidate} {fact.mark}" in cell.split(", ") for cell in cells)


def _unnamed_misses(fact: NeedFact, outcomes: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    """Yield the cases that a candidate misses, though it meets others, and that its sentence does
    not name. `outcomes`: (case, its outcome)."""
    for case, outcome in outcomes:
        if fact.mark is NeedMark.PARTLY and outcome == "misses" and case not in fact.text:
            yield case


def _sums(report: Report, document: "_MarkdownText") -> Iterator[DocumentFault]:
    """Check that the trials and sections of the head are those of the report, and that the parts of
    each section's totals add up."""
    if not report.measured:  # the head has no sum
        return
    head = re.search(r"([\d\u202f ]+) trials? in (\d+) of (\d+) sections?", document.plain)
    done = sum(part.answer.campaign.trials.done for part in report.measured)
    counts = [done, len(report.measured), len(report.parts)]
    if head is None or [int(re.sub(r"\D", "", words)) for words in head.groups()] != counts:
        expected = "{} trials, {} of {} sections".format(*counts)
        yield DocumentFault(Contradiction.SUM, "head", f"{head and head[0]}: there are {expected}")
    for part in report.measured:
        trials = part.answer.campaign.trials
        caused = sum(trials.voided_by.values())
        if trials.voided_by and caused < trials.void:
            yield DocumentFault(
                Contradiction.SUM, part.section.title, f"{trials.void} void, of causes {caused}"
            )


def _section(part: SectionPart, document: "_MarkdownText") -> Iterator[DocumentFault]:
    title = part.section.title
    if part.heading not in document.headings:
        yield DocumentFault(Contradiction.TITLE, title, f"no heading says `{part.heading}`")
    for group in part.groups:
        names = {arm.arm for workload in group.shown.workloads for arm in contenders(workload)}
        secure = {bool(part.arms[name].modes.get(SECURITY)) for name in names if name in part.arms}
        if len(secure) > 1:
            yield DocumentFault(Contradiction.SECURITY, title, ", ".join(sorted(names)))


class _MarkdownText:
    """Markdown as its reader sees it: `plain` text, `headings`, and the first table below each
    heading."""

    def __init__(self, text: str):
        self.headings: list[str] = []
        self._tables: dict[str, list[list[str]]] = {}
        lines: list[str] = []
        rows: list[list[str]] | None = None
        tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(text)
        for before, token in pairwise(tokens):
            if token.type == "table_open":
                rows = []
                self._tables.setdefault(self.headings[-1] if self.headings else "", rows)
            elif token.type == "table_close":
                rows = None
            elif token.type == "tr_open" and rows is not None:
                rows.append([])
            elif token.type == "inline":
                words = "".join(child.content for child in token.children or ())
                lines.append(words)
                if before.type == "heading_open":
                    self.headings.append(words)
                elif rows:
                    rows[-1].append(words)
        self.plain = "\n".join(lines)

    def table(self, heading: str) -> Sequence[Sequence[str]]:
        """Return the rows of the first table below a heading, without its head."""
        return self._tables.get(heading, [])[1:]
