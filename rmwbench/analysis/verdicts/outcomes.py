"""What became of an arm under a condition: acceptable, degraded, none, or undecided; and of a
condition over its arms.

An arm is judged by intervals, never by a point: where one straddles its limit, both outcomes stay
possible, and with fewer blocks than any verdict needs nothing is decided. One message that arrived
refutes `none`, in however few; that nothing arrived shows it only where the interval leaves next to
nothing. A condition is given an outcome where every outcome that its arms may still have leads to
the same one, so that an arm without data leaves it open unless the others alone settle it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rmwbench.analysis.metrics.aggregate import OF_LEDGER, WITHOUT_UNDER_WAY
from rmwbench.analysis.verdicts.failing import lost_by_its_arm
from rmwbench.codes import Code
from rmwbench.words.numbers import Metric

ACCEPTABLE, DEGRADED, NONE = "acceptable", "degraded", "none"
UNDECIDED, NO_DATA, NOT_SUPPORTED = "undecided", "no data", "not supported"
ALL_ACCEPTABLE, ONLY = "all acceptable", "only"
NO_MATCH, NO_DELIVERY = "no match", "no delivery"
SILENT = (NO_MATCH, NO_DELIVERY)
"""Causes of failed trials in which nothing arrived; any other failure does not say whether
something would have. Only bundles from before have `no delivery`: what matched and delivered
nothing is a done trial now."""


@dataclass(frozen=True, kw_only=True)
class AtMost:
    """A limit of a metric, in its own unit."""

    metric: str
    at_most: float


@dataclass(frozen=True, kw_only=True)
class AtLeast:
    """From which on nothing is said to arrive."""

    metric: str
    at_least: float


class Failure(Protocol):
    """A trial that is not done."""

    @property
    def trial(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def cause(self) -> str | None: ...
    @property
    def failed_by(self) -> str | None: ...


class Trials(Protocol):
    @property
    def done(self) -> int: ...
    @property
    def failures(self) -> Sequence[Failure]: ...


class Waiting(Protocol):
    """In messages."""

    @property
    def wanted(self) -> int: ...
    @property
    def under_way(self) -> int: ...


class Losses(Waiting, Protocol):
    @property
    def missing(self) -> int: ...


class Arm(Protocol):
    """What an outcome is read from; `losses` is None where every message arrived sound and in time,
    `chain` where nothing is relayed."""

    @property
    def not_supported(self) -> str | None: ...
    @property
    def trials(self) -> Trials: ...
    @property
    def disturbed_by(self) -> Mapping[str, int]: ...
    @property
    def losses(self) -> Losses | None: ...
    @property
    def chain(self) -> Waiting | None: ...
    @property
    def metrics(self) -> Mapping[str, Metric]: ...


@dataclass(frozen=True)
class Judged:
    """`may`: the outcomes that are still possible, of acceptable, degraded and none; empty for an
    arm that is not supported. `metric`: the one that decided, or leaves it open. `reason`: what no
    metric says, in short before its first colon."""

    outcome: str
    may: frozenset[str]
    metric: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Condition:
    """`outcome`: all acceptable, degraded, none, only, undecided or no data. `only`: the one arm
    with which anything arrives. `may`: what an undecided one may be, in that order."""

    outcome: str
    only: str | None = None
    may: tuple[str, ...] = ()


_ANY = frozenset((ACCEPTABLE, DEGRADED, NONE))


def of_arm(acceptable: Sequence[AtMost], nothing: AtLeast, arm: Arm, least_blocks: int) -> Judged:
    """By the limits of the suite or the user, from so many blocks on."""
    if arm.not_supported:
        return Judged(NOT_SUPPORTED, frozenset(), reason=arm.not_supported)
    done, failures = arm.trials.done, arm.trials.failures
    silent = sum(failure.cause in SILENT for failure in failures)
    if not done and not silent:
        return Judged(NO_DATA, _ANY, reason=_why_none(failures))
    # silent trials are in no metric; they count where nothing arrived in the others either
    blocks = done + silent if not done or _nothing_arrived(arm) else done
    if blocks < least_blocks:
        return Judged(UNDECIDED, _still(arm), reason=_too_few(blocks, least_blocks))
    if not done:
        return Judged(
            NONE, frozenset((NONE,)), reason=f"{silent} trials, and in none did a message arrive"
        )
    found = _by_metrics(acceptable, nothing, arm)
    if silent and found.outcome == ACCEPTABLE:
        silences = (
            f"{silent} of {done + silent} trials silent: nothing arrived in them, and no "
            "metric has them"
        )
        return Judged(UNDECIDED, frozenset((ACCEPTABLE, DEGRADED)), reason=silences)
    broke = sum(map(lost_by_its_arm, failures))
    if broke and found.outcome == ACCEPTABLE:
        reason = (
            f"{broke} of {done + broke} trials failed: by the arm's own fault, and no metric "
            "has them"
        )
        return Judged(UNDECIDED, frozenset((ACCEPTABLE, DEGRADED)), reason=reason)
    bound = arm.disturbed_by.get(Code.MACHINE_BOUND)
    if bound and found.outcome in (DEGRADED, NONE):
        reason = (
            f"machine-bound: the machine may be the cause; it was so in {bound} of {done} trials"
        )
        return Judged(UNDECIDED, _still(arm), reason=reason)
    return found


def _too_few(blocks: int, least: int) -> str:
    return (
        f"{blocks} of {least} blocks: fewer decide nothing; finish the campaign with `rmwbench "
        f"resume`, or run one with at least {least} blocks"
    )


def of_topics(judged: Mapping[str | None, Judged]) -> tuple[Judged, str | None]:
    """An arm over its topics (None: the limits of the whole workload), and the topic that decides
    it or leaves it open. Acceptable where all are, none where all are, degraded otherwise; what is
    not settled stays possible."""
    first = next(iter(judged.values()))
    if all(one.outcome in (NO_DATA, NOT_SUPPORTED) for one in judged.values()):
        return first, None
    possible = [one.may or _ANY for one in judged.values()]
    may = set()
    if all(ACCEPTABLE in found for found in possible):
        may.add(ACCEPTABLE)
    if all(NONE in found for found in possible):
        may.add(NONE)
    mixed = any(ACCEPTABLE in found for found in possible) and any(
        NONE in found for found in possible
    )
    if any(DEGRADED in found for found in possible) or (mixed and len(possible) > 1):
        may.add(DEGRADED)
    order = {NONE: 0, DEGRADED: 1, NO_DATA: 2, UNDECIDED: 3, ACCEPTABLE: 4}
    outcome = next(iter(may)) if len(may) == 1 else UNDECIDED
    if outcome == UNDECIDED:
        order |= {UNDECIDED: -1, NO_DATA: -1}
    topic = min(judged, key=lambda name: order.get(judged[name].outcome, 5))
    worst = judged[topic]
    if outcome == ACCEPTABLE:
        return Judged(ACCEPTABLE, frozenset((ACCEPTABLE,))), None
    return Judged(outcome, frozenset(may), worst.metric, worst.reason), topic


def _still(arm: Arm) -> frozenset[str]:
    """What is possible whatever the metrics say."""
    return _ANY if not arm.trials.done or _nothing_arrived(arm) else _ANY - {NONE}


def _nothing_arrived(arm: Arm) -> bool:
    return arm.losses is not None and arm.losses.missing == arm.losses.wanted


def _by_metrics(acceptable: Sequence[AtMost], nothing: AtLeast, arm: Arm) -> Judged:
    limits = {
        limit.metric: (_bounds_with_under_way(limit.metric, arm), limit.at_most)
        for limit in acceptable
    }
    above = next((name for name, (bounds, most) in limits.items() if bounds[0] > most), None)
    open_ = next((name for name, (bounds, most) in limits.items() if not bounds[1] <= most), None)
    if _nothing_arrived(arm):
        if _bounds(arm.metrics.get(nothing.metric))[0] >= nothing.at_least:
            return Judged(NONE, frozenset((NONE,)), nothing.metric)
        return Judged(UNDECIDED, _ANY if above is None else _ANY - {ACCEPTABLE}, nothing.metric)
    if above is not None:
        return Judged(DEGRADED, frozenset((DEGRADED,)), above)
    if open_ is not None:
        return Judged(UNDECIDED, frozenset((ACCEPTABLE, DEGRADED)), open_)
    return Judged(ACCEPTABLE, frozenset((ACCEPTABLE,)))


def _bounds_with_under_way(name: str, arm: Arm) -> tuple[float, float]:
    """A metric's interval. What was still under way when the trials ended may arrive or be lost: it
    is in the upper end of a fraction that does not count it."""
    metric = arm.metrics.get(name)
    low, high = _bounds(metric)
    waiting = waiting_of(name, arm)
    if waiting is None or not metric or not metric.count:
        return low, high
    return low, high + waiting.under_way / metric.count


def waiting_of(name: str, arm: Arm) -> Waiting | None:
    """What counts the messages that were under way, of a fraction that leaves them out; None where
    nothing was, or the metric is no such fraction."""
    if name not in WITHOUT_UNDER_WAY:
        return None
    return arm.losses if name in OF_LEDGER else arm.chain


def _bounds(metric: Metric | None) -> tuple[float, float]:
    """A METRIC's interval; from -inf to inf where it has no data, to inf where it is a lower
    bound."""
    if metric is not None and metric.at_least is not None:
        return metric.at_least, math.inf
    if metric is None or metric.low is None or metric.high is None:
        return -math.inf, math.inf
    return metric.low, metric.high


def _why_none(failures: Sequence[Failure]) -> str:
    for failure in failures:
        reason = ((failure.reason or "").splitlines() or ["no reason recorded"])[0]
        return f"trial {failure.trial} {failure.status}: {reason}"
    return "no trial was run"


def of_condition(arms: Mapping[str, Judged]) -> Condition:
    """Over the arms that were compared; those that are not supported are not part of it."""
    able = {name: judged.may for name, judged in arms.items() if judged.outcome != NOT_SUPPORTED}
    if all(arms[name].outcome == NO_DATA for name in able):
        return Condition(NO_DATA)
    some = [name for name, may in able.items() if may & {ACCEPTABLE, DEGRADED}]
    silent = [name for name, may in able.items() if NONE in may]
    may: list[Condition] = []
    if all(ACCEPTABLE in found for found in able.values()):
        may.append(Condition(ALL_ACCEPTABLE))
    if _may_be_degraded(able, some):
        may.append(Condition(DEGRADED))
    if len(able) > 1:
        may += [
            Condition(ONLY, name)
            for name in some
            if all(other in silent for other in able if other != name)
        ]
    if len(silent) == len(able):
        may.append(Condition(NONE))
    if len(may) == 1:
        return may[0]
    return Condition(
        UNDECIDED, may=tuple(f"{ONLY} {one.only}" if one.only else one.outcome for one in may)
    )


def _may_be_degraded(able: Mapping[str, frozenset[str]], some: list[str]) -> bool:
    """Whether it is possible that messages arrive with two arms or more (with the one, where there
    is but one), not all of them acceptable: one arm that is not, and enough others with
    messages."""
    if len(able) == 1:
        return any(DEGRADED in may for may in able.values())
    others = {name: len(some) - (name in some) for name in able}
    return any(
        (DEGRADED in may and others[n] >= 1) or (NONE in may and others[n] >= 2)
        for n, may in able.items()
    )
