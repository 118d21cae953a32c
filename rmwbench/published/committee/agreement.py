"""Two runs of one evaluation: does the second come to the same verdicts, and where does it not?

A verdict is decided if it is good (best, or as good as the best: a few more blocks turn one into
the other) or worse. If one run decided and the other did not, they do not contradict each other:
the other could not tell.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from rmwbench.analysis.verdicts.verdict import By
from rmwbench.errors import UserError
from rmwbench.published.committee.evaluation_session import CommitteeSession, load
from rmwbench.published.committee.report_parts import Report, SectionPart, candidate, gather
from rmwbench.report.view import Head, Items, Section, Table, Text, View
from rmwbench.results.answer.facts import contenders, verdict_of
from rmwbench.results.model import document as plain
from rmwbench.results.show_model import WorkloadArm
from rmwbench.words import numbers as fmt

SIDES = {"best": "good", "equivalent": "good", "worse": "worse"}
"""Decided verdict -> its side. Two decided verdicts contradict each other if their sides differ."""
ABSENT = frozenset(("no data", "alone"))
"""The verdicts of a candidate that was not compared: it has no data, or it alone has data."""


class Agreement(StrEnum):
    """How the verdicts of two runs relate. `SAME` counts decided verdicts only; `ABSENT`: one of
    the runs had nothing to compare."""

    SAME = "the same"
    DECIDED_IN_ONE = "decided in one"
    OPEN_IN_BOTH = "open in both"
    CONTRARY = "contrary"
    ABSENT = "no data in one"


@dataclass(frozen=True, kw_only=True)
class RunPair:
    """A candidate in a workload that both runs have. `arms` are its arms in the two campaigns."""

    section: str
    workload: str
    candidate: str
    arms: tuple[WorkloadArm, WorkloadArm]

    @property
    def agreement(self) -> Agreement:
        verdicts = [verdict_of(arm) for arm in self.arms]
        if not ABSENT.isdisjoint(verdicts):
            return Agreement.ABSENT
        sides = {SIDES.get(verdict) for verdict in verdicts}
        if None in sides:
            return Agreement.OPEN_IN_BOTH if len(sides) == 1 else Agreement.DECIDED_IN_ONE
        return Agreement.SAME if len(sides) == 1 else Agreement.CONTRARY

    def document(self) -> dict[str, Any]:
        first, second = (
            {"verdict": verdict_of(arm), "by": arm.verdict.by, "ratio": plain(arm.verdict.ratio)}
            for arm in self.arms
        )
        return {
            "section": self.section,
            "workload": self.workload,
            "candidate": self.candidate,
            "said": str(self.agreement),
            "first": first,
            "second": second,
        }


@dataclass(frozen=True)
class RunAgreement:
    """How far two runs of one evaluation agree."""

    first: CommitteeSession
    second: CommitteeSession
    pairs: tuple[RunPair, ...]

    @cached_property
    def counts_by_section(self) -> dict[str, Counter[Agreement]]:
        counts: dict[str, Counter[Agreement]] = {}
        for pair in self.pairs:
            counts.setdefault(pair.section, Counter())[pair.agreement] += 1
        return counts

    @property
    def total(self) -> Counter[Agreement]:
        return Counter(pair.agreement for pair in self.pairs)

    @property
    def contrary(self) -> list[RunPair]:
        return [pair for pair in self.pairs if pair.agreement is Agreement.CONTRARY]

    @property
    def exit_code(self) -> int:
        return 1 if self.contrary else 0

    def document(self) -> dict[str, Any]:
        """Return the counts of each section, and every contrary pair."""
        return {
            "schema": "rmwbench/evaluation-agreement",
            "version": 1,
            "first": _run(self.first),
            "second": _run(self.second),
            "sections": [
                {"section": section, **{str(kind): counts[kind] for kind in Agreement}}
                for section, counts in self.counts_by_section.items()
            ],
            "contrary": [pair.document() for pair in self.contrary],
            "exit_code": self.exit_code,
        }


def compare_runs(first: Path, second: Path) -> RunAgreement:
    """Compare the runs in two directories. Raise UserError as `agreement_of` does, and for a bundle
    that cannot be read."""
    return agreement_of(*(gather(load(path), "", [], needs=()) for path in (first, second)))


def agreement_of(first: Report, second: Report) -> RunAgreement:
    """Compare two reports. Raise UserError if they have no workload in common."""
    pairs = tuple(_pairs(first, second))
    if not pairs:
        raise UserError(
            "these evaluations have no workload in common",
            where=f"{first.session.directory}, {second.session.directory}",
            expected="two runs of one evaluation, with other seeds",
        )
    return RunAgreement(first.session, second.session, pairs)


def _run(session: CommitteeSession) -> dict[str, Any]:
    return {
        "directory": str(session.directory),
        "seed": session.seed,
        "created_utc": session.created_utc,
    }


def _pairs(first: Report, second: Report) -> Iterator[RunPair]:
    parts = {part.section.name: part for part in second.measured}
    for part in first.measured:
        if other := parts.get(part.section.name):
            yield from _pairs_of_section(part, other)


def _pairs_of_section(part: SectionPart, other: SectionPart) -> Iterator[RunPair]:
    """Yield the pairs of those workloads whose name and primary metric are the same in both
    runs."""
    others = {(x.workload, x.primary_metric): x for x in other.answer.workloads}
    for workload in part.answer.workloads:
        same = others.get((workload.workload, workload.primary_metric))
        arms = {candidate(arm): arm for arm in contenders(same)} if same else {}
        for arm in contenders(workload):
            name = candidate(arm)
            if name in arms and not arm.not_supported:
                yield RunPair(
                    section=part.section.title,
                    workload=workload.workload,
                    candidate=name,
                    arms=(arm, arms[name]),
                )


def view(runs: RunAgreement) -> View:
    lines = [
        f"The {place}: seed {session.seed}, begun {session.created_utc[:16].replace('T', ' ')} UTC."
        for place, session in (("first", runs.first), ("second", runs.second))
    ]
    rows = [
        (name, *(str(counts[kind]) for kind in Agreement))
        for name, counts in [*runs.counts_by_section.items(), ("all together", runs.total)]
    ]
    columns: list[Head] = ["section", *((str(kind), True) for kind in Agreement)]
    sections = [Section("", [Table(columns, rows)])]
    if runs.contrary:
        heads = ("section", "workload", "candidate", "the first", "the second")
        contrary = [
            (pair.section, pair.workload, pair.candidate, *map(_verdict_text, pair.arms))
            for pair in runs.contrary
        ]
        sections.append(Section("Contrary", [Table(heads, contrary)]))
    return View(
        title="Two runs of one evaluation",
        about=[Items(lines)],
        answer=[Text(sentence(runs), "strong")],
        sections=sections,
    )


def _verdict_text(arm: WorkloadArm) -> str:
    """Return `worse 1.31×` or `worse by delivery`."""
    verdict = verdict_of(arm)
    if arm.verdict.by in (By.DELIVERY, By.FAILURE):
        return f"{verdict} by {arm.verdict.by}"
    ratio = fmt.ratio(arm.verdict.ratio)
    return f"{verdict} {ratio.text}" if ratio.state == "measured" else verdict


def sentence(runs: RunAgreement) -> str:
    """Return, for example, `Of 120 verdicts that both runs decide, 119 are the same and 1 is
    contrary.`"""
    total = runs.total
    same, contrary = total[Agreement.SAME], total[Agreement.CONTRARY]
    in_one = total[Agreement.DECIDED_IN_ONE]
    if not same + contrary:
        return "No verdict is decided in both runs, so they neither agree nor disagree."
    text = (
        f"Of {fmt.counted(same + contrary, 'verdict')} that both runs decide, {same or 'none'} "
        f"{_is(same)} the same and {contrary or 'none'} {_is(contrary)} contrary."
    )
    if not in_one:
        return text
    return f"{text} {fmt.counted(in_one, 'verdict')} more {_is(in_one)} decided in one."


def _is(number: int) -> str:
    return "are" if number > 1 else "is"
