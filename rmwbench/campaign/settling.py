"""After the last block: where the latency of an arm rises within its window, longer windows say
whether it settles or grows on.

Such a trial is in no block and in no metric (its status is `settling`): a longer window is another
condition, and an arm that got one alone would not be compared with the others under theirs. It runs
only in time that the campaign has left.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rmwbench.analysis.metrics.trial import measure_trial
from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.campaign.plan.plan import Plan, Trial
from rmwbench.campaign.record.write import write_trial
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial import run_trial
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell
from rmwbench.suite.seed import derive_seed
from rmwbench.suite.workload.endpoints import endpoints

SETTLING = "settling"
FACTORS = (4, 16)
"""Times the window of the suite."""
LONGEST_S = 12.0
"""Of a window: a queue that has grown for so long is called growing."""
SPARE = 1.5
"""A trial may take so much longer than its timeline."""


@dataclass(frozen=True)
class Settling:
    """What is asked of a campaign whose blocks are over. `order`: of a trial of the plan; `left_s`:
    the time that is left."""

    plan: Plan
    workers: Mapping[str, Worker]
    writer: BundleWriter
    order: Callable[[Trial], Order]
    left_s: Callable[[], float]
    say: Callable[[str], None]

    def run(self, cells: Mapping[int, object]) -> None:
        """Of these cells, one after the other."""
        for number in cells:
            cell = self.plan.cell(number)
            for factor in FACTORS:
                longer = _lengthened(cell, factor)
                if longer is None or self.left_s() < SPARE * longer.timeline.duration_s:
                    break
                if not self._rises_still(longer):
                    break

    def _rises_still(self, cell: Cell) -> bool:
        bundle = Bundle(self.writer.directory)
        number = max((line.trial for line in bundle.trials()), default=0) + 1
        seed = derive_seed(self.plan.seed, SETTLING, cell.number, number)
        trial = Trial(number, cell.number, self.plan.blocks, 0, seed, cell.timeline.duration_s)
        steady_s = cell.timeline.steady_s
        self.say(f"{cell.comparison}: {cell.arm.name} with a window of {steady_s:g} s")
        result = run_trial(replace(self.order(trial), cell=cell), self.workers)
        if result.status != "done":
            text = f"a longer window for {cell.arm.name} ended {result.status}: {result.reason}"
            self.writer.note(text)
            return False
        reason = f"its window was {steady_s:g} s long, to see whether its latency settles"
        write_trial(self.writer, replace(result, status=SETTLING, reason=reason))
        bundle.reload()
        (evidence,) = bundle.evidence(x for x in bundle.trials(SETTLING) if x.trial == number)
        return measure_trial(evidence).rises


def _lengthened(cell: Cell, factor: int) -> Cell | None:
    """With a window so many times as long; None where that is longer than any is made."""
    steady_s = factor * cell.timeline.steady_s
    if steady_s > LONGEST_S:
        return None
    timeline = cell.timeline.lasting(steady_s)
    # with the room that so many messages need
    return replace(cell, timeline=timeline, endpoints=endpoints(cell.workload, timeline))
