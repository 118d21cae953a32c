"""What it would take to decide a statement if nothing at all were lost. Pure.

A bar on a loss, or on how much larger one is than another, is met by bounds on what was never seen,
which shrink with messages and with blocks alone. So the bar and the design of a suite say by
themselves whether a run can decide: `claims run` has MOST_BLOCKS blocks, none of them longer than
LONGEST_S.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rmwbench.analysis.stats.intervals import BURST
from rmwbench.published.claims.amounts import unit_of
from rmwbench.published.claims.claims_file import ClaimTest
from rmwbench.published.claims.derived_suite import LONGEST_S, MOST_BLOCKS
from rmwbench.published.claims.judging.decision_rules import level_of, unseen
from rmwbench.results.model import Estimate
from rmwbench.words.numbers import significant_count

MOST = 10_000
"""Beyond so many blocks it is not counted."""


@dataclass(frozen=True)
class Takes:
    """`blocks` of `steady_s` each, None where the length changes nothing or is not known;
    `messages` in all, None where blocks alone decide."""

    blocks: int
    steady_s: float | None
    messages: int | None

    @property
    def beyond(self) -> bool:
        """Whether no run of `claims run` is so long."""
        return self.blocks > MOST_BLOCKS or (self.steady_s or 0.0) > LONGEST_S

    def text(self) -> str:
        long = "" if self.steady_s is None else f" of {self.steady_s:.3g} s"
        each = "" if self.messages is None else f", {significant_count(self.messages)} messages"
        return f"{self.blocks} blocks{long}{each}"


def takes(
    test: ClaimTest,
    sides: Sequence[Estimate | None],
    steady_s: float | None,
) -> Takes | None:
    """None where the test is not of this kind, or where something was lost: then the trials tell by
    their spread. `sides`: the metric of left and right; `steady_s`: of one of these trials."""
    if any(side is not None and side.value for side in sides) or sides[0] is None:
        return None
    if test.times_metric or unit_of(test.metric) != "fraction" or not test.level:
        return None
    if test.by == "difference":
        return _blocks(abs(test.level))
    below = test.right is None and test.relation == "less" and not test.existence
    return _messages(test.level, sides[0], steady_s) if below else None


def _blocks(level: float) -> Takes:
    """So that no share of trials as large as the difference may have gone wrong unseen."""
    blocks = next((n for n in range(2, MOST) if unseen(n, level_of([n])) < level), MOST)
    return Takes(blocks, None, None)


def _messages(level: float, side: Estimate, steady_s: float | None) -> Takes | None:
    """So many that none seen lies below the level, in bursts (`intervals.clustered_fraction`): in
    MOST_BLOCKS blocks as long as that takes."""
    if not side.count or not side.trials:
        return None
    needed = math.ceil(-math.log(2 * level_of([MOST_BLOCKS]).error) * BURST / level)
    each = side.count / side.trials
    if steady_s is None:
        return Takes(math.ceil(needed / each), None, needed)
    return Takes(MOST_BLOCKS, needed / MOST_BLOCKS * steady_s / each, needed)
