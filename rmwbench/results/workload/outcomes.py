"""The outcome matrix: which arms meet the limits in each condition (a combination of levels), and
the outcome of all arms together.

It is made if the suite or the user has limits (`outcomes:`, docs/suites.md);
`analysis/verdicts/limit_outcomes.py` judges."""

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
from rmwbench.results.show_model import (
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
    """The limits that the suite or the user sets. `topics`: limits of single topics, which replace
    those of the same metric there; `nothing`: the undelivered share that counts as delivering
    nothing; `least_blocks`: how many blocks decide; `error`: of each interval, smaller at a look of
    a running campaign."""

    acceptable: tuple[AtMost, ...]
    topics: Mapping[str, tuple[AtMost, ...]]
    nothing: NothingArrives
    least_blocks: int
    error: float = judge.INTERVAL_ERROR


def declared(
    thresholds: Mapping[str, Any], least_blocks: int, error: float = judge.INTERVAL_ERROR
) -> AcceptedLimits:
    """Return the limits of the plan's `outcomes` (suite/limits.py)."""
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
"""Topic, or None for the whole workload -> the names under which it may have limits of its own; the
limits of a later name count."""


def outcome_matrix(
    limits: AcceptedLimits | None,
    workloads: Sequence[WorkloadAnswer],
    limit_names: Mapping[str, Names],
) -> Outcomes | None:
    """Return the outcomes; None if neither the suite nor the user has limits. `limit_names`:
    workload -> the names of its topics."""
    if limits is None:
        return None
    conditions = tuple(
        _condition(limits, workload, limit_names.get(workload.workload, {}))
        for workload in workloads
        if limits.acceptable or _has_own(limits, limit_names.get(workload.workload, {}))
    )
    return Outcomes(
        acceptable=limits.acceptable,
        topics=limits.topics or None,
        none=limits.nothing,
        text=_text(limits),
        conditions=conditions,
        summary=_summary(conditions),
    )


def _has_own(limits: AcceptedLimits, limit_names: Names) -> bool:
    return any(name in limits.topics for names in limit_names.values() for name in names)


def _condition(
    limits: AcceptedLimits, workload: WorkloadAnswer, limit_names: Names
) -> LevelsOutcome:
    arms = [arm for arm in workload.arms if arm.role != "floor"]
    parts = {arm.arm: dict(_parts(limits, workload, arm, limit_names)) for arm in arms}
    outcomes = {arm: _of_arm(limits, arm_parts) for arm, arm_parts in parts.items()}
    condition = judge.of_condition({arm: outcome.judged for arm, outcome in outcomes.items()})
    return LevelsOutcome(
        workload=workload.workload,
        levels=dict(arms[0].factors) if arms else {},
        outcome=condition.outcome,
        only=condition.only,
        may=condition.may,
        arms=tuple(
            ArmInCondition(
                arm=arm,
                outcome=outcome.judged.outcome,
                why=outcome.judged.why,
                metric=outcome.judged.metric,
                topic=outcome.topic,
                reason=outcome.judged.reason or outcome.reason,
                brief=outcome.judged.brief,
                limit=outcome.limit,
                open_limits=tuple(_open_limits(limits, parts[arm])) or None
                if outcome.judged.outcome == OPEN
                else None,
            )
            for arm, outcome in outcomes.items()
        ),
    )


@dataclass(frozen=True)
class _ArmInTopics:
    """The outcome of an arm over its parts. `topic`: the one that decides the arm or leaves it
    open; None if no single one does."""

    judged: judge.ArmJudgement
    topic: str | None
    reason: str
    limit: LimitedValue | None


@dataclass(frozen=True)
class _LimitPart:
    """A topic or the whole workload, with its limits and the arm in it. `wanted`: metric -> the
    wanted messages, of which some were under way."""

    acceptable: Sequence[AtMost]
    arm: judge.Tried
    wanted: Mapping[str, int]


def _of_arm(limits: AcceptedLimits, parts: Mapping[str | None, _LimitPart]) -> _ArmInTopics:
    """Judge an arm by each of its parts, and take all of them together."""
    judgements = {name: _judged(limits, part, part.acceptable) for name, part in parts.items()}
    reasons = {
        name: judgement.reason or _reason(parts[name], limits.nothing, judgement)
        for name, judgement in judgements.items()
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


def _judged(
    limits: AcceptedLimits, part: _LimitPart, acceptable: Sequence[AtMost]
) -> judge.ArmJudgement:
    return judge.of_arm(acceptable, limits.nothing, part.arm, limits.least_blocks, limits.error)


def _limit(
    parts: Mapping[str | None, _LimitPart], judged: judge.ArmJudgement, topic: str | None
) -> LimitedValue | None:
    """Return the limit that decided; if all are met, the one with the least room."""
    values = [value for name, part in parts.items() for _, value in _limited(name, part)]
    if judged.outcome == MEETS:
        return max(values, key=_use, default=None)
    decides = (topic, judged.metric)
    return next((value for value in values if (value.topic, value.metric) == decides), None)


def _open_limits(
    limits: AcceptedLimits, parts: Mapping[str | None, _LimitPart]
) -> Iterator[LimitedValue]:
    """Yield each limit that is open by itself. If nothing arrived, that is the limit of
    delivery."""
    for name, part in parts.items():
        for limit, value in _limited(name, part):
            alone = _judged(limits, part, [limit])
            if alone.outcome == OPEN and alone.metric in (None, limit.metric):
                yield value


def _limited(topic: str | None, part: _LimitPart) -> Iterator[tuple[AtMost, LimitedValue]]:
    """Yield each limit of a part whose metric the arm has, with its value."""
    for limit in part.acceptable:
        if (value := part.arm.metrics.get(limit.metric)) is not None:
            yield limit, LimitedValue(**vars(limit), topic=topic, value=value)


def _use(limited: LimitedValue) -> float:
    """Return the share of the limit that its value takes, by the end of its interval if it has
    one."""
    value = limited.value.value if limited.value.high is None else limited.value.high
    return math.inf if value is None else value / limited.at_most


def _parts(
    limits: AcceptedLimits, workload: WorkloadAnswer, arm: WorkloadArm, limit_names: Names
) -> Iterator[tuple[str | None, _LimitPart]]:
    """Yield (topic, or None for the whole workload; its limits and the arm in it), without parts
    that have no limit."""
    if not workload.topics:
        yield (
            None,
            _whole(_overlaid(limits.acceptable, limits.topics, limit_names.get(None, ())), arm),
        )
        return
    place = next(n for n, other in enumerate(workload.arms) if other.arm == arm.arm)
    for topic in workload.topics:
        general = [limit for limit in limits.acceptable if limit.metric in OF_TOPICS]
        own = _overlaid(general, limits.topics, limit_names.get(topic.topic, ()))
        if own:
            yield topic.topic, _in_topic(own, arm, topic.arms[place])
    whole = [limit for limit in limits.acceptable if limit.metric not in OF_TOPICS]
    if whole:
        yield None, _whole(whole, arm)


def _whole(acceptable: Sequence[AtMost], arm: WorkloadArm) -> _LimitPart:
    counts = {"ledger": arm.losses, "chain": arm.chain}
    under_way = {
        limit.metric: (counted.under_way, counted.wanted)
        for limit in acceptable
        if (by := judge.counts_under_way(limit.metric)) and (counted := counts[by])
    }
    lost_all = arm.losses is not None and arm.losses.missing == arm.losses.wanted
    return _limit_part(acceptable, arm, arm.metrics, under_way, nothing_arrived=lost_all)


def _in_topic(acceptable: Sequence[AtMost], arm: WorkloadArm, topic_arm: TopicArm) -> _LimitPart:
    wanted = topic_arm.metrics["undelivered"].count or 0
    lost_all = bool(topic_arm.missing or topic_arm.under_way) and topic_arm.missing == wanted
    under_way = {
        limit.metric: (topic_arm.under_way, wanted)
        for limit in acceptable
        if judge.counts_under_way(limit.metric) == "ledger" and topic_arm.under_way
    }
    return _limit_part(acceptable, arm, topic_arm.metrics, under_way, nothing_arrived=lost_all)


def _limit_part(
    acceptable: Sequence[AtMost],
    arm: WorkloadArm,
    metrics: Mapping[str, Estimate],
    under_way: Mapping[str, tuple[int, int]],
    *,
    nothing_arrived: bool,
) -> _LimitPart:
    """Return a part with its limits. `under_way`: metric -> (messages under way, all wanted
    messages)."""
    tried = judge.Tried(
        done=arm.trials.done,
        failures=arm.trials.failures,
        machine_bound=arm.disturbed_by.get(Code.MACHINE_BOUND, 0),
        nothing_arrived=nothing_arrived,
        metrics=metrics,
        under_way={metric: count for metric, (count, _) in under_way.items()},
        not_supported=arm.not_supported,
    )
    return _LimitPart(acceptable, tried, {m: wanted for m, (_, wanted) in under_way.items()})


def _overlaid(
    general: Sequence[AtMost], own: Mapping[str, Sequence[AtMost]], names: Sequence[str]
) -> list[AtMost]:
    """Return the general limits, with the topic's own in place of those of the same metric."""
    mine = {limit.metric: limit for name in names for limit in own.get(name, ())}
    return [*(limit for limit in general if limit.metric not in mine), *mine.values()]


def _reason(part: _LimitPart, nothing: NothingArrives, judged: judge.ArmJudgement) -> str:
    """Return the value and the limit of the metric that decided or leaves the arm open; if all
    limits are met, each value."""
    if judged.metric is None:
        return "; ".join(_measured(limit.metric, part) for limit in part.acceptable)
    measured = _measured(judged.metric, part)
    if judged.outcome == NONE or NONE in judged.may:
        bound = amount(nothing.at_least, nothing.metric)
        word = "at least" if judged.outcome == NONE else "too few messages to show"
        return f"nothing arrived; {measured}: {word} {bound}"
    limit = next(limit for limit in part.acceptable if limit.metric == judged.metric)
    return f"{measured}; the limit is {amount(limit.at_most, judged.metric)}"


def _measured(metric: str, part: _LimitPart) -> str:
    number = fmt.metric(in_unit_of_limit(part.arm.metrics.get(metric)))
    value = f"no data ({number.basis})" if number.state == "absent" else number.full
    waiting = slow(part.arm.under_way.get(metric, 0), part.wanted.get(metric, 0))
    return f"{GLOSSARY[metric].title} {value}" + (f", and {waiting}" if waiting else "")


def in_unit_of_limit(metric: Estimate | None) -> Estimate | None:
    """Return memory in MiB, in which `amount` prints its limit, so that the two can be compared by
    eye; anything else unchanged."""
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


_LIMIT_UNITS = {
    "fraction": (0.01, "%"),
    "ns": (1e6, "ms"),
    "cores": (1, "cores"),
    "bytes": (MIB, "MiB"),
}


def amount(value: float, metric: str) -> str:
    """Return a limit as its file has it, in all its digits: `1 %`, `30000 ms`, `1.5 cores`, `400
    MiB`."""
    divisor, symbol = _LIMIT_UNITS[GLOSSARY[metric].unit]
    return f"{value / divisor:.10g} {symbol}"


def _text(limits: AcceptedLimits) -> str:
    most = amount(1 - limits.nothing.at_least, limits.nothing.metric)
    return (
        f"Meets: {in_words(limits.acceptable, limits.topics)}, with the whole interval. Misses: "
        "messages arrive, and a whole interval lies beyond a limit. None: nothing arrived, and the "
        f"interval leaves at most {most} that does. Open: an interval reaches to both sides of its "
        "limit. Each interval is of 95 % by itself: nothing is corrected for how many arms, limits "
        "and conditions are judged."
    )


def in_words(acceptable: Sequence[AtMost], topics: Mapping[str, Sequence[AtMost]]) -> str:
    """Return `undelivered of at most 1 %; in front response latency, p99 of at most 50 ms`."""

    def together(limits: Sequence[AtMost]) -> str:
        return " and ".join(
            f"{GLOSSARY[limit.metric].title} of at most {amount(limit.at_most, limit.metric)}"
            for limit in limits
        )

    parts = [together(acceptable)] if acceptable else []
    return "; ".join([*parts, *(f"in {name} {together(own)}" for name, own in topics.items())])


def _summary(conditions: Sequence[LevelsOutcome]) -> str:
    """Return `Of 30 conditions: 5 meets, 10 misses, 4 only cyclonedds, 11 none.`"""
    if not conditions:
        return "No condition can be judged: none has a trial with a limited topic."
    counts = Counter(f"{ONLY} {c.only}" if c.only else c.outcome for c in conditions)
    alone = [f"{ONLY} {name}" for name in dict.fromkeys(c.only for c in conditions) if name]
    parts = [
        f"{counts[name]} {name}"
        for name in (MEETS, MISSES, *alone, NONE, OPEN, UNKNOWN)
        if counts[name]
    ]
    return f"Of {fmt.counted(len(conditions), 'condition')}: {', '.join(parts)}."
