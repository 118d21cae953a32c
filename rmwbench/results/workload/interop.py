"""The pairs of middlewares that communicate: a workload whose arms are pairs, as one table of
talkers by listeners.

A pair is judged by what arrived, not by its rank among the others: `delivers` if every message came
sound, once and in order; `degraded` if messages had a fault, or if some trials failed by the pair's
own fault; `no delivery` if the two matched and nothing arrived; `no match` or `failed` if no trial
was completed; `no data` if no message was due; `not supported` if one side cannot do what the
workload asks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from rmwbench.analysis.metrics.aggregate import UNDELIVERED
from rmwbench.analysis.verdicts.limit_outcomes import SILENT
from rmwbench.analysis.verdicts.verdict import lost_by_its_arm
from rmwbench.results.model import Estimate
from rmwbench.results.show_model import Matrix, PairCell, PairOutcome, WorkloadArm
from rmwbench.words import numbers as fmt

_WRONG = (
    ("loss", "lost {}"),
    ("never_sent_share", "{} never sent"),
    ("late_share", "{} still under way"),
    ("corrupt", "{} corrupt"),
    ("duplicates", "{} doubled"),
    ("reordered", "{} out of order"),
    ("foreign", "{} foreign"),
)
OUTCOMES: dict[str, str] = {
    "delivers": "every message arrived sound, once and in order",
    "degraded": "messages arrived, but not all of them sound, once and in order",
    "no delivery": "the two found each other, and no message came through",
    "no match": "the two never found each other",
    "failed": "no trial was completed, for another reason",
    "no data": "no message was due in the steady window",
    "not supported": "one of the two cannot do what the workload asks",
    "not run": "no trial was run",
}


def pair_of(arm: dict[str, Any]) -> tuple[str, str] | None:
    """Return (talker, listener) of an arm's definition, each a middleware with its profile; None
    for an arm that is not a pair."""
    others = list((arm.get("processes") or {}).values())
    return (_label(arm), _label({**arm, **others[0]})) if len(others) == 1 else None


def _label(side: dict[str, Any]) -> str:
    profile = (side.get("profile") or {}).get("name", "untouched")
    return str(side["middleware"]) if profile == "untouched" else f"{side['middleware']} {profile}"


def matrix(arms: Sequence[WorkloadArm]) -> Matrix | None:
    """Return the table of pairs; None if fewer than two arms are pairs."""
    paired = [(arm, arm.pair) for arm in arms if arm.pair]
    if len(paired) < 2:
        return None
    return Matrix(
        talkers=tuple(dict.fromkeys(talker for _, (talker, _) in paired)),
        listeners=tuple(dict.fromkeys(listener for _, (_, listener) in paired)),
        cells=tuple(_cell(arm, *pair) for arm, pair in paired),
    )


def _cell(arm: WorkloadArm, talker: str, listener: str) -> PairCell:
    outcome, reason, flags = _outcome(arm)
    return PairCell(
        talker=talker, listener=listener, arm=arm.arm, outcome=outcome, reason=reason, flags=flags
    )


def _outcome(arm: WorkloadArm) -> tuple[PairOutcome, str, tuple[str, ...]]:
    if arm.not_supported:
        return "not supported", arm.not_supported, ()
    own_failures = [failure for failure in arm.trials.failures if lost_by_its_arm(failure)]
    failed, done = len(own_failures), arm.trials.done
    undelivered, losses = arm.metrics.get(UNDELIVERED), arm.losses
    if done and undelivered is not None and undelivered.no_data is not None:
        return "no data", OUTCOMES["no data"], ()
    if done and losses is not None and 0 < losses.wanted == losses.missing:
        return "no delivery", OUTCOMES["no delivery"], ()
    if done:
        flags = [f"failed in {failed} of {fmt.counted(done + failed, 'trial')}"] if failed else []
        flags += _flags(arm.metrics)
        return "degraded" if flags else "delivers", "; ".join(flags), tuple(flags)
    failures = own_failures or arm.trials.failures
    if not failures:
        return "not run", "", ()
    silent = failures[0].cause in SILENT
    outcome = cast(PairOutcome, failures[0].cause) if silent else "failed"
    return outcome, (failures[0].reason or "").partition("\n")[0], ()


def _flags(metrics: Mapping[str, Estimate]) -> Iterator[str]:
    for name, words in _WRONG:
        metric = metrics.get(name)
        if metric is not None and metric.value:
            share = metric.unit == "fraction"
            count = f"{fmt.concise(metric.value)} per trial"
            yield words.format(fmt.percent(metric.value, 3) if share else count)
