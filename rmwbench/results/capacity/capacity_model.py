"""The types of the answer of `rmwbench capacity` (docs/formats/capacity.md), which the terminal,
the page and Markdown render. Levels are in the unit of the axis."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.capacity.arm_capacity import Capacity, Unit
from rmwbench.results.machine.machine_model import Machine
from rmwbench.results.model import (
    CampaignIdentity,
    Conclusion,
    Estimate,
    GlossaryEntry,
    TrialCounts,
)
from rmwbench.words.fields import absent

ProbeKind = Literal["holds", "slow", "lossy", "never_sent", "unstable", "failed", "void"]


@dataclass(frozen=True, kw_only=True)
class SearchCampaign(CampaignIdentity):
    """The campaign of a search. `wall_s`: how long all its trials took together."""

    rounds: int
    trials: TrialCounts
    wall_s: float


@dataclass(frozen=True, kw_only=True)
class SearchCondition:
    """A condition: `metric` is below `below`, in the metric's unit, or equal to it if the condition
    is `inclusive`; `name`: the metric's name in a sentence."""

    metric: str
    name: str
    below: float
    inclusive: bool | None = absent()


@dataclass(frozen=True, kw_only=True)
class SearchLimit:
    """The limit, which holds if all conditions hold."""

    text: str
    conditions: tuple[SearchCondition, ...]


@dataclass(frozen=True, kw_only=True)
class RaisedFactor:
    """The factor that was raised: `factor` of a workload `along` an axis, in `unit`, from `least`
    to `most`. `whole`: in whole numbers only. `own_level`: the level of the suite. `resolution`:
    the distance between levels. `messages`: the fewest of a trial. `curve`: the metrics of the
    picture, the median and a percentile."""

    along: str
    factor: str
    unit: Unit
    title: str
    whole: bool
    limit: SearchLimit
    own_level: float
    workload: str
    workload_title: str
    workload_description: str
    least: float
    most: float
    resolution: float
    budget_s: float | None
    messages: int
    curve: tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class LimitBreak:
    """How the limit breaks just above the capacity, in most `of` the failing trials there."""

    kind: ProbeKind
    cause: str
    level: float
    of: int
    kinds: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class MachineBound:
    """The share of the machine's processor time that was left where the limit broke, as the median
    of `of` trials."""

    idle: float
    of: int


@dataclass(frozen=True, kw_only=True)
class KneeAnswer:
    """The load at which the median passes twice its least, `base_ns` at `base`, or at which the
    queue begins to grow; or `no_data`, the reason why there is none."""

    value: float | None = absent()
    unit: Literal["hz", "bytes", ""] | None = absent()
    base: float | None = absent()
    base_ns: float | None = absent()
    by: Literal["latency", "queue"] | None = absent()
    no_data: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class SearchLevel:
    """An arm at one load: in how many trials the limit held, failed, or was not decided. `causes`:
    those of the failing trials. `unstable`: the queue grew in at least half of the trials, so that
    no latency has a value."""

    level: float
    cell: int
    held: int
    failed: int
    void: int
    kinds: Mapping[str, int]
    causes: tuple[str, ...]
    unstable: bool
    queue_growth_hz: float | None
    idle: float | None
    metrics: Mapping[str, Estimate]


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A trial. A trial of kind `void` decides nothing, for the reason in `causes`."""

    trial: int
    round: int
    level: float
    kind: ProbeKind
    causes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CapacityArm:
    """An arm's capacity, and `answer`, its sentence. `ended`: resolved, trials, budget, stopped, or
    a reason in words. `wide`: the search ended before the interval was as narrow as the levels.
    `bound`: why no level above its highest one can be tested here."""

    arm: str
    middleware: str
    layer: str | None
    version: str | None
    profile: str
    release_date: str | None
    role: Literal["contender", "floor"]
    flags: tuple[str, ...]
    ended: str | None
    bound: str | None
    trials: TrialCounts
    wide: bool
    capacity: Capacity
    breaks: LimitBreak | None
    machine_bound: MachineBound | None
    knee: KneeAnswer
    levels: tuple[SearchLevel, ...]
    probes: tuple[Probe, ...]
    answer: str


@dataclass(frozen=True, kw_only=True)
class Searched:
    """The levels up to which each arm holds the limit."""

    schema: Literal["rmwbench/capacity"] = "rmwbench/capacity"
    version: Literal[1] = 1
    campaign: SearchCampaign
    machine: Machine
    search: RaisedFactor
    arms: tuple[CapacityArm, ...]
    conclusions: tuple[Conclusion, ...]
    glossary: Mapping[str, GlossaryEntry]
