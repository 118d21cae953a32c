"""What could be run here for claims: per suite the cells that decide its claims, at the layer that
is ready, and why other claims cannot be decided on this machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.campaign.plan import unsupported
from rmwbench.campaign.plan.plan import make_plan
from rmwbench.lab.host import host_kind
from rmwbench.lab.middleware import Worker, find_workers, names_here, why_not_ready
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest
from rmwbench.published.claims.derived_suite import MOST_BLOCKS, derived, longer, place_of
from rmwbench.published.claims.judging.decision_rules import ErrorShare, level_of
from rmwbench.published.claims.needed_cells import CellPlace, Need, Refusal, needed
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.file.load import parse, plain
from rmwbench.suite.file.places import SUFFIXES, find, read
from rmwbench.suite.side import FORMAT_OF_SUFFIX
from rmwbench.suite.suite import Suite


@dataclass(frozen=True)
class AskedClaim:
    """A claim with a test, and its file."""

    claims: Claims
    claim: Claim


@dataclass(frozen=True)
class Offer:
    """A suite reduced to what claims need. `needs`: claim's id -> its cells; `cost_s`: of one trial
    of a cell."""

    suite: str
    path: Path
    tree: Mapping[str, Any]
    needs: Mapping[str, Need]
    cost_s: Mapping[CellPlace, float]
    longer: Mapping[str, float]
    touch: str | None = None

    @property
    def name(self) -> str:
        """For files: the shipped name without slashes, or what a file of one's own calls itself."""
        own = Path(self.suite).suffix in SUFFIXES
        return str(self.tree["suite"]) if own else self.suite.replace("/", "-")

    def text(self, ids: Sequence[str]) -> str:
        """The derived suite for these claims."""
        return derived(self.tree, self.places(ids), self.suite, self.longer, self.touch)

    def places(self, ids: Sequence[str]) -> frozenset[CellPlace]:
        return frozenset().union(*(self.needs[name].places for name in ids))

    def block_s(self, ids: Sequence[str]) -> float:
        return sum(self.cost_s[place] for place in self.places(ids))


@dataclass(frozen=True)
class Gathered:
    """`offers` in the order of the suites' names; `refused`: claim's id -> why nothing here can
    decide it."""

    offers: tuple[Offer, ...]
    refused: Mapping[str, str]


def gather(asked: Sequence[AskedClaim]) -> Gathered:
    """Asks each worker once what it can do; runs nothing. Raises UserError for a suite that is
    wrong."""
    by_suite: dict[str, list[AskedClaim]] = {}
    for request in asked:
        assert request.claim.test is not None
        by_suite.setdefault(request.claim.test.suite, []).append(request)
    offers: list[Offer] = []
    refused: dict[str, str] = {}
    for name in sorted(by_suite):
        offer, lacking = _offer(name, by_suite[name])
        refused |= lacking
        if offer is not None:
            offers.append(offer)
    return Gathered(tuple(offers), refused)


def _offer(name: str, asked: Sequence[AskedClaim]) -> tuple[Offer | None, dict[str, str]]:
    path = find(name)
    tree = _anywhere(plain(read(path), where=name), path.parent)
    workers, layers, absent = _ready(tree)
    barred: dict[CellPlace, str] = {}
    touch = _touch(tree, asked)
    while True:
        answers = {
            request.claim.id: needed(request.claims, request.claim, tree, layers, barred.get)
            for request in asked
        }
        needs = {key: need for key, need in answers.items() if isinstance(need, Need)}
        refused = {
            key: _why(request, reason, absent)
            for request in asked
            if isinstance(reason := answers[key := request.claim.id], Refusal)
        }
        if not needs:
            return None, refused
        places = frozenset().union(*(need.places for need in needs.values()))
        suite, wanted = _reduced(tree, places, name, path, touch=touch)
        lacking = unsupported.described(wanted, workers, host_kind())
        if not lacking:
            break
        barred |= {
            place_of(cell): lacking[cell.number] for cell in wanted if cell.number in lacking
        }
    tests: dict[CellPlace, list[ClaimTest]] = {}
    for request in asked:
        for place in needs[request.claim.id].places if request.claim.id in needs else ():
            tests.setdefault(place, []).extend(request.claim.tests)
    more = longer(wanted, tests, level_of([MOST_BLOCKS], ErrorShare(earlier=0)).error)
    if more:
        suite, wanted = _reduced(tree, places, name, path, more, touch=touch)
    costs = {trial.cell: trial.estimated_s for trial in make_plan(suite, wanted, seed=0).trials}
    return Offer(
        name,
        path,
        tree,
        needs,
        {place_of(cell): costs[cell.number] for cell in wanted},
        more,
        touch,
    ), refused


def _touch(tree: Mapping[str, Any], asked: Sequence[AskedClaim]) -> str | None:
    """What claims of originals in which the payload was treated so ask for; None where they ask for
    several ways, or the suite varies it itself."""
    ways = {one.claims.touch_of(one.claim) for one in asked} - {None}
    return ways.pop() if len(ways) == 1 and "touch" not in (tree.get("factors") or {}) else None


def _anywhere(tree: dict[str, Any], directory: Path) -> dict[str, Any]:
    """With profile files by their absolute paths: the derived suite lies elsewhere."""

    def moved(side: Mapping[str, Any]) -> dict[str, Any]:
        profile = side.get("profile")
        if not isinstance(profile, str):
            return dict(side)
        is_file = "/" in profile or Path(profile).suffix in FORMAT_OF_SUFFIX
        return dict(side) | ({"profile": str((directory / profile).absolute())} if is_file else {})

    arms = [
        moved(arm)
        | (
            {"processes": {k: moved(side) for k, side in arm["processes"].items()}}
            if "processes" in arm
            else {}
        )
        for arm in tree["arms"]
    ]
    return {**tree, "arms": arms}


def _reduced(
    tree: Mapping[str, Any],
    places: frozenset[CellPlace],
    name: str,
    path: Path,
    more: Mapping[str, float] | None = None,
    *,
    touch: str | None = None,
) -> tuple[Suite, tuple[Cell, ...]]:
    text = derived(tree, places, name, more, touch)
    suite = parse(
        text, where=f"{name} (what claims need)", directory=path.parent, middlewares=names_here()
    )
    return suite, cells(suite)


def _ready(tree: Mapping[str, Any]) -> tuple[dict[str, Worker], dict[str, str], dict[str, str]]:
    """The workers, arm -> layer of the arms that are ready, and arm -> why it is not."""
    names = {arm["name"]: _middlewares(arm) for arm in tree["arms"]}
    workers = find_workers({name for middlewares in names.values() for name in middlewares})
    layers, absent = {}, {}
    for arm, middlewares in names.items():
        reason = next(
            (reason for name in middlewares if (reason := why_not_ready(name, workers))), None
        )
        if reason is not None:
            absent[arm] = reason
        else:
            names_of_layers = [
                (workers[name].description or {}).get("layer", "") for name in middlewares
            ]
            layers[arm] = " + ".join(dict.fromkeys(names_of_layers))
    return workers, layers, absent


def _middlewares(arm: Mapping[str, Any]) -> list[str]:
    others = [
        side["middleware"] for side in (arm.get("processes") or {}).values() if "middleware" in side
    ]
    return list(dict.fromkeys([arm["middleware"], *others]))


def _why(request: AskedClaim, refused: Refusal, absent: Mapping[str, str]) -> str:
    """The reason; that of the arms which are not ready where it is that."""
    if not refused.unready:
        return refused.reason
    sides = [side for test in request.claim.tests for side in (test.left, test.right) if side]
    arms = [arm for side in sides for arm in request.claims.sides[side] if arm in absent]
    return "; ".join(dict.fromkeys(absent[arm] for arm in arms)) or refused.reason
