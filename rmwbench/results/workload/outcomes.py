"""The outcome matrix: for each condition (a combination of levels) which arms meet the limits, and
what all of them come to.

Made where the suite or the user has limits (`outcomes:`, docs/suites.md); judged in
`analysis/verdicts/limit_outcomes.py`.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.judged_topics import OF_TOPICS
from rmwbench.analysis.verdicts import limit_outcomes as judge
from rmwbench.analysis.verdicts.limit_outcomes import (
    MEETS,
    MISSES,
    NONE,
    NOT_SUPPORTED,
    ONLY,
    OPEN,
    UNKNOWN,
    AtMost,
    NothingArrives,
)
from rmwbench.codes import Code
from rmwbench.results.model import Estimate
from rmwbench.results.shown import (
    ArmInCondition,
    LevelsOutcome,
    LimitedValue,
    Outcomes,
    TopicArm,
    WorkloadAnswer,
    WorkloadArm,
)
from rmwbench.results.workload.lost_messages import slow
from rmwbench.words import numbers as fmt

MIB = 1 << 20


@dataclass(frozen=True)
class AcceptedLimits:
    """What the suite or the user accepts. `topics`: of single topics, which take the place of those
    of the same metric there; `nothing`: from which on nothing is said to arrive; `least_blocks`:
    how many decide anything; `error`: of each interval, smaller at a look of a running campaign."""

    acceptable: tuple[AtMost, ...]
    topics: Mapping[str, tuple[AtMost, ...]]
    nothing: NothingArrives
    least_blocks: int
    error: float = judge.INTERVAL_ERROR


def declared(
    thresholds: Mapping[str, Any], least_blocks: int, error: float = judge.INTERVAL_ERROR
) -> AcceptedLimits:
    """The plan's `outcomes` (suite/limits.py)."""
    return AcceptedLimits(
        at_most(thresholds["acceptable"]),
        {name: at_most(limits) for name, limits in (thresholds.get("topics") or {}).items()},
        NothingArrives(**thresholds["none"]),
        least_blocks,
        error,
    )


def at_most(limits: Sequence[Mapping[str, Any]]) -> tuple[AtMost, ...]:
    return tuple(AtMost(**limit) for limit in limits)


Names = Mapping[str | None, Sequence[str]]
"""Topic, or None for the whole workload -> the names under which it may have limits of its own; what
a later one says counts."""


def judged(
    limits: AcceptedLimits | None, workloads: Sequence[WorkloadAnswer], called: Mapping[str, Names]
) -> Outcomes | None:
    """None where neither the suite nor the user has any limits. `called`: by workload."""
    if limits is None:
        return None
    conditions = tuple(
        _condition(limits, workload, called.get(workload.workload, {}))
        for workload in workloads
        if limits.acceptable or _has_own(limits, called.get(workload.workload, {}))
    )
    return Outcomes(
        acceptable=limits.acceptable,
        topics=limits.topics or None,
        none=limits.nothing,
        text=_text(limits),
        conditions=conditions,
        summary=_summary(conditions),
    )


def _has_own(limits: AcceptedLimits, called: Names) -> bool:
    """Whether any limit is of one of its topics or readers."""
    return any(name in limits.topics for names in called.values() for name in names)


def _condition(limits: AcceptedLimits, workload: WorkloadAnswer, called: Names) -> LevelsOutcome:
    arms = [arm for arm in workload.arms if arm.role != "floor"]
    of = {arm.arm: _of_arm(limits, workload, arm, called) for arm in arms}
    open_limits = {
        arm.arm: tuple(_open_limits(limits, workload, arm, called))
        for arm in arms
        if of[arm.arm].judged.outcome == OPEN
    }
    condition = judge.of_condition({name: one.judged for name, one in of.items()})
    return LevelsOutcome(
        workload=workload.workload,
        levels=dict(arms[0].factors) if arms else {},
        outcome=condition.outcome,
        only=condition.only,
        may=condition.may,
        arms=tuple(
            ArmInCondition(
                arm=name,
                outcome=one.judged.outcome,
                why=one.judged.why,
                metric=one.judged.metric,
                topic=one.topic,
                reason=one.judged.reason or one.reason,
                brief=one.judged.brief,
                limit=one.limit,
                open_limits=open_limits.get(name) or None,
            )
            for name, one in of.items()
        ),
    )


@dataclass(frozen=True)
class _ArmInTopics:
    """`topic`: the one that decides the arm or leaves it open; None where no single one does."""

    judged: judge.ArmJudgement
    topic: str | None
    reason: str
    limit: LimitedValue | None


@dataclass(frozen=True)
class _LimitPart:
    """What has limits of its own: a topic, or the whole workload. `wanted`: metric -> of how many
    messages some were under way."""

    acceptable: Sequence[AtMost]
    arm: judge.Tried
    wanted: Mapping[str, int]


def _of_arm(
    limits: AcceptedLimits, workload: WorkloadAnswer, arm: WorkloadArm, called: Names
) -> _ArmInTopics:
    """By each of its topics where the workload has unlike ones, and by what no topic has alone."""
    parts = dict(_parts(limits, workload, arm, called))
    judgements = {
        name: judge.of_arm(
            part.acceptable, limits.nothing, part.arm, limits.least_blocks, limits.error
        )
        for name, part in parts.items()
    }
    reasons = {
        name: one.reason or _reason(parts[name], limits.nothing, one)
        for name, one in judgements.items()
    }
    if list(judgements) == [None]:
        return _ArmInTopics(
            judgements[None], None, reasons[None], _limit(parts, judgements[None], None)
        )
    judged, topic = judge.of_topics(judgements)
    limit = _limit(parts, judged, topic)
    if judged.outcome in (MEETS, UNKNOWN, NOT_SUPPORTED):
        text = "; ".join(f"{name}: {text}" if name else text for name, text in reasons.items())
        return _ArmInTopics(judged, None, text, limit)
    text = f"{topic}: {reasons[topic]}" if topic else reasons[topic]
    return _ArmInTopics(replace(judged, reason=""), topic, text, limit)


def _limit(
    parts: Mapping[str | None, _LimitPart], judged: judge.ArmJudgement, topic: str | None
) -> LimitedValue | None:
    """The one that decided; where all are met, the one with the least room."""
    values = [
        LimitedValue(metric=limit.metric, topic=name, at_most=limit.at_most, value=value)
        for name, part in parts.items()
        for limit in part.acceptable
        if (value := part.arm.metrics.get(limit.metric)) is not None
    ]
    if judged.outcome == MEETS:
        return max(values, key=_use, default=None)
    decides = (topic, judged.metric)
    return next((one for one in values if (one.topic, one.metric) == decides), None)


def _open_limits(
    limits: AcceptedLimits, workload: WorkloadAnswer, arm: WorkloadArm, called: Names
) -> Iterator[LimitedValue]:
    """Each limit that is open by itself. Where nothing arrived, that is the one of what arrives."""
    for name, part in _parts(limits, workload, arm, called):
        for limit in part.acceptable:
            alone = judge.of_arm(
                [limit], limits.nothing, part.arm, limits.least_blocks, limits.error
            )
            value = part.arm.metrics.get(limit.metric)
            is_open = alone.outcome == OPEN and alone.metric in (None, limit.metric)
            if is_open and value is not None:
                yield LimitedValue(
                    metric=limit.metric, topic=name, at_most=limit.at_most, value=value
                )


def _use(one: LimitedValue) -> float:
    """How much of the limit its value takes, by the end of its interval where it has one."""
    most = next((end for end in (one.value.high, one.value.value) if end is not None), None)
    return math.inf if most is None else most / one.at_most


def _parts(
    limits: AcceptedLimits, workload: WorkloadAnswer, arm: WorkloadArm, called: Names
) -> Iterator[tuple[str | None, _LimitPart]]:
    """Topic, or None for the whole workload -> its limits and the arm there: only what has a
    limit."""
    if not workload.topics:
        yield None, _whole(_overlaid(limits.acceptable, limits.topics, called.get(None, ())), arm)
        return
    place = next(n for n, other in enumerate(workload.arms) if other.arm == arm.arm)
    for topic in workload.topics:
        general = [limit for limit in limits.acceptable if limit.metric in OF_TOPICS]
        own = _overlaid(general, limits.topics, called.get(topic.topic, ()))
        if own:
            yield topic.topic, _in_topic(own, arm, topic.arms[place])
    whole = [limit for limit in limits.acceptable if limit.metric not in OF_TOPICS]
    if whole:
        yield None, _whole(whole, arm)


def _whole(acceptable: Sequence[AtMost], arm: WorkloadArm) -> _LimitPart:
    counts = {"ledger": arm.losses, "chain": arm.chain}
    waiting = {
        limit.metric: counted
        for limit in acceptable
        if (by := judge.counts_under_way(limit.metric)) and (counted := counts[by])
    }
    lost_all = arm.losses is not None and arm.losses.missing == arm.losses.wanted
    return _LimitPart(
        acceptable,
        _tried(
            arm,
            arm.metrics,
            {metric: counted.under_way for metric, counted in waiting.items()},
            nothing_arrived=lost_all,
        ),
        {metric: counted.wanted for metric, counted in waiting.items()},
    )


def _in_topic(acceptable: Sequence[AtMost], arm: WorkloadArm, there: TopicArm) -> _LimitPart:
    wanted = there.metrics["undelivered"].count or 0
    lost_all = bool(there.missing or there.under_way) and there.missing == wanted
    counted = [
        limit.metric
        for limit in acceptable
        if judge.counts_under_way(limit.metric) == "ledger" and there.under_way
    ]
    return _LimitPart(
        acceptable,
        _tried(
            arm,
            there.metrics,
            dict.fromkeys(counted, there.under_way),
            nothing_arrived=lost_all,
        ),
        dict.fromkeys(counted, wanted),
    )


def _tried(
    arm: WorkloadArm,
    metrics: Mapping[str, Estimate],
    under_way: Mapping[str, int],
    *,
    nothing_arrived: bool,
) -> judge.Tried:
    return judge.Tried(
        done=arm.trials.done,
        failures=arm.trials.failures,
        machine_bound=arm.disturbed_by.get(Code.MACHINE_BOUND, 0),
        nothing_arrived=nothing_arrived,
        metrics=metrics,
        under_way=under_way,
        not_supported=arm.not_supported,
    )


def _overlaid(
    general: Sequence[AtMost], own: Mapping[str, Sequence[AtMost]], names: Sequence[str]
) -> list[AtMost]:
    """The general limits, those of the same metric replaced by the topic's own."""
    mine = {limit.metric: limit for name in names for limit in own.get(name, ())}
    return [*(limit for limit in general if limit.metric not in mine), *mine.values()]


def _reason(part: _LimitPart, nothing: NothingArrives, judged: judge.ArmJudgement) -> str:
    """The value and the limit of the metric that decided or leaves it open; where all are within,
    each of them."""
    if judged.metric is None:
        return "; ".join(_measured(limit.metric, part) for limit in part.acceptable)
    measured = _measured(judged.metric, part)
    if judged.outcome == NONE or NONE in judged.may:
        bound = amount(nothing.at_least, nothing.metric)
        shown = "at least" if judged.outcome == NONE else "too few messages to show"
        return f"nothing arrived; {measured}: {shown} {bound}"
    limit = next(limit for limit in part.acceptable if limit.metric == judged.metric)
    return f"{measured}; the limit is {amount(limit.at_most, judged.metric)}"


def _measured(metric: str, part: _LimitPart) -> str:
    shown = fmt.metric(in_unit_of_limit(part.arm.metrics.get(metric)))
    value = f"no data ({shown.basis})" if shown.state == "absent" else shown.full
    waiting = slow(part.arm.under_way.get(metric, 0), part.wanted.get(metric, 0))
    return f"{GLOSSARY[metric].title} {value}" + (f", and {waiting}" if waiting else "")


def in_unit_of_limit(metric: Estimate | None) -> Estimate | None:
    """Memory in MiB, as `amount` says its limit, so that the two can be compared by eye; anything
    else as it is."""
    if metric is None or metric.unit != "bytes":
        return metric
    return replace(
        metric,
        unit="MiB",
        value=_mib(metric.value),
        low=_mib(metric.low),
        high=_mib(metric.high),
        at_least=_mib(metric.at_least),
    )


def _mib(value: float | None) -> float | None:
    return None if value is None else value / MIB


def amount(value: float, metric: str) -> str:
    """A limit as its file says it: `1 %`, `30 ms`, `1.5 cores`, `400 MiB`."""
    unit = GLOSSARY[metric].unit
    if unit == "bytes":
        return f"{value / MIB:.4g} MiB"
    if unit == "cores":
        return f"{value:.4g} cores"
    return f"{value * 100:.4g} %" if unit == "fraction" else f"{value / 1e6:.4g} ms"


def _text(limits: AcceptedLimits) -> str:
    parts = [_in_words(limits.acceptable)] if limits.acceptable else []
    parts += [f"in {name} {_in_words(own)}" for name, own in limits.topics.items()]
    most = amount(1 - limits.nothing.at_least, limits.nothing.metric)
    return (
        f"Meets: {'; '.join(parts)}, with the whole interval. Misses: messages arrive, and a whole "
        "interval lies beyond a limit. None: nothing arrived, and the interval leaves at most "
        f"{most} that does. Open: an interval reaches to both sides of its limit. Each interval is "
        "of 95 % by itself: nothing is corrected for how many arms, limits and conditions are "
        "judged."
    )


def _in_words(limits: Sequence[AtMost]) -> str:
    return " and ".join(
        f"{GLOSSARY[limit.metric].title} of at most {amount(limit.at_most, limit.metric)}"
        for limit in limits
    )


def _summary(conditions: Sequence[LevelsOutcome]) -> str:
    """`Of 30 conditions: 5 meets, 10 misses, 4 only cyclonedds, 11 none.`"""
    counts = Counter(f"{ONLY} {one.only}" if one.only else one.outcome for one in conditions)
    alone = [f"{ONLY} {name}" for name in dict.fromkeys(one.only for one in conditions) if name]
    parts = [
        f"{counts[name]} {name}"
        for name in (MEETS, MISSES, *alone, NONE, OPEN, UNKNOWN)
        if counts[name]
    ]
    return f"Of {fmt.counted(len(conditions), 'condition')}: {', '.join(parts)}."
