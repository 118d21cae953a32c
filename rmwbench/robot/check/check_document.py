"""The answer of `rmwbench check` (docs/formats/check.md) from a campaign and that of the last check:
the outcome of each candidate by the suite's limits, the comparison with the last check, and the
candidates that the exit code is about."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.metrics.comparisons import is_compared, is_floor
from rmwbench.analysis.verdicts.limit_outcomes import SETTLED_BY_BLOCKS, Outcome, Why
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.bundle import Bundle
from rmwbench.errors import UserError, not_one_of
from rmwbench.results.compare.compare_document import compare
from rmwbench.results.compare.compare_model import Compared
from rmwbench.results.selection import select
from rmwbench.results.show_document import summarise
from rmwbench.results.show_model import ArmInCondition, LimitedValue
from rmwbench.words.fields import absent

EXIT_CODES: Mapping[Outcome, Literal[0, 1, 2]] = {Outcome.MEETS: 0, Outcome.MISSES: 1}
ORDER = (Outcome.MEETS, Outcome.OPEN, Outcome.UNKNOWN, Outcome.MISSES)
"""The outcomes, best first."""
MOST_BLOCKS = 1_000


@dataclass(frozen=True, kw_only=True)
class MoreTime:
    """The time that would decide a candidate with too few blocks or a too wide interval, if its
    value and the scatter of its blocks stay the same. `blocks` are those of a whole campaign; None
    if no realistic number is enough."""

    blocks: int | None
    minutes: float | None


@dataclass(frozen=True, kw_only=True)
class CheckedCandidate:
    """An arm over all workloads and levels: `meets` if it meets the limits in each, `misses` if it
    misses them, or cannot run, in one. `workload` decided the outcome, or has the least room below
    its limit; `missed` counts the workloads in which it misses."""

    arm: str
    outcome: Outcome
    why: Why
    workload: str
    limit: LimitedValue | None = absent()
    reason: str
    missed: int
    more_time: MoreTime | None = absent()


@dataclass(frozen=True, kw_only=True)
class RobotCheck:
    """`directory` is that of the campaign, `created_utc` its begin. `candidates` are in order, best
    first, empty without limits. The exit code is about those `in_use`; `outcome` is their common
    one, None without limits. `since` is the comparison with the last check, None at the first check
    or if they cannot be compared, for the reason in `not_compared`."""

    schema: Literal["rmwbench/check"] = "rmwbench/check"
    version: Literal[1] = 1
    suite: str
    directory: str
    created_utc: str | None
    in_use: tuple[str, ...]
    outcome: Outcome | None
    candidates: tuple[CheckedCandidate, ...]
    since: Compared | None
    not_compared: str | None
    exit_code: Literal[0, 1, 2]


def robot_check(bundle: Bundle, earlier: Bundle | None, use: Sequence[str] = ()) -> RobotCheck:
    """The answer for a campaign. `earlier` is the campaign of the last check, or None. `use` names
    the candidates that the exit code is about, by default the suite's first. Raises UserError for a
    broken bundle, and for an unknown candidate."""
    in_use = candidates_in_use(_candidates(bundle), use)
    candidates = _outcomes(bundle)
    since, not_compared = _since(bundle, earlier)
    outcome = _common_outcome(candidates, in_use)
    return RobotCheck(
        suite=bundle.campaign.suite.name or "",
        directory=str(bundle.directory),
        created_utc=bundle.campaign.created_utc,
        in_use=in_use,
        outcome=outcome,
        candidates=candidates,
        since=since,
        not_compared=not_compared,
        exit_code=_exit_code(outcome, since),
    )


def candidates_in_use(candidates: Sequence[str], use: Sequence[str]) -> tuple[str, ...]:
    """The candidates of `use`, by default the first. Raises UserError for an unknown one."""
    for name in use:
        if name not in candidates:
            raise not_one_of(
                f"the suite has no candidate `{name}`", name, candidates, where="--use"
            )
    return tuple(dict.fromkeys(use)) or tuple(candidates[:1])


def _candidates(bundle: Bundle) -> list[str]:
    cells = [row for row in bundle.rows("cells") if is_compared(row) and not is_floor(row)]
    return list(dict.fromkeys(row["arm"] for row in cells))


def _outcomes(bundle: Bundle) -> tuple[CheckedCandidate, ...]:
    """The candidates, best first: by outcome, then by the room below their limits; those that
    cannot run are last."""
    if bundle.campaign.plan.outcomes is None:
        return ()
    answer = summarise(bundle)
    places_of_arm: dict[str, list[_Place]] = {}
    for condition in answer.outcomes.conditions if answer.outcomes else ():
        for arm in condition.arms:
            places_of_arm.setdefault(arm.arm, []).append(_Place(condition.workload, arm))
    return tuple(
        sorted((_candidate(places, bundle) for places in places_of_arm.values()), key=_rank)
    )


@dataclass(frozen=True)
class _Place:
    workload: str
    arm: ArmInCondition

    @property
    def outcome(self) -> Outcome:
        arm_outcome = self.arm.outcome
        return arm_outcome if isinstance(arm_outcome, Outcome) else Outcome.MISSES

    @property
    def use(self) -> float:
        return _use_of(self.arm.limit)


def _use_of(limit: LimitedValue | None) -> float:
    """The value ÷ its limit; infinite without a value."""
    value = None if limit is None else limit.value.value
    return math.inf if limit is None or value is None else value / limit.at_most


def _candidate(places: Sequence[_Place], bundle: Bundle) -> CheckedCandidate:
    worst = max(places, key=lambda place: (ORDER.index(place.outcome), place.use))
    return CheckedCandidate(
        arm=worst.arm.arm,
        outcome=worst.outcome,
        why=worst.arm.why,
        workload=worst.workload,
        limit=worst.arm.limit,
        reason=worst.arm.reason,
        missed=sum(place.outcome is Outcome.MISSES for place in places),
        more_time=_more_time(places, bundle) if worst.outcome is Outcome.OPEN else None,
    )


def _rank(candidate: CheckedCandidate) -> tuple[bool, int, float]:
    not_supported = candidate.why is Why.NOT_SUPPORTED
    return not_supported, ORDER.index(candidate.outcome), _use_of(candidate.limit)


def _common_outcome(
    candidates: Sequence[CheckedCandidate], in_use: Sequence[str]
) -> Outcome | None:
    """`meets` if all candidates in use meet their limits, `misses` if one misses them, else `open`;
    None without limits."""
    if not candidates:
        return None
    outcomes = {candidate.outcome for candidate in candidates if candidate.arm in in_use}
    if Outcome.MISSES in outcomes:
        return Outcome.MISSES
    return Outcome.MEETS if outcomes == {Outcome.MEETS} else Outcome.OPEN


def _exit_code(outcome: Outcome | None, since: Compared | None) -> Literal[0, 1, 2]:
    """The exit code of the check; without limits it is that of the comparison."""
    if outcome is not None:
        return EXIT_CODES.get(outcome, 2)
    return 2 if since is None else since.exit_code


def _since(bundle: Bundle, earlier: Bundle | None) -> tuple[Compared | None, str | None]:
    """The comparison by the limited metrics, or the reason why there is none; neither at the first
    check."""
    if earlier is None:
        return None, None
    try:
        sides = [select(str(side.directory)) for side in (earlier, bundle)]
        return compare(*sides, metrics=_metrics(bundle)), None
    except UserError as error:
        return None, error.what


def _metrics(bundle: Bundle) -> list[str]:
    """The metrics that have limits; empty without limits, for the metrics of `compare`."""
    outcomes = bundle.campaign.plan.outcomes
    if outcomes is None:
        return []
    document = outcomes.document()
    topics = (document.get("topics") or {}).values()
    limits = [*document["acceptable"], *(limit for limits in topics for limit in limits)]
    return list(dict.fromkeys(limit["metric"] for limit in limits))


def _more_time(places: Sequence[_Place], bundle: Bundle) -> MoreTime | None:
    """The blocks and minutes until every open limit is decided; None where blocks alone would not
    decide them."""
    arms = [place.arm for place in places if place.outcome is Outcome.OPEN]
    if not all(arm.why in SETTLED_BY_BLOCKS for arm in arms):
        return None
    plan = bundle.campaign.plan
    least = max(Rules().min_blocks, plan.blocks.minimum or 0)
    needed = [blocks for arm in arms for blocks in _blocks_of_each_limit(arm, least)]
    decidable = [blocks for blocks in needed if blocks is not None]
    blocks = max(decidable) if len(decidable) == len(needed) else None
    return MoreTime(
        blocks=blocks,
        minutes=None if blocks is None or plan.block_s is None else blocks * plan.block_s / 60,
    )


def _blocks_of_each_limit(arm: ArmInCondition, least: int) -> list[int | None]:
    """The number of blocks that each open limit needs."""
    if arm.why is Why.TOO_FEW_BLOCKS:
        return [least]
    return [blocks_needed(limit, least) for limit in arm.open_limits or ()] or [None]


def blocks_needed(limit: LimitedValue, least: int) -> int | None:
    """The number of blocks at which the interval of a value would end at its limit, if its width is
    proportional to 1/√n; larger than the present number. None without an interval, or for more than
    MOST_BLOCKS."""
    value, low, high = limit.value.value, limit.value.low, limit.value.high
    trials = limit.value.trials
    if value is None or low is None or high is None or not trials:
        return None
    distance = abs(limit.at_most - value)
    half = high - value if value <= limit.at_most else value - low
    if not math.isfinite(half) or half >= distance * math.sqrt(MOST_BLOCKS / trials):
        return None
    return max(least, trials + 1, math.ceil(trials * (half / distance) ** 2))
