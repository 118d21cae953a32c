"""What could be run here for claims: for each suite the cells that decide its claims, at the layer
that is ready; what `rmwbench published claims run` would run of it within a budget, and why other
claims cannot be decided on this machine.

The claims that cost least come first. A cell is counted once, however many claims it serves.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rmwbench.campaign.plan import unsupported_cells
from rmwbench.campaign.plan.plan import duration_text, make_plan
from rmwbench.lab.host import host_kind
from rmwbench.lab.middleware import Worker, find_workers, names_here, why_not_ready
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest
from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.derived_suite import (
    LEAST_BLOCKS,
    MOST_BLOCKS,
    CellPlace,
    Need,
    Refusal,
    derived_suite_text,
    find_need,
    longer_steady_s,
    place_of,
)
from rmwbench.published.claims.judging.decision_rules import ErrorShare, level_of
from rmwbench.published.claims.summary import shipped_of
from rmwbench.suite.arm import FORMAT_OF_SUFFIX
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.file.load import parse, plain
from rmwbench.suite.file.suite_files import SUFFIXES, find, read
from rmwbench.suite.suite import Suite
from rmwbench.words.numbers import counted


@dataclass(frozen=True)
class ClaimOfFile:
    """A claim with a test, and its file."""

    claims: Claims
    claim: Claim


@dataclass(frozen=True)
class Offer:
    """A suite reduced to the cells that claims need. `needs`: claim's id -> its cells; `cost_s`:
    the time of one trial of a cell; `steady_s`: workload -> steady state in seconds, where the
    short version's is too short."""

    suite: str
    path: Path
    tree: Mapping[str, Any]
    needs: Mapping[str, Need]
    cost_s: Mapping[CellPlace, float]
    steady_s: Mapping[str, float]
    touch: str | None = None

    @property
    def name(self) -> str:
        """The name in files: the shipped name without slashes, or the name inside a user's file."""
        is_file = Path(self.suite).suffix in SUFFIXES
        return str(self.tree["suite"]) if is_file else self.suite.replace("/", "-")

    def text(self, ids: Sequence[str]) -> str:
        """Return the derived suite for these claims."""
        places = self.places(ids)
        return derived_suite_text(self.tree, places, self.suite, self.steady_s, self.touch)

    def places(self, ids: Sequence[str]) -> frozenset[CellPlace]:
        return frozenset().union(*(self.needs[name].places for name in ids))

    def block_s(self, ids: Sequence[str]) -> float:
        return sum(self.cost_s[place] for place in self.places(ids))


@dataclass(frozen=True)
class GatheredOffers:
    """`offers` in the order of the suites' names; `refused`: claim's id -> why nothing here can
    decide it."""

    offers: tuple[Offer, ...]
    refused: Mapping[str, str]


def gather(claims: Sequence[ClaimOfFile]) -> GatheredOffers:
    """Ask each worker once what it can do; run nothing. Raise UserError for a suite that is
    wrong."""
    by_suite: dict[str, list[ClaimOfFile]] = {}
    for tested in claims:
        assert tested.claim.test is not None
        by_suite.setdefault(tested.claim.test.suite, []).append(tested)
    offers: list[Offer] = []
    refused: dict[str, str] = {}
    for name in sorted(by_suite):
        offer, refused_of_suite = _offer(name, by_suite[name])
        refused |= refused_of_suite
        if offer is not None:
            offers.append(offer)
    return GatheredOffers(tuple(offers), refused)


def _offer(name: str, claims: Sequence[ClaimOfFile]) -> tuple[Offer | None, dict[str, str]]:
    path = find(name)
    tree = _with_absolute_profiles(plain(read(path), where=name), path.parent)
    workers, layers, absent = _ready_arms(tree)
    barred: dict[CellPlace, str] = {}
    touch = _common_touch(tree, claims)
    while True:
        needs: dict[str, Need] = {}
        refused: dict[str, str] = {}
        for tested in claims:
            need = find_need(tested.claims, tested.claim, tree, layers, barred.get)
            if isinstance(need, Need):
                needs[tested.claim.id] = need
            else:
                refused[tested.claim.id] = _reason(tested, need, absent)
        if not needs:
            return None, refused
        places = frozenset().union(*(need.places for need in needs.values()))
        suite, derived_cells = _derive_suite(tree, places, name, path, {}, touch)
        reasons = unsupported_cells.unsupported_reasons(derived_cells, workers, host_kind())
        if not reasons:
            break
        barred |= {
            place_of(cell): reasons[cell.number] for cell in derived_cells if cell.number in reasons
        }
    tests: dict[CellPlace, list[ClaimTest]] = {}
    for tested in claims:
        for place in needs[tested.claim.id].places if tested.claim.id in needs else ():
            tests.setdefault(place, []).extend(tested.claim.tests)
    error = level_of([MOST_BLOCKS], ErrorShare(earlier=0)).error
    steady_s = longer_steady_s(derived_cells, tests, error)
    if steady_s:
        suite, derived_cells = _derive_suite(tree, places, name, path, steady_s, touch)
    trials = make_plan(suite, derived_cells, seed=0).trials
    costs_s = {trial.cell: trial.estimated_s for trial in trials}
    cost_of_place = {place_of(cell): costs_s[cell.number] for cell in derived_cells}
    return Offer(name, path, tree, needs, cost_of_place, steady_s, touch), refused


def _common_touch(tree: Mapping[str, Any], claims: Sequence[ClaimOfFile]) -> str | None:
    """Return the treatment of the payload in the originals of these claims; None if they differ, or
    the suite varies it itself."""
    ways = {tested.claims.touch_of(tested.claim) for tested in claims} - {None}
    return ways.pop() if len(ways) == 1 and "touch" not in (tree.get("factors") or {}) else None


def _with_absolute_profiles(tree: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Return the tree with absolute paths of profile files, since the derived suite lies in another
    folder."""

    def absolute(side: Mapping[str, Any]) -> dict[str, Any]:
        profile = side.get("profile")
        if not isinstance(profile, str):
            return dict(side)
        is_file = "/" in profile or Path(profile).suffix in FORMAT_OF_SUFFIX
        return dict(side) | ({"profile": str((directory / profile).absolute())} if is_file else {})

    arms = [absolute(arm) for arm in tree["arms"]]
    for arm in arms:
        if "processes" in arm:
            arm["processes"] = {name: absolute(side) for name, side in arm["processes"].items()}
    return {**tree, "arms": arms}


def _derive_suite(
    tree: Mapping[str, Any],
    places: frozenset[CellPlace],
    name: str,
    path: Path,
    steady_s: Mapping[str, float],
    touch: str | None,
) -> tuple[Suite, tuple[Cell, ...]]:
    text = derived_suite_text(tree, places, name, steady_s, touch)
    suite = parse(
        text, where=f"{name} (what claims need)", directory=path.parent, middlewares=names_here()
    )
    return suite, cells(suite)


def _ready_arms(
    tree: Mapping[str, Any],
) -> tuple[dict[str, Worker], dict[str, str], dict[str, str]]:
    """Return the workers, arm -> layer of the arms that are ready, and arm -> why it is not
    ready."""
    names = {arm["name"]: _middlewares(arm) for arm in tree["arms"]}
    workers = find_workers({name for middlewares in names.values() for name in middlewares})
    layers, absent = {}, {}
    for arm, middlewares in names.items():
        reasons = (why_not_ready(name, workers) for name in middlewares)
        if reason := next(filter(None, reasons), None):
            absent[arm] = reason
        else:
            descriptions = [workers[name].description or {} for name in middlewares]
            arm_layers = dict.fromkeys(x.get("layer", "") for x in descriptions)
            layers[arm] = " + ".join(arm_layers)
    return workers, layers, absent


def _middlewares(arm: Mapping[str, Any]) -> list[str]:
    others = [
        side["middleware"] for side in (arm.get("processes") or {}).values() if "middleware" in side
    ]
    return list(dict.fromkeys([arm["middleware"], *others]))


def _reason(tested: ClaimOfFile, refusal: Refusal, absent: Mapping[str, str]) -> str:
    """Return why the claim is refused: the reasons of its unready arms, if no layer is ready."""
    if not refusal.unready:
        return refusal.reason
    sides = [side for test in tested.claim.tests for side in (test.left, test.right) if side]
    arms = [arm for side in sides for arm in tested.claims.sides[side] if arm in absent]
    return "; ".join(dict.fromkeys(absent[arm] for arm in arms)) or refusal.reason


OVERHEAD_S = 5.0
"""The time of a campaign besides its trials: the description of the machine, the question to each
worker what it can do, and the last look."""


class SuiteClaim(NamedTuple):
    suite: str
    claim: str


def choose_claims(
    offers: Sequence[Offer], budget_s: float, slower: float = 1.0
) -> dict[str, list[str]]:
    """Return suite -> ids of its claims, such that LEAST_BLOCKS blocks of all fit. `slower`: how
    many times the plan's estimate trials take."""
    left_s = budget_s
    ids_of_suite: dict[str, list[str]] = {}
    places_of_suite: dict[str, set[CellPlace]] = {offer.suite: set() for offer in offers}
    open_ = {SuiteClaim(offer.suite, name): offer for offer in offers for name in offer.needs}
    while open_:
        costs_s = {
            key: _cost_s(offer, key.claim, places_of_suite[key.suite], slower)
            + (0.0 if key.suite in ids_of_suite else OVERHEAD_S)
            for key, offer in open_.items()
        }
        served = {
            key: _covered_claims(open_[key], key.claim, places_of_suite[key.suite], open_)
            for key in open_
            if costs_s[key] <= left_s
        }
        if not served:
            break
        key = min(served, key=lambda key: costs_s[key] / len(served[key]))
        left_s -= costs_s[key]
        places_of_suite[key.suite] |= open_[key].needs[key.claim].places
        ids_of_suite.setdefault(key.suite, []).extend(served[key])
        for name in served[key]:
            del open_[SuiteClaim(key.suite, name)]
    return ids_of_suite


def _covered_claims(
    offer: Offer, name: str, planned: set[CellPlace], open_: Mapping[SuiteClaim, Offer]
) -> list[str]:
    """Return the open claims of the suite whose cells are all among those of claim `name` and the
    `planned` ones, that claim first."""
    places = planned | offer.needs[name].places
    others = [
        x
        for x, need in offer.needs.items()
        if x != name and SuiteClaim(offer.suite, x) in open_ and need.places <= places
    ]
    return [name, *others]


def _cost_s(offer: Offer, name: str, planned: set[CellPlace], slower: float) -> float:
    block_s = sum(offer.cost_s[place] for place in offer.needs[name].places - planned)
    return LEAST_BLOCKS * slower * block_s


def shares_s(blocks_s: Mapping[str, float], left_s: float, slower: float = 1.0) -> dict[str, float]:
    """Return suite -> the time that it may take: the least, and its proportional part of the
    rest."""
    least_s = {suite: _least_s(block_s, slower) for suite, block_s in blocks_s.items()}
    total_s = sum(least_s.values())
    surplus = max(0.0, left_s - total_s) / total_s
    return {suite: seconds * (1 + surplus) for suite, seconds in least_s.items()}


def _least_s(block_s: float, slower: float = 1.0) -> float:
    """Return the time of the least number of blocks, as a campaign of its own."""
    return OVERHEAD_S + LEAST_BLOCKS * slower * block_s


SCHEMA, VERSION = "rmwbench/claims-plan", 1


@dataclass(frozen=True, kw_only=True)
class SuiteShare:
    """What runs of a suite: its claims, how many of them at each layer, the number of cells; the
    time of a block, the time of the least number of blocks, and the time that it may take, in s."""

    suite: str
    claims: Sequence[str]
    layers: Mapping[str, int]
    cells: int
    block_s: float
    least_s: float
    share_s: float


@dataclass(frozen=True)
class ClaimsPlan:
    """`ids_of_suite`: suite -> ids of the claims that fit, in the order in which the suites run,
    the cheapest first."""

    gathered: GatheredOffers
    settled: Mapping[str, str]
    budget_s: float
    ids_of_suite: Mapping[str, Sequence[str]]

    @property
    def omitted(self) -> dict[str, str]:
        """Id of a claim that does not fit -> its suite."""
        planned = {name for names in self.ids_of_suite.values() for name in names}
        return {
            name: offer.suite
            for offer in self.gathered.offers
            for name in offer.needs
            if name not in planned
        }

    def offer(self, suite: str) -> Offer:
        return next(offer for offer in self.gathered.offers if offer.suite == suite)

    def suites(self) -> list[SuiteShare]:
        """Return the suites in the order in which they run."""
        ids = self.ids_of_suite
        blocks_s = {suite: self.offer(suite).block_s(names) for suite, names in ids.items()}
        shares = shares_s(blocks_s, self.budget_s) if blocks_s else {}
        return [
            SuiteShare(
                suite=suite,
                claims=list(names),
                layers=dict(Counter(self.offer(suite).needs[name].layer for name in names)),
                cells=len(self.offer(suite).places(names)),
                block_s=round(blocks_s[suite], 1),
                least_s=round(_least_s(blocks_s[suite]), 1),
                share_s=round(shares[suite], 1),
            )
            for suite, names in ids.items()
        ]

    def document(self) -> dict[str, Any]:
        """Return the document of `rmwbench published claims plan --json`
        (docs/formats/claims.md)."""
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
                for name, suite in self.omitted.items()
            ],
            "refused": [
                {"claim": name, "reason": reason} for name, reason in self.gathered.refused.items()
            ],
            "settled": [{"claim": name, "by": by} for name, by in self.settled.items()],
        }


def make_claims_plan(
    gathered: GatheredOffers, settled: Mapping[str, str], budget_s: float
) -> ClaimsPlan:
    ids = choose_claims(gathered.offers, budget_s)
    offers = {offer.suite: offer for offer in gathered.offers}
    order = sorted(ids, key=lambda suite: (offers[suite].block_s(ids[suite]), suite))
    return ClaimsPlan(gathered, settled, budget_s, {suite: ids[suite] for suite in order})


def undecidable(files: Sequence[Claims]) -> dict[str, str]:
    """Return id -> reason of the claims that no run decides, as the shipped ledger says."""
    claims = ledger(files, shipped=shipped_of(files)).claims
    return {
        judged.claim.id: f"undecidable: it takes {judged.measured[0].takes.text()}, if nothing is lost"
        for judged in claims
        if judged.state == "undecidable" and judged.measured[0].takes is not None
    }


def lines(plan: ClaimsPlan) -> list[str]:
    shares = plan.suites()
    claims = sum(len(share.claims) for share in shares)
    cells = sum(share.cells for share in shares)
    least_s = sum(share.least_s for share in shares)
    text = [
        f"{counted(claims, 'claim')} in {counted(len(shares), 'suite')}, {counted(cells, 'cell')}; at "
        f"least {LEAST_BLOCKS} blocks of each, about {duration_text(least_s)} of "
        f"{duration_text(plan.budget_s)}; the rest of the time goes to those that stay open.",
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
    if omitted := Counter(plan.omitted.values()):
        counts = ", ".join(f"{n} of {suite}" for suite, n in omitted.items())
        text += ["", f"Not in this time: {counts}."]
    names_of_reason: dict[str, list[str]] = {}
    for name, reason in plan.gathered.refused.items():
        names_of_reason.setdefault(reason, []).append(name)
    if names_of_reason:
        text += ["", "Not decided here:"]
        text += [f"  {', '.join(names)}: {reason}" for reason, names in names_of_reason.items()]
    if plan.settled:
        text += ["", f"Settled on this machine before: {counted(len(plan.settled), 'claim')}."]
    return text
