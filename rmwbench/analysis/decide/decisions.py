"""Does a candidate meet all limits? The probability of that, the limit that decides it, and where
the answer flips along a factor: `B only above four cameras`.

A candidate meets all limits only where it meets each, so the probability of "all" comes from a
joint belief: the belief about each limit (`posterior.py`), tied by the correlation that the metrics
have over blocks (a Gaussian copula: a slow block that also loses messages counts once). The
candidates of a machine share one error of 5 %: `meets` from P ≥ 1 − α/candidates, `misses` where
one limit alone has P ≤ α/(candidates · limits). Fewer than five blocks, or fewer than five
campaigns where these differ, decide nothing. A metric without data is unknown and never met, and a
case in which the machine had no time left is never a reason to miss.

A campaign whose cells vary a factor answers at each of its levels. A candidate flips between two
levels where it is decided to meet the limits at one and to miss them at the other; open levels
between the two only widen the gap. Levels that were not measured have no answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from scipy import special

from rmwbench.analysis.decide.posterior import LEAST_BLOCKS, BlockValues, Posterior, posterior
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.verdicts.ladders import in_order
from rmwbench.analysis.verdicts.limit_outcomes import Outcome, Why, judge
from rmwbench.analysis.verdicts.verdict import Rules

DRAWS = 20_000
ALWAYS = 1e-6
"""A limit whose probability is within this of 0 or 1 is left out of the joint draws."""


@dataclass(frozen=True)
class UserLimit:
    """`metric` may be at most `at_most`, in its own unit, in `case` (a workload at its levels); the
    limit is for one `topic`, or for the whole workload."""

    case: str
    topic: str | None
    metric: str
    at_most: float


@dataclass(frozen=True, kw_only=True)
class FailureCount:
    """How many trials failed by the candidate's own fault, of those that ran."""

    trials: int
    of: int


@dataclass(frozen=True)
class DecideCandidate:
    """One arm on one machine. `blocks`: the measured values for each limit; a limit without an
    entry has no data, for the reason in `absent`. `failed`: failed trials, in `blocks` as trials in
    which nothing arrived. `machine_bound`: the cases in which the machine had no time left in most
    of its trials. `not_supported`: why it cannot run at all."""

    name: str
    blocks: Mapping[UserLimit, BlockValues]
    absent: Mapping[UserLimit, str] = field(default_factory=dict)
    failed: FailureCount = FailureCount(trials=0, of=0)
    machine_bound: frozenset[str] = frozenset()
    not_supported: str | None = None


@dataclass(frozen=True, kw_only=True)
class ValueInterval:
    """A value and its interval [`low`, `high`]; the unit is a field of its owner."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class LimitDecision:
    """One limit of one candidate in one case; `topic` is None for the whole workload. `blocks`: how
    many observations there are, campaigns where these differ. `probability`: that the limit is met,
    None where too few blocks have the metric; at `error` or less the limit is missed. `measured`:
    the value, without an interval for a single block; None without data, for the reason `no_data`.
    `campaigns_differ`: whether campaigns differ by more than chance. `excused`: it would be missed,
    but the machine had no time left in its case."""

    case: str
    topic: str | None
    metric: str
    unit: str
    at_most: float
    error: float
    outcome: Outcome
    probability: float | None = None
    blocks: int = 0
    measured: ValueInterval | None = None
    no_data: str | None = None
    campaigns_differ: bool = False
    excused: bool = False


@dataclass(frozen=True, kw_only=True)
class DecisionAnswer:
    """The decision on one arm. `probability`: of meeting all limits, None where that is not known;
    they are met from 1 − `error` on. `blocks`: the fewest of any limit. `binding`: the limit that
    is missed, or likeliest to be, or unknown; None where all are met."""

    arm: str
    outcome: Outcome
    why: Why
    probability: float | None
    error: float
    blocks: int
    failed: FailureCount
    binding: LimitDecision | None
    limits: tuple[LimitDecision, ...]


def overall_rules(rules: Rules, cases: int) -> Rules:
    """The rules for the answer over all cases: where there are several, the single cases share the
    other half of alpha."""
    return replace(rules, alpha=rules.alpha / 2) if cases > 1 else rules


def decide(
    candidates: Sequence[DecideCandidate], limits: Sequence[UserLimit], rules: Rules
) -> list[DecisionAnswer]:
    """The answers for the candidates of one machine, in their order."""
    able = max(sum(candidate.not_supported is None for candidate in candidates), 1)
    return [_answer(candidate, limits, rules, rules.alpha / able) for candidate in candidates]


def _answer(
    candidate: DecideCandidate, limits: Sequence[UserLimit], rules: Rules, error: float
) -> DecisionAnswer:
    limit_error = error / max(len(limits), 1)
    if candidate.not_supported is not None:
        return DecisionAnswer(
            arm=candidate.name,
            outcome=Outcome.MISSES,
            why=Why.NOT_SUPPORTED,
            probability=0.0,
            error=error,
            blocks=0,
            failed=FailureCount(trials=0, of=0),
            binding=None,
            limits=tuple(_unknown(limit, limit_error, candidate.not_supported) for limit in limits),
        )
    beliefs = {
        limit: posterior(b) for limit, b in candidate.blocks.items() if b.count >= LEAST_BLOCKS
    }
    of_limits = tuple(
        _decision(limit, candidate, beliefs.get(limit), limit_error, rules) for limit in limits
    )
    known = [entry for entry in of_limits if entry.outcome is not Outcome.UNKNOWN]
    probability = None
    if limits and len(known) == len(limits) and min(e.blocks for e in known) >= rules.min_blocks:
        probability = _joint_probability(candidate.blocks, beliefs, limits)
    outcome, why, binding = _outcome(of_limits, probability, error, rules)
    if outcome is Outcome.MEETS and candidate.failed.trials:
        outcome, why = Outcome.OPEN, Why.FAILED
    return DecisionAnswer(
        arm=candidate.name,
        outcome=outcome,
        why=why,
        probability=probability,
        error=error,
        blocks=min((entry.blocks for entry in known), default=0),
        failed=candidate.failed,
        binding=binding,
        limits=of_limits,
    )


def _outcome(
    decisions: Sequence[LimitDecision], probability: float | None, error: float, rules: Rules
) -> tuple[Outcome, Why, LimitDecision | None]:
    """The outcome over all limits, and the limit that decides it or leaves it open."""
    with_data = [limit for limit in decisions if limit.probability is not None]
    unknown = [limit for limit in decisions if limit.outcome is Outcome.UNKNOWN]
    few = [limit for limit in decisions if limit not in unknown and limit.blocks < rules.min_blocks]
    if missed := [limit for limit in with_data if limit.outcome is Outcome.MISSES]:
        return Outcome.MISSES, Why.LIMIT, _worst(missed)
    if excused := [limit for limit in with_data if limit.excused]:
        return Outcome.OPEN, Why.MACHINE_BOUND, _worst(excused)
    if unknown or not decisions:
        return Outcome.UNKNOWN, Why.NO_DATA, unknown[0] if unknown else None
    if few:
        return Outcome.OPEN, Why.TOO_FEW_BLOCKS, min(few, key=lambda limit: limit.blocks)
    if probability is None or probability < 1 - error:
        return Outcome.OPEN, Why.INTERVAL, _worst(with_data) if with_data else None
    return Outcome.MEETS, Why.LIMIT, None


def _worst(decisions: Sequence[LimitDecision]) -> LimitDecision:
    """The limit that is least likely to be met."""
    return min(decisions, key=lambda limit: limit.probability or 0.0)


def _limit_fields(limit: UserLimit, error: float) -> dict[str, Any]:
    return {**vars(limit), "unit": GLOSSARY[limit.metric].unit, "error": error}


def _unknown(limit: UserLimit, error: float, why: str) -> LimitDecision:
    return LimitDecision(**_limit_fields(limit, error), outcome=Outcome.UNKNOWN, no_data=why)


def _decision(
    limit: UserLimit,
    candidate: DecideCandidate,
    belief: Posterior | None,
    error: float,
    rules: Rules,
) -> LimitDecision:
    """The outcome of one limit. `error`: the probability up to which it is missed."""
    blocks = candidate.blocks.get(limit)
    if blocks is None or not blocks.count:
        return _unknown(limit, error, candidate.absent.get(limit, "not measured"))
    if belief is None:
        value = float(blocks.each()[0])
        measured = ValueInterval(value=value, low=value, high=value)
        return LimitDecision(
            **_limit_fields(limit, error),
            outcome=Outcome.OPEN,
            blocks=blocks.count,
            measured=measured,
        )
    # with too few blocks no probability is small or large enough
    level = error if belief.count >= rules.min_blocks else -1.0
    judgement = judge(
        belief, limit.at_most, level=level, clocks=blocks.bound, under_way=blocks.under_way
    )
    excused = judgement.outcome is Outcome.MISSES and limit.case in candidate.machine_bound
    value, low, high = belief.interval()
    return LimitDecision(
        **_limit_fields(limit, error),
        outcome=Outcome.OPEN if excused else judgement.outcome,
        probability=judgement.probability,
        blocks=belief.count,
        measured=ValueInterval(value=value, low=low, high=high),
        campaigns_differ=belief.differ,
        excused=excused,
    )


def _joint_probability(
    blocks: Mapping[UserLimit, BlockValues],
    beliefs: Mapping[UserLimit, Posterior],
    limits: Sequence[UserLimit],
) -> float:
    """The probability that all limits are met. For one limit it is exact; for several it comes from
    DRAWS draws, which are the same for every candidate, so that equal data give equal answers, and
    is never above the probability of any single limit."""
    within = np.array(
        [beliefs[limit].within(limit.at_most - blocks[limit].spare) for limit in limits]
    )
    unsure = (within > ALWAYS) & (within < 1 - ALWAYS)
    if (within <= ALWAYS).any() or unsure.sum() < 2:
        return float(within.min(initial=1.0))
    normals = np.random.default_rng(20261123).standard_normal((DRAWS, len(limits)))
    z = normals @ _root([blocks[limit] for limit in limits]).T
    all_met = (z[:, unsure] <= special.ndtri(within[unsure])).all(axis=1)
    return float(min(all_met.mean(), within.min()))


def _root(blocks: Sequence[BlockValues]) -> np.ndarray:
    """The Cholesky factor of the rank correlation of metrics over the blocks that two metrics have
    in common, shrunk towards none by n/(n + 4) for n such blocks."""
    n = len(blocks)
    correlation = np.eye(n)
    columns = [dict(zip(b.places, b.each(), strict=True)) if b.places else {} for b in blocks]
    for i in range(n):
        for j in range(i):
            common = [place for place in columns[i] if place in columns[j]]
            if len(common) > 2:
                a, b = (_ranks([columns[k][place] for place in common]) for k in (i, j))
                spread = a.std() * b.std()
                r = float(((a - a.mean()) * (b - b.mean())).mean() / spread) if spread else 0.0
                correlation[i, j] = correlation[j, i] = r * len(common) / (len(common) + 4)
    values, vectors = np.linalg.eigh(correlation)
    whole = vectors * np.maximum(values, 1e-6) @ vectors.T
    scale = np.sqrt(np.diag(whole))
    return np.linalg.cholesky(whole / np.outer(scale, scale))


def _ranks(values: Sequence[float]) -> np.ndarray:
    """Mean ranks, so that equal values (nothing lost) have no effect."""
    array = np.asarray(values, float)
    above, equal = array[:, None] > array[None, :], array[:, None] == array[None, :]
    ranks: np.ndarray = above.sum(1) + equal.sum(1) / 2
    return ranks


Level = bool | int | float | str
"""A level of a factor."""


@dataclass(frozen=True, kw_only=True)
class LevelOutcomes:
    """The candidates that are decided to meet all limits at a level, those that miss one, and those
    for which it is open."""

    level: Level
    meets: tuple[str, ...]
    misses: tuple[str, ...]
    open: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Flip:
    """The arm is `before` at the level `from` and `after` at `to`, the next level at which it is
    decided."""

    arm: str
    before: Outcome
    after: Outcome
    from_: Annotated[Level, Field(alias="from")]
    to: Level


@dataclass(frozen=True, kw_only=True)
class FactorOutcomes:
    """One factor of a workload that varies while the others stay at `fixed`. `workload`: its name,
    with the campaign that defines it where another campaign's definition came first. `levels` in
    order: numbers by size, texts as they came."""

    workload: str
    factor: str
    fixed: Mapping[str, Level]
    levels: tuple[LevelOutcomes, ...]
    flips: tuple[Flip, ...]


@dataclass(frozen=True)
class CaseOutcomes:
    """A case: a workload at the levels of its factors, with the outcome of each candidate."""

    workload: str
    levels: Mapping[str, Level]
    outcomes: Mapping[str, Outcome]


def factor_outcomes(cases: Sequence[CaseOutcomes]) -> list[FactorOutcomes]:
    """Every factor that varies while the others stay, in the order of the cases."""
    lines: list[FactorOutcomes] = []
    for factor in dict.fromkeys(name for case in cases for name in case.levels):
        groups: dict[tuple[Any, ...], list[CaseOutcomes]] = {}
        for case in cases:
            if factor in case.levels:
                rest = sorted((k, repr(v)) for k, v in case.levels.items() if k != factor)
                groups.setdefault((case.workload, *rest), []).append(case)
        for group in groups.values():
            if len({repr(case.levels[factor]) for case in group}) > 1:
                lines.append(_factor_outcomes(factor, in_order(group, factor)))
    return lines


def _factor_outcomes(factor: str, cases: Sequence[CaseOutcomes]) -> FactorOutcomes:
    names = list(dict.fromkeys(name for case in cases for name in case.outcomes))
    first = cases[0]
    return FactorOutcomes(
        workload=first.workload,
        factor=factor,
        fixed={name: level for name, level in first.levels.items() if name != factor},
        levels=tuple(
            LevelOutcomes(
                level=case.levels[factor],
                meets=_candidates(case, Outcome.MEETS),
                misses=_candidates(case, Outcome.MISSES),
                open=_candidates(case, Outcome.OPEN, Outcome.UNKNOWN),
            )
            for case in cases
        ),
        flips=tuple(flip for name in names for flip in _flips(name, factor, cases)),
    )


def _flips(name: str, factor: str, cases: Sequence[CaseOutcomes]) -> list[Flip]:
    decided = [
        (case.levels[factor], case.outcomes[name])
        for case in cases
        if case.outcomes.get(name) in (Outcome.MEETS, Outcome.MISSES)
    ]
    return [
        Flip(arm=name, before=a, after=b, from_=low, to=high)
        for (low, a), (high, b) in pairwise(decided)
        if a is not b
    ]


def _candidates(case: CaseOutcomes, *outcomes: Outcome) -> tuple[str, ...]:
    return tuple(name for name, outcome in case.outcomes.items() if outcome in outcomes)
