"""A look for whoever asks whether a robot's limits are met, and not how arms compare: a campaign
ends as soon as each arm meets or misses them, and what is settled leaves the coming blocks.

An interval of 95 % that is looked at several times excludes the truth more often than once in
twenty. So a look judges every limit by an interval that is as much wider as its share of the error
asks for (`PrintedInterval`). By the union bound an answer is then false in at most 2.5 % for the
last look and half of the shares of the looks before; by a one-sided bound in twice as many.
"""

from dataclasses import replace
from pathlib import Path

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.verdicts.limit_outcomes import OPEN, SETTLED_BY_BLOCKS
from rmwbench.campaign.interim_look import (
    Judge,
    Look,
    UndecidedComparison,
    deciding_comparisons,
)
from rmwbench.campaign.plan.plan import Plan
from rmwbench.results.shown import ArmInCondition
from rmwbench.results.suite_document import summarise


class LimitsJudge(Judge):
    """Its verdicts are those of any look; what is decided and open are the limits."""

    def __init__(self, plan: Plan, directory: Path):
        super().__init__(plan, directory)
        self._measured_trials: dict[int, MeasuredTrial] = {}

    def __call__(self, blocks: int, minutes_per_block: float, ended: bool) -> Look:
        look = super().__call__(blocks, minutes_per_block, ended)
        outcomes = summarise(
            self._bundle, known=self._measured_trials, limits_error=look.alpha
        ).outcomes
        judged = [
            (condition.workload, arm)
            for condition in (outcomes.conditions if outcomes else ())
            for arm in condition.arms
        ]
        settled_cells = {
            self._looks.cells.get((key, arm.arm)) for key, arm in judged if is_settled(arm)
        }
        matter = deciding_comparisons(self._plan)
        waited_for = [(key, arm) for key, arm in judged if key in matter]
        unsettled = [(key, arm) for key, arm in waited_for if not is_settled(arm)]
        return replace(
            look,
            decided=len(waited_for) - len(unsettled),
            open=tuple(
                UndecidedComparison(key, arm.arm, arm.reason, None) for key, arm in unsettled
            ),
            leaving=tuple(sorted(cell for cell in settled_cells if cell is not None)),
        )


def is_settled(arm: ArmInCondition) -> bool:
    """Whether what a look says of an arm is final. An arm without data is not waited for: what
    failed in every block will fail in the next."""
    return arm.outcome != OPEN or arm.why not in SETTLED_BY_BLOCKS
