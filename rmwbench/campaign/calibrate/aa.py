"""Every middleware against itself: no verdict may see a difference, and the spread of the ratios is
the A/A noise, below which this machine, on this day, shows no difference."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rmwbench.analysis.verdicts.ratio import have_both
from rmwbench.campaign.calibrate import recovery
from rmwbench.campaign.calibrate.grid import LARGE, SMALL, GridWorkload
from rmwbench.results.machine import machine_model as model
from rmwbench.results.machine.machine_model import Difference
from rmwbench.words.numbers import counted

CLASSES = (SMALL, LARGE)
FLOOR_BLOCKS = 5
"""The blocks that a floor is stated for: the fewest that give a verdict, however many the
calibration itself had."""
CLEAN: Difference = "no difference"
DIFFERENT: Difference = "different"
UNKNOWN: Difference = "could not tell"


@dataclass(frozen=True)
class EqualArms:
    """A middleware against itself in one workload. `logs` are the logarithms of its block ratios, B
    over A; `first` is the reason of a difference that a second run did not confirm."""

    middleware: str
    size: str
    outcome: Difference
    verdicts: tuple[str, str]
    logs: tuple[float, ...]
    reason: str | None = None
    first: str | None = None

    @property
    def floor(self) -> model.PairFloor | None:
        """This arm's own floor at this message size. No decision uses it."""
        floor = recovery.aa_floor_of_pair(self.logs, FLOOR_BLOCKS)
        if floor is None:
            return None
        value, low, high = (round(number, 4) for number in floor)
        return model.PairFloor(value=value, low=low, high=high)

    def answer(self) -> model.Pair:
        logs = self.logs
        return model.Pair(
            middleware=self.middleware,
            workload=self.size,
            outcome=self.outcome,
            verdicts=self.verdicts,
            block_log_ratios=tuple(round(x, 5) for x in logs),
            ratio=round(math.exp(sum(logs) / len(logs)), 4) if logs else None,
            floor=self.floor,
            reason=self.reason,
            unconfirmed=self.first,
        )


def judge(document: Mapping[str, Any], workloads: Sequence[GridWorkload]) -> list[EqualArms]:
    """Return the outcome of each pair from its verdicts in the show document."""
    shown_workloads = {workload["workload"]: workload for workload in document["workloads"]}
    return [_pair(workload, shown_workloads.get(workload.name)) for workload in workloads]


def _pair(workload: GridWorkload, shown_workload: Mapping[str, Any] | None) -> EqualArms:
    size, _, middleware = workload.name.partition("_")
    arms = {arm["arm"]: arm for arm in (shown_workload or {}).get("arms", [])}
    sides = [arms[arm.name] for arm in workload.arms if arm.name in arms]
    if shown_workload is None or len(sides) < len(workload.arms):
        return EqualArms(
            middleware, size, UNKNOWN, ("no data", "no data"), (), "the campaign has no such pair"
        )
    verdicts = tuple(side["verdict"]["verdict"] for side in sides)
    a, b = (_values(side, shown_workload["primary_metric"]) for side in sides)
    common = sorted(a.keys() & b.keys())
    logs = tuple(
        math.log(b[block] / a[block])
        for block in common
        if math.isfinite(a[block]) and math.isfinite(b[block])
    )
    outcome: Difference = CLEAN
    reason: str | None = None
    if "worse" in verdicts:
        outcome, reason = DIFFERENT, sides[verdicts.index("worse")]["verdict"]["reason"]
    elif "no data" in verdicts or len(common) < 5:
        outcome, reason = UNKNOWN, _why_not(sides, len(common))
    return EqualArms(middleware, size, outcome, verdicts, logs, reason)


def _values(arm: Mapping[str, Any], metric: str) -> dict[int, float]:
    return {item["block"]: float(item["value"]) for item in arm["per_trial"].get(metric, [])}


def _why_not(sides: Sequence[Mapping[str, Any]], common: int) -> str:
    failures = [failure for side in sides for failure in side["trials"]["failures"]]
    if failures:
        return (
            f"{counted(len(failures), 'trial')} not done; the first: "
            f"{str(failures[0]['reason']).splitlines()[0]}"
        )
    return f"{have_both(common)}, 5 are needed"


def confirm(first: Sequence[EqualArms], again: Sequence[EqualArms]) -> list[EqualArms]:
    """Return the pairs with the outcome of the second run for those that were different in the
    first one only: one calibration in twenty has such a pair by chance."""
    second_run = {(pair.middleware, pair.size): pair for pair in again}
    pairs = []
    for pair in first:
        second = second_run.get((pair.middleware, pair.size))
        if pair.outcome == DIFFERENT and second is not None and second.outcome != DIFFERENT:
            pair = replace(second, logs=pair.logs + second.logs, first=pair.reason)
        pairs.append(pair)
    return pairs


def floors(pairs: Sequence[EqualArms], blocks: int = FLOOR_BLOCKS) -> dict[str, float | None]:
    """Return the A/A noise of campaigns of `blocks` blocks per size of message, and under `all` the
    largest."""
    floor_of_size = {
        size: recovery.aa_floor(
            [np.array(pair.logs) for pair in pairs if pair.size == size and pair.logs], blocks
        )
        for size in CLASSES
    }
    measured_floors = [floor for floor in floor_of_size.values() if floor is not None]
    return floor_of_size | {"all": max(measured_floors, default=None)}


def aa_answer(pairs: Sequence[EqualArms]) -> model.AA:
    """Return the answer on all pairs: counts by outcome, and the floors of this machine."""
    ends = Counter(pair.outcome for pair in pairs)
    return model.AA(
        total=len(pairs),
        different=ends[DIFFERENT],
        unknown=ends[UNKNOWN],
        unconfirmed=sum(pair.first is not None for pair in pairs),
        floor_blocks=FLOOR_BLOCKS,
        floor={name: None if x is None else round(x, 4) for name, x in floors(pairs).items()},
        pairs=tuple(pair.answer() for pair in pairs),
    )
