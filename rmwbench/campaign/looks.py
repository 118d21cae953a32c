"""The looks of a campaign. A look ends the campaign if everything is decided; otherwise decided
cells are dropped, and the open ones get their time. A fixed design has a look only if its time ends
before its plan: the journal then has the share of the error that this look spent, and a resumed
campaign has the rest."""

from collections.abc import Callable

from rmwbench.analysis.metrics.stability import Drift
from rmwbench.bundle import BundleWriter
from rmwbench.bundle.journal import CellsDropped
from rmwbench.campaign.course import Course
from rmwbench.campaign.interim_look import Judge, Look
from rmwbench.campaign.plan.plan import Plan
from rmwbench.campaign.progress import Progress
from rmwbench.errors import UserError

LookMaker = Callable[[int, float, bool], Look]
"""A function that makes the look after so many blocks, from the minutes per block and whether the
time is over."""


class InterimLooks:
    """The looks of one campaign. `races`: decided cells are dropped here; otherwise the caller
    decides what is dropped."""

    def __init__(
        self,
        plan: Plan,
        course: Course,
        writer: BundleWriter,
        judge: LookMaker | None = None,
        *,
        races: bool = True,
    ):
        self._plan, self._course, self._writer, self._races = plan, course, writer, races
        self._judge: LookMaker = judge or Judge(plan, writer.directory)

    def rising(self) -> dict[int, Drift]:
        """Return cell → the rise of its latency within its window; empty with another judge, or if
        records contradict their format."""
        try:
            return self._judge.rising() if isinstance(self._judge, Judge) else {}
        except UserError:
            return {}  # the report has this error

    def take(self, progress: Progress, elapsed_s: float, *, over: bool) -> None:
        """Make the look that is due, or, with time `over`, the last look at the blocks so far."""
        course = self._course
        blocks = course.blocks_done if over or course.next_look is None else course.next_look
        blocks_done = course.blocks_done
        minutes_per_block = (
            elapsed_s / blocks_done if blocks_done and not course.resumed else self._plan.block_s
        ) / 60
        try:
            look = self._judge(blocks, minutes_per_block, over)
        except UserError as error:  # the report has this error, too; the trials are kept
            self._writer.note(f"look after block {blocks}: {error}")
            course.looked(blocks, decided=False)
            return
        stop = "time" if over else "maximum" if blocks == self._plan.blocks else None
        # without verdicts because the machine spoilt all blocks, later blocks may give one
        waits = not look.of and course.spoilt_any
        if self._plan.sequential and not look.open and not waits:
            stop = "decided"
        self._writer.append(look.line(self._plan, stop))
        course.looked(blocks, decided=stop == "decided")
        progress.look(look, stop)
        if stop is None and self._races:
            self._race(progress, look)

    def _race(self, progress: Progress, look: Look) -> None:
        """Drop the decided cells from the next blocks."""
        course = self._course
        remaining_cells = {trial.cell for trial in course.rest}
        if cells := [cell for cell in look.leaving if cell in remaining_cells]:
            self._writer.append(
                CellsDropped(blocks=course.blocks_done, cells=tuple(cells), why="decided")
            )
            course.drop(cells)
            progress.say(
                f"decided, and not run any more: {len(cells)} of {len(remaining_cells)} cells"
            )
