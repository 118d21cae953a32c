"""The progress of a campaign on stderr: one line with its position and the time left.

The line is drawn between trials only: a redraw inside a window would be measured. The time left
follows from the times of the campaign's own trials: for a cell that has run, from its mean; for
another cell, from the plan's estimate plus the mean surplus so far. The end of a sequential
campaign is unknown: the line has the time of the next look, and the longest time left.
"""

import math
import re
from collections.abc import Callable, Iterable

from rich.console import Console
from rich.markup import escape

from rmwbench.campaign.course import UNSUPPORTED, Course, SpoiltBlock
from rmwbench.campaign.looks import Look
from rmwbench.campaign.plan.plan import Plan, Trial, duration_text
from rmwbench.campaign.plan.unsupported_cells import NOT_SUPPORTED, few, unsupported_lines
from rmwbench.campaign.trial.outcome import SPOILT_KEPT, keeps_spoilt
from rmwbench.command_name import as_typed
from rmwbench.suite.arm import left_out_lines

LONGEST_MINUTES = 24 * 60
"""The longest campaign that is suggested."""


class Progress:
    """The line on a console. Call `begin` before a trial, `end` after it, `look` after a look. On a
    terminal the line is redrawn; elsewhere each block ends with a line."""

    def __init__(
        self,
        plan: Plan,
        console: Console,
        course: Course,
        limit_s: Callable[[], float] | None = None,
        *,
        controlled: bool = False,
    ):
        """`limit_s` returns the time that the campaign may still take, beyond its minimum of
        blocks. `controlled`: the caller may end the campaign after any block."""
        self._plan, self._console, self._course, self._limit_s = plan, console, course, limit_s
        self._controlled = controlled
        self._took_s: dict[int, list[float]] = {}
        self._surplus_s: list[float] = []
        self._mean_surplus_s = 0.0
        self._failed = self._void = 0
        self._printed_failures: set[tuple[int, str]] = set()

    def begin(self, trial: Trial) -> None:
        cell = self._plan.cell(trial.cell)
        self._draw(trial, f"{cell.comparison}: {cell.arm.name}")

    def end(self, trial: Trial, status: str, reason: str | None, took_s: float) -> None:
        """Note the end of a trial that the course has noted already. `took_s` includes the writing
        of its tables."""
        spoilt = self._course.spoilt
        self._count(trial, status, took_s)
        self._void += len(spoilt.voids) if spoilt else 0
        self._print_reason(trial, status, reason, spoilt)
        if self._course.begins_block and not self._is_drawn:
            goes_on = self._course.next and not self._course.look_due
            remaining = f", {self._remaining_text()}" if goes_on else ""
            self.say(f"block {trial.block + 1} of {self._most()} done{remaining}")

    def _count(self, trial: Trial, status: str, took_s: float) -> None:
        self._took_s.setdefault(trial.cell, []).append(took_s)
        self._surplus_s.append(took_s - trial.estimated_s)
        self._mean_surplus_s = sum(self._surplus_s) / len(self._surplus_s)
        self._failed += status == "failed"
        self._void += status == "void"

    def _print_reason(
        self, trial: Trial, status: str, reason: str | None, spoilt: SpoiltBlock | None
    ) -> None:
        """Print the reason of a trial once, even if it returns in every block with other
        numbers."""
        failure = trial.cell, re.sub(r"\d+", "", reason or "")
        if reason and failure not in self._printed_failures:
            self._printed_failures.add(failure)
            cell = self._plan.cell(trial.cell)
            outcome = NOT_SUPPORTED if status == UNSUPPORTED else status
            self.say(
                f"trial {trial.trial}, {escape(cell.comparison)}: {escape(cell.arm.name)} {outcome}: "
                f"{escape(reason)}" + _block_text(spoilt)
            )

    def look(self, look: Look, stop: str | None) -> None:
        text = f"look after block {look.blocks}: "
        if look.open:
            text += f"{look.decided} of {look.of} decided"
            undecided = [f"{open_.comparison}: {open_.arm}" for open_ in look.open]
            text += f"; open: {escape(few(undecided))}"
            minutes = look.minutes_to_decide
            if minutes is not None and minutes <= LONGEST_MINUTES:
                text += f"; a campaign of about {_rounded(minutes * 60)} would decide"
        else:
            spared = self._plan.blocks - look.blocks if stop == "decided" else 0
            verb = "is" if spared == 1 else "are"
            others_not_run = f"; the other {spared} of at most {self._plan.blocks} blocks {verb}"
            text += f"all {look.of} decided" if look.of else "no two arms can be compared so far"
            text += f"{others_not_run} not {'needed' if look.of else 'run'}" if spared else ""
        self.say(text)

    def left_s(self, blocks: int | None = None) -> float:
        """Return the seconds until this number of blocks, by default all, is done."""
        rest = [trial for trial in self._course.rest if blocks is None or trial.block < blocks]
        return sum(map(self._expected_s, [*rest, *(self._course.later if blocks is None else ())]))

    def expected_s(self, block: int) -> dict[int, float]:
        """Return cell → the expected time of its trials in that block."""
        expected_s: dict[int, float] = {}
        for trial in self._course.rest:
            if trial.block == block:
                expected_s[trial.cell] = expected_s.get(trial.cell, 0.0) + self._expected_s(trial)
        return expected_s

    def _expected_s(self, trial: Trial) -> float:
        if durations_s := self._took_s.get(trial.cell):
            return sum(durations_s) / len(durations_s)
        return max(0.0, trial.estimated_s + self._mean_surplus_s)

    def close(self) -> None:
        self._clear()

    def _remaining_text(self) -> str:
        """Return `about 3 min left`, or `about 2 min to the look after block 8, at most 14 min
        left`."""
        look, end_s = self._course.next_look, self._most_s()
        end = _rounded(end_s)
        if self._controlled:
            return f"at most {end} left"
        if look is None or look >= self._plan.blocks or self.left_s(look) >= end_s:
            return f"about {end} left"
        return (
            f"about {_rounded(self.left_s(look))} to the look after block {look}, at most "
            f"{end} left"
        )

    def _most_s(self) -> float:
        """Return the longest time that is left: for the rest of the plan, or until the limit, but
        with the minimum of blocks unless the caller may end the campaign earlier."""
        left_s = self.left_s()
        if self._limit_s is None:
            return left_s
        least_s = 0.0 if self._controlled else self.left_s(self._plan.suite.blocks.minimum)
        return min(left_s, max(self._limit_s(), least_s))

    def _most(self) -> str:
        open_end = self._plan.sequential or self._controlled
        return f"at most {self._plan.blocks}" if open_end else str(self._plan.blocks)

    @property
    def _is_drawn(self) -> bool:
        """Whether the line is drawn anew, since it is on a terminal. `is_terminal` is true of a log,
        too, if FORCE_COLOR is exported."""
        return self._console.file.isatty()

    def _draw(self, trial: Trial, activity: str) -> None:
        if not self._is_drawn:
            return
        bad = "".join(
            f", {count} {word}"
            for count, word in ((self._failed, "failed"), (self._void, "void"))
            if count
        )
        planned = f"trial {trial.trial}/{len(self._plan.trials)}"
        number = f"trial {trial.repeats} again" if trial.repeats else planned
        position = f"block {trial.block + 1}/{self._plan.blocks}, {number}"
        text = f"{position}{bad}, {self._remaining_text()}  {activity}"
        width = max(20, self._console.width - 1)
        self._console.file.write(
            "\r\x1b[2K" + (text if len(text) <= width else text[: width - 1] + "…")
        )
        self._console.file.flush()

    def say(self, text: str) -> None:
        """Print a line above the progress line."""
        self._clear()
        self._console.print(text)

    def _clear(self) -> None:
        if self._is_drawn:
            self._console.file.write("\r\x1b[2K")
            self._console.file.flush()


def announce(say: Callable[[str], object], plan: Plan, ungranted: Iterable[str]) -> None:
    """Print the notes before the first trial. `ungranted` has a line for each setting that the
    kernel does not grant."""
    if plan.host.shared:
        say(escape(plan.host.text()))
    if keeps_spoilt():
        say(SPOILT_KEPT)
    for text in left_out_lines(plan.left_out):
        say(f"left out: {escape(text)}")
    if plan.cut is not None:
        say(escape(plan.cut.text))
    for text in unsupported_lines(plan, plan.unsupported):
        say(f"{NOT_SUPPORTED}: {escape(text)}")
    for text in ungranted:
        say(f"not granted: {escape(as_typed(text))}")


def _block_text(spoilt: SpoiltBlock | None) -> str:
    if spoilt is None:
        return ""
    future = "runs again" if spoilt.again else "is left out"
    later = " at the end" if spoilt.put_off else ""
    return f"; its block is void for every arm, and {future}{later}"


def _rounded(seconds: float) -> str:
    """Return an estimated time in whole seconds or whole minutes."""
    unit_s = 1 if seconds < 90 else 60
    return duration_text(math.ceil(seconds / unit_s) * unit_s)
