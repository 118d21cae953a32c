"""What could be run here for claims: for each suite the cells that decide its claims, at the layer
that is ready, and why other claims cannot be decided on this machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.campaign.plan import unsupported_cells
from rmwbench.campaign.plan.plan import make_plan
from rmwbench.lab.host import host_kind
from rmwbench.lab.middleware import Worker, find_workers, names_here, why_not_ready
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest
from rmwbench.published.claims.derived_suite import (
    MOST_BLOCKS,
    derived_suite_text,
    longer_steady_s,
    place_of,
)
from rmwbench.published.claims.judging.decision_rules import ErrorShare, level_of
from rmwbench.published.claims.needed_cells import CellPlace, Need, Refusal, find_need
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.file.load import parse, plain
from rmwbench.suite.file.suite_files import SUFFIXES, find, read
from rmwbench.suite.side import FORMAT_OF_SUFFIX
from rmwbench.suite.suite import Suite


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
        reasons = unsupported_cells.described(derived_cells, workers, host_kind())
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
