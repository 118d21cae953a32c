"""A committee's document read back: its sentences against its own tables.

What is checked is what readers found wrong in earlier reports: advice beside limits that it misses,
a loss that another line denies, sums that do not add up, names that nothing measured has, a title
that promises more than ran, and security in one list with its absence. The text is parsed as its
readers see it, so a fault of any renderer is found as well.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from markdown_it import MarkdownIt

from rmwbench.published.committee import need_conclusions
from rmwbench.published.committee.need_conclusions import NeedFact
from rmwbench.published.committee.needs import NeedMark
from rmwbench.published.committee.report_parts import SECURITY, Report, SectionPart
from rmwbench.results.answer.facts import contenders


class Contradiction(StrEnum):
    """What does not agree in a document."""

    MARK = "a sentence and the table of needs"
    LIMITS = "a sentence and the table of limits"
    NAME = "a name and what was measured"
    SUM = "a sum and its parts"
    TITLE = "a title and what ran"
    SECURITY = "security and its absence in one list"


@dataclass(frozen=True)
class DocumentFault:
    """`where`: the need or the section."""

    code: Contradiction
    where: str
    what: str


Rows = Sequence[Sequence[str]]


def check(report: Report, text: str) -> list[DocumentFault]:
    """`text`: the finished document in Markdown, made of `report`."""
    read = _ReadDocument(text)
    return [
        *_needs(report, read),
        *_sums(report, read),
        *(fault for part in report.measured for fault in _section(part, read)),
    ]


def _needs(report: Report, read: "_ReadDocument") -> Iterator[DocumentFault]:
    columns = [column.candidate for column in need_conclusions.subjects(report.needs)]
    marks = {row[0]: row[1:] for row in read.table(need_conclusions.TITLE)}
    limits = read.table(need_conclusions.LIMITS_TITLE)
    known = {arm.candidate for part in report.measured for arm in part.arms.values()}
    for sentence in need_conclusions.sentences(report.needs):
        title = sentence.title
        if f"{title}. {sentence.text}" not in read.plain:
            yield DocumentFault(Contradiction.MARK, title, "the document lacks its sentence")
        shown = dict(zip(columns, marks.get(title, ()), strict=False))
        for fact in sentence.facts:
            if fact.candidate not in known:
                yield DocumentFault(Contradiction.NAME, title, fact.candidate)
            # A tuned candidate stands in the column of its RMW.
            cell = shown.get(fact.candidate, " ".join(shown.values()))
            if fact.mark not in cell:
                yield DocumentFault(
                    Contradiction.MARK, title, f"{fact.candidate}: {fact.mark}, {cell!r}"
                )
            of_need = [row for row in limits if row[0].startswith(f"{title}: ")]
            own = [(row[0], row[2]) for row in of_need if row[1] == fact.candidate]
            outcomes = {outcome for _, outcome in own}
            if not _agree(fact.mark, outcomes):
                listed = ", ".join(sorted(outcomes)) or "no row"
                yield DocumentFault(
                    Contradiction.LIMITS, title, f"{fact.candidate}: {fact.mark}, limits: {listed}"
                )
            for case in _missed_unnamed(fact, title, own):
                yield DocumentFault(
                    Contradiction.LIMITS, title, f"{fact.candidate}: misses {case}, not named"
                )


def _agree(mark: NeedMark, outcomes: set[str]) -> bool:
    """Whether outcomes of the cases allow the mark of the need: a case that was not measured has no
    row."""
    return mark in (NeedMark.of(outcomes), NeedMark.of([*outcomes, None]))


def _missed_unnamed(
    fact: NeedFact, title: str, outcomes: Iterable[tuple[str, str]]
) -> Iterator[str]:
    """Cases that a candidate misses, though it meets others, and that its sentence does not name.
    `outcomes`: (`NEED: CASE`, its outcome)."""
    for place, outcome in outcomes:
        case = place.removeprefix(f"{title}: ")
        if fact.mark is NeedMark.PARTLY and outcome == "misses" and case not in fact.text:
            yield case


def _sums(report: Report, read: "_ReadDocument") -> Iterator[DocumentFault]:
    """The trials of the head are those of all sections; of a section, each total is its parts."""
    head = re.search(r"([\d\u202f ]+) trials? in (\d+) of (\d+) sections?", read.plain)
    of_sections = sum(part.answer.campaign.trials.done for part in report.measured)
    if head is None or _number(head[1]) != of_sections:
        yield DocumentFault(
            Contradiction.SUM, "head", f"{head and head[0]}: sections have {of_sections}"
        )
    for part in report.measured:
        trials = part.answer.campaign.trials
        if trials.voided_by and sum(trials.voided_by.values()) < trials.void:
            causes = sum(trials.voided_by.values())
            yield DocumentFault(
                Contradiction.SUM, part.section.title, f"{trials.void} void, of causes {causes}"
            )


def _section(part: SectionPart, read: "_ReadDocument") -> Iterator[DocumentFault]:
    title = part.section.title
    if part.heading not in read.headings:
        yield DocumentFault(Contradiction.TITLE, title, f"no heading says `{part.heading}`")
    for group in part.groups:
        names = {arm.arm for workload in group.shown.workloads for arm in contenders(workload)}
        secure = {bool(part.arms[name].modes.get(SECURITY)) for name in names if name in part.arms}
        if len(secure) > 1:
            yield DocumentFault(Contradiction.SECURITY, title, ", ".join(sorted(names)))


def _number(text: str) -> int:
    return int(re.sub(r"\D", "", text))


class _ReadDocument:
    """Markdown as its reader sees it: `plain` text, `headings`, and the tables below each."""

    def __init__(self, text: str):
        self.headings: list[str] = []
        self._tables: dict[str, list[list[str]]] = {}
        lines: list[str] = []
        row: list[str] | None = None
        tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(text)
        for before, token in pairwise(tokens):
            if token.type == "tr_open":
                row = []
                self._tables.setdefault(self.headings[-1], []).append(row)
            elif token.type == "tr_close":
                row = None
            elif token.type == "inline":
                words = "".join(child.content for child in token.children or ())
                lines.append(words)
                if before.type == "heading_open":
                    self.headings.append(words)
                elif row is not None:
                    row.append(words)
        self.plain = "\n".join(lines)

    def table(self, heading: str) -> Rows:
        """The rows of the first table below a heading, without its head."""
        return self._tables.get(heading, [])[1:]
