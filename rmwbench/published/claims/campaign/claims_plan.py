"""What `rmwbench published claims run` would run within a budget, and what it could not decide.

Those claims come first that cost least per claim, counting a cell once however many claims it
serves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from rmwbench.campaign.plan.plan import duration_text
from rmwbench.published.claims.campaign.offers import Gathered, Offer
from rmwbench.published.claims.claims_file import Claims
from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.derived_suite import LEAST_BLOCKS
from rmwbench.published.claims.needed_cells import CellPlace
from rmwbench.published.claims.summary import shipped_of

OVERHEAD_S = 5.0
"""What a campaign costs besides its trials: the machine's card, asking each arm's worker, the last
look."""


class SuiteClaim(NamedTuple):
    suite: str
    claim: str


def chosen(offers: Sequence[Offer], budget_s: float, slower: float = 1.0) -> dict[str, list[str]]:
    """Suite -> ids of its claims, such that LEAST_BLOCKS blocks of all fit. `slower`: trials take
    so many times the plan's estimate."""
    left_s = budget_s
    taken: dict[str, list[str]] = {}
    have: dict[str, set[CellPlace]] = {offer.suite: set() for offer in offers}
    open_ = {SuiteClaim(offer.suite, name): offer for offer in offers for name in offer.needs}
    while open_:
        prices = {
            key: _price_s(offer, key.claim, have[key.suite], taken, slower)
            for key, offer in open_.items()
        }
        served = {
            key: _covered(open_[key], key.claim, have[key.suite], open_)
            for key in open_
            if prices[key] <= left_s
        }
        if not served:
            break
        key = min(served, key=lambda key: prices[key] / len(served[key]))
        left_s -= prices[key]
        have[key.suite] |= open_[key].needs[key.claim].places
        taken.setdefault(key.suite, []).extend(served[key])
        for name in served[key]:
            del open_[SuiteClaim(key.suite, name)]
    return taken


def _covered(
    offer: Offer, name: str, have: set[CellPlace], open_: Mapping[SuiteClaim, Offer]
) -> list[str]:
    """The open claims of the suite that the cells of this one serve, with those that there are:
    itself first."""
    places = have | offer.needs[name].places
    others = [
        x
        for x, need in offer.needs.items()
        if x != name and SuiteClaim(offer.suite, x) in open_ and need.places <= places
    ]
    return [name, *others]


def _price_s(
    offer: Offer, name: str, have: set[CellPlace], taken: Mapping[str, list[str]], slower: float
) -> float:
    trials_s = (
        LEAST_BLOCKS
        * slower
        * sum(offer.cost_s[place] for place in offer.needs[name].places - have)
    )
    return trials_s + (0.0 if offer.suite in taken else OVERHEAD_S)


def shares_s(blocks_s: Mapping[str, float], left_s: float, slower: float = 1.0) -> dict[str, float]:
    """Suite -> the time that it may take: its least, and what is over in proportion."""
    least = {suite: _least_s(block_s, slower) for suite, block_s in blocks_s.items()}
    over = max(0.0, left_s - sum(least.values())) / sum(least.values())
    return {suite: seconds * (1 + over) for suite, seconds in least.items()}


def _least_s(block_s: float, slower: float = 1.0) -> float:
    """What the least number of blocks takes, as a campaign of its own."""
    return OVERHEAD_S + LEAST_BLOCKS * slower * block_s


SCHEMA, VERSION = "rmwbench/claims-plan", 1


@dataclass(frozen=True, kw_only=True)
class SuiteShare:
    """What of a suite runs: its claims, how many of each layer and in how many cells; the time of a
    block, of the least number of blocks, and what it may take, s."""

    suite: str
    claims: Sequence[str]
    layers: Mapping[str, int]
    cells: int
    block_s: float
    least_s: float
    share_s: float


@dataclass(frozen=True)
class ClaimsPlan:
    """`picked`: suite -> ids of the claims that fit, in the order in which the suites run, the
    cheapest first."""

    gathered: Gathered
    settled: Mapping[str, str]
    budget_s: float
    picked: Mapping[str, Sequence[str]]

    @property
    def left_out(self) -> dict[str, str]:
        """Claim's id -> suite."""
        taken = {name for names in self.picked.values() for name in names}
        return {
            name: offer.suite
            for offer in self.gathered.offers
            for name in offer.needs
            if name not in taken
        }

    def offer(self, suite: str) -> Offer:
        return next(offer for offer in self.gathered.offers if offer.suite == suite)

    def blocks_s(self) -> dict[str, float]:
        """Suite -> seconds of a block of what it is reduced to."""
        return {suite: self.offer(suite).block_s(names) for suite, names in self.picked.items()}

    def suites(self) -> list[SuiteShare]:
        """In the order in which they run."""
        shares = shares_s(self.blocks_s(), self.budget_s) if self.picked else {}
        suite_shares = []
        for suite, names in self.picked.items():
            offer = self.offer(suite)
            block_s = offer.block_s(names)
            suite_shares.append(
                SuiteShare(
                    suite=suite,
                    claims=list(names),
                    layers=dict(Counter(offer.needs[name].layer for name in names)),
                    cells=len(offer.places(names)),
                    block_s=round(block_s, 1),
                    least_s=round(_least_s(block_s), 1),
                    share_s=round(shares[suite], 1),
                )
            )
        return suite_shares

    def document(self) -> dict[str, Any]:
        """For `rmwbench published claims plan --json` (docs/formats/claims.md)."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "budget_s": self.budget_s,
            "suites": [asdict(suite) for suite in self.suites()],
            "left_out": [
                {
                    "claim": name,
                    "suite": suite,
                    "needs_s": round(_least_s(self.offer(suite).block_s([name])), 1),
                }
                for name, suite in self.left_out.items()
            ],
            "refused": [
                {"claim": name, "reason": reason} for name, reason in self.gathered.refused.items()
            ],
            "settled": [{"claim": name, "by": by} for name, by in self.settled.items()],
        }


def make_claims_plan(gathered: Gathered, settled: Mapping[str, str], budget_s: float) -> ClaimsPlan:
    picked = chosen(gathered.offers, budget_s)
    offers = sorted(
        (offer for offer in gathered.offers if offer.suite in picked),
        key=lambda offer: (offer.block_s(picked[offer.suite]), offer.suite),
    )
    ordered = {offer.suite: picked[offer.suite] for offer in offers}
    return ClaimsPlan(gathered, settled, budget_s, ordered)


def undecidable(files: Sequence[Claims]) -> dict[str, str]:
    """Claims of which the shipped ledger says that no run decides them -> why."""
    claims = ledger(files, shipped=shipped_of(files)).claims
    return {
        judged.claim.id: f"undecidable: it takes {judged.today[0].takes.text()}, if nothing is lost"
        for judged in claims
        if judged.state == "undecidable" and judged.today[0].takes is not None
    }


def lines(plan: ClaimsPlan) -> list[str]:
    """The plan for a terminal."""
    shares = plan.suites()
    claims = sum(len(share.claims) for share in shares)
    cells = sum(share.cells for share in shares)
    least_s = sum(share.least_s for share in shares)
    text = [
        f"{claims} claims in {len(shares)} suites, {cells} cells; at "
        f"least {LEAST_BLOCKS} blocks of each, about {duration_text(least_s)} of "
        f"{duration_text(plan.budget_s)}; what is over goes to those that stay open.",
        "",
    ]
    width = max((len(share.suite) for share in shares), default=0)
    for share in shares:
        layers = ", ".join(f"{count} {layer}" for layer, count in share.layers.items())
        text.append(
            f"  {share.suite:<{width}}  {len(share.claims):>3} claims ({layers}), "
            f"{share.cells:>3} cells, a block {duration_text(share.block_s)}, up to "
            f"{duration_text(share.share_s)}"
        )
    if plan.left_out:
        by_suite = Counter(plan.left_out.values())
        text += [
            "",
            "Not in this time: "
            + ", ".join(f"{n} of {suite}" for suite, n in by_suite.items())
            + ".",
        ]
    reasons: dict[str, list[str]] = {}
    for name, reason in plan.gathered.refused.items():
        reasons.setdefault(reason, []).append(name)
    if reasons:
        text += ["", "Not decided here:"]
        text += [f"  {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    if plan.settled:
        text += ["", f"Settled on this machine before: {len(plan.settled)} claims."]
    return text
