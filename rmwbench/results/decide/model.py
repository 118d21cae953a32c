"""The answer of `rmwbench decide` (docs/formats/decide.md): what the terminal and the page
render."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from rmwbench.analysis.decide.answer import Outcome, Why
from rmwbench.results.model import GlossaryEntry, Interval
from rmwbench.words.fields import absent

Level = bool | int | float | str
"""Of a factor."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """In the metric's own unit: times in ns, memory in bytes."""

    metric: str
    at_most: float


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """The lower bound of what is undelivered, from which nothing is believed to arrive."""

    metric: str
    at_least: float


@dataclass(frozen=True, kw_only=True)
class Selected:
    """Which cells are the user's robot: a workload, and levels of factors."""

    workload: str | None
    levels: Mapping[str, Level]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the user's file asks for. `topics`: limits of a topic's own."""

    name: str
    title: str
    acceptable: tuple[Limit, ...]
    topics: Mapping[str, tuple[Limit, ...]] | None = absent()
    none: Nothing
    of: Selected


@dataclass(frozen=True, kw_only=True)
class DecidedBy:
    alpha: float
    min_blocks: int


@dataclass(frozen=True, kw_only=True)
class Met:
    """One limit of one candidate in one case; `topic` None: of the whole workload. `blocks`: how
    many observations it rests on, campaigns where these differ. `probability`: that it is met, None
    where too few blocks have it. `measured`: of one block its value alone, without an interval;
    None without data, for the reason `no_data`. `campaigns_differ`: by more than chance."""

    case: str
    topic: str | None
    metric: str
    unit: str
    at_most: float
    outcome: Outcome
    probability: float | None
    blocks: int
    measured: Interval | None
    no_data: str | None
    campaigns_differ: bool


@dataclass(frozen=True, kw_only=True)
class Failed:
    """Trials that failed by the candidate's own fault, of those that ran."""

    trials: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`probability` of meeting all limits; None where it cannot be said. `blocks`: the fewest of
    any limit. `binding`: the limit that decides or leaves it open; None where all are met."""

    arm: str
    outcome: Outcome
    why: Why
    probability: float | None
    blocks: int
    failed: Failed
    binding: Met | None
    limits: tuple[Met, ...]


@dataclass(frozen=True, kw_only=True)
class Candidate(Answer):
    """An arm with its answer over all cases that the limits are of."""

    middleware: str
    layer: str
    version: str
    profile: str
    role: Literal["contender"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A workload at the levels of its factors, with each candidate's answer for it alone."""

    case: str
    workload: str
    levels: Mapping[str, Level]
    candidates: tuple[Answer, ...]


@dataclass(frozen=True, kw_only=True)
class AtLevel:
    """Who is decided to meet all limits at a level, who to miss one, and of whom that is open."""

    level: Level
    meets: tuple[str, ...]
    misses: tuple[str, ...]
    open: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Flip:
    """The arm is `before` at the level `from` and `after` at `to`, the next that is decided."""

    arm: str
    before: Outcome
    after: Outcome
    from_: Annotated[Level, Field(alias="from")]
    to: Level


@dataclass(frozen=True, kw_only=True)
class Along:
    """One factor of a workload that varies while the others stay at `fixed`. `workload`: with the
    campaign that defines it, where another one's definition came first."""

    workload: str
    factor: str
    fixed: Mapping[str, Level]
    levels: tuple[AtLevel, ...]
    flips: tuple[Flip, ...]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One machine's answer."""

    summary: str
    campaigns: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    cases: tuple[Case, ...]
    along: tuple[Along, ...]


@dataclass(frozen=True, kw_only=True)
class Decided:
    """Campaigns by a user's limits. `left_out`: machines none of whose cells the limits are of."""

    schema: Literal["rmwbench/decide"] = "rmwbench/decide"
    version: Literal[2] = 2
    limits: Limits
    rules: DecidedBy
    outcome: Outcome
    text: str
    machines: tuple[Machine, ...]
    left_out: tuple[str, ...]
    glossary: Mapping[str, GlossaryEntry]
