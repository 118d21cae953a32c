"""The types of the answer of `rmwbench decide` (docs/formats/decide.md), which the terminal and the
page render."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.decide.decisions import DecisionAnswer, FactorOutcomes, Level
from rmwbench.analysis.verdicts.limit_outcomes import AtMost, NothingArrives, Outcome
from rmwbench.results.model import GlossaryEntry
from rmwbench.words.fields import absent


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The cells that stand for the user's robot: a workload, and levels of factors."""

    workload: str | None
    levels: Mapping[str, Level]


@dataclass(frozen=True, kw_only=True)
class DecideLimits:
    """The limits of the user's file. `topics`: limits of single topics."""

    name: str
    title: str
    acceptable: tuple[AtMost, ...]
    topics: Mapping[str, tuple[AtMost, ...]] | None = absent()
    none: NothingArrives
    of: Selected


@dataclass(frozen=True, kw_only=True)
class DecidedBy:
    alpha: float
    min_blocks: int


@dataclass(frozen=True, kw_only=True)
class Contender(DecisionAnswer):
    """An arm with its answer over all cases that the limits are for."""

    middleware: str
    layer: str
    version: str
    profile: str
    role: Literal["contender"]


@dataclass(frozen=True, kw_only=True)
class WorkloadCase:
    """A workload at the levels of its factors, with each candidate's answer for it alone."""

    case: str
    workload: str
    levels: Mapping[str, Level]
    candidates: tuple[DecisionAnswer, ...]


@dataclass(frozen=True, kw_only=True)
class MachineDecision:
    """One machine's answer."""

    summary: str
    campaigns: tuple[str, ...]
    candidates: tuple[Contender, ...]
    cases: tuple[WorkloadCase, ...]
    along: tuple[FactorOutcomes, ...]


@dataclass(frozen=True, kw_only=True)
class Decided:
    """The decision between candidates by a user's limits. `left_out`: machines without a cell that
    the limits are for."""

    schema: Literal["rmwbench/decide"] = "rmwbench/decide"
    version: Literal[2] = 2
    limits: DecideLimits
    rules: DecidedBy
    outcome: Outcome
    text: str
    machines: tuple[MachineDecision, ...]
    left_out: tuple[str, ...]
    glossary: Mapping[str, GlossaryEntry]
