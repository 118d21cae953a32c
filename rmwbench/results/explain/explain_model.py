"""The types of the answer of `rmwbench explain` (docs/formats/show.md, the end), which the terminal
renders. An arm of the show document has the same losses, tails, chain and layers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.causes.loss_places import Losses
from rmwbench.analysis.causes.median import Phase
from rmwbench.analysis.causes.symptoms import Symptom
from rmwbench.analysis.stats.estimate import Estimate
from rmwbench.analysis.verdicts.statements import StatementAnswer
from rmwbench.analysis.verdicts.verdict import Family, Ratio, Verdict, VerdictName
from rmwbench.results.model import TrialCounts
from rmwbench.words.fields import absent

Kind = Literal["source", "transport", "relay"]


@dataclass(frozen=True, kw_only=True)
class UndoneTrial:
    """A trial that failed or is void, with the reason and its codes (rmwbench/codes.py)."""

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
    """A cause of slow messages: how many of the slowest have it, and their share."""

    cause: str
    messages: int
    share: float
    text: str


@dataclass(frozen=True, kw_only=True)
class SlowMessage:
    """A slow message. `phases_ns` add up to its latency."""

    seq: int
    latency_ns: int
    cause: str
    phases_ns: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class TailAnswer:
    """The slowest `messages` `of` those that arrived from a writer at a reader (numbers of
    endpoints). `explained`: how many have a cause. `unwatched`: evidence that was not recorded."""

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
    """A part of the way of relayed messages, with its losses. `typical`: the mean over the messages
    around the median, which add up over the parts."""

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
    """The way of relayed messages. `nodes`: the fewest and the most on one of the `ways`.
    `under_way` and `overdue`: slow messages, neither arrived nor lost; the latter over links of
    best effort, so that they are undelivered. `parts` are in their order, over all trials and ways
    together."""

    ways: int
    nodes: tuple[int, int]
    wanted: int
    arrived: int
    under_way: int
    overdue: int
    parts: tuple[ChainPartAnswer, ...]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The time that a category of the software takes, over all hops of a way."""

    category: str
    text: str
    time: Estimate
    share: float


@dataclass(frozen=True, kw_only=True)
class ArmInTopic:
    """An arm in a topic that is measured by itself. `readers`: the nodes of these readers, if a
    topic's readers differ; `qos`: as granted."""

    topic: str
    readers: tuple[str, ...] | None = absent()
    qos: str | None
    metrics: Mapping[str, Estimate]
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class PhaseAnswer:
    """A phase of a typical message. `share`: of the response latency; None for a phase after it, or
    without data."""

    phase: Phase
    time: Estimate
    share: float | None


@dataclass(frozen=True, kw_only=True)
class SymptomOfArm:
    """A symptom of an arm in a workload, or in a topic of it, with the measured amounts."""

    workload: str
    topic: str | None
    arm: str
    amounts: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class TriedRemedy:
    """The arm that has the remedy, compared with the arm that has the symptom, in one metric."""

    workload: str
    topic: str | None
    arm: str
    against: str
    metric: str
    answer: StatementAnswer


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The advice for a symptom of one middleware. `arm`, `setting`: the remedy, both None if none
    is known; `source` is the manual, `worth` the gain that was measured before, `worth_where` the
    document that has it. `command` tries the remedy, if its arm is not in the campaign; `tried`:
    its gains if it is."""

    symptom: Symptom
    is_harm: bool
    middleware: str
    seen: tuple[SymptomOfArm, ...]
    arm: str | None
    setting: str | None
    source: str | None
    worth: str | None
    worth_where: str | None
    command: str | None
    tried: tuple[TriedRemedy, ...]


@dataclass(frozen=True, kw_only=True)
class MedianAnswer:
    """The phases of an arm's typical messages, in one topic if the topics are unlike. `against`:
    the best of its family, None for the best itself; `ratio`: the verdict's, if it is about the
    response latency. `beside`: metrics of the work behind it: pieces, wake-ups, repeated sending;
    `taken`: whether a message is lent or copied to the reader."""

    topic: str | None
    response: Estimate
    phases: tuple[PhaseAnswer, ...]
    beside: Mapping[str, Estimate]
    taken: str | None
    verdict: VerdictName | None
    against: str | None
    ratio: Ratio | None

    def time(self, phase: Phase) -> Estimate | None:
        return next((answer.time for answer in self.phases if answer.phase is phase), None)


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The explanation of an arm in a workload. `family`: the arms that it is compared with;
    `medians`: one, or one for each topic that is judged by itself; `advice`: for its symptoms.
    `path`: None if nothing was counted; `losses`: None if every message arrived sound and in time;
    `tails`: of its worst trial, the longest first; `chain`: None if nothing is relayed; `layers`:
    None if nothing was traced; `topics`: empty if there is one topic or all are alike. `notes`: its
    worker's own; `flags`: how it differs from the other arms of its table, and what the machine did
    to it."""

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
