"""Between the blocks of a campaign that runs for claims: which cells no open claim needs any more,
and when time is over.

The looks are those of `decision_rules.LOOKS`, each with its share of the error, as a campaign's
verdicts have: looking after each block with the whole of it would find things that are not there. A
claim is also given up where no number of further blocks could decide it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rmwbench.analysis.stats.intervals import wrong_trials
from rmwbench.campaign.blocks import DroppedCells
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest
from rmwbench.published.claims.derived_suite import MOST_BLOCKS
from rmwbench.published.claims.judging.decision_rules import (
    DECIDED,
    LOOKS,
    ErrorShare,
    decided,
    level_of,
)
from rmwbench.published.claims.judging.judge import answers
from rmwbench.published.claims.judging.sides import arms_of
from rmwbench.published.claims.judging.today import CellAnswer, Today

NOT_NEEDED, TIME = "decided", "time"


@dataclass(frozen=True)
class Wanted:
    """A claim and the numbers of the cells that it needs. `earlier`: how many campaigns of this
    machine were judged by it before."""

    claims: Claims
    claim: Claim
    cells: frozenset[int]
    earlier: int = 0


class ClaimsHold:
    """`campaign`: as it stands; `share_s`: the time that it may take. `decided` and `given_up` are
    ids."""

    def __init__(
        self, wanted: Sequence[Wanted], campaign: Callable[[], MeasuredCampaign], share_s: float
    ):
        self._wanted, self._campaign, self._share_s = tuple(wanted), campaign, share_s
        self.decided: dict[str, str] = {}
        self.given_up: dict[str, str] = {}

    def __call__(self, blocks: int, elapsed_s: float, next_s: Mapping[int, float]) -> DroppedCells:
        if blocks < LOOKS[0]:
            return DroppedCells({})
        if blocks in LOOKS:
            self._judge(blocks)
        open_ = [w for w in self._wanted if w.claim.id not in self.decided | self.given_up]
        needed = frozenset().union(*(w.cells for w in open_))
        drop = {cell: NOT_NEEDED for cell in next_s if cell not in needed}
        remaining = next_s.keys() - drop.keys()
        text = f"claims after block {blocks}: {len(self.decided)} of {len(self._wanted)} decided"
        if self.given_up:
            text += f", {len(self.given_up)} given up (no further block would decide them)"
        if drop:
            text += f"; {len(drop)} of {len(next_s)} cells are not needed any more"
        if remaining and elapsed_s + math.fsum(next_s[cell] for cell in remaining) > self._share_s:
            drop |= dict.fromkeys(remaining, TIME)
            text += "; time is over"
        return DroppedCells(drop, text)

    def _judge(self, blocks: int) -> None:
        campaign = self._campaign()
        for wanted in self._wanted:
            if wanted.claim.id in self.decided or wanted.claim.id in self.given_up:
                continue
            answered = answers(wanted.claims, wanted.claim, [campaign], earlier=wanted.earlier)
            by_layer = [today for today in answered if not today.superseded]
            decided_so = [today.answer for today in by_layer if today.answer in DECIDED]
            if decided_so:
                self.decided[wanted.claim.id] = decided_so[0]
            elif by_layer and all(today.answer == "no data" for today in by_layer):
                self.given_up[wanted.claim.id] = "no data"
            elif why := _hopeless(wanted.claim, by_layer, campaign, blocks):
                self.given_up[wanted.claim.id] = why


def _hopeless(
    claim: Claim, by_layer: Sequence[Today], campaign: MeasuredCampaign, blocks: int
) -> str | None:
    """Why no further blocks would decide one of its tests."""
    for part, test in enumerate(claim.tests):
        cells = [cell for today in by_layer for cell in today.cells if cell.part == part]
        if why := _never(test, cells, campaign, blocks):
            return why
    return None


def _never(
    test: ClaimTest, cells: Sequence[CellAnswer], campaign: MeasuredCampaign, blocks: int
) -> str | None:
    """A ratio of two things that never happened; or a fraction that is to be below a level, or its
    difference from another one, of which nothing was seen yet: the bounds shrink with the number of
    messages, and MOST_BLOCKS blocks would not bring them beyond the level."""
    if not cells:
        return None
    arms = {
        (w.workload, topic, arm.arm): arm.metrics.get(test.metric)
        for w in campaign.workloads
        for topic in test.topics
        for arm in arms_of(w, topic)
    }
    lefts = [arms[cell.left_in, cell.left_topic, cell.left] for cell in cells]
    rights = [arms.get((cell.right_in or "", cell.right_topic, cell.right or "")) for cell in cells]
    if any(left is None or left.value != 0 for left in lefts):
        return None
    if any(right is not None and right.value != 0 for right in rights):
        return None
    if test.by == "difference":
        part = blocks / MOST_BLOCKS
        # The bound for trials that go wrong as a whole does not depend on messages: it shrinks with
        # blocks alone.
        level = level_of([MOST_BLOCKS], ErrorShare(earlier=0))
        trials = wrong_trials(MOST_BLOCKS, level.confidence)
        ends = [
            (min(c.low * part, -trials), max(c.high * part, trials))
            for c in cells
            if c.low is not None and c.high is not None
        ]
        then = {decided(test, 0.0, low, high)[0] for low, high in ends}
        if "undecided" not in then or "does not hold" in then:
            return None
        least = max(max(-low, high) for low, high in ends)
        return (
            f"none seen on either side, but {MOST_BLOCKS} blocks could only tell differences "
            f"above {least:.2g}"
        )
    if test.right is not None:
        return f"{test.metric} was 0 on both sides, in every block"
    bound = max(left.high or 0.0 for left in lefts if left is not None) * blocks / MOST_BLOCKS
    if test.relation == "less" and test.level and bound > test.level:
        return f"none seen, but {MOST_BLOCKS} blocks could only tell that it is below {bound:.2g}"
    return None
