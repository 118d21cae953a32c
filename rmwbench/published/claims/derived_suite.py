"""The cells of a suite that claims need, and the text of a suite with these and no others, for
`rmwbench published claims run`.

A claim needs the fewest cells that can decide it here. It is judged at one layer: its own if that is
ready on this machine, otherwise the next of LAYERS that has both of its sides. A factor that the
claim does not fix has the levels of the suite's short version.

The text is derived from the shipped file and is an ordinary suite: it can be read, run again and
resumed. Arms, workloads, networks and levels are the original's, and the timeline is that of its
short version. All other cells are excluded by name.
"""

import io
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ruamel.yaml import YAML

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.stats.intervals import BURST
from rmwbench.published.claims.amounts import unit_of
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest, levels_of
from rmwbench.published.claims.topic_names import steady_messages
from rmwbench.suite.cells import Cell
from rmwbench.suite.file.short_version import KEY as SHORT
from rmwbench.suite.predicate import LevelChoices
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS, messages_needed

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


LEAST_BLOCKS = DECIDABLE_BLOCKS
MOST_BLOCKS = 12
NO_STEADY_S: Mapping[str, float] = {}
LONGEST_S = 60.0
"""The longest steady state. A claim that needs a longer one stays undecided."""


def derived_suite_text(
    tree: Mapping[str, Any],
    places: Collection[CellPlace],
    name: str,
    steady_s: Mapping[str, float] = NO_STEADY_S,
    touch: str | None = None,
) -> str:
    """Return the text of the suite with these cells only. `tree`: the original's text as a tree
    (`load.plain`), `name`: the name of the original; `steady_s`: workload -> steady state in
    seconds, where the short version's is too short; `touch`: how the payload is treated, if claims
    ask for it."""
    suite = {key: value for key, value in tree.items() if key not in (SHORT, "exclude")}
    short = tree.get(SHORT) or {}
    arms, workloads = {place.arm for place in places}, {place.workload for place in places}
    timeline = short.get("timeline") or {}
    # Also the metric that a shorter trial is judged by.
    judged = {"primary_metric": short["primary_metric"]} if "primary_metric" in short else {}
    suite["title"] = f"{tree['title']} (what claims need)"
    suite["blocks"] = {"planned": MOST_BLOCKS, "minimum": LEAST_BLOCKS}
    suite["timeline"] = {**(tree.get("timeline") or {}), **timeline}
    if short.get("sampling"):
        suite["sampling"] = short["sampling"]
    suite["arms"] = [_in_suite(arm, arms) for arm in tree["arms"] if arm["name"] in arms]
    suite["workloads"] = [
        _with_timeline(
            _with_touch(_in_suite(workload, workloads) | judged, touch),
            timeline,
            steady_s.get(workload["name"]),
        )
        for workload in tree["workloads"]
        if workload["name"] in workloads
    ]
    if tree.get("factors"):
        suite["factors"] = _used_levels(tree["factors"], places)
    exclude = _exclusions(suite, places)
    if exclude:
        suite["exclude"] = exclude
    return (
        f"# Derived from {name} by `rmwbench published claims run`: the cells that claims need.\n\n"
        f"{_yaml_text(suite)}"
    )


def longer_steady_s(
    all_cells: Collection[Cell], tests: Mapping[CellPlace, Collection[ClaimTest]], error: float
) -> dict[str, float]:
    """Return workload -> steady state in seconds for the workloads whose claims need a longer one
    than they have. A percentile needs as many messages as LEAST_BLOCKS blocks have, or as one block
    has if each block must have a value of its own; a fraction below a level needs as many as
    MOST_BLOCKS blocks must have so that no lost message decides it. `tests`: the tests that compare
    a cell; `error`: the error of each bound after MOST_BLOCKS blocks."""
    steady_s_of: dict[str, float] = {}
    for cell in all_cells:
        for test in tests.get(place_of(cell), ()):
            for metric, topic in test.inputs:
                needed = _messages(test, metric, error)
                planned = steady_messages(cell, topic)
                if 0 < planned < needed and not cell.saturating:
                    # a tenth more than just enough
                    steady_s = math.ceil(11 * cell.timeline.steady_s * needed / planned) / 10
                    if steady_s <= LONGEST_S:
                        name = cell.workload.name
                        steady_s_of[name] = max(steady_s_of.get(name, 0.0), steady_s)
    return steady_s_of


def place_of(cell: Cell) -> CellPlace:
    return CellPlace(cell.workload.name, tuple(cell.factors.items()), cell.arm.name)


def _messages(test: ClaimTest, metric: str, error: float) -> float:
    """Return how many messages a trial needs. The upper bound of a fraction with no event is
    −ln(2·error)·BURST ÷ messages (`intervals.clustered_fraction`)."""
    if test.level and not (test.right or test.times_metric) and unit_of(metric) == "fraction":
        return -math.log(2 * error) * BURST / test.level / MOST_BLOCKS
    if metric not in GLOSSARY or GLOSSARY[metric].kind != "quantile":
        return 0.0
    needed = messages_needed(GLOSSARY[metric].q)
    is_per_block = test.base_at or test.times_metric
    return needed if is_per_block else needed / LEAST_BLOCKS


def _in_suite(item: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the item without its reference under `against` if the suite has lost the target."""
    return {key: value for key, value in item.items() if key != "against" or value in names}


def _with_touch(workload: dict[str, Any], touch: str | None) -> dict[str, Any]:
    """Return the workload with this touch. A touch of the suite's own stays; so do frames of a
    camera, which are always written and read whole."""
    keeps_own = touch is None or "touch" in workload or "frames" in workload
    return workload if keeps_own else workload | {"touch": touch}


def _with_timeline(
    workload: dict[str, Any], short: Mapping[str, Any], steady_s: float | None
) -> dict[str, Any]:
    """Return the workload without those of its own times that the short version replaces."""
    own = {k: v for k, v in (workload.pop("timeline", None) or {}).items() if k not in short}
    if steady_s is not None:
        own["steady_s"] = steady_s
    return workload | ({"timeline": own} if own else {})


def _used_levels(factors: Mapping[str, Any], places: Collection[CellPlace]) -> dict[str, list[Any]]:
    used: dict[str, list[Any]] = {name: [] for name in factors}
    for place in places:
        for name, level in place.levels:
            used[name].append(level)
    return {
        name: [level for level in levels if level in used[name]] for name, levels in factors.items()
    }


def _exclusions(suite: Mapping[str, Any], places: Collection[CellPlace]) -> list[dict[str, Any]]:
    """Return rules that leave exactly these cells: a rule without an arm for a combination that no
    arm needs, otherwise a rule for each arm that does not need it."""
    factors = suite.get("factors") or {}
    arms = [arm["name"] for arm in suite["arms"]]
    rules = []
    for workload in suite["workloads"]:
        for levels in product(*factors.values()):
            here = dict(zip(factors, levels, strict=True))
            rule = {"workload": workload["name"], **here}
            absent = [
                arm
                for arm in arms
                if CellPlace(workload["name"], tuple(here.items()), arm) not in places
            ]
            if len(absent) == len(arms):
                rules.append(rule)
            else:
                rules += [{**rule, "arm": arm} for arm in absent]
    return rules


def _yaml_text(tree: Mapping[str, Any]) -> str:
    yaml: Any = YAML(typ="safe", pure=True)  # whose attributes have other types than they take
    yaml.default_flow_style = None  # leaves on one line
    yaml.sort_base_mapping_type_on_output = False
    yaml.allow_unicode = True
    yaml.width = 4096
    out = io.StringIO()
    yaml.dump(dict(tree), out)
    return out.getvalue()
