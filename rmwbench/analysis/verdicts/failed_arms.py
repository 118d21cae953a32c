"""A trial that failed by the worker's fault is a block that its arm lost: none of its messages
arrived. A trial that the machine or the orchestrator spoilt says nothing about an arm and is in no
block."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from statistics import median_low
from typing import Any, Protocol

from rmwbench.analysis.metrics.glossary import Better, Metric
from rmwbench.analysis.verdicts.verdict import JudgedArm
from rmwbench.codes import FailedBy

ALL_LOST = 1.0
"""The loss of a failed trial: no message of the trial reached a reader, or the end of a chain. How
many messages it sent is not known, so it is in no share of late messages or of messages never
sent."""


class FailedLine(Protocol):
    @property
    def status(self) -> str: ...

    @property
    def failed_by(self) -> str | None: ...


def lost_by_its_arm(line: FailedLine) -> bool:
    """Whether a finished trial is a block that its arm lost. A journal that does not say whose
    fault a failure was is from an older version: nearly all its failures were the workers'."""
    return line.status == "failed" and (line.failed_by or FailedBy.WORKER) == FailedBy.WORKER


def with_failed_blocks(arms: Sequence[JudgedArm]) -> list[JudgedArm]:
    """The arms of one workload with their failed blocks: +inf in `primary`, and in `undelivered` as
    many messages, none of them delivered, as a trial of this arm, or else of this workload, usually
    has. `undelivered` stays empty for metrics without messages."""
    of_workload = [wanted for arm in arms for _, wanted in arm.undelivered.values()]
    judged_arms = []
    for arm in arms:
        lost = sorted(arm.failed - arm.primary.keys())
        wanted = [wanted for _, wanted in arm.undelivered.values()] or of_workload
        messages = dict.fromkeys(lost, (median_low(wanted),) * 2) if wanted else {}
        primary = dict(arm.primary) | dict.fromkeys(lost, inf)
        undelivered = dict(arm.undelivered) | messages
        judged_arms.append(replace(arm, primary=primary, undelivered=undelivered) if lost else arm)
    return judged_arms


def with_lost(
    entry: Metric, values: Mapping[int, Any], lost: Iterable[int], *, primary: bool
) -> dict[int, Any]:
    """Block -> value, or (events, of) of a fraction, with the blocks that an arm lost. Such a block
    is infinite in latencies and in the `primary` metric, or 0 where a larger value is better; it
    has as many messages as usual, and none is delivered. The cost of a lost block is not known."""
    lost = sorted(set(lost) - values.keys())
    if not values or not lost:
        return dict(values)
    if entry.failed_value == ALL_LOST:
        usual = median_low(of for _, of in values.values())
        return dict(values) | dict.fromkeys(lost, (usual, usual))
    if not (primary or entry.is_latency):
        return dict(values)
    worst = 0.0 if entry.better is Better.HIGHER else inf
    return dict(values) | dict.fromkeys(lost, worst)


def undelivered_shares(arms: Sequence[JudgedArm]) -> dict[str, float]:
    """Arm -> the fraction of its messages that it did not deliver, with the blocks that it lost; 0
    for an arm without messages. `arms` are of one workload or of one of its topics."""
    return {arm.name: arm.undelivered_share for arm in with_failed_blocks(arms)}


def works_never(arm: JudgedArm) -> bool:
    """Whether the arm was tried, and failed every time."""
    return bool(arm.failed) and not arm.primary and not arm.undelivered
