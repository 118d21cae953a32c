"""Between the blocks of a campaign for claims: which cells no open claim needs any more, and when
the time is over.

The looks are those of `decision_rules.LOOKS`, each with its share of the error, as for a campaign's
verdicts: looks after each block with the whole error would decide too often wrongly. A claim is
also given up if no number of further blocks could decide it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rmwbench.analysis.stats.intervals import wrong_trials
from rmwbench.campaign.blocks import DroppedCells
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest
from rmwbench.published.claims.derived_suite import MOST_BLOCKS
from rmwbench.published.claims.judging.campaign_answers import CellAnswer, MeasuredAnswer
from rmwbench.published.claims.judging.decision_rules import (
    DECIDED,
    LOOKS,
    ErrorShare,
    answer_of_interval,
    level_of,
)
from rmwbench.published.claims.judging.judge import answers
from rmwbench.published.claims.judging.sides import arms_of

NOT_NEEDED, TIME = "not needed", "time"


@dataclass(frozen=True)
class ClaimCells:
    """A claim and the numbers of the cells that it needs. `earlier`: how many campaigns of this
    machine were judged by it before."""

    claims: Claims
    claim: Claim
    cells: frozenset[int]
    earlier: int = 0


class ClaimStopping:
    """Decides which cells a campaign may drop. `campaign` returns the campaign as it stands;
    `share_s`: the time that it may take. `decided` and `given_up` have ids of claims as keys."""

    def __init__(
        self, claims: Sequence[ClaimCells], campaign: Callable[[], MeasuredCampaign], share_s: float
    ):
        self._claims, self._campaign, self._share_s = tuple(claims), campaign, share_s
        self.decided: dict[str, str] = {}
        self.given_up: dict[str, str] = {}

    def __call__(self, blocks: int, elapsed_s: float, next_s: Mapping[int, float]) -> DroppedCells:
        if blocks < LOOKS[0]:
            return DroppedCells({})
        if blocks in LOOKS:
            self._judge(blocks)
        needed = frozenset().union(*(claim_cells.cells for claim_cells in self._open_claims()))
        drop = {cell: NOT_NEEDED for cell in next_s if cell not in needed}
        remaining = next_s.keys() - drop.keys()
        text = f"claims after block {blocks}: {len(self.decided)} of {len(self._claims)} decided"
        if self.given_up:
            text += f", {len(self.given_up)} given up (no further block would decide them)"
        if drop:
            text += f"; {len(drop)} of {len(next_s)} cells are not needed any more"
        if remaining and elapsed_s + math.fsum(next_s[cell] for cell in remaining) > self._share_s:
            drop |= dict.fromkeys(remaining, TIME)
            text += "; time is over"
        return DroppedCells(drop, text)

    def _open_claims(self) -> list[ClaimCells]:
        return [x for x in self._claims if x.claim.id not in self.decided | self.given_up]

    def _judge(self, blocks: int) -> None:
        campaign = self._campaign()
        for claim_cells in self._open_claims():
            claim = claim_cells.claim
            todays = answers(claim_cells.claims, claim, [campaign], earlier=claim_cells.earlier)
            by_layer = [today for today in todays if not today.superseded]
            decided = [today.answer for today in by_layer if today.answer in DECIDED]
            if decided:
                self.decided[claim.id] = decided[0]
            elif by_layer and all(today.answer == "no data" for today in by_layer):
                self.given_up[claim.id] = "no data"
            elif reason := _why_undecidable(claim, by_layer, campaign, blocks):
                self.given_up[claim.id] = reason


def _why_undecidable(
    claim: Claim, by_layer: Sequence[MeasuredAnswer], campaign: MeasuredCampaign, blocks: int
) -> str | None:
    """Return why no further blocks would decide one of the claim's tests; None if they may."""
    for part, test in enumerate(claim.tests):
        cells = [cell for today in by_layer for cell in today.cells if cell.part == part]
        if reason := _why_test_undecidable(test, cells, campaign, blocks):
            return reason
    return None


def _why_test_undecidable(
    test: ClaimTest, cells: Sequence[CellAnswer], campaign: MeasuredCampaign, blocks: int
) -> str | None:
    """Return why no further blocks would decide the test; None if they may. Two cases are known: a
    ratio of two events that never happened; and a fraction with no event yet that is to lie below a
    level, or whose difference from another one is compared: the bounds shrink with the number of
    messages, and MOST_BLOCKS blocks would not bring them beyond the level."""
    if not cells:
        return None
    metrics = {
        (workload.workload, topic, arm.arm): arm.metrics
        for workload in campaign.workloads
        for topic in test.topics
        for arm in arms_of(workload, topic)
    }
    names = test.metric, test.metric_of_right
    estimates = [
        metrics[side.workload, side.topic, side.arm].get(name)
        for cell in cells
        for side, name in zip(cell.sides, names, strict=False)
    ]
    if any(estimate is None or estimate.value != 0 for estimate in estimates):
        return None
    if test.by == "difference":
        run_fraction = blocks / MOST_BLOCKS
        # The bound for trials that go wrong as a whole does not depend on messages: it shrinks with
        # blocks alone.
        level = level_of([MOST_BLOCKS], ErrorShare(earlier=0))
        wrong_share = wrong_trials(MOST_BLOCKS, level.confidence)
        intervals = [
            (min(cell.low * run_fraction, -wrong_share), max(cell.high * run_fraction, wrong_share))
            for cell in cells
            if cell.low is not None and cell.high is not None
        ]
        final = {answer_of_interval(test, 0.0, low, high)[0] for low, high in intervals}
        if "undecided" not in final or "does not hold" in final:
            return None
        least = max(max(-low, high) for low, high in intervals)
        return (
            f"none seen on either side, but {MOST_BLOCKS} blocks could only tell differences "
            f"above {least:.2g}"
        )
    if test.right is not None:
        return f"{', '.join(dict.fromkeys(names))}: 0 on both sides, in every block"
    bound = max(estimate.high or 0.0 for estimate in estimates if estimate is not None)
    bound *= blocks / MOST_BLOCKS
    if test.relation == "less" and test.level and bound > test.level:
        return f"none seen, but {MOST_BLOCKS} blocks could only tell that it is below {bound:.2g}"
    return None
