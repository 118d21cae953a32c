"""The types of the answer of `rmwbench show` (docs/formats/show.md): the terminal, the page and the
Markdown render it, and `import rmwbench` makes frames of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from rmwbench.analysis.causes.loss_places import Losses
from rmwbench.analysis.metrics.fates import Fates
from rmwbench.analysis.metrics.judged_topics import judged_name
from rmwbench.analysis.metrics.stability import Drift
from rmwbench.analysis.records.ledger import UnsentBy
from rmwbench.analysis.records.readers import DiffersIn, Joins, Shared
from rmwbench.analysis.verdicts.gains import Gain
from rmwbench.analysis.verdicts.limit_outcomes import (
    ArmOutcome,
    AtMost,
    ConditionOutcome,
    NothingArrives,
    Why,
)
from rmwbench.analysis.verdicts.reader_spread import Spread
from rmwbench.analysis.verdicts.statements import StatementAnswer
from rmwbench.analysis.verdicts.verdict import Family, Verdict
from rmwbench.results.explain.explain_model import Advice, ArmTrials, ChainAnswer, Layer, TailAnswer
from rmwbench.results.machine.machine_model import Machine
from rmwbench.results.model import CampaignIdentity, Conclusion, Estimate, GlossaryEntry, Ratio
from rmwbench.suite.workload.schedule import Schedule
from rmwbench.words.fields import absent
from rmwbench.words.numbers import quantity

Role = Literal["contender", "floor"]
PairOutcome = Literal[
    "delivers",
    "degraded",
    "no delivery",
    "no match",
    "failed",
    "no data",
    "not supported",
    "not run",
]
RosVariablesVerdict = Literal["control", "obeyed", "not obeyed", "no data", "not supported"]


@dataclass(frozen=True, kw_only=True)
class CampaignTrials:
    """A campaign's trials by their status. `repeated`: how many void trials ran again with their
    block; `voided_by`: how many each rule made void, by its code."""

    planned: int
    done: int
    failed: int
    void: int
    repeated: int
    voided_by: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class LastLook:
    """The last look of a sequential campaign, as its journal has it; `decided` and `of` count the
    verdicts of this answer."""

    blocks: int
    looks: tuple[int, ...]
    alpha: float
    ended: bool
    decided: int
    of: int
    stop: str | None


@dataclass(frozen=True, kw_only=True)
class CampaignFacts(CampaignIdentity):
    """The facts about the campaign. `not_run`: the comparisons that a budget left out, in words;
    `selected`: the selection of a user, judged as if the campaign had nothing else; `left_out`: a
    line for each reason for which arms of the suite could not be run; `added`: arms that the
    command line added to the suite. `wall_s`: how long all trials took together."""

    blocks_planned: int
    blocks_complete: int
    looks: LastLook | None
    trials: CampaignTrials
    not_run: str | None
    selected: str | None
    left_out: tuple[str, ...]
    added: tuple[str, ...]
    wall_s: float


@dataclass(frozen=True, kw_only=True)
class BlockCorrelation:
    """How much the deviations of an arm resemble its own of the block before; `error` is the
    standard error that chance alone gives. `inflates`: whether intervals are wider for it."""

    value: float
    error: float
    inflates: bool


@dataclass(frozen=True, kw_only=True)
class TrialValue:
    """The value of a metric in one trial, in the metric's unit."""

    trial: int
    block: int
    value: float


@dataclass(frozen=True)
class ArmVerdict(Verdict):
    """The verdict of an arm in a workload. `topic`: the topic that a verdict over several topics
    rests on; None if it rests on no single one."""

    topic: str | None = None


@dataclass(frozen=True, kw_only=True)
class PathShare:
    """The `fraction` of the payload that took a path. `interface`: None for a path that has none.
    `label`: how the path is known."""

    path: str
    interface: str | None
    label: str
    fraction: float


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The text of a profile, in the middleware's format."""

    format: str | None
    text: str | None


@dataclass(frozen=True, kw_only=True)
class SentFrames:
    """The frames of one class that a host sent, each frame once; `share`: of all bytes."""

    host: str
    class_: Annotated[str, Field(alias="class")]
    frames: int
    bytes_per_s: Estimate
    share: float


@dataclass(frozen=True, kw_only=True)
class Link:
    """One direction of a link. `bytes_per_s`: the traffic that it let through; `lost`: the share of
    its frames that it lost; `verdicts`: how many frames each verdict cost, in all trials."""

    host: str
    direction: str
    bytes_per_s: Estimate
    lost: Estimate
    verdicts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """The time that one stream needs to recover after an interruption; infinite if most trials
    never recovered."""

    topic: str
    writer: str
    reader: str
    recovery_time: Estimate


@dataclass(frozen=True, kw_only=True)
class MeanOutage:
    """An interruption of a link or a node. Its times count from the start of the steady state and
    are means over trials; `end_s` is None if it did not end within the trial."""

    kind: str
    who: str
    what: str
    begin_s: float
    end_s: float | None
    streams: tuple[Recovery, ...]


@dataclass(frozen=True, kw_only=True)
class NetworkAnswer:
    """The traffic of an arm on its links. `outages` are in the order of a trial."""

    sent: tuple[SentFrames, ...]
    links: tuple[Link, ...]
    outages: tuple[MeanOutage, ...]


@dataclass(frozen=True, kw_only=True)
class Settling:
    """The result of one trial with a longer window, for an arm whose latency rises within the
    suite's window. `rises`: whether it still does. `response_p50_ns`: the median of that trial, so
    without an interval; None for a workload of unlike topics."""

    window_s: float
    rises: bool
    response_p50_ns: float | None


@dataclass(frozen=True, kw_only=True)
class CommonArm:
    """The facts that an arm has in a workload and in each of its topics. `per_trial`: metric -> its
    values; `qos`: as granted; `family`: the arms that it is compared with, by copy or by loan;
    `times_floor`: its primary metric divided by that of its family's floor; `unsent_by`: messages
    that were due and never sent, by the cause; `spread`: between its readers, None if it has one,
    or if its readers are judged one by one."""

    arm: str
    middleware: str
    layer: str
    version: str | None
    profile: str | None
    release_date: str | None
    role: Role
    family: Family = Family.COPY
    cell: int
    qos: str | None
    metrics: Mapping[str, Estimate]
    unsent_by: Mapping[UnsentBy, int] = field(default_factory=dict)
    per_trial: Mapping[str, tuple[TrialValue, ...]]
    times_floor: Ratio
    drift: Drift | None = None
    spread: Spread | None = absent()

    def value(self, metric: str) -> float | None:
        """Return the metric's value in its unit, infinite if messages that did not arrive reach it;
        None if it has none."""
        estimate = self.metrics.get(metric)
        return None if estimate is None else estimate.value


@dataclass(frozen=True, kw_only=True)
class BufferShortfall:
    """A buffer to `receive` or to `send` of which the kernel grants less than is asked. `setting`
    is the sysctl that caps it; `machine` is the machine of that sysctl if a trial runs on
    several."""

    side: Literal["receive", "send"]
    asked_bytes: int
    granted_bytes: int
    setting: str
    machine: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class WorkloadArm(CommonArm):
    """An arm in a workload. `flags` are all facts that a reader must know before comparing it;
    `unlike` are those of them that set it apart from the others, and `disturbed` those that the
    machine caused in at least half of its trials (`disturbed_by`: in how many, by code). `path`:
    `paths` in words; `notes`: its worker's own; `pair`: talker and listener if its processes run
    two middlewares; `not_supported`: why it was not run. `as_installed`: it sets nothing, its
    profile is `untouched`, and Fast DDS publishes in its own mode. `losses` is None if every
    message arrived sound and in time, `chain` if nothing is relayed, `layers` if nothing was
    traced, `network` if its hosts have no links and nothing was interrupted. `outdated`: it is more
    than 18 months older than the newest arm of the workload, or without its vendor's support, which
    ended in the month `support_ended`. `ungranted`: the settings of its configuration that the
    kernel does not grant. `untimed`: its trials counted allocations, which costs time; `traced`:
    the schedule of every thread was recorded, which costs time, too."""

    outdated: bool
    factors: Mapping[str, Any]
    flags: tuple[str, ...]
    unlike: tuple[str, ...]
    disturbed: tuple[str, ...]
    disturbed_by: Mapping[str, int]
    conditions: str | None
    notes: tuple[str, ...]
    path: str | None
    paths: tuple[PathShare, ...]
    publish_mode: str | None
    take: str | None
    when_full: str | None
    schedule: Schedule | None = None
    touch: str | None
    configuration: Configuration | None
    options: Mapping[str, Any]
    as_installed: bool
    pair: tuple[str, str] | None
    not_supported: str | None
    ungranted: tuple[BufferShortfall, ...] = ()
    untimed: bool = False
    traced: bool = False
    support_ended: str | None = absent()
    trials: ArmTrials
    losses: Losses | None
    settling: Settling | None = None
    tails: tuple[TailAnswer, ...]
    network: NetworkAnswer | None
    chain: ChainAnswer | None
    layers: tuple[Layer, ...] | None
    verdict: ArmVerdict

    @property
    def label(self) -> str:
        """The name of the arm in tables. The name of an outdated middleware has its series,
        `fastdds 2.9 tuned`, since the name alone promises today's release. An arm that is not
        granted its settings has the granted sizes, `cyclonedds tuned (4.19 MB granted)`."""
        sizes_by_place: dict[str, list[str]] = {}
        for size in self.ungranted:
            place = f" on {size.machine}" if size.machine else ""
            sizes_by_place.setdefault(place, []).append(quantity(size.granted_bytes, "bytes"))
        grants = [f"{', '.join(sizes)} granted{at}" for at, sizes in sizes_by_place.items()]
        granted = f" ({', '.join(grants)})" if grants else ""
        if not (self.outdated and self.version):
            return self.arm + granted
        first, *rest = self.arm.split(" ")
        series = ".".join(self.version.split(".")[:2])
        name = " ".join([first, series, *rest]) if first == self.middleware else self.arm
        return name + granted


@dataclass(frozen=True, kw_only=True)
class TopicTrials:
    """An arm's trials by their status; `lost`: the blocks that the arm lost because it failed by
    its own fault; `numbers`: the numbers of the done trials."""

    done: int
    failed: int
    lost: int
    void: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class TopicArm(CommonArm):
    """An arm in a topic that is measured by itself. `under_way`: messages that were slow, not lost;
    `missing`: messages that did not arrive sound and in time."""

    trials: TopicTrials
    under_way: int
    missing: int
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Ecdf:
    """The distribution of an arm's latency: `fraction` of the wanted messages arrived within
    `latency_ns`. It ends below 1 if messages never arrived."""

    arm: str
    latency_ns: tuple[float | None, ...]
    fraction: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """The latency at each quantile, as deep as the messages allow; None if messages that did not
    arrive reach the quantile."""

    arm: str
    quantile: tuple[float | None, ...]
    latency_ns: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Series:
    """The latency over time of the first pair of one trial: the trial whose primary metric is the
    middle one. A long trial has evenly spaced messages and the slowest of the others. The latency
    is None if a message was lost."""

    arm: str
    trial: int
    time_s: tuple[float | None, ...]
    latency_ns: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class TrialRate:
    """The messages that a trial took per second, in each bin."""

    trial: int
    rate_hz: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ChartOutage:
    """An interruption, in seconds of the steady state; `end_s` is None if it did not end within the
    trial."""

    begin_s: float
    end_s: float | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """The messages taken, due and published per second in bins of `bin_s`, as means over trials;
    `trials`: the messages taken in each of the first few trials."""

    arm: str
    bin_s: float
    time_s: tuple[float, ...]
    rate_hz: tuple[float, ...]
    wanted_hz: tuple[float, ...]
    sent_hz: tuple[float, ...]
    trials: tuple[TrialRate, ...]
    outages: tuple[ChartOutage, ...]


@dataclass(frozen=True, kw_only=True)
class ActiveNodes:
    """The number of nodes that are active at each time after their launch, as means over trials."""

    arm: str
    nodes: int
    time_s: tuple[float, ...]
    active: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class LatencyCharts:
    """The curves of the arms that have points."""

    ecdf: tuple[Ecdf, ...]
    spectrum: tuple[Spectrum, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True, kw_only=True)
class Charts(LatencyCharts):
    """The charts of a workload: `delivered` for arms with links or late nodes, `up` for arms that
    bring nodes up."""

    delivered: tuple[Delivered, ...]
    up: tuple[ActiveNodes, ...]


@dataclass(frozen=True, kw_only=True)
class Readers:
    """The readers of a topic that are alike, and unlike its other readers in what `differ` says.
    `qos`: as asked; `hold_ns`: how long they keep each message; `joins`: whether they are there
    from the start, come late, or come again; `process`: with how many of their writers they share
    it."""

    nodes: tuple[str, ...]
    hosts: tuple[str, ...]
    differ: tuple[DiffersIn, ...]
    qos: str
    process: Shared
    hold_ns: int
    joins: Joins


@dataclass(frozen=True, kw_only=True)
class TopicAnswer:
    """A topic of a workload whose topics are unlike; `members` are topics that are alike and
    measured together. `readers`: its readers, if a topic's readers differ. `judged` is False if the
    workload is judged by a metric that no topic has by itself."""

    topic: str
    title: str
    members: tuple[str, ...]
    readers: Readers | None = absent()
    message: str | None
    payload_bytes: int | None
    rate_hz: float | None
    reliable: bool
    judged: bool
    primary_metric: str
    arms: tuple[TopicArm, ...]
    charts: LatencyCharts


@dataclass(frozen=True, kw_only=True)
class PairCell:
    """A pair of middlewares. `flags`: faults of the messages that arrived, or in how many trials
    the pair failed."""

    talker: str
    listener: str
    arm: str
    outcome: PairOutcome
    reason: str
    flags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The pairs of a workload whose arms are pairs of middlewares, as talkers by listeners."""

    talkers: tuple[str, ...]
    listeners: tuple[str, ...]
    cells: tuple[PairCell, ...]


@dataclass(frozen=True, kw_only=True)
class JudgedAt:
    """The look at which verdicts were given: after how many blocks, and with how much of the error
    of the whole report. `look`: its place among the planned looks; None in a fixed design that time
    did not end."""

    blocks: int
    alpha: float
    look: int | None
    looks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """The differences that the design can tell. `resolvable_ratio`: the true ratio that is found
    with 95 % certainty with this number of `comparisons` at once, 0 if fewer than two contenders
    have data; `blocks`: those that two contenders have together. `topic`: the topic that resolves
    least."""

    blocks: int
    comparisons: int
    log_ratio_sd: float | None
    resolvable_ratio: float | None
    text: str
    topic: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """A middleware tuned, divided by itself untouched."""

    middleware: str
    tuned: str
    untouched: str
    topic: str | None = absent()
    ratio: Gain


@dataclass(frozen=True, kw_only=True)
class Effect:
    """An arm divided by the arm that it names `against`, metric by metric. `topic`: the topic of
    the ratios, if latencies are judged topic by topic; None for the whole workload."""

    arm: str
    against: str
    topic: str | None
    ratios: Mapping[str, Gain]
    text: str

    @property
    def name(self) -> str:
        return judged_name(f"{self.arm} ÷ {self.against}", self.topic)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A value in its unit."""

    unit: str
    value: float


@dataclass(frozen=True, kw_only=True)
class OwnCost:
    """The cost of the instrument itself at this message size; `largest_share`: its largest share in
    the latency or the processor time of the arm that has the least of it, None if no arm has
    either."""

    payload_bytes: int
    response_latency: Amount
    cpu_per_message: Amount
    largest_share: float | None
    text: str


@dataclass(frozen=True, kw_only=True)
class WorkloadAnswer:
    """A comparison: `name` at `levels` of the suite's factors; `workload` has both, with the levels
    in brackets. `topics` is empty if the workload has one topic or only topics that are alike;
    `topic_names`: the topics that it is judged by. `machine_bound_blocks`: blocks that no verdict
    uses. `steady_s`: how long the steady window of a trial is."""

    workload: str
    name: str
    levels: Mapping[str, Any]
    title: str
    description: str
    primary_metric: str
    arms: tuple[WorkloadArm, ...]
    topics: tuple[TopicAnswer, ...]
    topic_names: tuple[str, ...]
    matrix: Matrix | None
    judged: JudgedAt
    resolution: Resolution
    tuning: tuple[Tuning, ...]
    effects: tuple[Effect, ...]
    charts: Charts
    own_cost: OwnCost | None
    machine_bound_blocks: tuple[int, ...]
    steady_s: float | None = absent()


Part = WorkloadAnswer | TopicAnswer
"""A part of an answer that has a table, a headline and charts of its own."""
AnyArm = WorkloadArm | TopicArm


@dataclass(frozen=True, kw_only=True)
class LimitedValue:
    """A measured metric with its limit; `topic` is None for the whole workload."""

    metric: str
    topic: str | None
    at_most: float
    value: Estimate


@dataclass(frozen=True, kw_only=True)
class ArmInCondition:
    """The outcome of an arm in a condition. `metric`, `topic`: those that decided it or leave it
    open; None if no single one does. `brief`: the reason in a few words if no metric says it, else
    empty. `limit`: the limit that decided it or leaves it open; of an arm that meets all limits,
    the one with the least room. `open_limits`: each open limit of an open arm."""

    arm: str
    outcome: ArmOutcome
    why: Why
    metric: str | None
    topic: str | None
    reason: str
    brief: str
    limit: LimitedValue | None = absent()
    open_limits: tuple[LimitedValue, ...] | None = absent()


@dataclass(frozen=True, kw_only=True)
class LevelsOutcome:
    """The outcome of a combination of levels. `only`: the one arm with which any message arrives;
    `may`: the outcomes that are possible for an open condition."""

    workload: str
    levels: Mapping[str, Any]
    outcome: ConditionOutcome
    only: str | None
    may: tuple[str, ...]
    arms: tuple[ArmInCondition, ...]


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """The limits that the suite or the user sets, and the outcome of each comparison. `topics`:
    limits of single topics."""

    acceptable: tuple[AtMost, ...]
    topics: Mapping[str, tuple[AtMost, ...]] | None = absent()
    none: NothingArrives
    text: str
    conditions: tuple[LevelsOutcome, ...]
    summary: str


@dataclass(frozen=True, kw_only=True)
class StoppedNodes:
    """Nodes of all done trials that never were active, by the step at which they stopped and how it
    ended."""

    place: str
    text: str
    nodes: int


@dataclass(frozen=True, kw_only=True)
class ActiveAfter:
    """The number of active nodes after a time, as a mean over trials."""

    after_s: float
    nodes: float


@dataclass(frozen=True, kw_only=True)
class BringUpArm:
    """An arm that brings nodes up. `complete`: the number of trials in which all nodes were
    active."""

    arm: str
    middleware: str
    version: str | None
    cell: int
    not_supported: str | None
    trials: int
    blocks: int
    complete: int
    stopped: tuple[StoppedNodes, ...]
    nodes_of_all_trials: int
    up: tuple[ActiveAfter, ...]


@dataclass(frozen=True, kw_only=True)
class BringUpRow:
    """A workload that brings lifecycle nodes up, within `window_s`."""

    workload: str
    title: str
    nodes: int
    service_timeout_s: float
    window_s: float | None
    arms: tuple[BringUpArm, ...]


@dataclass(frozen=True, kw_only=True)
class BringUpAnswer:
    """The answer on bring-up. `text` explains how to read its rows."""

    text: str
    rows: tuple[BringUpRow, ...]


@dataclass(frozen=True, kw_only=True)
class RosVariablesArm:
    """An arm in a case. `trials`: done ones; `heard` and `wanted`: messages of their steady states;
    `lent`: messages taken in the middleware's memory; `matched`: trials in which a reader was
    matched. The counts are None without a done trial."""

    arm: str
    middleware: str
    version: str | None
    cell: int
    answer: RosVariablesVerdict
    reason: str
    trials: int
    heard: int | None
    wanted: int | None
    lent: int | None
    matched: int | None
    text: str


@dataclass(frozen=True, kw_only=True)
class RosVariablesRow:
    """A case: the variables of the writer's and the reader's processes, and what ROS 2's
    documentation (`source`) says must happen."""

    workload: str
    title: str
    case: str
    text: str
    writer: Mapping[str, str]
    reader: Mapping[str, str]
    expected: Literal["heard", "not heard", "lent", "not lent"]
    source: str
    arms: tuple[RosVariablesArm, ...]


@dataclass(frozen=True, kw_only=True)
class RosVariables:
    """The answer on ROS variables. `text` explains how to read its rows; `summary` says how many
    cases each arm obeys."""

    text: str
    summary: str
    rows: tuple[RosVariablesRow, ...]


@dataclass(frozen=True, kw_only=True)
class RecordedFates:
    """The fates of messages: `sent` = `kept` + the five places. A count is None if nobody counted
    it."""

    sent: int | None = None
    kept: int | None = None
    unheard: int | None = None
    before: int | None = None
    cache: int | None = None
    disk: int | None = None
    unplaced: int | None = None
    beside: int | None = None
    only_beside: int | None = None
    only_kept: int | None = None
    twice: int | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedTopic(RecordedFates):
    """A topic in all done trials with a bag."""

    topic: str


@dataclass(frozen=True, kw_only=True)
class RecordingsArm(RecordedFates):
    """An arm in all done trials with a bag (`trials`), costs as their mean; None if there is none.
    `places`: those at which every trial lost messages; `transport`: messages that the recorder's
    RMW reported as lost."""

    arm: str
    middleware: str
    version: str | None
    cell: int
    answer: Literal["kept all", "loses", "no data", "not supported"]
    reason: str
    places: tuple[str, ...]
    trials: int
    transport: int | None = None
    bag_bytes: float | None = None
    written_bytes_per_s: float | None = None
    stop_s: float | None = None
    cpu_cores: float | None = None
    peak_rss_bytes: float | None = None
    topics: tuple[RecordedTopic, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RecordingsRow:
    """A case with a recorder, and its arms."""

    workload: str
    title: str
    place: Literal["tmpfs", "disk"]
    cache_mib: int
    host: str
    topics: tuple[str, ...]
    arms: tuple[RecordingsArm, ...]


@dataclass(frozen=True, kw_only=True)
class Recordings:
    """The answer on recorders. `text` explains how to read its rows."""

    text: str
    rows: tuple[RecordingsRow, ...]


@dataclass(frozen=True, kw_only=True)
class OpenComparison:
    """A comparison that is not decided. `blocks` and `minutes`: the length of a campaign that would
    decide it if its ratio and scatter were what they are now; None if no such length is known."""

    workload: str
    topic: str | None
    arm: str
    against: str | None
    blocks: int | None
    minutes: float | None


@dataclass(frozen=True, kw_only=True)
class CostGrowth:
    """The exponent of an arm's cost over the number of nodes, with its 95 % interval over
    blocks."""

    arm: str
    metric: str
    exponent: float
    low: float
    high: float
    blocks: int
    nodes: tuple[int, ...]
    text: str


@dataclass(frozen=True, kw_only=True)
class LevelStep:
    """A level compared with another of the same factor, by one metric: level ÷ against, or level −
    against of fractions. `not_worse`: its interval shows that it is behind by no more than the
    margin, whether or not it may be ahead."""

    metric: str
    level: Any
    against: Any
    answer: StatementAnswer
    not_worse: bool = False


@dataclass(frozen=True, kw_only=True)
class Levels:
    """An arm along a factor, in one topic or in the whole workload (None). `levels` are in their
    order, `comparisons` are the workload at each; `values`: metric -> its estimate at each;
    `fates`: the fates of its messages at each, empty if unlike topics are together; `steps`: each
    level against the one before it and against the first. `others`: the levels of the other
    factors, which are the same; `changed`: the node that alone differs if the levels are
    workloads."""

    factor: str
    workload: str
    arm: str
    topic: str | None
    levels: tuple[Any, ...]
    comparisons: tuple[str, ...]
    others: Mapping[str, Any]
    changed: str | None
    primary_metric: str
    reliable: bool
    values: Mapping[str, tuple[Estimate, ...]]
    fates: tuple[Fates, ...]
    steps: tuple[LevelStep, ...]

    def step(self, metric: str, level: Any, against: Any) -> StatementAnswer | None:
        return next(
            (
                step.answer
                for step in self.steps
                if (step.metric, step.level, step.against) == (metric, level, against)
            ),
            None,
        )


@dataclass(frozen=True, kw_only=True)
class SuiteAnswer:
    """The answer of `rmwbench show`. `block_correlation` is None below 5 blocks; `outcomes`,
    `bring_up`, `ros_variables` and `recordings` are None if the suite has none. `more`: every
    comparison that is open, the one that needs the least time first; `levels`: the effect of each
    factor on each arm; `advice`: known remedies of the symptoms that are there."""

    schema: Literal["rmwbench/show"] = "rmwbench/show"
    version: Literal[2] = 2
    campaign: CampaignFacts
    machine: Machine
    block_correlation: BlockCorrelation | None
    workloads: tuple[WorkloadAnswer, ...]
    outcomes: Outcomes | None
    bring_up: BringUpAnswer | None
    ros_variables: RosVariables | None
    recordings: Recordings | None
    conclusions: tuple[Conclusion, ...]
    more: tuple[OpenComparison, ...]
    levels: tuple[Levels, ...]
    growth: tuple[CostGrowth, ...]
    advice: tuple[Advice, ...]
    glossary: Mapping[str, GlossaryEntry]
