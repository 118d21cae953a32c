"""The cells of a suite that a claim's test needs, and their layer: the fewest that can decide it
here.

A claim is judged at one layer: its own if that is ready on this machine, otherwise the next of
LAYERS that has both of its sides. A factor that the claim does not fix has the levels of the
suite's short version.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest, levels_of
from rmwbench.suite.file.short_version import KEY as SHORT
from rmwbench.suite.predicate import LevelChoices

LAYERS = ("rclcpp", "native", "rclpy", "floor")
"""The layers that are tried after the claim's own."""


@dataclass(frozen=True, order=True)
class CellPlace:
    """A cell of a suite: workload, levels in the order of the suite's factors, arm."""

    workload: str
    levels: tuple[tuple[str, Any], ...]
    arm: str


@dataclass(frozen=True)
class Need:
    """The cells that decide a claim, at `layer`."""

    layer: str
    places: frozenset[CellPlace]


@dataclass(frozen=True)
class Refusal:
    """Why nothing here can decide a claim. `unready`: its sides have ready arms at no layer."""

    reason: str
    unready: bool = False


Barred = Callable[[CellPlace], str | None]
"""Cell -> why it cannot be run here, or None."""


def find_need(
    claims: Claims, claim: Claim, tree: Mapping[str, Any], layers: Mapping[str, str], barred: Barred
) -> Need | Refusal:
    """Return the cells that decide `claim` here, or why nothing can.

    `tree`: the suite's text as a tree (`load.plain`), with its short version. `layers`: arm ->
    layer of the arms that are ready here. `barred`: what a middleware cannot do.
    """
    if not claim.tests:
        return Refusal(claim.not_testable or "an opinion")
    own = claims.layer_of(claim)
    reasons: list[str] = []
    for layer in dict.fromkeys((own, *LAYERS)):
        places = _places_at_layer(claims, claim, tree, layers, layer)
        if places is None:
            continue
        if not places:
            reasons.append(f"{layer}: the suite leaves these cells out")
        elif reason := next(filter(None, map(barred, sorted(places, key=str))), None):
            reasons.append(f"{layer}: {reason}")
        else:
            return Need(layer, frozenset(places))
    sides = dict.fromkeys(side for test in claim.tests for side in (test.left, test.right) if side)
    if not reasons:
        return Refusal(f"no arm is ready here for {' and '.join(sides)}", unready=True)
    return Refusal("; ".join(reasons))


def _places_at_layer(
    claims: Claims, claim: Claim, tree: Mapping[str, Any], layers: Mapping[str, str], layer: str
) -> set[CellPlace] | None:
    """Return the cells of all tests of the claim at a layer; None if a side has no ready arm there,
    empty if the suite has no cell of one. All tests of a claim are of one suite."""
    arms = [name for name, at in layers.items() if at == layer]
    places: set[CellPlace] = set()
    for test in claim.tests:
        lefts = [name for name in claims.sides[test.left] if name in arms]
        right_arms = list(layers) if test.across_layers else arms
        rights = (
            [name for name in claims.sides[test.right] if name in right_arms]
            if test.right
            else [""]
        )
        if not lefts or not rights:
            return None
        places_of_test = _places_of_test(test, tree, lefts[0], rights[0])
        if not places_of_test:
            return set()
        places |= places_of_test
    return places


def _places_of_test(
    test: ClaimTest, tree: Mapping[str, Any], left: str, right: str
) -> set[CellPlace]:
    """Return the cells of both sides, and the cells by which they are divided; empty if one of them
    has none."""
    sides = [(test.workload, {**test.at, **test.left_at}, left)]
    if test.right:
        sides.append((test.right_workload or test.workload, {**test.at, **test.right_at}, right))
    if test.base_at:
        sides += [(workload, {**at, **test.base_at}, arm) for workload, at, arm in sides]
    # A statement about a number of cells is about all levels of the suite, not only about those of
    # its short version.
    places = [set(_places(tree, *side, all_levels=test.cells is not None)) for side in sides]
    return set().union(*places) if all(places) else set()


def _places(
    tree: Mapping[str, Any], workload: str | None, at: LevelChoices, arm: str, *, all_levels: bool
) -> Iterator[CellPlace]:
    short = {} if all_levels else tree.get(SHORT) or {}
    factors: Mapping[str, Sequence[Any]] = tree.get("factors") or {}
    if not at.keys() <= factors.keys():
        return
    chosen_levels = [
        [level for level in levels if level in levels_of(at[name])]
        if name in at
        else short.get("factors", {}).get(name, levels)
        for name, levels in factors.items()
    ]
    names = [str(item["name"]) for item in tree["workloads"]]
    chosen_names = short.get("workloads", names) if workload is None else [workload]
    for name in names:
        if name in map(str, chosen_names):
            for levels in product(*chosen_levels):
                here = dict(zip(factors, levels, strict=True))
                if not is_excluded(
                    tree.get("exclude") or (), {"workload": name, "arm": arm, **here}
                ):
                    yield CellPlace(name, tuple(here.items()), arm)


def is_excluded(rules: Iterable[Mapping[str, Any]], cell: Mapping[str, Any]) -> bool:
    """Whether one of the suite's exclusions has all its levels in common with the cell."""
    return any(all(cell.get(axis) == level for axis, level in rule.items()) for rule in rules)
