"""The answer of `rmwbench explain` (docs/formats/show.md, the end): what the terminal renders. Its
losses, tails, chain and layers are those of an arm in the show document, too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.causes.loss_places import Losses
from rmwbench.analysis.causes.median import Phase
from rmwbench.analysis.stats.estimate import Estimate
from rmwbench.analysis.verdicts.verdict import Family, Ratio, Verdict, VerdictName
from rmwbench.results.model import TrialCounts
from rmwbench.results.remedies.remedy_model import Advice
from rmwbench.words.fields import absent

Kind = Literal["source", "transport", "relay"]


@dataclass(frozen=True, kw_only=True)
class UndoneTrial:
    """A trial that is not done, with the reason and its codes (rmwbench/codes.py)."""

    trial: int
    block: int
    status: str
    reason: str | None
    cause: str | None
    failed_by: str | None
    codes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ArmTrials(TrialCounts):
    """An arm's trials by their status. `voided_by`: how many each rule made void, by its code;
    `numbers`: the numbers of the done trials."""

    voided_by: Mapping[str, int]
    numbers: tuple[int, ...]
    failures: tuple[UndoneTrial, ...]


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A cause of slow messages: how many of the slowest have it, and which share of them."""

    cause: str
    messages: int
    share: float
    text: str


@dataclass(frozen=True, kw_only=True)
class SlowMessage:
    """`phases_ns` add up to the latency."""

    seq: int
    latency_ns: int
    cause: str
    phases_ns: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class TailAnswer:
    """The slowest `messages` `of` those that arrived from a writer at a reader (numbers of
    endpoints). `explained`: how many have a cause. `unwatched`: evidence that nobody took."""

    trial: int
    writer: int
    reader: int
    median_ns: float
    of: int
    messages: int
    explained: int
    causes: tuple[Cause, ...]
    worst: tuple[SlowMessage, ...]
    unwatched: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ChainPartAnswer:
    """A part of the way of relayed messages, with what it lost. `typical`: the mean over the
    messages around the median, which add up over the parts."""

    kind: Kind
    hop: int
    name: str
    count: int
    lost: int
    typical: Estimate
    p50: Estimate
    p95: Estimate


@dataclass(frozen=True, kw_only=True)
class ChainAnswer:
    """`nodes`: the fewest and the most on one of the `ways`. `under_way` and `overdue`: slow, and
    neither arrived nor lost; the second over links of best effort, so that they are undelivered.
    `parts` in their order, of all trials and ways together."""

    ways: int
    nodes: tuple[int, int]
    wanted: int
    arrived: int
    under_way: int
    overdue: int
    parts: tuple[ChainPartAnswer, ...]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The time that a category of the software takes, all hops of a way together."""

    category: str
    text: str
    time: Estimate
    share: float


@dataclass(frozen=True, kw_only=True)
class ArmInTopic:
    """What an arm did in a topic that is measured by itself. `readers`: the nodes that it is of,
    where a topic's readers differ; `qos`: as granted."""

    topic: str
    readers: tuple[str, ...] | None = absent()
    qos: str | None
    metrics: Mapping[str, Estimate]
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class PhaseAnswer:
    """`share` of the response latency; None of what comes behind it, or where there is no data."""

    phase: Phase
    time: Estimate
    share: float | None


@dataclass(frozen=True, kw_only=True)
class MedianAnswer:
    """Where the time of an arm's typical messages goes, in a topic where these are unlike. `against`:
    the best of its family, None of the best itself; `ratio`: the verdict's, where it is of the
    response latency. `beside`: metrics that say what it took: pieces, wake-ups, what was sent
    again; `taken`: whether a message is lent or copied to the reader."""

    topic: str | None
    response: Estimate
    phases: tuple[PhaseAnswer, ...]
    beside: Mapping[str, Estimate]
    taken: str | None
    verdict: VerdictName | None
    against: str | None
    ratio: Ratio | None

    def time(self, phase: Phase) -> Estimate | None:
        return next((one.time for one in self.phases if one.phase is phase), None)


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why an arm is as it is in a workload. `family`: whom it is compared with; `medians`: one, or one for each
    topic that is judged by itself; `advice`: of the symptoms that it has. `path`: None where nothing
    was counted; `losses`: None where every message arrived sound and in time; `tails`: of its worst
    trial, the longest first; `chain`: None where nothing is relayed; `layers`: None where nothing
    was traced; `topics`: empty where they are one or alike. `notes`: its worker's own; `flags`: what
    sets it apart from the others of its table, and what the machine did to it."""

    workload: str
    arm: str
    cell: int
    family: Family
    trials: ArmTrials
    medians: tuple[MedianAnswer, ...]
    advice: tuple[Advice, ...]
    path: str | None
    notes: tuple[str, ...]
    flags: tuple[str, ...]
    losses: Losses | None
    tails: tuple[TailAnswer, ...]
    chain: ChainAnswer | None
    layers: tuple[Layer, ...] | None
    topics: tuple[ArmInTopic, ...]
