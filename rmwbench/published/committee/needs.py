"""What robots need (needs.yaml), and which candidates meet it. Each case of a need is judged by
`rmwbench decide`'s rules for limits, with the number that decides."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from rmwbench.analysis.verdicts.limit_outcomes import Outcome
from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.input_file import parse_json
from rmwbench.results.decide.decide_document import summarise as decide
from rmwbench.results.decide.decide_model import Contender
from rmwbench.suite.fault import Scalar, Strict
from rmwbench.suite.file.limits_file import read_limits
from rmwbench.suite.file.suite_files import limits_directory
from rmwbench.suite.file.tree import validated
from rmwbench.suite.limits import Limits, LimitsCase, LimitsFile

NOT_PLANNED = "its section is not planned in this report"
NOT_RUN = "its condition was not run within the budget"


class NeedCase(Strict):
    """A measurement that a need rests on: the `workload` of a report's `section`, at these
    `levels`, judged by `limits` (the name of a file in limits/, or the limits themselves). `modes`:
    only arms that ask for these are judged."""

    section: str
    workload: str
    title: str
    limits: str | Limits
    levels: dict[str, Scalar] = Field(default_factory=dict)
    modes: dict[str, Scalar] = Field(default_factory=dict)

    def applies_to(self, modes: Mapping[str, Scalar]) -> bool:
        """Whether the case is about an arm with these modes."""
        return all(modes.get(name) == value for name, value in self.modes.items())

    def read(self) -> LimitsFile:
        """Return the limits for the cells of the case. Raise UserError for a file that holds no
        limits."""
        of = LimitsCase(workload=self.workload, levels=self.levels)
        if isinstance(self.limits, str):
            named = read_limits(limits_directory() / f"{self.limits}.yaml")
            return named.model_copy(update={"of": of})
        own = {name: getattr(self.limits, name) for name in Limits.model_fields}
        return LimitsFile.model_construct(limits=self.title, title=self.title, of=of, **own)


class RobotNeed(Strict):
    """A need of a robot, which is met if all `cases` are within their limits."""

    need: str
    title: str
    cases: list[NeedCase] = Field(min_length=1)


class _NeedsFile(Strict):
    needs: list[RobotNeed]


def shipped_needs() -> tuple[RobotNeed, ...]:
    path = Path(__file__).with_name("needs.yaml")
    return tuple(validated(path.read_text(), where=path.name, model=_NeedsFile).needs)


class NeedMark(StrEnum):
    """What a candidate does for a need. `PARTLY`: it meets the limits of a case; it misses
    another case, or the data do not decide it."""

    MEETS = "✓"
    PARTLY = "!"
    MISSES = "✗"
    UNKNOWN = "?"

    @classmethod
    def of(cls, outcomes: Collection[str | None]) -> "NeedMark":
        """Return the mark for these outcomes of a need's cases; None stands for a case without an
        outcome."""
        if outcomes and all(outcome == Outcome.MEETS for outcome in outcomes):
            return cls.MEETS
        if Outcome.MEETS in outcomes:
            return cls.PARTLY
        return cls.MISSES if Outcome.MISSES in outcomes else cls.UNKNOWN


@dataclass(frozen=True)
class MeasuredArm:
    """An arm of a campaign. `candidate_name`: its name in a report; `has_settings`: whether
    it sets anything besides its `modes`."""

    candidate_name: str
    middleware: str
    is_rmw: bool
    has_settings: bool
    modes: Mapping[str, Scalar]


@dataclass(frozen=True)
class MeasuredSection:
    """A section's campaign, and its arms by name."""

    bundle: Bundle
    arms: Mapping[str, MeasuredArm]


@dataclass(frozen=True, kw_only=True)
class NeedCandidate:
    """An arm in a case. `as_installed`: it sets nothing but the modes that the case asks for."""

    arm: MeasuredArm
    as_installed: bool
    answer: Contender

    @property
    def candidate_name(self) -> str:
        return self.arm.candidate_name

    @property
    def outcome(self) -> Outcome:
        return self.answer.outcome


@dataclass(frozen=True, kw_only=True)
class NeedCaseAnswer:
    """A case with its candidates; `why` says why no candidate was judged."""

    case: NeedCase
    judged: tuple[NeedCandidate, ...] = ()
    why: str | None = None

    def candidate(self, name: str) -> NeedCandidate | None:
        return next((judged for judged in self.judged if judged.candidate_name == name), None)


@dataclass(frozen=True, kw_only=True)
class NeedAnswer:
    """A need with the answers of its cases, in their order."""

    need: RobotNeed
    cases: tuple[NeedCaseAnswer, ...]

    @cached_property
    def candidates(self) -> tuple[NeedCandidate, ...]:
        """Each candidate once, from the first case that has it; those as installed come first."""
        by_name = {
            judged.candidate_name: judged for case in reversed(self.cases) for judged in case.judged
        }
        return tuple(sorted(by_name.values(), key=lambda candidate: not candidate.as_installed))

    @property
    def why(self) -> str | None:
        """Why nothing is known about the need; None if a case was judged."""
        if self.candidates:
            return None
        return "; ".join(dict.fromkeys(case.why for case in self.cases if case.why))

    def mark(self, candidate_name: str) -> NeedMark:
        answers = [case.candidate(candidate_name) for case in self.cases]
        return NeedMark.of([None if answer is None else answer.outcome for answer in answers])

    def cases_of(self, candidate_name: str) -> list[tuple[NeedCaseAnswer, NeedCandidate]]:
        """Return the cases in which the candidate was judged."""
        pairs = ((case, case.candidate(candidate_name)) for case in self.cases)
        return [(case, judged) for case, judged in pairs if judged is not None]

    def document(self) -> dict[str, Any]:
        return {
            "need": self.need.need,
            "title": self.need.title,
            "why": self.why,
            "marks": {x.candidate_name: self.mark(x.candidate_name).name for x in self.candidates},
            "cases": [
                {
                    "section": case.case.section,
                    "workload": case.case.workload,
                    "title": case.case.title,
                    "why": case.why,
                    "candidates": {
                        judged.candidate_name: {
                            "outcome": str(judged.outcome),
                            "probability": judged.answer.probability,
                        }
                        for judged in case.judged
                    },
                }
                for case in self.cases
            ],
        }

    def decisive(self, candidate_name: str) -> tuple[NeedCaseAnswer, NeedCandidate] | None:
        """Return the case on which the mark rests: a missed case before an open case, otherwise the
        first."""
        order = (Outcome.MISSES, Outcome.OPEN, Outcome.UNKNOWN, Outcome.MEETS)
        cases = self.cases_of(candidate_name)
        return min(cases, key=lambda pair: order.index(pair[1].outcome), default=None)


def answer_need(need: RobotNeed, campaigns: Mapping[str, MeasuredSection | str]) -> NeedAnswer:
    """Judge the cases of a need. `campaigns`: each measured section, or the reason why it was not
    measured."""
    cases = (_case(case, campaigns.get(case.section, NOT_PLANNED)) for case in need.cases)
    return NeedAnswer(need=need, cases=tuple(cases))


def _case(case: NeedCase, measured: MeasuredSection | str) -> NeedCaseAnswer:
    if isinstance(measured, str):
        return NeedCaseAnswer(case=case, why=measured)
    limits = case.read()
    cells = ((row["workload"], parse_json(row["factors"])) for row in measured.bundle.rows("cells"))
    if not any(limits.of.has(workload, levels) for workload, levels in cells):
        return NeedCaseAnswer(case=case, why=NOT_RUN)
    try:
        decision = decide([measured.bundle], limits)
    except UserError as error:
        return NeedCaseAnswer(case=case, why=error.what)
    contenders = [contender for machine in decision.machines for contender in machine.candidates]
    return NeedCaseAnswer(case=case, judged=tuple(_candidates(contenders, case, measured.arms)))


def _candidates(
    contenders: Sequence[Contender], case: NeedCase, arms: Mapping[str, MeasuredArm]
) -> Iterable[NeedCandidate]:
    for contender in contenders:
        arm = arms.get(contender.arm)
        if arm is not None and case.applies_to(arm.modes):
            as_installed = not arm.has_settings and arm.modes.keys() <= case.modes.keys()
            yield NeedCandidate(arm=arm, as_installed=as_installed, answer=contender)
