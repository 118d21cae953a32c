"""Trials with longer windows, after the last block, for arms whose latency rises within the window:
they show whether it settles or grows on.

Such a trial is in no block and in no metric (its status is `settling`): a longer window is another
condition, and an arm with it cannot be compared with the others. It runs only in time that the
campaign has left.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.journal import SETTLING
from rmwbench.campaign.course import Batch
from rmwbench.campaign.plan.plan import Plan, Trial
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial_lab import TrialEnd
from rmwbench.suite.cells import Cell
from rmwbench.suite.seed import derive_seed
from rmwbench.suite.workload.endpoints import endpoints

FACTORS = (4, 16)
"""The multiples of the suite's window that are tried, in order."""
LONGEST_S = 12.0
"""The longest window: a queue that has grown for so long does not settle."""
SPARE = 1.5
"""The longest time of a trial, as a multiple of its timeline."""


def orders(
    plan: Plan,
    cells: Iterable[int],
    bundle: Bundle,
    order: Callable[[Trial], Order],
    left_s: Callable[[], float],
) -> Iterator[Order]:
    """Yield the trials one after the other; each is in the bundle before the next one is requested.
    `order` makes the order of a trial; `left_s` returns the time that is left."""
    for number in cells:
        for factor in FACTORS:
            cell = _lengthened(plan.cell(number), factor)
            if cell is None or left_s() < SPARE * cell.timeline.duration_s:
                break
            bundle.reload()
            last = max((line.trial for line in bundle.trials()), default=0)
            seed = derive_seed(plan.seed, SETTLING, cell.number, last + 1)
            trial = Trial(last + 1, cell.number, plan.blocks, 0, seed, cell.timeline.duration_s)
            yield replace(order(trial), cell=cell)
            if not _rises(bundle, trial.trial):
                break


def text(cell: Cell) -> str:
    return f"{cell.comparison}: {cell.arm.name} with a window of {cell.timeline.steady_s:g} s"


def batch(end: TrialEnd, writer: BundleWriter) -> Batch | None:
    """Return the batch of such a trial; None, with a note, if it did not end well."""
    cell = end.order.cell
    if end.status != "done":
        writer.note(f"a longer window for {cell.arm.name} ended {end.status}: {end.reason}")
        return None
    why = f"its window was {cell.timeline.steady_s:g} s long, to see whether its latency settles"
    trial = Trial(end.order.trial, cell.number, end.order.block, 0, end.order.seed, 0.0)
    return Batch([(trial, end.status)], settling=why)


def _rises(bundle: Bundle, number: int) -> bool:
    """Whether the latency still rises in this trial; False if it did not end well."""
    bundle.reload()
    lines = [line for line in bundle.trials(SETTLING) if line.trial == number]
    return any(measure_trial(evidence).rises for evidence in bundle.evidence(lines))


def _lengthened(cell: Cell, factor: int) -> Cell | None:
    """Return the cell with a window that is `factor` times as long; None beyond LONGEST_S."""
    steady_s = factor * cell.timeline.steady_s
    if steady_s > LONGEST_S:
        return None
    timeline = cell.timeline.lasting(steady_s)
    return replace(cell, timeline=timeline, endpoints=endpoints(cell.workload, timeline))
