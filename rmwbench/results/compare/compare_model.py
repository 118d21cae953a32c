"""The types of the answer of `rmwbench compare` (docs/formats/compare.md), which the terminal and
the page render."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.verdicts.statements import FractionChange, StatementVerdict
from rmwbench.results.model import Estimate, Ratio, TrialCounts
from rmwbench.words.fields import absent

Aspect = Literal["machine", "workload", "software", "instrument", "day"]
Answer = Literal["same", "different", "unknown"]


@dataclass(frozen=True, kw_only=True)
class ComparedSide:
    """Side A or B: its selection as typed, and its campaign."""

    text: str
    directory: str
    campaign: str | None
    created_utc: str | None
    finished: bool
    tool_version: str | None
    machine: str | None
    selection: Mapping[str, tuple[str, ...]]
    trials: TrialCounts


@dataclass(frozen=True, kw_only=True)
class JudgedBy:
    """The rules of the verdicts. `margin`: the ratio minus 1 that matters. `aa_floor`: how far
    identical arms differ in two campaigns, if that is known; None within one, where it decides
    nothing."""

    alpha: float
    margin: float
    aa_floor: float | None


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A setting, a fact or a condition that differs; None if a side lacks it. `lines`: the changed
    lines of a text that cannot be read as settings. `cells`: the cells of a workload that
    differs."""

    name: str
    a: str | None
    b: str | None
    lines: tuple[str, ...] | None = absent()
    cells: tuple[str, ...] | None = absent()


@dataclass(frozen=True, kw_only=True)
class TopicLikeness:
    """Whether one aspect besides the results is the same on both sides."""

    topic: Aspect
    question: str
    answer: Answer
    differences: tuple[Difference, ...]


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """One metric of one pair of cells. `ratio` is B ÷ A; a fraction has a `difference`, B − A,
    instead. `trials`: those of A and of B. `needed`: how many blocks, or trials of each arm in each
    campaign, would decide it."""

    cell: str
    workload: str
    arm_a: str
    arm_b: str
    cell_a: int
    cell_b: int
    metric: str
    topic: str | None
    title: str
    unit: str
    larger_is_better: bool
    a: Estimate | None
    b: Estimate | None
    trials: tuple[int, int]
    ratio: Ratio | None
    difference: FractionChange | None
    verdict: StatementVerdict
    reason: str
    needed: int | None
    flags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class NotComparable:
    """A cell that only one side has, or whose workload is defined in another way in B."""

    cell: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The comparison of B with A. `paired`: both are of one campaign, and compared within its
    blocks."""

    schema: Literal["rmwbench/compare"] = "rmwbench/compare"
    version: Literal[1] = 1
    a: ComparedSide
    b: ComparedSide
    paired: bool
    rules: JudgedBy
    cautions: tuple[str, ...]
    environment: tuple[TopicLikeness, ...]
    rows: tuple[MetricRow, ...]
    not_comparable: tuple[NotComparable, ...]
    verdict: StatementVerdict
    exit_code: Literal[0, 1, 2]
