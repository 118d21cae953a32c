"""What robots need (needs.yaml), and which candidates meet it. Each case of a need is judged by
`rmwbench decide`'s rules for limits, with the number that decides.

A few messages say little about a small share, so a section needs a number of blocks before a
candidate that loses nothing can be shown to meet the limits on missing messages (docs/limits.md).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from pydantic import Field

from rmwbench.analysis.decide.decisions import overall_rules
from rmwbench.analysis.decide.posterior import LEAST_BLOCKS, BlockValues, Posterior, posterior
from rmwbench.analysis.metrics.comparisons import in_focus
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.judged_topics import (
    judged_topics,
    planned_endpoints,
    workload_limit_names,
)
from rmwbench.analysis.verdicts.limit_outcomes import Outcome
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.input_file import parse_json
from rmwbench.results.decide.candidate_campaigns import limits_of
from rmwbench.results.decide.decide_document import summarise as decide
from rmwbench.results.decide.decide_model import Contender
from rmwbench.suite.cells import Cell
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


Shares = Sequence[tuple[int, float]]
"""For each limit: how many messages a trial has, and the largest share of them that may be
missing."""
ERROR_FOR_SHARES = 0.5
"""The part of a case's error that its limits on shares have; limits on times and costs have the
rest."""


def blocks_needed(
    needs: Sequence[RobotNeed], section: str, cells: Sequence[Cell], most: int
) -> int:
    """Return the fewest blocks, at most `most`, in which a candidate that loses nothing is shown to
    meet all limits on shares that the needs' cases have in `cells` (cells of contenders); 0 if they
    have no such limits."""
    rules = overall_rules(Rules(), len({cell.comparison for cell in cells}))
    error = rules.alpha * ERROR_FOR_SHARES
    blocks = [
        _fewest_blocks(shares, error / candidates, most)
        for need in needs
        for case in need.cases
        if case.section == section
        for shares, candidates in _limited_shares(case, cells)
    ]
    return max(blocks, default=0)


def _fewest_blocks(shares: Shares, error: float, most: int) -> int:
    """Return the fewest blocks in which all shares are shown at this error of one candidate."""
    if not shares:
        return 0

    def is_shown(blocks: int) -> bool:
        probabilities = (_without_loss(n, blocks).within(share) for n, share in shares)
        return prod(probabilities) >= 1 - error

    return next(filter(is_shown, range(LEAST_BLOCKS, most)), most)


def _without_loss(messages: int, blocks: int) -> Posterior:
    """Return the posterior after `blocks` blocks without a missing message."""
    lost, campaigns, due = (0.0,) * blocks, (0,) * blocks, (float(messages),) * blocks
    return posterior(BlockValues("fraction", lost, campaigns, of=due))


def _limited_shares(case: NeedCase, cells: Sequence[Cell]) -> Iterator[tuple[Shares, int]]:
    """Yield, for each comparison of the case, its limits on shares and how many candidates it
    has."""
    limits = case.read()
    cells_of_case = [cell for cell in cells if limits.of.has(cell.workload.name, cell.factors)]
    candidates = Counter(cell.comparison for cell in cells_of_case)
    cell_by_comparison = {
        cell.comparison: cell for cell in cells_of_case if case.applies_to(cell.arm.modes)
    }
    for comparison, cell in cell_by_comparison.items():
        yield list(_shares(limits.document(), cell)), candidates[comparison]


def _shares(limits: Mapping[str, Any], cell: Cell) -> Iterator[tuple[int, float]]:
    """Yield the limits on shares of the topics and readers that `decide` judges one by one in the
    cell."""
    definition = cell.definition()
    rows = planned_endpoints(definition)
    topics = judged_topics(rows, definition)
    endpoints_of_part: dict[str | None, frozenset[int]] = {
        topic.name: topic.endpoints for topic in topics
    }
    endpoints_of_part[None] = frozenset(row["endpoint"] for row in in_focus(rows, definition))
    limit_of_part = limits_of(limits, topics, workload_limit_names(rows, definition))
    for (topic, metric), most in limit_of_part.items():
        messages = sum(
            endpoint.steady_messages
            for endpoint in cell.endpoints
            if endpoint.endpoint in endpoints_of_part[topic]
            and endpoint.kind in ("subscription", "client")
        )
        if messages and GLOSSARY[metric].kind == "fraction":
            yield messages, most
