"""Campaigns for open claims, suite after suite, the cheapest first, within a budget.

Each suite is promised LEAST_BLOCKS blocks of what its claims need before any of them gets more;
what a campaign leaves over, because its claims are decided, goes to those behind it. What trials
really take here is learnt on the way.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from rich.console import Console
from rich.markup import escape

from rmwbench.bundle import Bundle
from rmwbench.campaign.blocks import BlockSource, Hold
from rmwbench.campaign.plan.plan import duration_text
from rmwbench.campaign.plan.request import Request
from rmwbench.campaign.run import Runner
from rmwbench.campaign.start import new_campaign, resumed_campaign
from rmwbench.errors import UserError
from rmwbench.published.campaign import MeasuredCampaign as Measured
from rmwbench.published.campaign import RunningCampaign
from rmwbench.published.claims.campaign.claims_plan import chosen, shares_s
from rmwbench.published.claims.campaign.claims_session import ClaimsSession
from rmwbench.published.claims.campaign.hold import ClaimsHold, Wanted
from rmwbench.published.claims.campaign.offers import AskedClaim, Gathered, Offer
from rmwbench.published.claims.claims_file import Claims
from rmwbench.published.claims.derived_suite import place_of
from rmwbench.published.claims.judging.decision_rules import DECIDED
from rmwbench.published.claims.judging.judge import answers
from rmwbench.published.claims.needed_cells import Need, needed
from rmwbench.suite.file.load import plain

FASTEST, SLOWEST = 0.7, 4.0
"""Bounds of what is believed of trials' time against the plan's."""


@dataclass
class Ended:
    """How it ended: `stopped_by` a signal or by itself; `failed`: suite -> why it could not be
    run."""

    stopped_by: str | None = None
    failed: dict[str, str] = field(default_factory=dict)


def open_claims(
    sources: Sequence[Claims], settled: Mapping[str, str], only: Collection[str] = ()
) -> list[AskedClaim]:
    """Those with a test that are not settled; of these `only`, where any are named."""
    return [
        AskedClaim(file, claim)
        for file in sources
        for claim in file.items
        if claim.test and claim.id not in settled and (not only or claim.id in only)
    ]


def settled_by(
    sources: Sequence[Claims], campaigns: Sequence[Measured], where: str
) -> dict[str, str]:
    """Claims that these campaigns decide, with the newest version that they have: id -> `where` they
    were."""
    return {
        claim.id: where
        for file in sources
        for claim in file.items
        if any(
            today.answer in DECIDED and not today.superseded
            for today in answers(file, claim, campaigns)
        )
    }


def settled_in(sources: Sequence[Claims], session: ClaimsSession) -> dict[str, str]:
    """Claims that the campaigns of the session decide."""
    campaigns = [RunningCampaign(session.directory / name).campaign() for name in session.campaigns]
    return settled_by(sources, campaigns, "these campaigns")


class ClaimCampaigns:
    """Runs a session. `gathered` are the offers of the suites that this round has not begun."""

    def __init__(self, session: ClaimsSession, sources: Sequence[Claims], gathered: Gathered):
        self._session, self._console = session, Console(quiet=True)
        self._asked = {one.claim.id: one for one in open_claims(sources, {})}
        self._waiting = list(gathered.offers)
        self._begun_s, self._used_before_s = time.monotonic(), session.used_s
        self._planned_s = self._took_s = 0.0
        self._ended = Ended()

    def run(self, console: Console) -> Ended:
        """Until the time is used up, nothing is open, or a signal comes. A suite that cannot run
        costs only itself."""
        self._console = console
        for name in self._session.unfinished():
            self._guarded(name, partial(self._resumed, name))
            if self._ended.stopped_by:
                return self._ended
        while self._waiting:
            picks = chosen(self._waiting, self.left_s, self._slower)
            if not picks:
                break
            offers = [offer for offer in self._waiting if offer.suite in picks]
            blocks_s = {offer.suite: offer.block_s(picks[offer.suite]) for offer in offers}
            offer = min(offers, key=lambda offer: blocks_s[offer.suite])
            share_s = shares_s(blocks_s, self.left_s, self._slower)[offer.suite]
            self._waiting.remove(offer)
            self._guarded(offer.name, partial(self._new, offer, picks[offer.suite], share_s))
            if self._ended.stopped_by:
                break
        return self._ended

    @property
    def left_s(self) -> float:
        return self._session.budget_s - self._session.used_s

    @property
    def _slower(self) -> float:
        """How many times the plan's estimate a trial took so far."""
        if not self._planned_s:
            return 1.2
        return min(SLOWEST, max(FASTEST, self._took_s / self._planned_s))

    def _guarded(self, name: str, go: Callable[[], None]) -> None:
        try:
            go()
        except UserError as error:
            self._ended.failed[name] = " ".join(error.render().split())
            if not (self._session.place(name) / "campaign.json").is_file():
                self._session.campaigns.pop(self._session.place(name).name, None)
            self._console.print(f"{escape(name)} cannot be run here: {escape(error.render())}")
        self._session.used_s = self._used_before_s + time.monotonic() - self._begun_s
        self._session.save()

    def _new(self, offer: Offer, ids: Sequence[str], share_s: float) -> None:
        directory = self._session.place(offer.name)
        path = directory.with_suffix(".yaml")
        path.write_text(offer.text(ids), encoding="utf-8")
        note = {"suite": offer.suite, "claims": list(ids), "round": self._session.round}
        self._session.campaigns[directory.name] = note  # first: what was begun is found again
        self._session.save()
        campaign = new_campaign(Request(str(path), seed=self._session.seed), directory)
        self._go(campaign, directory.name, {name: offer.needs[name] for name in ids}, share_s)

    def _resumed(self, name: str) -> None:
        campaign = resumed_campaign(self._session.directory / name)
        self._go(campaign, name, self._needs(name), self.left_s)

    def _needs(self, name: str) -> dict[str, Need]:
        """As they were when it began: the derived suite has these cells and no others."""
        bundle = Bundle(self._session.directory / name)
        layers = {row["arm"]: row["layer"] for row in bundle.rows("cells")}
        tree = plain(bundle.campaign.suite.text or "", where=name)
        ids = [key for key in self._session.campaigns[name]["claims"] if key in self._asked]
        answers = {
            key: needed(
                self._asked[key].claims, self._asked[key].claim, tree, layers, lambda _: None
            )
            for key in ids
        }
        return {key: need for key, need in answers.items() if isinstance(need, Need)}

    def _go(
        self,
        campaign: Runner[BlockSource],
        name: str,
        needs: Mapping[str, Need],
        share_s: float,
    ) -> None:
        plan = campaign.source.plan
        numbers = {place_of(cell): cell.number for cell in plan.cells}
        wanted = [
            Wanted(
                one.claims,
                one.claim,
                frozenset(numbers[place] for place in need.places if place in numbers),
                sum(
                    key in ran["claims"]
                    for other, ran in self._session.campaigns.items()
                    if other != name
                ),
            )
            for key, need in needs.items()
            if (one := self._asked[key])
        ]
        under_way = RunningCampaign(self._session.directory / name)
        held = ClaimsHold(wanted, under_way.campaign, share_s)
        campaign.source.hold = Hold(held, share_s)
        self._console.print(
            f"[bold]{escape(name)}[/bold]: {len(wanted)} claims, {len(plan.cells)} cells, "
            f"up to {duration_text(share_s)}; {duration_text(max(0.0, self.left_s))} left in all"
        )
        begun_s = time.monotonic()
        before = Bundle(self._session.directory / name).journal.trials.keys()
        with campaign.writer, campaign.lab:
            if not campaign.source.finished:
                ending = campaign.run(self._console)
                self._ended.stopped_by = ending.stopped_by
        ran = Bundle(self._session.directory / name).journal.trials.keys() - before
        if ran:
            self._took_s += time.monotonic() - begun_s
            self._planned_s += sum(trial.estimated_s for trial in plan.trials if trial.trial in ran)
