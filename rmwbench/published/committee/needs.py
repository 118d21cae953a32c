"""What robots need (needs.yaml), and who meets it: each need's cases judged by the one judge of
limits, as `rmwbench decide` does, with the number that decides."""

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
from rmwbench.suite.file.places import limits_directory
from rmwbench.suite.file.tree import validated
from rmwbench.suite.limits import Limits, LimitsCase, LimitsFile

NOT_PLANNED = "its section is not planned in this report"
NOT_RUN = "its condition was not run within the budget"


class NeedCase(Strict):
    """One measurement that answers for a need: the `workload` of a report's `section`, at these
    `levels`, judged by `limits` (a file of limits/ by its name, or the limits themselves). `modes`:
    only arms that ask for them."""

    section: str
    workload: str
    title: str
    limits: str | Limits
    levels: dict[str, Scalar] = Field(default_factory=dict)
    modes: dict[str, Scalar] = Field(default_factory=dict)

    def asks_for(self, modes: Mapping[str, Scalar]) -> bool:
        """Whether an arm with these modes is one of those that it is about."""
        return all(modes.get(name) == value for name, value in self.modes.items())

    def read(self) -> LimitsFile:
        """Its limits, of its own cells. UserError for a file that is not one."""
        of = LimitsCase(workload=self.workload, levels=self.levels)
        if isinstance(self.limits, str):
            named = read_limits(limits_directory() / f"{self.limits}.yaml")
            return named.model_copy(update={"of": of})
        own = {name: getattr(self.limits, name) for name in Limits.model_fields}
        return LimitsFile.model_construct(limits=self.title, title=self.title, of=of, **own)


class RobotNeed(Strict):
    """What a robot needs: all of `cases` within their limits."""

    need: str
    title: str
    cases: list[NeedCase] = Field(min_length=1)


class _NeedsFile(Strict):
    needs: list[RobotNeed]


def shipped_needs() -> tuple[RobotNeed, ...]:
    path = Path(__file__).with_name("needs.yaml")
    return tuple(validated(path.read_text(), where=path.name, model=_NeedsFile).needs)


class NeedMark(StrEnum):
    """What a candidate does for a need. `PARTLY`: it meets the limits of a case, and those of
    another it misses or is not shown to meet."""

    MEETS = "✓"
    PARTLY = "!"
    MISSES = "✗"
    UNKNOWN = "?"

    @classmethod
    def of(cls, outcomes: Collection[str | None]) -> "NeedMark":
        """What these outcomes of a need's cases come to; None for a case without one."""
        if outcomes and all(outcome == Outcome.MEETS for outcome in outcomes):
            return cls.MEETS
        if Outcome.MEETS in outcomes:
            return cls.PARTLY
        return cls.MISSES if Outcome.MISSES in outcomes else cls.UNKNOWN


@dataclass(frozen=True)
class MeasuredArm:
    """What a campaign says of an arm. `candidate`: what a report calls it; `sets`: whether it sets
    anything beside its `modes`."""

    candidate: str
    middleware: str
    is_rmw: bool
    sets: bool
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
    def candidate(self) -> str:
        return self.arm.candidate

    @property
    def outcome(self) -> Outcome:
        return self.answer.outcome


@dataclass(frozen=True, kw_only=True)
class NeedCaseAnswer:
    """A case with its candidates; none where nobody judged it, for the reason `why`."""

    case: NeedCase
    judged: tuple[NeedCandidate, ...] = ()
    why: str | None = None

    def of(self, candidate: str) -> NeedCandidate | None:
        return next((one for one in self.judged if one.candidate == candidate), None)


@dataclass(frozen=True, kw_only=True)
class NeedAnswer:
    """A need with the answers of its cases, in their order."""

    need: RobotNeed
    cases: tuple[NeedCaseAnswer, ...]

    @cached_property
    def candidates(self) -> tuple[NeedCandidate, ...]:
        """Each once, those as installed first, as the first case that has it says."""
        by_name = {one.candidate: one for case in reversed(self.cases) for one in case.judged}
        return tuple(sorted(by_name.values(), key=lambda one: not one.as_installed))

    @property
    def why(self) -> str | None:
        """Why nothing is known of it; None where a case was judged."""
        if self.candidates:
            return None
        return "; ".join(dict.fromkeys(case.why for case in self.cases if case.why))

    def mark(self, candidate: str) -> NeedMark:
        judged = [case.of(candidate) for case in self.cases]
        return NeedMark.of([None if one is None else one.outcome for one in judged])

    def cases_of(self, candidate: str) -> list[tuple[NeedCaseAnswer, NeedCandidate]]:
        """The cases in which it was judged."""
        return [(case, one) for case in self.cases if (one := case.of(candidate)) is not None]

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "need": self.need.need,
            "title": self.need.title,
            "why": self.why,
            "marks": {one.candidate: self.mark(one.candidate).name for one in self.candidates},
            "cases": [
                {
                    "section": case.case.section,
                    "workload": case.case.workload,
                    "title": case.case.title,
                    "why": case.why,
                    "candidates": {
                        one.candidate: {
                            "outcome": str(one.outcome),
                            "probability": one.answer.probability,
                        }
                        for one in case.judged
                    },
                }
                for case in self.cases
            ],
        }

    def decisive(self, candidate: str) -> tuple[NeedCaseAnswer, NeedCandidate] | None:
        """The case that its mark rests on: one that it misses before one that is open, and else the
        first."""
        order = (Outcome.MISSES, Outcome.OPEN, Outcome.UNKNOWN, Outcome.MEETS)
        cases = self.cases_of(candidate)
        return min(cases, key=lambda pair: order.index(pair[1].outcome), default=None)


def answer_need(need: RobotNeed, campaigns: Mapping[str, MeasuredSection | str]) -> NeedAnswer:
    """`campaigns`: what was measured of each section, or why it was not."""
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
        decided = decide([measured.bundle], limits)
    except UserError as error:
        return NeedCaseAnswer(case=case, why=error.what)
    contenders = [one for machine in decided.machines for one in machine.candidates]
    return NeedCaseAnswer(case=case, judged=tuple(_judged(contenders, case, measured.arms)))


def _judged(
    contenders: Sequence[Contender], case: NeedCase, arms: Mapping[str, MeasuredArm]
) -> Iterable[NeedCandidate]:
    for one in contenders:
        arm = arms.get(one.arm)
        if arm is not None and case.asks_for(arm.modes):
            others = set(arm.modes) - set(case.modes)
            yield NeedCandidate(
                arm=arm,
                as_installed=not arm.sets and not others,
                answer=one,
            )
