"""One line on stderr that says where a campaign is and how long it still takes.

It is drawn between trials only: a redraw inside a window would be measured. The time left is what this campaign's own
trials took so far, per cell where the cell has run and by the plan's estimate, corrected by the mean surplus, where it
has not.
"""

import math
import re
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from rmwbench.campaign.plan import Plan, Trial, duration_text


class Progress:
    """`begin` before a trial, `end` after it. On a terminal the line is redrawn; otherwise each block ends with a
    line."""

    def __init__(self, plan: Plan, console: Console, trials: Sequence[Trial]):
        self._plan, self._console, self._rest = plan, console, list(trials)
        self._took_s: dict[int, list[float]] = {}
        self._surplus_s: list[float] = []
        self._failed = self._void = 0
        self._told: set[tuple[int, str]] = set()

    def begin(self, trial: Trial) -> None:
        cell = self._plan.cell(trial.cell)
        self._draw(trial, f"{cell.comparison}: {cell.arm.name}")

    def end(self, trial: Trial, status: str, reason: str | None, took_s: float) -> None:
        """`took_s` is the whole trial with writing its tables."""
        self._took_s.setdefault(trial.cell, []).append(took_s)
        self._surplus_s.append(took_s - trial.estimated_s)
        self._rest.remove(trial)
        self._failed += status == "failed"
        self._void += status == "void"
        # The same failure in every block is told once, also where its numbers differ.
        if reason and (alike := (trial.cell, re.sub(r"\d+", "", reason))) not in self._told:
            self._told.add(alike)
            cell = self._plan.cell(trial.cell)
            self._clear()
            self._console.print(
                f"trial {trial.trial}, {escape(cell.comparison)}: {escape(cell.arm.name)} {status}: {escape(reason)}"
            )
        last = not any(other.block == trial.block for other in self._rest)
        if last and not self._console.is_terminal:
            left = f", about {_rounded(self.left_s())} left" if self._rest else ""
            self._console.print(f"block {trial.block + 1} of {self._plan.blocks} done{left}")

    def left_s(self) -> float:
        surplus_s = sum(self._surplus_s) / len(self._surplus_s) if self._surplus_s else 0.0

        def expected_s(trial: Trial) -> float:
            seen = self._took_s.get(trial.cell)
            return sum(seen) / len(seen) if seen else max(0.0, trial.estimated_s + surplus_s)

        return sum(map(expected_s, self._rest))

    def close(self) -> None:
        self._clear()

    def _draw(self, trial: Trial, what: str) -> None:
        if not self._console.is_terminal:
            return
        bad = "".join(f", {count} {word}" for count, word in ((self._failed, "failed"), (self._void, "void")) if count)
        left = f"about {_rounded(self.left_s())}"
        where = f"block {trial.block + 1}/{self._plan.blocks}, trial {trial.trial}/{len(self._plan.trials)}"
        text = f"{where}{bad}, {left} left  {what}"
        width = max(20, self._console.width - 1)
        self._console.file.write("\r\x1b[2K" + (text if len(text) <= width else text[: width - 1] + "…"))
        self._console.file.flush()

    def _clear(self) -> None:
        if self._console.is_terminal:
            self._console.file.write("\r\x1b[2K")
            self._console.file.flush()


def _rounded(seconds: float) -> str:
    """An estimate is no measurement: whole seconds, whole minutes."""
    return duration_text(math.ceil(seconds)) if seconds < 90 else duration_text(math.ceil(seconds / 60) * 60)
