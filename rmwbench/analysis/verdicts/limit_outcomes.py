"""Does an arm meet its limits? `show`, `decide` and `capacity` all ask this module, and use one set
of words: meets, misses, open, unknown.

A limit is the statement that a metric of an arm is at most a value. The knowledge about the metric
is a belief, which gives the probability that the true value is within (`judge`): a posterior of
blocks (`decide/posterior.py`), a printed interval (`PrintedInterval`), or the one value of a trial
(`OneTrial`). Ignorance counts against both answers: the bound of the clocks of two hosts, and
messages that were still under way when the trials ended.

`show` judges each arm under each condition by printed intervals, and a condition by its arms. Where
an interval straddles its limit, both outcomes stay possible, and with fewer blocks than any verdict
needs nothing is decided. One message that arrived refutes `none`, in any number of trials; silence
proves `none` only where the interval leaves next to nothing. A condition has an outcome where every
possible outcome of its arms leads to the same outcome, so that an arm without data leaves it open
unless the other arms settle it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, Protocol

from scipy import special

from rmwbench.analysis.metrics.aggregate import is_of_chain
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.stats.estimate import Estimate
from rmwbench.analysis.verdicts.verdict import FailedLine, lost_by_its_arm

NO_MATCH, NO_DELIVERY = "no match", "no delivery"
SILENT = (NO_MATCH, NO_DELIVERY)
"""Causes of failed trials in which nothing arrived; after any other failure it is not known whether
something would have arrived. Only older bundles have `no delivery`: a trial that matched and
delivered nothing is done now."""


class Outcome(StrEnum):
    """The outcome of an arm, or of one of its limits."""

    MEETS = "meets"
    MISSES = "misses"
    OPEN = "open"
    UNKNOWN = "unknown"


MEETS, MISSES, OPEN, UNKNOWN = Outcome
NONE: Literal["none"] = "none"
"""The arm misses its limits, and nothing arrives at all."""
ONLY: Literal["only"] = "only"
"""The condition in which messages arrive with one arm alone."""
NOT_SUPPORTED: Literal["not supported"] = "not supported"
ArmOutcome = Outcome | Literal["none", "not supported"]
ConditionOutcome = Outcome | Literal["none", "only"]


class Why(StrEnum):
    """Why an outcome is neither `meets` nor `misses`, or why it is `misses`."""

    LIMIT = "limit"
    NO_DATA = "no_data"
    TOO_FEW_BLOCKS = "too_few_blocks"
    INTERVAL = "interval"
    FAILED = "failed"
    SILENT = "silent"
    MACHINE_BOUND = "machine_bound"
    NOT_SUPPORTED = "not_supported"


SETTLED_BY_BLOCKS = (Why.INTERVAL, Why.TOO_FEW_BLOCKS)
"""The reasons that more blocks would settle."""


@dataclass(frozen=True, kw_only=True)
class AtMost:
    """A limit of a metric, in its own unit."""

    metric: str
    at_most: float


@dataclass(frozen=True, kw_only=True)
class NothingArrives:
    """The undelivered share from which on an arm counts as delivering nothing."""

    metric: str
    at_least: float


class Belief(Protocol):
    def within(self, most: float) -> float:
        """P(true value ≤ most)."""
        ...


INTERVAL_ERROR = 0.05
"""The error of a printed interval, half on either side; that of a bound is all on one side."""


@dataclass(frozen=True)
class PrintedInterval:
    """A belief from an interval, which lies within the limit, beyond it, or on both sides."""

    low: float
    high: float

    @classmethod
    def of(cls, metric: Estimate | None, error: float = INTERVAL_ERROR) -> "PrintedInterval":
        """The interval of an estimate: from −∞ to ∞ without data, to ∞ for a lower bound. With a
        smaller `error` than INTERVAL_ERROR it is wider accordingly; a lower bound stays as it
        is."""
        if metric is not None and metric.at_least is not None:
            return cls(metric.at_least, math.inf)
        if metric is None or metric.low is None or metric.high is None:
            return cls(-math.inf, math.inf)
        if error == INTERVAL_ERROR:
            return cls(metric.low, metric.high)
        return cls(*_widened(metric, metric.low, metric.high, error))

    def within(self, most: float) -> float:
        return 1.0 if self.high <= most else 0.0 if self.low > most else 0.5


def _widened(metric: Estimate, low: float, high: float, error: float) -> tuple[float, float]:
    """The ends widened by Student's t of its trials; for a fraction with no events, or with all, by
    the error of its exact bound, 1 − error^(1/n)."""
    value, trials = metric.value, metric.trials or 0
    if not error or trials < 2 or value is None:
        return -math.inf, math.inf
    if math.isinf(value):
        return low, math.inf
    if metric.unit == "fraction" and value in (0.0, 1.0):
        power = math.log(error) / math.log(INTERVAL_ERROR)
        return (0.0, 1 - (1 - high) ** power) if value == 0.0 else (low**power, 1.0)
    wide, printed = special.stdtrit(trials - 1, [1 - error / 2, 1 - INTERVAL_ERROR / 2])
    by = float(wide / printed)
    return value - by * (value - low), value + by * (high - value)


@dataclass(frozen=True)
class OneTrial:
    """A belief from the value of one trial, which holds a limit if it is below the limit, or, where
    the limit is `inclusive`, equal to it."""

    value: float
    inclusive: bool = False

    def within(self, most: float) -> float:
        return float(self.value <= most if self.inclusive else self.value < most)


@dataclass(frozen=True)
class Judgement:
    """An outcome, and the `probability` that the value is within the limit, where ignorance counts
    against the outcome."""

    outcome: Outcome
    probability: float


def judge(
    belief: Belief, at_most: float, *, level: float, clocks: float = 0.0, under_way: float = 0.0
) -> Judgement:
    """The judgement on whether the true value is at most `at_most`; each answer is false with a
    probability of at most `level`. `clocks`: how far all values may be from the truth, in the
    metric's unit; `under_way`: by how much the truth may be larger, since trials did not wait for
    some messages."""
    within = belief.within(at_most - clocks - under_way)
    outside = belief.within(at_most + clocks)
    if outside <= level:
        return Judgement(MISSES, outside)
    return Judgement(MEETS if within >= 1 - level else OPEN, within)


class FailedTrial(FailedLine, Protocol):
    """A trial that is not done."""

    @property
    def trial(self) -> int: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def cause(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True)
class Tried:
    """The facts about an arm under a condition that limits need. `machine_bound`: how many of its
    `done` trials were machine-bound; `nothing_arrived`: whether nothing arrived in any of these.
    `under_way`: metric -> the messages under way, which it does not count."""

    done: int
    failures: Sequence[FailedTrial] = ()
    machine_bound: int = 0
    nothing_arrived: bool = False
    metrics: Mapping[str, Estimate]
    under_way: Mapping[str, int] = field(default_factory=dict)
    not_supported: str | None = None


@dataclass(frozen=True)
class ArmJudgement:
    """`may`: the outcomes that are still possible, of meets, misses and none; empty for an arm that
    is not supported. `metric`: the metric that decides, or that leaves the arm open. `reason`: why,
    where no metric is the reason, and `brief` the same in a few words."""

    outcome: ArmOutcome
    may: frozenset[ArmOutcome]
    why: Why
    metric: str | None = None
    reason: str = ""
    brief: str = ""


@dataclass(frozen=True)
class ConditionJudgement:
    """`outcome`: `meets` where all arms meet their limits, `misses` where some do not, `none`,
    `only`, `open` or `unknown`. `only`: the one arm with which messages arrive. `may`: the outcomes
    that an open condition may have, in that order."""

    outcome: ConditionOutcome
    only: str | None = None
    may: tuple[str, ...] = ()


_ANY: frozenset[ArmOutcome] = frozenset((MEETS, MISSES, NONE))


def of_arm(
    acceptable: Sequence[AtMost],
    nothing: NothingArrives,
    arm: Tried,
    least_blocks: int,
    error: float = INTERVAL_ERROR,
) -> ArmJudgement:
    """The arm judged by the limits of the suite or the user; fewer blocks than `least_blocks`
    decide nothing. `error`: of each interval, smaller at a look of a campaign under way."""
    if arm.not_supported:
        return ArmJudgement(NOT_SUPPORTED, frozenset(), Why.NOT_SUPPORTED, reason=arm.not_supported)
    done = arm.done
    silent = sum(failure.cause in SILENT for failure in arm.failures)
    if not done and not silent:
        return _without_data(arm.failures)
    # silent trials are in no metric; they count where nothing arrived in the other trials either
    blocks = done + silent if not done or arm.nothing_arrived else done
    if blocks < least_blocks:
        brief = f"{blocks} of {least_blocks} blocks"
        more = (
            "fewer decide nothing; finish the campaign with `rmwbench resume`, or run one with at "
            f"least {least_blocks} blocks"
        )
        return _open(_still(arm), Why.TOO_FEW_BLOCKS, brief, more)
    if not done:
        text = f"no message arrived in any of {silent} trials"
        return ArmJudgement(NONE, frozenset((NONE,)), Why.LIMIT, reason=text)
    judgement = _by_metrics(acceptable, nothing, arm, error)
    either: frozenset[ArmOutcome] = frozenset((MEETS, MISSES))
    if silent and judgement.outcome == MEETS:
        brief = f"{silent} of {done + silent} trials silent"
        return _open(either, Why.SILENT, brief, "nothing arrived in them, and no metric has them")
    broke = sum(map(lost_by_its_arm, arm.failures))
    if broke and judgement.outcome == MEETS:
        brief = f"{broke} of {done + broke} trials failed"
        return _open(either, Why.FAILED, brief, "by the arm's own fault, and no metric has them")
    if arm.machine_bound and judgement.outcome in (MISSES, NONE):
        more = f"the machine may be the cause; it was so in {arm.machine_bound} of {done} trials"
        return _open(_still(arm), Why.MACHINE_BOUND, "machine-bound", more)
    return judgement


def _open(may: frozenset[ArmOutcome], why: Why, brief: str, more: str) -> ArmJudgement:
    return ArmJudgement(OPEN, may, why, reason=f"{brief}: {more}", brief=brief)


def _without_data(failures: Sequence[FailedTrial]) -> ArmJudgement:
    for failure in failures:
        brief = f"trial {failure.trial} {failure.status}"
        line = ((failure.reason or "").splitlines() or ["no reason recorded"])[0]
        return ArmJudgement(UNKNOWN, _ANY, Why.NO_DATA, reason=f"{brief}: {line}", brief=brief)
    text = "no trial was run"
    return ArmJudgement(UNKNOWN, _ANY, Why.NO_DATA, reason=text, brief=text)


def of_topics(judged: Mapping[str | None, ArmJudgement]) -> tuple[ArmJudgement, str | None]:
    """The outcome of an arm over its topics (None: the limits of the whole workload), and the topic
    that decides it or leaves it open. The arm meets where it meets in all topics, is `none` where
    it is in all topics, and misses otherwise; outcomes that are not excluded stay possible."""
    first = next(iter(judged.values()))
    if all(of_topic.outcome in (UNKNOWN, NOT_SUPPORTED) for of_topic in judged.values()):
        return first, None
    possible = [of_topic.may or _ANY for of_topic in judged.values()]
    may: set[ArmOutcome] = set()
    if all(MEETS in outcomes for outcomes in possible):
        may.add(MEETS)
    if all(NONE in outcomes for outcomes in possible):
        may.add(NONE)
    mixed = any(MEETS in outcomes for outcomes in possible) and any(
        NONE in outcomes for outcomes in possible
    )
    if any(MISSES in outcomes for outcomes in possible) or (mixed and len(possible) > 1):
        may.add(MISSES)
    order: dict[ArmOutcome, int] = {NONE: 0, MISSES: 1, UNKNOWN: 2, OPEN: 3, MEETS: 4}
    outcome: ArmOutcome = next(iter(may)) if len(may) == 1 else OPEN
    if outcome == OPEN:
        order |= {OPEN: -1, UNKNOWN: -1}
    topic, worst = min(
        judged.items(),
        key=lambda item: (order.get(item[1].outcome, 5), item[1].why not in SETTLED_BY_BLOCKS),
    )
    if outcome == MEETS:
        return ArmJudgement(MEETS, frozenset((MEETS,)), Why.LIMIT), None
    return replace(worst, outcome=outcome, may=frozenset(may)), topic


def _still(arm: Tried) -> frozenset[ArmOutcome]:
    """The outcomes that are possible before any metric is judged."""
    return _ANY if not arm.done or arm.nothing_arrived else _ANY - {NONE}


def _by_metrics(
    acceptable: Sequence[AtMost], nothing: NothingArrives, arm: Tried, error: float
) -> ArmJudgement:
    outcomes = {limit.metric: _of_limit(limit, arm, error) for limit in acceptable}
    missed = next((name for name, outcome in outcomes.items() if outcome is MISSES), None)
    open_metrics = [name for name, outcome in outcomes.items() if outcome is OPEN]
    if arm.nothing_arrived:
        undelivered = PrintedInterval.of(arm.metrics.get(nothing.metric), error)
        if undelivered.low >= nothing.at_least:
            return ArmJudgement(NONE, frozenset((NONE,)), Why.LIMIT, nothing.metric)
        may = _ANY if missed is None else _ANY - {MEETS}
        return ArmJudgement(OPEN, may, Why.INTERVAL, nothing.metric)
    if missed is not None:
        return ArmJudgement(MISSES, frozenset((MISSES,)), Why.LIMIT, missed)
    if open_metrics:
        may = frozenset((MEETS, MISSES))
        for name in open_metrics:
            if _blocks_bring_data(name, arm.metrics.get(name)):
                return ArmJudgement(OPEN, may, Why.INTERVAL, name)
        return ArmJudgement(OPEN, may, Why.NO_DATA, open_metrics[0])
    return ArmJudgement(MEETS, frozenset((MEETS,)), Why.LIMIT)


def _blocks_bring_data(metric: str, estimate: Estimate | None) -> bool:
    """Whether the metric has an interval, or gets one with more blocks, as a percentile of too few
    messages does. A metric that done trials do not have stays without data."""
    if GLOSSARY[metric].kind == "quantile":
        return True
    return estimate is not None and estimate.no_data is None


def _of_limit(limit: AtMost, arm: Tried, error: float) -> Outcome:
    """The outcome by the metric's interval, which is widened already for the clocks of two
    hosts."""
    metric = arm.metrics.get(limit.metric)
    waiting = arm.under_way.get(limit.metric, 0)
    share = waiting / metric.count if waiting and metric is not None and metric.count else 0.0
    interval = PrintedInterval.of(metric, error)
    return judge(interval, limit.at_most, level=error / 2, under_way=share).outcome


def counts_under_way(metric: str) -> Literal["ledger", "chain"] | None:
    """The source of the count of messages under way, for a fraction that leaves them out; None for
    any other metric."""
    if not GLOSSARY[metric].without_under_way:
        return None
    return "chain" if is_of_chain(metric) else "ledger"


def of_condition(arms: Mapping[str, ArmJudgement]) -> ConditionJudgement:
    """The judgement of a condition over the arms that were compared; arms that are not supported
    are left out."""
    able = {name: judged.may for name, judged in arms.items() if judged.outcome != NOT_SUPPORTED}
    if all(arms[name].outcome == UNKNOWN for name in able):
        return ConditionJudgement(UNKNOWN)
    some = [name for name, may in able.items() if may & {MEETS, MISSES}]
    silent = [name for name, may in able.items() if NONE in may]
    may: list[ConditionJudgement] = []
    if all(MEETS in outcomes for outcomes in able.values()):
        may.append(ConditionJudgement(MEETS))
    if _may_miss(able, some):
        may.append(ConditionJudgement(MISSES))
    if len(able) > 1:
        may += [
            ConditionJudgement(ONLY, name)
            for name in some
            if all(other in silent for other in able if other != name)
        ]
    if len(silent) == len(able):
        may.append(ConditionJudgement(NONE))
    if len(may) == 1:
        return may[0]
    return ConditionJudgement(
        OPEN, may=tuple(f"{ONLY} {case.only}" if case.only else case.outcome for case in may)
    )


def _may_miss(able: Mapping[str, frozenset[ArmOutcome]], some: Sequence[str]) -> bool:
    """Whether it is possible that messages arrive with two arms or more (or with the only arm) and
    that some arm does not meet the limits."""
    if len(able) == 1:
        return any(MISSES in may for may in able.values())
    others = {name: len(some) - (name in some) for name in able}
    return any(
        (MISSES in may and others[n] >= 1) or (NONE in may and others[n] >= 2)
        for n, may in able.items()
    )
