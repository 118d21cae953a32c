"""The blocks of a plan on one machine, one trial after the other. Between blocks, while no window
is open, a sequential campaign looks at its results and may end.

After the last block there are trials with longer windows, for arms whose latency rises within the
window: they show whether it settles or grows on. Such a trial is in no block and in no metric (its
status is `settling`): a longer window is another condition, and an arm with it cannot be compared
with the others. It runs only in time that the campaign has left.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.markup import escape

from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.journal import SETTLING, CellsDropped
from rmwbench.campaign.course import (
    Batch,
    Course,
    has_time,
    limit_s,
    may_repeat,
    may_repeat_needed,
)
from rmwbench.campaign.looks import InterimLooks, LookMaker
from rmwbench.campaign.plan.plan import Plan, Trial, duration_text
from rmwbench.campaign.progress import Progress, announce
from rmwbench.campaign.run import TrialSource, order
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.campaign.trial_lab import TrialEnd
from rmwbench.errors import UserError
from rmwbench.suite.cells import Cell
from rmwbench.suite.seed import derive_seed
from rmwbench.suite.workload.endpoints import endpoints
from rmwbench.words.numbers import counted


@dataclass(frozen=True)
class DroppedCells:
    """The cells that need not run any more, each with its reason (a code), and a text for
    the user."""

    cells: Mapping[int, str]
    text: str = ""


@dataclass(frozen=True)
class Hold:
    """The policy of a caller that may drop cells between blocks. `drop` returns the cells that need
    not run any more, from the number of blocks done, the seconds passed, and cell → the seconds of
    its trials in the next block. `share_s` is the time that the campaign may take."""

    drop: Callable[[int, float, Mapping[int, float]], DroppedCells]
    share_s: float


class BlockSource(TrialSource):
    """The source of a plan's blocks. `judge` makes the looks; `hold` may drop cells after any
    block."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        course: Course,
        writer: BundleWriter,
        *,
        judge: LookMaker | None = None,
        hold: Hold | None = None,
    ):
        self.name, self.plan, self.course, self.hold = name, plan, course, hold
        self._writer, self._judge = writer, judge
        self._progress: Progress
        self._looks: InterimLooks
        self._started_s = time.monotonic()
        self._planned_s = 0.0
        """The planned time of the trials that have run."""
        self._at_block = True
        """Whether a pause must come before the next trial."""
        self._began_s: dict[int, float] = {}
        self._settling: Iterator[Order] | None = None
        self._longer: Order | None = None

    @property
    def finished(self) -> bool:
        return self.course.finished

    @property
    def decided(self) -> bool:
        return self.course.decided

    def begin(self, console: Console, ungranted: Iterable[str]) -> None:
        resumed = self.hold is None and self.course.resumed
        self._progress = Progress(
            self.plan,
            console,
            self.course,
            None if resumed else self._left_s,
            controlled=self.hold is not None,
        )
        announce(self._progress.say, self.plan, ungranted)
        self._started_s = time.monotonic()
        self._looks = InterimLooks(
            self.plan, self.course, self._writer, self._judge, races=self.hold is None
        )

    def take(self, machine: str) -> Order | None:
        if self._settling is not None:
            longer, self._longer = self._longer, None
            return longer
        trial = self.course.next
        if self._at_block or trial is None:
            return None
        self._began_s[trial.trial] = time.monotonic()
        self._progress.begin(trial)
        return self._order(trial)

    def ended(self, end: TrialEnd) -> Batch | None:
        if self._settling is not None:
            return settling_batch(end, self._writer)
        trial = self.course.next
        assert trial is not None
        self._planned_s += trial.estimated_s
        self.course.ended(trial, end.status, end.cause, self._may_repeat(trial))
        self._at_block = self.course.begins_block
        spoilt = self.course.spoilt
        return Batch([(trial, end.status)], {} if spoilt is None else {trial.trial: spoilt})

    def written(self, batch: Batch, results: Sequence[TrialResult]) -> None:
        if batch.settling is not None:
            return
        trial, status = batch.ended[0]
        took_s = time.monotonic() - self._began_s.pop(trial.trial)
        self._progress.end(trial, status, results[0].reason, took_s)
        if self._began_s and self.course.next:  # its host is starting
            self._progress.begin(self.course.next)

    def pause(self) -> bool:
        if self._at_block:
            self._at_block = False
            if self._between_blocks():
                return True
        if self._settling is None:
            if self.hold is not None or not self.course.finished:
                return False
            self._settling = settling_orders(
                self.plan,
                self._looks.rising(),
                Bundle(self._writer.directory),
                self._order,
                self._left_s,
            )
        self._longer = next(self._settling, None)
        if self._longer is None:
            return False
        self._progress.say(escape(settling_text(self._longer.cell)))
        return True

    def close(self, stopped_by: str | None) -> None:
        self._progress.close()

    def _order(self, trial: Trial) -> Order:
        cell = self.plan.cell(trial.cell)
        return order(self.name, self.plan.seed, trial, cell, self._writer.directory)

    def _left_s(self) -> float:
        """Return the time left: of the plan, which a resumed campaign does not observe, or of the
        hold."""
        share_s = limit_s(self.plan) if self.hold is None else self.hold.share_s
        return share_s - self._elapsed_s()

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def _between_blocks(self) -> bool:
        """Make the look that is due; return whether another block is to run."""
        course, blocks, elapsed_s = self.course, self.course.blocks_done, self._elapsed_s()
        if self.hold is not None and course.next and not course.late:
            self._drop(self.hold, blocks, elapsed_s)
        if course.late:
            self._give_up()
        over = (
            not course.resumed
            and not course.late
            and bool(course.next)
            and not has_time(self.plan, blocks, elapsed_s, self._next_block_s(elapsed_s))
        )
        if course.look_due or over:
            self._looks.take(self._progress, elapsed_s, over=over)
        if over and not course.finished:
            self._leave_out(elapsed_s)
            return False
        return course.next is not None

    def _drop(self, hold: Hold, blocks: int, elapsed_s: float) -> None:
        next_s = self._progress.expected_s(blocks)
        dropped = hold.drop(blocks, elapsed_s, next_s)
        for why in dict.fromkeys(dropped.cells.values()):
            if cells := sorted(
                cell for cell, reason in dropped.cells.items() if reason == why and cell in next_s
            ):
                self._writer.append(CellsDropped(blocks=blocks, cells=tuple(cells), why=why))
        self.course.drop(dropped.cells)
        if dropped.text:
            self._progress.say(escape(dropped.text))

    def _next_block_s(self, elapsed_s: float) -> float | None:
        """Return the expected time of the next block without the dropped cells: its planned time,
        multiplied by the ratio of the time so far to its plan. None before the first trial."""
        following = self.course.next
        if following is None or not self._planned_s:
            return None
        left_s = sum(t.estimated_s for t in self.course.rest if t.block == following.block)
        return left_s * elapsed_s / self._planned_s

    def _leave_out(self, elapsed_s: float) -> None:
        text = omission_text(self.plan, self.course.blocks_done, elapsed_s, limit_s(self.plan))
        self._writer.note(text)
        self._progress.say(f"{text}; `rmwbench resume` runs them")

    def _give_up(self) -> None:
        """Give up the postponed blocks for which no time is left, until one for which there is."""
        count = 0
        while (trial := self.course.next) and not self._may_repeat(trial):
            self.course.give_up()
            count += 1
        if count:
            text = (
                f"no time for {counted(count, 'block')} of a comparison that the machine "
                "spoilt twice"
            )
            self._writer.note(text)
            self._progress.say(
                f"{text}; `rmwbench resume` runs {'it' if count == 1 else 'them'}, for its numbers: "
                "verdicts that were given stay"
            )

    def _may_repeat(self, trial: Trial) -> bool:
        """Whether the block of the trial's comparison may run again if the machine has spoilt
        it."""
        if self.course.resumed:
            return True
        repeated = self.course.block_of(trial)
        numbers = {t.trial for t in repeated}
        others_s = sum(
            t.estimated_s
            for t in self.course.rest
            if t.block == trial.block and t.trial not in numbers
        )
        again_s, elapsed_s = sum(t.estimated_s for t in repeated), self._elapsed_s()
        block = self.plan.blocks if self.course.late else trial.block
        if may_repeat(self.plan, block, elapsed_s, again_s, others_s):
            return True
        return self.course.needs(trial) and may_repeat_needed(self.plan, elapsed_s, again_s)


def omission_text(plan: Plan, blocks_done: int, elapsed_s: float, allowed_s: float) -> str:
    return (
        f"{plan.blocks - blocks_done} of {plan.blocks} blocks left out: "
        f"{duration_text(elapsed_s)} had passed, of {duration_text(allowed_s)} allowed"
    )


WINDOW_FACTORS = (4, 16)
"""The multiples of the suite's window that are tried, in order."""
LONGEST_WINDOW_S = 12.0
"""The longest window: a queue that has grown for so long does not settle."""
SETTLING_SPARE = 1.5
"""The longest time of a trial, as a multiple of its timeline."""


def settling_orders(
    plan: Plan,
    cells: Iterable[int],
    bundle: Bundle,
    order_of: Callable[[Trial], Order],
    left_s: Callable[[], float],
) -> Iterator[Order]:
    """Yield the trials with longer windows one after the other; each is in the bundle before the
    next one is requested. `order_of` makes the order of a trial; `left_s` returns the time that is
    left."""
    for number in cells:
        for factor in WINDOW_FACTORS:
            cell = _lengthened(plan.cell(number), factor)
            if cell is None or left_s() < SETTLING_SPARE * cell.timeline.duration_s:
                break
            bundle.reload()
            last = max((line.trial for line in bundle.trials()), default=0)
            seed = derive_seed(plan.seed, SETTLING, cell.number, last + 1)
            trial = Trial(last + 1, cell.number, plan.blocks, 0, seed, cell.timeline.duration_s)
            yield replace(order_of(trial), cell=cell)
            if not _rises(bundle, trial.trial):
                break


def settling_text(cell: Cell) -> str:
    return f"{cell.comparison}: {cell.arm.name} with a window of {cell.timeline.steady_s:g} s"


def settling_batch(end: TrialEnd, writer: BundleWriter) -> Batch | None:
    """Return the batch of a trial with a longer window; None, with a note, if it did not end well."""
    cell = end.order.cell
    if end.status != "done":
        writer.note(f"a longer window for {cell.arm.name} ended {end.status}: {end.reason}")
        return None
    why = f"its window was {cell.timeline.steady_s:g} s long, to see whether its latency settles"
    trial = Trial(end.order.trial, cell.number, end.order.block, 0, end.order.seed, 0.0)
    return Batch([(trial, end.status)], settling=why)


def _rises(bundle: Bundle, number: int) -> bool:
    """Whether the latency still rises in this trial; False if it did not end well, or its records
    contradict their format."""
    bundle.reload()
    lines = [line for line in bundle.trials(SETTLING) if line.trial == number]
    try:
        return any(measure_trial(evidence).rises for evidence in bundle.evidence(lines))
    except UserError:
        return False  # the report has this error, too


def _lengthened(cell: Cell, factor: int) -> Cell | None:
    """Return the cell with a window that is `factor` times as long; None beyond
    LONGEST_WINDOW_S."""
    steady_s = factor * cell.timeline.steady_s
    if steady_s > LONGEST_WINDOW_S:
        return None
    timeline = cell.timeline.lasting(steady_s)
    return replace(cell, timeline=timeline, endpoints=endpoints(cell.workload, timeline))
