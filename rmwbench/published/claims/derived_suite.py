"""A suite with the cells that claims need and no others, as the text of a suite file, for `rmwbench
claims run`.

It is derived from the shipped file and stays an ordinary suite: it can be read, run again and
resumed. Arms, workloads, networks and levels are the original's, the timeline that of its short
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
LONGEST_S = 60.0
"""No steady state is lengthened beyond this: the claim stays undecided instead."""


def derived(
    tree: Mapping[str, Any],
    places: Collection[CellPlace],
    name: str,
    longer: Mapping[str, float] | None = None,
    touch: str | None = None,
) -> str:
    """The text of the suite with these cells only. `tree` is what the original's text says
    (`load.plain`), `name` how it is called; `longer`: workload -> steady state in seconds, where
    the short version's is too short; `touch`: what becomes of the payload, where claims ask for
    it."""
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
    suite["arms"] = [_without(arm, "against", arms) for arm in tree["arms"] if arm["name"] in arms]
    suite["workloads"] = [
        _timed(
            _touched(_without(workload, "against", workloads) | judged, touch),
            timeline,
            (longer or {}).get(workload["name"]),
        )
        for workload in tree["workloads"]
        if workload["name"] in workloads
    ]
    if tree.get("factors"):
        suite["factors"] = _levels(tree["factors"], places)
    exclude = _exclude(suite, places)
    if exclude:
        suite["exclude"] = exclude
    return (
        f"# Derived from {name} by `rmwbench published claims run`: the cells that claims need.\n\n"
        f"{_dumped(suite)}"
    )


def longer(
    all_cells: Collection[Cell], tests: Mapping[CellPlace, Collection[ClaimTest]], error: float
) -> dict[str, float]:
    """Workload -> steady state in seconds that its claims need, where that is more than it has: for
    a percentile the messages that LEAST_BLOCKS blocks have, or one where each block must have a
    value of its own; for a fraction below a level those of MOST_BLOCKS blocks, so that none lost
    decides it. `tests`: those that a cell is compared in; `error`: with which each bound may err
    after MOST_BLOCKS blocks."""
    steady_s_by_workload: dict[str, float] = {}
    for cell in all_cells:
        for test in tests.get(place_of(cell), ()):
            for metric, topic in test.inputs:
                needed = _messages(test, metric, error)
                planned = steady_messages(cell, topic)
                if 0 < planned < needed and not cell.saturating:
                    # a tenth more than just enough
                    steady_s = math.ceil(11 * cell.timeline.steady_s * needed / planned) / 10
                    if steady_s <= LONGEST_S:
                        steady_s_by_workload[cell.workload.name] = max(
                            steady_s_by_workload.get(cell.workload.name, 0.0), steady_s
                        )
    return steady_s_by_workload


def place_of(cell: Cell) -> CellPlace:
    return CellPlace(cell.workload.name, tuple(cell.factors.items()), cell.arm.name)


def _messages(test: ClaimTest, metric: str, error: float) -> float:
    """How many a trial needs. A fraction of which nothing is seen lies below −ln(2·error)·BURST ÷
    messages (`intervals.clustered_fraction`)."""
    if test.level and not (test.right or test.times_metric) and unit_of(metric) == "fraction":
        return -math.log(2 * error) * BURST / test.level / MOST_BLOCKS
    if metric not in GLOSSARY or GLOSSARY[metric].kind != "quantile":
        return 0.0
    needed = messages_needed(GLOSSARY[metric].q)
    by_itself = test.base_at or test.times_metric
    return needed if by_itself else needed / LEAST_BLOCKS


def _without(item: Mapping[str, Any], key: str, known: Collection[str]) -> dict[str, Any]:
    """The item without its reference under `key`, where the suite has lost what it refers to."""
    return {k: v for k, v in item.items() if k != key or v in known}


def _touched(workload: dict[str, Any], touch: str | None) -> dict[str, Any]:
    """What the suite says of its payload by itself stays, as do frames of a camera, which are
    written and read whole."""
    own = touch is None or "touch" in workload or "frames" in workload
    return workload if own else workload | {"touch": touch}


def _timed(
    workload: dict[str, Any], short: Mapping[str, Any], steady_s: float | None
) -> dict[str, Any]:
    """As in a short version, the workload's own spans give way."""
    own = {k: v for k, v in (workload.pop("timeline", None) or {}).items() if k not in short}
    if steady_s is not None:
        own["steady_s"] = steady_s
    return workload | ({"timeline": own} if own else {})


def _levels(factors: Mapping[str, Any], places: Collection[CellPlace]) -> dict[str, list[Any]]:
    used: dict[str, list[Any]] = {name: [] for name in factors}
    for place in places:
        for name, level in place.levels:
            used[name].append(level)
    return {
        name: [level for level in levels if level in used[name]] for name, levels in factors.items()
    }


def _exclude(suite: Mapping[str, Any], places: Collection[CellPlace]) -> list[dict[str, Any]]:
    """Rules that leave exactly these cells: a combination that no arm needs as a whole, otherwise
    arm by arm."""
    factors = suite.get("factors") or {}
    arms = [arm["name"] for arm in suite["arms"]]
    rules = []
    for workload in suite["workloads"]:
        for levels in product(*factors.values()):
            here = dict(zip(factors, levels, strict=True))
            arms_here = {
                arm
                for arm in arms
                if CellPlace(workload["name"], tuple(here.items()), arm) in places
            }
            rule = {"workload": workload["name"], **here}
            if not arms_here:
                rules.append(rule)
            else:
                rules += [{**rule, "arm": arm} for arm in arms if arm not in arms_here]
    return rules


def _dumped(tree: Mapping[str, Any]) -> str:
    yaml: Any = YAML(typ="safe", pure=True)  # whose attributes have other types than they take
    yaml.default_flow_style = None  # leaves on one line
    yaml.sort_base_mapping_type_on_output = False
    yaml.allow_unicode = True
    yaml.width = 4096
    out = io.StringIO()
    yaml.dump(dict(tree), out)
    return out.getvalue()
