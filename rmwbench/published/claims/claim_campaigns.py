"""Campaigns for open claims, suite after suite, the cheapest first, within a budget.

Each suite is promised LEAST_BLOCKS blocks of what its claims need before any of them gets more. The
time that a campaign does not use, because its claims are decided, goes to later ones. How long
trials really take here is learnt during the run.

Between the blocks of a campaign its claims are looked at: which cells no open claim needs any more,
and when the time is over. The looks are those of `decision_rules.LOOKS`, each with its share of the
error, as for a campaign's verdicts: looks after each block with the whole error would decide too
often wrongly. A claim is also given up if no number of further blocks could decide it.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from rich.console import Console
from rich.markup import escape

from rmwbench.analysis.stats.intervals import wrong_trials
from rmwbench.bundle import Bundle
from rmwbench.campaign.blocks import BlockSource, DroppedCells, Hold
from rmwbench.campaign.plan.plan import duration_text
from rmwbench.campaign.plan.request import Request
from rmwbench.campaign.run import Runner
from rmwbench.campaign.start import new_campaign, resumed_campaign
from rmwbench.errors import UserError
from rmwbench.lab.machine import describe
from rmwbench.published.campaign import MeasuredCampaign, RunningCampaign, host_name
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest
from rmwbench.published.claims.claims_plan import (
    ClaimOfFile,
    GatheredOffers,
    Offer,
    choose_claims,
    shares_s,
)
from rmwbench.published.claims.claims_session import ClaimsSession
from rmwbench.published.claims.derived_suite import MOST_BLOCKS, Need, find_need, place_of
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
from rmwbench.published.claims.summary import shipped_of
from rmwbench.suite.file.load import plain
from rmwbench.words.numbers import counted

FASTEST, SLOWEST = 0.7, 4.0
"""Bounds of the assumed ratio of the trials' real time to the plan's."""


@dataclass
class ClaimsEnding:
    """How a run ended: `stopped_by` a signal, or by itself (None); `failed`: suite -> why it could
    not be run."""

    stopped_by: str | None = None
    failed: dict[str, str] = field(default_factory=dict)


def open_claims(
    sources: Sequence[Claims], settled: Mapping[str, str], only: Collection[str] = ()
) -> list[ClaimOfFile]:
    """Return the claims that have a test and are not settled; if `only` names any, only those."""
    return [
        ClaimOfFile(file, claim)
        for file in sources
        for claim in file.items
        if claim.test and claim.id not in settled and (not only or claim.id in only)
    ]


def settled_by(
    sources: Sequence[Claims], campaigns: Sequence[MeasuredCampaign], where: str
) -> dict[str, str]:
    """Return the claims that these campaigns decide with the newest version that they have: id ->
    `where`."""
    return {
        claim.id: where
        for file in sources
        for claim in file.items
        if any(
            measured.answer in DECIDED and not measured.superseded
            for measured in answers(file, claim, campaigns)
        )
    }


def settled_here(sources: Sequence[Claims]) -> dict[str, str]:
    """Return the claims that a shipped measurement of this very machine decides: id -> its
    dates."""
    described = describe()
    here = host_name(described["summary"], described["kernel"]["release"])
    settled: dict[str, str] = {}
    for file in sources:
        measured = [
            campaign for campaign in shipped_of([file])[file.claims] if campaign.host == here
        ]
        dates = ", ".join(sorted({str(campaign.date) for campaign in measured}))
        settled |= settled_by([file], measured, f"shipped, {dates}")
    return settled


def settled_in(sources: Sequence[Claims], session: ClaimsSession) -> dict[str, str]:
    """Return the claims that the campaigns of the session decide."""
    campaigns = [RunningCampaign(session.directory / name).campaign() for name in session.campaigns]
    return settled_by(sources, campaigns, "these campaigns")


class ClaimCampaigns:
    """Runs a session. `gathered`: the offers of the suites that this round has not begun."""

    def __init__(self, session: ClaimsSession, sources: Sequence[Claims], gathered: GatheredOffers):
        self._session, self._console = session, Console(quiet=True)
        self._claims = {tested.claim.id: tested for tested in open_claims(sources, {})}
        self._waiting = list(gathered.offers)
        self._begun_s, self._used_before_s = time.monotonic(), session.used_s
        self._planned_s = self._took_s = 0.0
        self._ended = ClaimsEnding()

    def run(self, console: Console) -> ClaimsEnding:
        """Run until the time is used up, no claim is open, or a signal comes. A suite that cannot
        run does not stop the others."""
        self._console = console
        for name in self._session.unfinished():
            self._guard(name, partial(self._resume, name))
            if self._ended.stopped_by:
                return self._ended
        while self._waiting:
            ids_of_suite = choose_claims(self._waiting, self.left_s, self._slowdown)
            if not ids_of_suite:
                break
            offers = [offer for offer in self._waiting if offer.suite in ids_of_suite]
            blocks_s = {offer.suite: offer.block_s(ids_of_suite[offer.suite]) for offer in offers}
            offer = min(offers, key=lambda offer: blocks_s[offer.suite])
            share_s = shares_s(blocks_s, self.left_s, self._slowdown)[offer.suite]
            self._waiting.remove(offer)
            self._guard(offer.name, partial(self._begin, offer, ids_of_suite[offer.suite], share_s))
            if self._ended.stopped_by:
                break
        return self._ended

    @property
    def left_s(self) -> float:
        return self._session.budget_s - self._session.used_s

    @property
    def _slowdown(self) -> float:
        """How many times the plan's estimate a trial took so far."""
        if not self._planned_s:
            return 1.2
        return min(SLOWEST, max(FASTEST, self._took_s / self._planned_s))

    def _guard(self, name: str, run: Callable[[], None]) -> None:
        try:
            run()
        except UserError as error:
            self._ended.failed[name] = " ".join(error.render().split())
            if not (self._session.place(name) / "campaign.json").is_file():
                self._session.campaigns.pop(self._session.place(name).name, None)
            self._console.print(f"{escape(name)} cannot be run here: {escape(error.render())}")
        self._session.used_s = self._used_before_s + time.monotonic() - self._begun_s
        self._session.save()

    def _begin(self, offer: Offer, ids: Sequence[str], share_s: float) -> None:
        directory = self._session.place(offer.name)
        path = directory.with_suffix(".yaml")
        path.write_text(offer.text(ids), encoding="utf-8")
        run = {"suite": offer.suite, "claims": list(ids), "round": self._session.round}
        self._session.campaigns[directory.name] = run  # before it begins, so that it can be resumed
        self._session.save()
        campaign = new_campaign(Request(str(path), seed=self._session.seed), directory)
        self._run(campaign, directory.name, {name: offer.needs[name] for name in ids}, share_s)

    def _resume(self, name: str) -> None:
        campaign = resumed_campaign(self._session.directory / name)
        self._run(campaign, name, self._needs(name), self.left_s)

    def _needs(self, name: str) -> dict[str, Need]:
        """Return what the claims needed when the campaign began: the derived suite has these cells
        and no others."""
        bundle = Bundle(self._session.directory / name)
        layers = {row["arm"]: row["layer"] for row in bundle.rows("cells")}
        tree = plain(bundle.campaign.suite.text or "", where=name)
        needs: dict[str, Need] = {}
        for id_ in self._session.campaigns[name]["claims"]:
            if tested := self._claims.get(id_):
                need = find_need(tested.claims, tested.claim, tree, layers, lambda _: None)
                if isinstance(need, Need):
                    needs[id_] = need
        return needs

    def _run(
        self,
        campaign: Runner[BlockSource],
        name: str,
        needs: Mapping[str, Need],
        share_s: float,
    ) -> None:
        plan = campaign.source.plan
        numbers = {place_of(cell): cell.number for cell in plan.cells}
        other_runs = [run for key, run in self._session.campaigns.items() if key != name]
        claim_cells = [
            ClaimCells(
                self._claims[id_].claims,
                self._claims[id_].claim,
                frozenset(numbers[place] for place in need.places if place in numbers),
                earlier=sum(id_ in run["claims"] for run in other_runs),
            )
            for id_, need in needs.items()
        ]
        running = RunningCampaign(self._session.directory / name)
        hold = ClaimStopping(claim_cells, running.campaign, share_s)
        campaign.source.hold = Hold(hold, share_s)
        self._console.print(
            f"[bold]{escape(name)}[/bold]: {counted(len(claim_cells), 'claim')}, "
            f"{counted(len(plan.cells), 'cell')}, "
            f"up to {duration_text(share_s)}; {duration_text(max(0.0, self.left_s))} left in all"
        )
        begun_s = time.monotonic()
        before = Bundle(self._session.directory / name).journal.trials.keys()
        with campaign.writer, campaign.lab:
            if not campaign.source.finished:
                self._ended.stopped_by = campaign.run(self._console).stopped_by
        trials = Bundle(self._session.directory / name).journal.trials.keys() - before
        if trials:
            self._took_s += time.monotonic() - begun_s
            self._planned_s += sum(x.estimated_s for x in plan.trials if x.trial in trials)


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
            measured_answers = answers(
                claim_cells.claims, claim, [campaign], earlier=claim_cells.earlier
            )
            by_layer = [measured for measured in measured_answers if not measured.superseded]
            decided = [measured.answer for measured in by_layer if measured.answer in DECIDED]
            if decided:
                self.decided[claim.id] = decided[0]
            elif by_layer and all(measured.answer == "no data" for measured in by_layer):
                self.given_up[claim.id] = "no data"
            elif reason := _why_undecidable(claim, by_layer, campaign, blocks):
                self.given_up[claim.id] = reason


def _why_undecidable(
    claim: Claim, by_layer: Sequence[MeasuredAnswer], campaign: MeasuredCampaign, blocks: int
) -> str | None:
    """Return why no further blocks would decide one of the claim's tests; None if they may."""
    for part, test in enumerate(claim.tests):
        cells = [cell for measured in by_layer for cell in measured.cells if cell.part == part]
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
