"""A look by the suite's limits instead of by comparisons: a campaign ends as soon as each arm meets
or misses them, and settled cells leave the next blocks.

If an interval of 95 % is looked at several times, it excludes the truth more often than once in
twenty. So a look judges every limit by an interval that is wider, according to its share of the
error (`PrintedInterval`). By the union bound, the probability of a false answer is at most 2.5 %
for the last look plus half of the shares of the earlier looks; with a one-sided bound, twice that.
"""

from dataclasses import replace
from pathlib import Path

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.verdicts.limit_outcomes import OPEN, SETTLED_BY_BLOCKS
from rmwbench.bundle.journal import OpenComparisonLine
from rmwbench.campaign.interim_look import Judge, Look, deciding_comparisons
from rmwbench.campaign.plan.plan import Plan
from rmwbench.results.show_document import summarise
from rmwbench.results.show_model import ArmInCondition


class LimitsJudge(Judge):
    """The judge of a campaign by limits. Its looks have the usual verdicts, but count limits as
    decided or open."""

    def __init__(self, plan: Plan, directory: Path):
        super().__init__(plan, directory)
        self._measured_trials: dict[int, MeasuredTrial] = {}

    def __call__(self, blocks: int, minutes_per_block: float, ended: bool) -> Look:
        look = super().__call__(blocks, minutes_per_block, ended)
        outcomes = summarise(
            self._bundle, measured_trials=self._measured_trials, limits_error=look.alpha
        ).outcomes
        judged_arms = [
            (condition.workload, arm)
            for condition in (outcomes.conditions if outcomes else ())
            for arm in condition.arms
        ]
        settled_cells = {
            self._looks.cells.get((key, arm.arm)) for key, arm in judged_arms if is_settled(arm)
        }
        comparisons = deciding_comparisons(self._plan)
        deciding = [(key, arm) for key, arm in judged_arms if key in comparisons]
        unsettled = [(key, arm) for key, arm in deciding if not is_settled(arm)]
        return replace(
            look,
            decided=len(deciding) - len(unsettled),
            open=tuple(
                OpenComparisonLine(comparison=key, arm=arm.arm, reason=arm.reason)
                for key, arm in unsettled
            ),
            leaving=tuple(sorted(cell for cell in settled_cells if cell is not None)),
        )


def is_settled(arm: ArmInCondition) -> bool:
    """Whether an arm's outcome is final. An arm without data is: a trial that failed in every block
    will fail in the next."""
    return arm.outcome != OPEN or arm.why not in SETTLED_BY_BLOCKS
