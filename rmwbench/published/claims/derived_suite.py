"""The text of a suite file that has the cells that claims need and no others, for `rmwbench claims
run`.

It is derived from the shipped file and is an ordinary suite: it can be read, run again and resumed.
Arms, workloads, networks and levels are the original's, and the timeline is that of its short
version. All other cells are excluded by name.
"""

import io
import math
from collections.abc import Collection, Mapping
from itertools import product
from typing import Any

from ruamel.yaml import YAML

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.stats.intervals import BURST
from rmwbench.published.claims.amounts import unit_of
from rmwbench.published.claims.claims_file import ClaimTest
from rmwbench.published.claims.needed_cells import CellPlace
from rmwbench.published.claims.topic_names import steady_messages
from rmwbench.suite.cells import Cell
from rmwbench.suite.file.short_version import KEY as SHORT
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS, messages_needed

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
