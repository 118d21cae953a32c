"""What a committee's report says, gathered from the campaigns of an evaluation and from nothing
else.

A section that was not measured is a row with its reason and the command that changes it. Rendering
is elsewhere (report_text.py, report_page.py).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.input_file import read_text
from rmwbench.published.campaign import of_shown
from rmwbench.published.campaign_section import evaluated
from rmwbench.published.committee.evaluation_session import CommitteeSession, PlannedSection
from rmwbench.published.committee.sections import NEEDS, RobotLimits
from rmwbench.published.questionnaire import responses as questionnaire
from rmwbench.published.questionnaire.questions_file import load as load_questionnaire
from rmwbench.report.evaluated import NOT_EVALUATED, Evaluated
from rmwbench.report.view import View
from rmwbench.results.answer.facts import contenders, verdict_of
from rmwbench.results.decide.decide_document import summarise as decide
from rmwbench.results.decide.decide_model import Decided
from rmwbench.results.model import document
from rmwbench.results.selection import select
from rmwbench.results.show import summarise
from rmwbench.results.shown import SuiteAnswer, WorkloadAnswer, WorkloadArm
from rmwbench.suite.decidable import DECIDABLE_BLOCKS
from rmwbench.suite.file.limits_file import read_limits
from rmwbench.suite.file.places import limits_directory
from rmwbench.suite.limits import LimitsCase
from rmwbench.words import numbers as fmt

QUESTIONS = "fastdds-2021"
"""The source whose questionnaire the committee asked."""
ORDER = ("best", "equivalent", "worse", "undecided", "alone", "no data")
"""Verdicts, as the table of standings has its columns."""
MOST_COMMENT_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class SectionPart:
    """A section. `shown`: what its campaign answers; None where nothing was measured, for the
    reason `why`; `get` is the command that changes it. `of_rmws`: what it answers of ROS 2's RMWs
    alone, judged among themselves; None where it has fewer than two. `not_run`: the conditions that
    its budget left out, by the names of their comparisons. `evaluated`: what the published
    evaluations said of the same."""

    section: PlannedSection
    shown: SuiteAnswer | None
    of_rmws: SuiteAnswer | None = None
    why: str | None = None
    get: str | None = None
    not_run: tuple[str, ...] = ()
    evaluated: Evaluated = NOT_EVALUATED

    @property
    def answer(self) -> SuiteAnswer:
        """The answer of a section that was measured."""
        if self.shown is None:
            raise ValueError(f"{self.section.name} was not measured")
        return self.shown


@dataclass(frozen=True, kw_only=True)
class Standing:
    """In how many workloads of the report a candidate came to each verdict, and in how many
    sections it stands; `counts` has no zeros."""

    arm: str
    counts: Mapping[str, int]
    sections: int

    @property
    def workloads(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, kw_only=True)
class Answered:
    """Who meets the needs of one robot. `decided`: what `rmwbench decide` answers; None for the
    reason `why`."""

    title: str
    section: str
    decided: Decided | None
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class Comment:
    """What a vendor says of the report: its own words, quoted as they are."""

    who: str
    text: str


@dataclass(frozen=True, kw_only=True)
class CommunityPart:
    """A part in which nothing runs: the community's numbers. `view` is None where it was not given;
    then `get` is the command that makes it. `opens`: it stands before the sections, for it says who
    may be in a report at all."""

    title: str
    view: View | None
    get: str
    opens: bool = False


@dataclass(frozen=True, kw_only=True)
class Report:
    """The whole report, in reading order."""

    title: str
    session: CommitteeSession
    parts: tuple[SectionPart, ...]
    standings: tuple[Standing, ...]
    rmw_standings: tuple[Standing, ...]
    needs: tuple[Answered, ...]
    questionnaire: Mapping[str, Any]
    beside: tuple[CommunityPart, ...]
    comments: tuple[Comment, ...]

    @property
    def measured(self) -> tuple[SectionPart, ...]:
        return tuple(part for part in self.parts if part.shown is not None)

    def document(self) -> dict[str, Any]:
        """As `--json` prints it: what is in the campaigns is not said twice."""
        return {
            "schema": "rmwbench/evaluation",
            "version": 1,
            "evaluation": self.session.evaluation,
            "directory": str(self.session.directory),
            "sections": [
                {
                    "section": part.section.name,
                    "title": part.section.title,
                    "suite": part.section.suite,
                    "campaign": str(self.session.place(part.section)) if part.shown else None,
                    "why": part.why,
                    "get": part.get,
                }
                for part in self.parts
            ],
            "standings": [{"arm": one.arm, "counts": dict(one.counts)} for one in self.standings],
            "rmw_standings": [
                {"arm": one.arm, "counts": dict(one.counts)} for one in self.rmw_standings
            ],
            "needs": [
                {
                    "title": one.title,
                    "section": one.section,
                    "decided": document(one.decided),
                    "why": one.why,
                }
                for one in self.needs
            ],
        }


def gather(
    session: CommitteeSession,
    title: str,
    beside: Sequence[CommunityPart],
    needs: Sequence[RobotLimits] = NEEDS,
) -> Report:
    """Raises UserError for a bundle that cannot be read. `needs`: the robots that it answers
    for."""
    parts = tuple(_part(session, section) for section in session.sections)
    shown = [part.shown for part in parts if part.shown is not None]
    asked, evidence = load_questionnaire(QUESTIONS)
    return Report(
        title=title,
        session=session,
        parts=parts,
        standings=tuple(standings(shown)),
        rmw_standings=tuple(standings([part.of_rmws for part in parts if part.of_rmws])),
        needs=tuple(
            _need(session, need, part)
            for need in needs
            for part in parts
            if part.section.name == need.section
        ),
        questionnaire=questionnaire.document(asked, evidence, list(map(of_shown, shown))),
        beside=tuple(beside),
        comments=tuple(_comments(session.directory / "comments")),
    )


def _part(session: CommitteeSession, section: PlannedSection) -> SectionPart:
    run = f"rmwbench run {section.suite}{' --short' if section.short else ''}"
    if section.problem is not None:
        return SectionPart(section=section, shown=None, why=section.problem, get=run)
    if not section.blocks:
        more = session.budget_s + section.least_s
        why = (
            f"the budget of {fmt.duration(session.budget_s)} had no room for its "
            f"{fmt.duration(section.least_s)}"
        )
        get = (
            f"rmwbench published report {session.evaluation} --budget {math.ceil(more / 60)}m -o "
            "ANOTHER_DIR"
        )
        return SectionPart(section=section, shown=None, why=why, get=get)
    go_on = f"rmwbench resume {session.directory}"
    if not session.has_begun(section):
        return SectionPart(section=section, shown=None, why="it was not run yet", get=go_on)
    bundle = Bundle(session.place(section))
    if not bundle.trials("done"):
        return SectionPart(
            section=section, shown=None, why="none of its trials was good", get=go_on
        )
    shown = summarise(bundle)
    return SectionPart(
        section=section,
        shown=shown,
        of_rmws=_of_rmws(bundle, shown),
        not_run=_not_run(bundle),
        evaluated=evaluated(shown),
    )


def _not_run(bundle: Bundle) -> tuple[str, ...]:
    """What its plan left out for want of time."""
    return bundle.campaign.plan.not_run.comparisons


def _of_rmws(bundle: Bundle, shown: SuiteAnswer) -> SuiteAnswer | None:
    """ROS 2's RMWs judged as if nothing else had been run: to choose one of them, it says little
    that all are worse than what is not an RMW. Pairs of two middlewares are not candidates."""
    arms = {
        arm.arm: arm
        for workload in shown.workloads
        for arm in contenders(workload)
        if arm.pair is None
    }
    rmws = tuple(name for name, arm in arms.items() if _is_rmw(arm))
    if len(rmws) < 2:
        return None
    if len(rmws) == len(arms):
        return shown
    everything = select(str(bundle.directory))
    cells = [cell for cell in everything.cells if cell["arm"] in rmws]
    return summarise(bundle, selection=replace(everything, cells=cells, wanted={"arm": rmws}))


def _is_rmw(arm: WorkloadArm) -> bool:
    """As a robot's nodes use it: watching its layers costs time."""
    return arm.layer == "rclcpp" and not arm.options.get("layers")


def standings(shown: Sequence[SuiteAnswer]) -> list[Standing]:
    """The candidates of all sections, those that were compared most often first. Pairs of two
    middlewares are not candidates, and workloads of too few blocks have no verdicts."""
    counts: dict[str, Counter[str]] = {}
    sections: dict[str, set[int]] = {}
    for number, one in enumerate(shown):
        for workload in one.workloads:
            for arm in contenders(workload):
                if arm.pair is None and decidable(workload):
                    counts.setdefault(candidate(arm), Counter())[verdict_of(arm)] += 1
                    sections.setdefault(candidate(arm), set()).add(number)
    found = [
        Standing(arm=arm, counts=dict(count), sections=len(sections[arm]))
        for arm, count in counts.items()
    ]
    return sorted(found, key=lambda one: (-one.workloads, one.arm))


def decidable(workload: WorkloadAnswer) -> bool:
    """Whether it has the blocks without which nothing is decided."""
    return blocks_of(workload) >= DECIDABLE_BLOCKS


def blocks_of(workload: WorkloadAnswer) -> int:
    """The blocks of that contender which has most: each is a trial that is done, or that it failed
    by itself."""
    found = (arm.trials for arm in contenders(workload))
    return max((trials.done + trials.failed for trials in found), default=0)


def candidate(arm: WorkloadArm) -> str:
    """Suites call a middleware as installed by its own name, or `NAME untouched` beside a tuned
    one: it is the same."""
    as_installed = arm.profile == "untouched" and not arm.options
    is_so_called = arm.arm == f"{arm.middleware} untouched"
    return arm.middleware if as_installed and is_so_called else arm.arm


def _need(session: CommitteeSession, need: RobotLimits, part: SectionPart) -> Answered:
    limits = read_limits(limits_directory() / f"{need.limits}.yaml").model_copy(
        update={"of": LimitsCase(workload=need.workload)}
    )
    title, section = limits.title or limits.limits, part.section.title
    if part.shown is None:
        return Answered(title=title, section=section, decided=None, why=part.why)
    try:
        found = decide([Bundle(session.place(part.section))], limits)
    except UserError as error:
        return Answered(title=title, section=section, decided=None, why=error.what)
    return Answered(title=title, section=section, decided=found)


def _comments(directory: Path) -> list[Comment]:
    found = []
    for path in sorted(directory.glob("*.md")):
        try:
            found.append(Comment(who=path.stem, text=read_text(path, MOST_COMMENT_BYTES)))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"a comment cannot be read: {error}", where=str(path)) from None
    return found
