"""Campaigns for open claims, suite after suite, the cheapest first, within a budget.

Each suite is promised LEAST_BLOCKS blocks of what its claims need before any of them gets more. The
time that a campaign does not use, because its claims are decided, goes to later ones. How long
trials really take here is learnt during the run.
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
from rmwbench.published.claims.campaign.claim_looks import ClaimCells, ClaimStopping
from rmwbench.published.claims.campaign.claims_plan import choose_claims, shares_s
from rmwbench.published.claims.campaign.claims_session import ClaimsSession
from rmwbench.published.claims.campaign.offers import ClaimOfFile, GatheredOffers, Offer
from rmwbench.published.claims.claims_file import Claims
from rmwbench.published.claims.derived_suite import place_of
from rmwbench.published.claims.judging.decision_rules import DECIDED
from rmwbench.published.claims.judging.judge import answers
from rmwbench.published.claims.needed_cells import Need, find_need
from rmwbench.suite.file.load import plain

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
    sources: Sequence[Claims], campaigns: Sequence[Measured], where: str
) -> dict[str, str]:
    """Return the claims that these campaigns decide with the newest version that they have: id ->
    `where`."""
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
            f"[bold]{escape(name)}[/bold]: {len(claim_cells)} claims, {len(plan.cells)} cells, "
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
