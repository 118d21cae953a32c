"""Which cells of a suite a claim's test needs, and at which layer: the fewest that can decide it
here.

A claim is asked at one layer: its own where that is ready on this machine, otherwise the next of
LAYERS that has both of its sides. A factor that the claim does not fix is taken at the levels of
the suite's short version.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest, levels_of
from rmwbench.suite.file.short_version import KEY as SHORT
from rmwbench.suite.predicate import LevelChoices

LAYERS = ("rclcpp", "native", "rclpy", "floor")
"""After the claim's own."""


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
    """Why nothing here can decide a claim. `unready`: at no layer are arms of its sides ready."""

    reason: str
    unready: bool = False


Barred = Callable[[CellPlace], str | None]
"""Why a cell cannot be run here, or None."""


def needed(
    claims: Claims, claim: Claim, tree: Mapping[str, Any], layers: Mapping[str, str], barred: Barred
) -> Need | Refusal:
    """What decides `claim` here, or why nothing can.

    `tree`: what the suite's text says (`load.plain`), its short version included. `layers`: arm ->
    layer, of the arms that are ready here. `barred`: what a middleware cannot do.
    """
    if not claim.tests:
        return Refusal(claim.not_testable or "an opinion")
    own = claims.layer_of(claim)
    why: list[str] = []
    for layer in dict.fromkeys((own, *LAYERS)):
        places = _of_layer(claims, claim, tree, layers, layer)
        if places is None:
            continue
        if not places:
            why.append(f"{layer}: the suite leaves these cells out")
        elif reason := next(
            (reason for place in sorted(places, key=str) if (reason := barred(place))), None
        ):
            why.append(f"{layer}: {reason}")
        else:
            return Need(layer, frozenset(places))
    sides = dict.fromkeys(side for test in claim.tests for side in (test.left, test.right) if side)
    if not why:
        return Refusal(f"no arm is ready here for {' and '.join(sides)}", unready=True)
    return Refusal("; ".join(why))


def _of_layer(
    claims: Claims, claim: Claim, tree: Mapping[str, Any], layers: Mapping[str, str], layer: str
) -> set[CellPlace] | None:
    """The cells of all of its tests at a layer; None where a side has no arm there that is ready,
    empty where the suite has no cell of one. All tests of a claim are of one suite."""
    arms = [name for name, at in layers.items() if at == layer]
    places: set[CellPlace] = set()
    for test in claim.tests:
        lefts = [name for name in claims.sides[test.left] if name in arms]
        among = list(layers) if test.across_layers else arms
        rights = (
            [name for name in claims.sides[test.right] if name in among] if test.right else [""]
        )
        if not lefts or not rights:
            return None
        places_of_test = _at(test, tree, lefts[0], rights[0])
        if not places_of_test:
            return set()
        places |= places_of_test
    return places


def _at(test: ClaimTest, tree: Mapping[str, Any], left: str, right: str) -> set[CellPlace]:
    """The cells of both sides, and those that they are divided by; empty where one of them has
    none."""
    sides = [(test.workload, {**test.at, **test.left_at}, left)]
    if test.right:
        sides.append((test.right_workload or test.workload, {**test.at, **test.right_at}, right))
    if test.base_at:
        sides += [(workload, {**at, **test.base_at}, arm) for workload, at, arm in sides]
    # A statement about so many cells is of all levels of the suite, not of those of its short
    # version.
    places = [set(_places(tree, *side, every=test.cells is not None)) for side in sides]
    return set().union(*places) if all(places) else set()


def _places(
    tree: Mapping[str, Any], workload: str | None, at: LevelChoices, arm: str, *, every: bool
) -> Iterator[CellPlace]:
    short = {} if every else tree.get(SHORT) or {}
    factors: Mapping[str, Sequence[Any]] = tree.get("factors") or {}
    fewer = {name: short.get("factors", {}).get(name, levels) for name, levels in factors.items()}
    chosen = [
        [level for level in levels if level in levels_of(at[name])] if name in at else fewer[name]
        for name, levels in factors.items()
    ]
    named = [str(one["name"]) for one in tree["workloads"]]
    wanted = (
        [workload]
        if workload is not None
        else [str(name) for name in short.get("workloads", named)]
    )
    if not at.keys() <= factors.keys():
        return
    for name in named:
        if name in wanted:
            for levels in product(*chosen):
                here = dict(zip(factors, levels, strict=True))
                if not _excluded(tree, {"workload": name, "arm": arm, **here}):
                    yield CellPlace(name, tuple(here.items()), arm)


def _excluded(tree: Mapping[str, Any], here: Mapping[str, Any]) -> bool:
    return any(
        all(here.get(axis) == level for axis, level in rule.items())
        for rule in tree.get("exclude") or ()
    )
