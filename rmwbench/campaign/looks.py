"""The looks at a campaign under way, or at one whose time is over: the verdicts of its report, at the
share of alpha that this look may spend, and the deciding comparisons that are still open.

A look reads the bundle and not the trials in memory, because the report reads the bundle, too. It
reads only the trials since the last look, between two trials, while no window is open.

A campaign may be looked at by the limits of its suite instead of by comparisons: it ends as soon as
each arm meets or misses them. If an interval of 95 % is looked at several times, it excludes the
truth more often than once in twenty. So a look judges every limit by an interval that is wider,
according to its share of the error (`PrintedInterval`). By the union bound, the probability of a
false answer is at most 2.5 % for the last look plus half of the shares of the earlier looks; with a
one-sided bound, twice that.

A look ends the campaign if everything is decided; otherwise decided cells are dropped, and the open
ones get their time. A fixed design has a look only if its time ends before its plan: the journal then
has the share of the error that this look spent, and a resumed campaign has the rest.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.stability import Drift
from rmwbench.analysis.verdicts import sequential
from rmwbench.analysis.verdicts.interim import Looks, leaving
from rmwbench.analysis.verdicts.interim import rules as rules_of
from rmwbench.analysis.verdicts.limit_outcomes import OPEN, SETTLED_BY_BLOCKS
from rmwbench.analysis.verdicts.verdict import Verdict
from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.journal import CellsDropped, LookTaken, OpenComparisonLine
from rmwbench.campaign.course import Course
from rmwbench.campaign.plan.plan import Plan
from rmwbench.errors import UserError
from rmwbench.words.numbers import finite

if TYPE_CHECKING:  # neither is needed to run, and the answer takes long to import
    from rmwbench.campaign.progress import Progress
    from rmwbench.results.show_model import ArmInCondition


@dataclass(frozen=True)
class Look:
    """The result of a look after `blocks` whole blocks. `decided` counts the verdicts of deciding
    comparisons that are not open; `ended`: this is the last look in any case, because time is over
    (`sequential.alpha_at`). `open` has the undecided arms; `minutes` there is the length of a
    campaign that would decide it, None if no campaign would. `leaving` are the cells whose further
    blocks would decide nothing."""

    blocks: int
    alpha: float
    ended: bool
    decided: int
    open: tuple[OpenComparisonLine, ...]
    verdicts: Mapping[str, Mapping[str, str]]
    took_ns: int = 0
    leaving: tuple[int, ...] = ()

    @property
    def of(self) -> int:
        return self.decided + len(self.open)

    @property
    def minutes_to_decide(self) -> float | None:
        """The length in minutes of a campaign that would decide all open verdicts; None if none is
        open, or if no campaign would decide them."""
        minutes = [comparison.minutes for comparison in self.open if comparison.minutes is not None]
        return max(minutes) if minutes and len(minutes) == len(self.open) else None

    def line(self, plan: Plan, stop: str | None) -> LookTaken:
        """Return the journal's line. `stop` is the reason why the campaign ends here, or None."""
        return LookTaken(
            blocks=self.blocks,
            looks=plan.judged_after,
            alpha=round(self.alpha, 6),
            ended=self.ended,
            decided=self.decided,
            of=self.of,
            open=tuple(
                comparison.model_copy(update={"minutes": _rounded(comparison.minutes)})
                for comparison in self.open
            ),
            minutes_to_decide=_rounded(self.minutes_to_decide),
            verdicts={key: dict(words) for key, words in self.verdicts.items()},
            stop=stop,
            took_ns=self.took_ns,
        )


class Judge:
    """The judge of a campaign by verdicts. Call it after whole blocks. Raises UserError if the
    records of a trial contradict the format."""

    def __init__(self, plan: Plan, directory: Path):
        self._plan, self._bundle = plan, Bundle(directory)
        self._looks = Looks(self._bundle)

    def __call__(self, blocks: int, minutes_per_block: float, ended: bool) -> Look:
        begun_ns = time.monotonic_ns()
        looks = self._plan.judged_after
        rules = rules_of(self._bundle.campaign.machine.aa_floor, minutes_per_block)
        arms = self._looks.arms()  # before `ended_at`: it reads the journal again
        endings = self._bundle.ended_at
        verdicts = sequential.judge(arms, rules, looks, blocks=blocks, ended=ended, endings=endings)
        alpha = sequential.alpha_at(looks, blocks, alpha=rules.alpha, ended=ended, endings=endings)
        units = self._looks.comparison_of
        cells = leaving(verdicts, self._looks.cells, units)
        took_ns = time.monotonic_ns() - begun_ns
        return look_at(self._plan, blocks, alpha, ended, verdicts, took_ns, units, cells)

    def rising(self) -> dict[int, Drift]:
        """Return cell → the rise of its latency within its window, from all trials so far."""
        self._looks.arms()
        return self._looks.rising()


class LimitsJudge(Judge):
    """The judge of a campaign by limits. Its looks have the usual verdicts, but count limits as
    decided or open."""

    def __init__(self, plan: Plan, directory: Path):
        super().__init__(plan, directory)
        self._measured_trials: dict[int, MeasuredTrial] = {}

    def __call__(self, blocks: int, minutes_per_block: float, ended: bool) -> Look:
        from rmwbench.results.show_document import summarise  # it takes long to import

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


def is_settled(arm: "ArmInCondition") -> bool:
    """Whether an arm's outcome is final. An arm without data is: a trial that failed in every block
    will fail in the next."""
    return arm.outcome != OPEN or arm.why not in SETTLED_BY_BLOCKS


def look_at(
    plan: Plan,
    blocks: int,
    alpha: float,
    ended: bool,
    verdicts: dict[str, dict[str, Verdict]],
    took_ns: int = 0,
    comparison_of: Mapping[str, str] = MappingProxyType({}),
    leaving: tuple[int, ...] = (),
) -> Look:
    """Return the look with these verdicts (unit → arm; `comparison_of`: a unit that is a topic →
    its comparison). An arm without data is not open: a trial that failed in every block will fail
    in the next."""
    deciding = deciding_comparisons(plan)
    units = [unit for unit in verdicts if comparison_of.get(unit, unit) in deciding]
    judged_arms = [
        (unit, arm, verdict)
        for unit in units
        for arm, verdict in verdicts[unit].items()
        if verdict.ranks
    ]
    undecided = tuple(
        OpenComparisonLine(
            comparison=key,
            arm=arm,
            reason=verdict.reason,
            minutes=finite(verdict.minutes_to_decide),
        )
        for key, arm, verdict in judged_arms
        if verdict.verdict == "undecided"
    )
    words = {
        key: {arm: verdict.verdict for arm, verdict in arms.items()}
        for key, arms in verdicts.items()
    }
    return Look(
        blocks, alpha, ended, len(judged_arms) - len(undecided), undecided, words, took_ns, leaving
    )


def deciding_comparisons(plan: Plan) -> set[str]:
    """Return the comparisons that the campaign waits for: those of the workloads that its suite
    names, or all."""
    workloads = plan.suite.blocks.decide
    return {c.key for c in plan.comparisons if not workloads or c.workload in workloads}


def _rounded(minutes: float | None) -> float | None:
    return None if minutes is None else round(minutes, 1)


LookMaker = Callable[[int, float, bool], Look]
"""A function that makes the look after a number of blocks. It gets this number, the minutes per
block, and whether the time is over."""


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

    def take(self, progress: "Progress", elapsed_s: float, *, over: bool) -> None:
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

    def _race(self, progress: "Progress", look: Look) -> None:
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
