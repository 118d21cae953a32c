"""Two runs of one evaluation: does the second come to the same verdicts, and where not?

A verdict is decided where it is good (best, or as good as the best: a few more blocks make one of
the other) or worse. Where one run decided and the other left it open, they do not contradict each
other: one of them could not tell.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rmwbench.analysis.verdicts.verdict import By
from rmwbench.errors import UserError
from rmwbench.published.committee.report_parts import Report, SectionPart, candidate
from rmwbench.report.view import Head, Items, Section, Table, Text, View
from rmwbench.results.answer.facts import contenders, verdict_of
from rmwbench.results.model import Ratio
from rmwbench.results.model import document as plain
from rmwbench.results.shown import WorkloadArm
from rmwbench.words import numbers as fmt

SIDES = {"best": "good", "equivalent": "good", "worse": "worse"}
"""What a decided verdict comes to."""
ABSENT = frozenset(("no data", "alone"))
"""Verdicts of a candidate that was not compared: it has no data, or nothing beside it has."""


class Agreement(StrEnum):
    """What the second run says of a verdict of the first. `SAME` is of decided ones alone; `ABSENT`:
    one of the runs had nothing to compare."""

    SAME = "the same"
    ONE = "decided in one"
    NEITHER = "open in both"
    CONTRARY = "contrary"
    ABSENT = "no data in one"


@dataclass(frozen=True, kw_only=True)
class RunPair:
    """One candidate in one workload of both runs; `arms` are its arms in the two campaigns."""

    section: str
    workload: str
    candidate: str
    arms: tuple[WorkloadArm, WorkloadArm]

    @property
    def said(self) -> Agreement:
        verdicts = [verdict_of(arm) for arm in self.arms]
        if not ABSENT.isdisjoint(verdicts):
            return Agreement.ABSENT
        sides = {SIDES.get(verdict) for verdict in verdicts}
        if None in sides:
            return Agreement.NEITHER if len(sides) == 1 else Agreement.ONE
        return Agreement.SAME if len(sides) == 1 else Agreement.CONTRARY

    def document(self) -> dict[str, Any]:
        verdicts = [
            {
                "verdict": verdict_of(arm),
                "by": arm.verdict.by,
                "ratio": plain(arm.verdict.ratio),
            }
            for arm in self.arms
        ]
        where = {"section": self.section, "workload": self.workload, "candidate": self.candidate}
        return where | {"said": str(self.said), "first": verdicts[0], "second": verdicts[1]}


def document(first: Report, second: Report) -> dict[str, Any]:
    """What the second run says of the first's verdicts, section by section; every pair that is
    contrary by itself. UserError where they have no workload in common."""
    pairs = list(_pairs(first, second))
    if not pairs:
        raise UserError(
            "these evaluations have no workload in common",
            where=f"{first.session.directory}, {second.session.directory}",
            expected="two runs of one evaluation, with other seeds",
        )
    counts: dict[str, Counter[str]] = {}
    for pair in pairs:
        counts.setdefault(pair.section, Counter())[pair.said] += 1
    return {
        "schema": "rmwbench/evaluation-agreement",
        "version": 1,
        "first": _run(first),
        "second": _run(second),
        "sections": [
            {"section": name, **{str(said): count[said] for said in Agreement}}
            for name, count in counts.items()
        ],
        "contrary": [pair.document() for pair in pairs if pair.said == Agreement.CONTRARY],
        "exit_code": 1 if any(pair.said == Agreement.CONTRARY for pair in pairs) else 0,
    }


def _run(report: Report) -> dict[str, Any]:
    session = report.session
    return {
        "directory": str(session.directory),
        "seed": session.seed,
        "created_utc": session.created_utc,
    }


def _pairs(first: Report, second: Report) -> Iterator[RunPair]:
    others = {part.section.name: part for part in second.measured}
    for part in first.measured:
        if other := others.get(part.section.name):
            yield from _of_section(part, other)


def _of_section(part: SectionPart, other: SectionPart) -> Iterator[RunPair]:
    """A workload counts where its name and its primary metric are those of the other run."""
    beside = {(one.workload, one.primary_metric): one for one in other.answer.workloads}
    for workload in part.answer.workloads:
        same = beside.get((workload.workload, workload.primary_metric))
        arms = {candidate(arm): arm for arm in contenders(same)} if same else {}
        for arm in contenders(workload):
            if candidate(arm) in arms and not arm.not_supported:
                yield RunPair(
                    section=part.section.title,
                    workload=workload.workload,
                    candidate=candidate(arm),
                    arms=(arm, arms[candidate(arm)]),
                )


def view(doc: Mapping[str, Any]) -> View:
    runs = [
        f"The {place}: seed {doc[place]['seed']}, begun "
        f"{doc[place]['created_utc'][:16].replace('T', ' ')} UTC."
        for place in ("first", "second")
    ]
    counts = [(one["section"], *(one[said] for said in Agreement)) for one in doc["sections"]]
    counts.append(
        ("all together", *(sum(column) for column in list(zip(*counts, strict=True))[1:]))
    )
    columns: list[Head] = ["section", *((str(said), True) for said in Agreement)]
    sections = [Section("", [Table(columns, [tuple(map(str, row)) for row in counts])])]
    if doc["contrary"]:
        heads = ("section", "workload", "candidate", "the first", "the second")
        sections.append(Section("Contrary", [Table(heads, [_row(one) for one in doc["contrary"]])]))
    return View(
        title="Two runs of one evaluation",
        about=[Items(runs)],
        answer=[Text(sentence(doc), "strong")],
        sections=sections,
    )


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    """A pair that is contrary, with what each run says."""
    verdicts = (_verdict_text(one[place]) for place in ("first", "second"))
    return (one["section"], one["workload"], one["candidate"], *verdicts)


def _verdict_text(one: Mapping[str, Any]) -> str:
    """`worse 1.31×`, `worse by delivery`."""
    if one["by"] in (By.DELIVERY, By.FAILURE):
        return f"{one['verdict']} by {one['by']}"
    ratio = fmt.ratio(Ratio.of(one["ratio"]) if one["ratio"] else None)
    return f"{one['verdict']} {ratio.text}" if ratio.state == "measured" else str(one["verdict"])


def sentence(doc: Mapping[str, Any]) -> str:
    """`Of 120 verdicts that both runs decide, 119 are the same and 1 is contrary.`"""
    total = {said: sum(in_one[said] for in_one in doc["sections"]) for said in Agreement}
    decided = total[Agreement.SAME] + total[Agreement.CONTRARY]
    if not decided:
        return "No verdict is decided in both runs, so they neither agree nor disagree."
    opposite, in_one = total[Agreement.CONTRARY], total[Agreement.ONE]
    contrary = f"{opposite} {'is' if opposite == 1 else 'are'} contrary"
    if not opposite:
        contrary = "none is contrary"
    more = (
        f" {fmt.counted(in_one, 'verdict')} more {'is' if in_one == 1 else 'are'} decided in one."
    )
    text = (
        f"Of {fmt.counted(decided, 'verdict')} that both runs decide, {total[Agreement.SAME]} are "
        f"the same and {contrary}."
    )
    return text + (more if in_one else "")
