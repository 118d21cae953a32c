"""The contents of a committee's report, gathered from the campaigns of an evaluation and from
nothing else.

A section that was not measured is a row with its reason and the command that measures it. Other
modules render (report_text.py, report_page.py).
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
from rmwbench.command_name import command_line
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
from rmwbench.results.show_document import summarise
from rmwbench.results.show_model import SuiteAnswer, WorkloadAnswer, WorkloadArm
from rmwbench.results.workload.workload_arm import as_installed
from rmwbench.suite.cells import Cell, comparisons
from rmwbench.suite.fault import Scalar
from rmwbench.suite.file.candidate_list import Choice
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS
from rmwbench.words import numbers as fmt
from rmwbench.words.level_names import level_text, named_level

QUESTIONS = "fastdds-2021"
"""The source whose questionnaire the committee asked."""
SECURITY = "security"
"""The mode of arms with security."""
MOST_COMMENT_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class SectionGroup:
    """Arms that are judged among themselves, as if nothing else had been run: who chooses among
    these cannot choose other arms. `title`: what the arms have in common, empty if the
    section has one group."""

    title: str
    shown: SuiteAnswer


WORKLOAD = ""
"""The axis of workloads, which is no factor."""


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
        """Return `rate_hz=80`, or the like: the workload and levels on these axes."""
        levels = [named_level(axis, self.levels[axis]) for axis in axes if axis in self.levels]
        return " ".join([self.workload, *levels] if WORKLOAD in axes or not levels else levels)


def which_ran(ran: Sequence[ReportCondition], not_run: Sequence[ReportCondition]) -> str:
    """Say in a few words which conditions of a section ran if its budget left some out, since its
    findings hold for these alone: `network.loss=0.0; 0.1 and 0.2 were not run`, or, for conditions
    that differ in several factors, `small rate_hz=30; 5 more were not run`. Empty if all ran, or
    none."""
    if not ran or not not_run:
        return ""
    axes = _axes([*ran, *not_run])
    labels = names([condition.label(axes) for condition in ran])
    rest = f"{len(not_run)} more" if len(axes) != 1 else names([x.at(axes[0]) for x in not_run])
    return f"{labels}; {rest} {'was' if len(not_run) == 1 else 'were'} not run"


def _axes(conditions: Sequence[ReportCondition]) -> list[str]:
    """Return the axes on which the conditions differ: their workloads, and factors."""
    factors = dict.fromkeys(factor for condition in conditions for factor in condition.levels)
    return [
        axis
        for axis in (WORKLOAD, *factors)
        if len({condition.at(axis) for condition in conditions}) > 1
    ]


@dataclass(frozen=True, kw_only=True)
class SectionPart:
    """A section. `shown`: the answer of its campaign, None if nothing was measured, for the reason
    `not_measured_because`; `command` changes that. `groups`: the answers for the arms that a
    committee chooses from, which are ROS 2's RMWs if there are two; arms with and without security
    are in different groups. `bundle`: its campaign; `arms`, `middlewares`: what the campaign says
    of its arms and of their middlewares. `not_run`: the conditions that its budget left out.
    `evaluated`: what published evaluations say about its suite."""

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
        """The question of the section; empty if reports no longer have the section."""
        return next((section.question for section in TSC if section.name == self.section.name), "")

    @property
    def heading(self) -> str:
        """The title, with the conditions that ran if the budget left some out."""
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
    """How often a candidate came to each verdict over the workloads of the report, and in how many
    sections it ran. `counts` has no zeros."""

    arm: str
    counts: Mapping[str, int]
    sections: int

    @property
    def workloads(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, kw_only=True)
class Comment:
    """A vendor's comment on the report, which is quoted unchanged."""

    who: str
    text: str


@dataclass(frozen=True, kw_only=True)
class CommunityPart:
    """A part with data on the community, for which nothing runs. `view` is None if it was not
    given; `command` makes it. `opens`: it stands before the sections, since it says which
    candidates a report may have."""

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
        """Return the document of `--json`, without what the campaigns already hold."""
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
    """Gather the report of a session, for these needs or the shipped ones. Raise UserError for a
    bundle that cannot be read."""
    parts = tuple(_part(session, section) for section in session.sections)
    answers = [part.shown for part in parts if part.shown is not None]
    questions, evidence = load_questionnaire(QUESTIONS)
    measured = {part.section.name: _measured_section(part) for part in parts}
    return Report(
        title=title,
        session=session,
        parts=parts,
        standings=tuple(standings([group.shown for part in parts for group in part.groups])),
        needs=tuple(
            answer_need(need, measured) for need in (shipped_needs() if needs is None else needs)
        ),
        questionnaire=answer_questions(questions, evidence, list(map(of_shown, answers))),
        beside=tuple(beside),
        comments=tuple(_comments(session.directory / "comments")),
    )


def _measured_section(part: SectionPart) -> MeasuredSection | str:
    if part.bundle is None:
        return part.not_measured_because or "it was not measured"
    return MeasuredSection(part.bundle, part.arms)


def _part(session: CommitteeSession, section: PlannedSection) -> SectionPart:
    bundle = Bundle(session.place(section)) if session.has_begun(section) else None
    if bundle is None or not bundle.trials("done"):
        return _not_measured(session, section)
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


def _not_measured(session: CommitteeSession, section: PlannedSection) -> SectionPart:
    command = command_line("resume", session.directory)
    if section.problem is not None:
        reason, command = section.problem, session.command(section)
    elif not section.blocks:
        more = session.budget_s + section.least_s
        reason = (
            f"the budget of {fmt.duration(session.budget_s)} had no room for its "
            f"{fmt.duration(section.least_s)}"
        )
        budget = ("--budget", f"{math.ceil(more / 60)}m")
        seed = ("--seed", session.seed) if session.seed else ()
        cluster = ("--cluster", "ADDRESS") if session.machines else ()
        words = (*budget, *session.choice_of_all.options, *seed, *cluster, "-o", "ANOTHER_DIR")
        command = command_line("published", "report", session.evaluation, *words)
    elif not session.has_begun(section):
        reason = "it was not run yet"
    else:
        reason = "none of its trials was good"
    return SectionPart(section=section, shown=None, not_measured_because=reason, command=command)


def _not_run(bundle: Bundle) -> tuple[ReportCondition, ...]:
    """Return the conditions that the budget left out. If this version cannot read the suite, or has
    no comparison of that name, the name of the comparison stands for the condition."""
    names = bundle.campaign.plan.not_run.comparisons
    cells_of = _comparisons(bundle) if names else {}
    return tuple(
        ReportCondition(cells_of[name][0].workload.name, cells_of[name][0].factors)
        if name in cells_of
        else ReportCondition(name, {})
        for name in names
    )


def _comparisons(bundle: Bundle) -> Mapping[str, Sequence[Cell]]:
    """Return all comparisons of the bundle's suite; empty if this version cannot read the suite."""
    text = bundle.campaign.suite.text
    if not text:
        return {}
    try:
        request = replace(Request.of_document(bundle.campaign.request or {}), comparisons=None)
        planner = Planner(text, request.suite_file, Choice(written=request.written))
        return comparisons(planner.select(request)[1])
    except (ValueError, UserError):  # another version wrote it
        return {}


def _arms(bundle: Bundle, shown: SuiteAnswer) -> dict[str, MeasuredArm]:
    """Return the arms that are candidates. Pairs of two middlewares are not, nor are arms that
    record the layers of ROS 2, since recording takes time."""
    definitions = {
        cell["arm"]: parse_json(cell["definition"])["arm"] for cell in bundle.rows("cells")
    }
    return {
        arm.arm: MeasuredArm(
            candidate(arm),
            middleware=arm.middleware,
            is_rmw=arm.layer == "rclcpp",
            has_settings=not as_installed({**definitions[arm.arm], "modes": {}}, arm.profile),
            modes=definitions[arm.arm].get("modes", {}),
        )
        for workload in shown.workloads
        for arm in contenders(workload)
        if arm.pair is None and not arm.options.get("layers")
    }


def groups_of(
    bundle: Bundle, shown: SuiteAnswer, arms: Mapping[str, MeasuredArm]
) -> Iterator[SectionGroup]:
    """Yield the groups: RMWs alone if there are two. Arms with and without security are never in
    one list, since no result may suggest to leave security out."""
    rmws = [name for name, arm in arms.items() if arm.is_rmw]
    names = rmws if len(rmws) > 1 else list(arms)
    by_security: dict[Scalar, list[str]] = {}
    for name in names:
        by_security.setdefault(arms[name].modes.get(SECURITY, False), []).append(name)
    every_arm = {arm.arm for workload in shown.workloads for arm in contenders(workload)}
    for is_secure, group in by_security.items():
        title = "with security" if is_secure else "without security"
        answer = shown if len(group) == len(every_arm) else _answer_of_arms(bundle, group)
        yield SectionGroup(title=title if len(by_security) > 1 else "", shown=answer)
    if not by_security:  # pairs of middlewares, or a suite that compares nothing
        yield SectionGroup(title="", shown=shown)


def _answer_of_arms(bundle: Bundle, arms: Sequence[str]) -> SuiteAnswer:
    selection = select(str(bundle.directory))
    cells = [cell for cell in selection.cells if cell["arm"] in arms]
    return summarise(bundle, selection=replace(selection, cells=cells, wanted={"arm": tuple(arms)}))


def standings(shown: Sequence[SuiteAnswer]) -> list[Standing]:
    """Return the candidates of all sections, those that were compared most often first. Pairs of
    two middlewares are no candidates, and workloads with too few blocks have no verdicts."""
    counts: dict[str, Counter[str]] = {}
    sections: dict[str, set[int]] = {}
    for number, answer in enumerate(shown):
        for workload in answer.workloads:
            for arm in contenders(workload):
                if arm.pair is None and decidable(workload):
                    counts.setdefault(candidate(arm), Counter())[verdict_of(arm)] += 1
                    sections.setdefault(candidate(arm), set()).add(number)
    all_standings = (
        Standing(arm=arm, counts=dict(count), sections=len(sections[arm]))
        for arm, count in counts.items()
    )
    return sorted(all_standings, key=lambda standing: (-standing.workloads, standing.arm))


def decidable(workload: WorkloadAnswer) -> bool:
    """Whether the workload has the blocks without which nothing is decided."""
    return blocks_of(workload) >= DECIDABLE_BLOCKS


def blocks_of(workload: WorkloadAnswer) -> int:
    """Return the blocks of the contender that has most. A block is a trial that is done, or that
    its arm failed."""
    counts = (arm.trials for arm in contenders(workload))
    return max((trials.done + trials.failed for trials in counts), default=0)


def candidate(arm: WorkloadArm) -> str:
    """Return the name of an arm in reports. Suites call a middleware as installed by its own name,
    or `NAME untouched` beside a tuned arm; both are one candidate."""
    is_untouched = arm.profile == "untouched" and not arm.options
    is_named_so = arm.arm == f"{arm.middleware} untouched"
    return arm.middleware if is_untouched and is_named_so else arm.arm


def _comments(directory: Path) -> list[Comment]:
    comments = []
    for path in sorted(directory.glob("*.md")):
        try:
            comments.append(Comment(who=path.stem, text=read_text(path, MOST_COMMENT_BYTES)))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"a comment cannot be read: {error}", where=str(path)) from None
    return comments
