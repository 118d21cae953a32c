"""What a committee's report says, gathered from the campaigns of an evaluation and from nothing
else.

A section that was not measured is a row with its reason and the command that changes it. Rendering
is elsewhere (report_text.py, report_page.py).
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rmwbench.bundle import Bundle
from rmwbench.bundle.campaign_json import DescribedMiddleware
from rmwbench.campaign.plan.request import Planner, Request
from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_text
from rmwbench.published.campaign import of_shown
from rmwbench.published.campaign_section import evaluated
from rmwbench.published.committee.evaluation_session import CommitteeSession, PlannedSection
from rmwbench.published.committee.needs import (
    MeasuredArm,
    MeasuredSection,
    NeedAnswer,
    RobotNeed,
    answer_need,
    shipped_needs,
)
from rmwbench.published.committee.sections import TSC
from rmwbench.published.questionnaire.questions_file import load as load_questionnaire
from rmwbench.published.questionnaire.responses import QuestionnaireAnswers, answer_questions
from rmwbench.report.evaluated import NOT_EVALUATED, Evaluated
from rmwbench.report.view import View
from rmwbench.results.answer.facts import contenders, names, verdict_of
from rmwbench.results.selection import select
from rmwbench.results.shown import SuiteAnswer, WorkloadAnswer, WorkloadArm
from rmwbench.results.suite_document import summarise
from rmwbench.results.workload.workload_arm import as_installed
from rmwbench.suite.cells import Cell, comparisons
from rmwbench.suite.fault import Scalar
from rmwbench.suite.file.candidate_list import Choice
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS
from rmwbench.words import numbers as fmt
from rmwbench.words.level_names import level_text, named_level
from rmwbench.words.shell import command_line

QUESTIONS = "fastdds-2021"
"""The source whose questionnaire the committee asked."""
SECURITY = "security"
"""The mode that arms with security ask for."""
MOST_COMMENT_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class SectionGroup:
    """Arms that are judged among themselves, as if nothing else had been run: who would choose one
    of them learns little from all others. `title`: what they have in common, empty where a section
    has one group."""

    title: str
    shown: SuiteAnswer


WORKLOAD = ""
"""The axis that is no factor."""


@dataclass(frozen=True)
class ReportCondition:
    """A workload at levels of its suite's factors."""

    workload: str
    levels: Mapping[str, Any]

    def at(self, axis: str) -> str:
        if axis == WORKLOAD:
            return self.workload
        return level_text(self.levels[axis]) if axis in self.levels else ""

    def label(self, axes: Sequence[str]) -> str:
        """`rate_hz=80`: what tells it apart on these axes."""
        levels = [named_level(axis, self.levels[axis]) for axis in axes if axis in self.levels]
        return " ".join([self.workload, *levels] if WORKLOAD in axes or not levels else levels)


def which_ran(ran: Sequence[ReportCondition], not_run: Sequence[ReportCondition]) -> str:
    """Which conditions of a section ran, in a few words, where its budget left some out: what was
    found holds for these alone. `network.loss=0.0; 0.1 and 0.2 were not run`; where they differ in
    several things what was not run is counted: `small rate_hz=30; 5 more were not run`. Empty where
    all ran, or none."""
    if not ran or not not_run:
        return ""
    axes = _axes([*ran, *not_run])
    labels = names([one.label(axes) for one in ran])
    rest = f"{len(not_run)} more" if len(axes) != 1 else names([one.at(axes[0]) for one in not_run])
    return f"{labels}; {rest} {'was' if len(not_run) == 1 else 'were'} not run"


def _axes(conditions: Sequence[ReportCondition]) -> list[str]:
    """The axes on which they differ: their workloads, and factors."""
    factors = dict.fromkeys(factor for condition in conditions for factor in condition.levels)
    return [
        axis
        for axis in (WORKLOAD, *factors)
        if len({condition.at(axis) for condition in conditions}) > 1
    ]


@dataclass(frozen=True, kw_only=True)
class SectionPart:
    """A section. `shown`: what its campaign answers; None where nothing was measured, for the
    reason `not_measured_because`; `command` changes that. `groups`: what it answers of those that a
    committee chooses from, ROS 2's RMWs where there are two; with and without security apart.
    `bundle`: its campaign; `arms`: what that says of each, `middlewares`: what those say of
    themselves. `not_run`: the conditions that its budget left out. `evaluated`: what the published
    evaluations said of the same."""

    section: PlannedSection
    shown: SuiteAnswer | None
    groups: tuple[SectionGroup, ...] = ()
    bundle: Bundle | None = None
    arms: Mapping[str, MeasuredArm] = field(default_factory=dict)
    middlewares: tuple[DescribedMiddleware, ...] = ()
    not_measured_because: str | None = None
    command: str | None = None
    not_run: tuple[ReportCondition, ...] = ()
    evaluated: Evaluated = NOT_EVALUATED

    @property
    def question(self) -> str:
        """Empty for a section that no report has any more."""
        return next((section.question for section in TSC if section.name == self.section.name), "")

    @property
    def heading(self) -> str:
        """Its title, with the conditions that ran where the budget left some out."""
        ran = [ReportCondition(x.name, x.levels) for x in self.answer.workloads]
        which = which_ran(ran, self.not_run)
        return f"{self.section.title} ({which})" if which else self.section.title

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
class Comment:
    """What a vendor says of the report: its own words, quoted as they are."""

    who: str
    text: str


@dataclass(frozen=True, kw_only=True)
class CommunityPart:
    """A part in which nothing runs: the community's numbers. `view` is None where it was not given;
    then `command` makes it. `opens`: it stands before the sections, for it says who
    may be in a report at all."""

    title: str
    view: View | None
    command: str
    opens: bool = False


@dataclass(frozen=True, kw_only=True)
class Report:
    """The whole report, in reading order."""

    title: str
    session: CommitteeSession
    parts: tuple[SectionPart, ...]
    standings: tuple[Standing, ...]
    needs: tuple[NeedAnswer, ...]
    questionnaire: QuestionnaireAnswers
    beside: tuple[CommunityPart, ...]
    comments: tuple[Comment, ...]

    @property
    def measured(self) -> tuple[SectionPart, ...]:
        return tuple(part for part in self.parts if part.shown is not None)

    def document(self) -> dict[str, Any]:
        """As `--json` prints it: what is in the campaigns is not said twice."""
        return {
            "schema": "rmwbench/evaluation",
            "version": 2,
            "evaluation": self.session.evaluation,
            "directory": str(self.session.directory),
            "sections": [
                {
                    "section": part.section.name,
                    "title": part.section.title,
                    "suite": part.section.suite,
                    "campaign": str(self.session.place(part.section)) if part.shown else None,
                    "why": part.not_measured_because,
                    "get": part.command,
                }
                for part in self.parts
            ],
            "standings": [{"arm": x.arm, "counts": dict(x.counts)} for x in self.standings],
            "needs": [need.document() for need in self.needs],
        }


def gather(
    session: CommitteeSession,
    title: str,
    beside: Sequence[CommunityPart],
    needs: Sequence[RobotNeed] | None = None,
) -> Report:
    """Raises UserError for a bundle that cannot be read. `needs`: what it answers for, what is
    shipped where None."""
    parts = tuple(_part(session, section) for section in session.sections)
    shown = [part.shown for part in parts if part.shown is not None]
    questions, evidence = load_questionnaire(QUESTIONS)
    measured = {part.section.name: _measured(part) for part in parts}
    return Report(
        title=title,
        session=session,
        parts=parts,
        standings=tuple(standings([group.shown for part in parts for group in part.groups])),
        needs=tuple(
            answer_need(need, measured) for need in (shipped_needs() if needs is None else needs)
        ),
        questionnaire=answer_questions(questions, evidence, list(map(of_shown, shown))),
        beside=tuple(beside),
        comments=tuple(_comments(session.directory / "comments")),
    )


def _measured(part: SectionPart) -> MeasuredSection | str:
    if part.bundle is None:
        return part.not_measured_because or "it was not measured"
    return MeasuredSection(part.bundle, part.arms)


def _part(session: CommitteeSession, section: PlannedSection) -> SectionPart:
    if section.problem is not None:
        return _not_measured(section, section.problem, section.command)
    if not section.blocks:
        more = session.budget_s + section.least_s
        return _not_measured(
            section,
            f"the budget of {fmt.duration(session.budget_s)} had no room for its "
            f"{fmt.duration(section.least_s)}",
            f"rmwbench published report {session.evaluation} --budget {math.ceil(more / 60)}m -o "
            "ANOTHER_DIR",
        )
    go_on = command_line("resume", session.directory)
    if not session.has_begun(section):
        return _not_measured(section, "it was not run yet", go_on)
    bundle = Bundle(session.place(section))
    if not bundle.trials("done"):
        return _not_measured(section, "none of its trials was good", go_on)
    shown = summarise(bundle)
    arms = _arms(bundle, shown)
    return SectionPart(
        section=section,
        shown=shown,
        groups=tuple(groups_of(bundle, shown, arms)),
        bundle=bundle,
        arms=arms,
        middlewares=tuple(bundle.campaign.middlewares),
        not_run=_not_run(bundle),
        evaluated=evaluated(shown),
    )


def _not_measured(section: PlannedSection, reason: str, command: str | None) -> SectionPart:
    return SectionPart(section=section, shown=None, not_measured_because=reason, command=command)


def _not_run(bundle: Bundle) -> tuple[ReportCondition, ...]:
    """What its budget left out, as the suite that it was planned of has it. One that this version
    cannot read any more, or that has another name for it, leaves the name of the comparison."""
    left_out = bundle.campaign.plan.not_run.comparisons
    known = _comparisons(bundle) if left_out else {}
    return tuple(
        ReportCondition(known[name][0].workload.name, known[name][0].factors)
        if name in known
        else ReportCondition(name, {})
        for name in left_out
    )


def _comparisons(bundle: Bundle) -> Mapping[str, Sequence[Cell]]:
    """All of its suite; empty where this version cannot read it any more."""
    text = bundle.campaign.suite.text
    if not text:
        return {}
    try:
        request = replace(Request.of_document(bundle.campaign.request or {}), comparisons=None)
    except ValueError:  # written by another version
        return {}
    try:
        planner = Planner(text, request.suite_file, Choice(written=request.written))
        return comparisons(planner.chosen(request)[1])
    except UserError:
        return {}


def _arms(bundle: Bundle, shown: SuiteAnswer) -> dict[str, MeasuredArm]:
    """The arms that are candidates: pairs of two middlewares are not, nor what watches its layers,
    which costs time."""
    written = {cell["arm"]: parse_json(cell["definition"])["arm"] for cell in bundle.rows("cells")}
    return {
        arm.arm: MeasuredArm(
            candidate(arm),
            middleware=arm.middleware,
            is_rmw=arm.layer == "rclcpp",
            sets=not as_installed({**written[arm.arm], "modes": {}}, arm.profile),
            modes=written[arm.arm].get("modes", {}),
        )
        for workload in shown.workloads
        for arm in contenders(workload)
        if arm.pair is None and not arm.options.get("layers")
    }


def groups_of(
    bundle: Bundle, shown: SuiteAnswer, arms: Mapping[str, MeasuredArm]
) -> Iterator[SectionGroup]:
    """RMWs alone where there are two. With security and without it are never in one list: no
    advice may be to leave it out."""
    rmws = [name for name, arm in arms.items() if arm.is_rmw]
    chosen = rmws if len(rmws) > 1 else list(arms)
    apart: dict[Scalar, list[str]] = {}
    for name in chosen:
        apart.setdefault(arms[name].modes.get(SECURITY, False), []).append(name)
    every = {arm.arm for workload in shown.workloads for arm in contenders(workload)}
    for is_secure, secured in apart.items():
        title = "" if len(apart) == 1 else "with security" if is_secure else "without security"
        alone = len(secured) == len(every)
        yield SectionGroup(title=title, shown=shown if alone else _among(bundle, secured))
    if not apart:  # pairs of middlewares, or what compares nothing
        yield SectionGroup(title="", shown=shown)


def _among(bundle: Bundle, names: Sequence[str]) -> SuiteAnswer:
    everything = select(str(bundle.directory))
    cells = [cell for cell in everything.cells if cell["arm"] in names]
    return summarise(
        bundle, selection=replace(everything, cells=cells, wanted={"arm": tuple(names)})
    )


def standings(shown: Sequence[SuiteAnswer]) -> list[Standing]:
    """The candidates of all sections, those that were compared most often first. Pairs of two
    middlewares are not candidates, and workloads of too few blocks have no verdicts."""
    counts: dict[str, Counter[str]] = {}
    sections: dict[str, set[int]] = {}
    for number, answer in enumerate(shown):
        for workload in answer.workloads:
            for arm in contenders(workload):
                if arm.pair is None and decidable(workload):
                    counts.setdefault(candidate(arm), Counter())[verdict_of(arm)] += 1
                    sections.setdefault(candidate(arm), set()).add(number)
    unordered = (
        Standing(arm=arm, counts=dict(count), sections=len(sections[arm]))
        for arm, count in counts.items()
    )
    return sorted(unordered, key=lambda standing: (-standing.workloads, standing.arm))


def decidable(workload: WorkloadAnswer) -> bool:
    """Whether it has the blocks without which nothing is decided."""
    return blocks_of(workload) >= DECIDABLE_BLOCKS


def blocks_of(workload: WorkloadAnswer) -> int:
    """The blocks of that contender which has most: each is a trial that is done, or that it failed
    by itself."""
    counts = (arm.trials for arm in contenders(workload))
    return max((trials.done + trials.failed for trials in counts), default=0)


def candidate(arm: WorkloadArm) -> str:
    """Suites call a middleware as installed by its own name, or `NAME untouched` beside a tuned
    one: it is the same."""
    as_installed = arm.profile == "untouched" and not arm.options
    is_so_called = arm.arm == f"{arm.middleware} untouched"
    return arm.middleware if as_installed and is_so_called else arm.arm


def _comments(directory: Path) -> list[Comment]:
    comments = []
    for path in sorted(directory.glob("*.md")):
        try:
            comments.append(Comment(who=path.stem, text=read_text(path, MOST_COMMENT_BYTES)))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"a comment cannot be read: {error}", where=str(path)) from None
    return comments
