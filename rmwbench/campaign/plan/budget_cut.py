"""The comparisons of a suite that run if its budget does not hold the minimum of blocks of all.
They are chosen before anything is measured.

The rule keeps first the comparisons at the ends of every factor, then those between. Each time it
takes the comparison whose workload and levels lie farthest from all kept ones, and skips it if it
does not fit. So any prefix covers the range of every factor. A comparison always has all its arms.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rmwbench.suite.cells import Cell
from rmwbench.suite.suite import Suite
from rmwbench.words.level_names import level_text

Group = Sequence[Cell]
LINES = 8
"""The most lines that name comparisons without trials; the plan document has all of them."""
WHOLE, SHORT = "whole", "short"


@dataclass(frozen=True)
class Cut:
    """The comparisons that a budget does not hold. `version` of the suite runs, `whole` or `short`;
    `asked_version` was asked for: it has `all_comparisons` comparisons, and its minimum of blocks
    takes `whole_minimum_s`. `not_run` has keys of comparisons."""

    budget: str
    version: str
    asked_version: str
    whole_minimum: str
    whole_minimum_s: float
    all_comparisons: int
    not_run: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """One sentence."""
        examples = "; ".join(self.lines[:3]) + (" …" if len(self.lines) > 3 else "")
        return f"{self.heading}: {self.share_text}. {examples}".rstrip()

    @property
    def heading(self) -> str:
        return f"Not run within {self.budget}"

    @property
    def share_text(self) -> str:
        share = f"{len(self.not_run)} of {self.all_comparisons} comparisons"
        if self.asked_version == SHORT:
            return f"{share}; the short version takes at least {self.whole_minimum}"
        short = (
            ", so this is its short version, with shorter trials" if self.version == SHORT else ""
        )
        return f"{share}; the whole suite takes at least {self.whole_minimum}{short}"

    def document(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "whole_minimum_s": round(self.whole_minimum_s, 3),
            "of": self.all_comparisons,
            "comparisons": list(self.not_run),
            "lines": list(self.lines),
            "text": self.text,
        }


def fitting(
    suite: Suite,
    groups: Mapping[str, Group],
    costs_s: Mapping[str, float],
    budget_s: float,
    last: Collection[str] = (),
) -> list[str]:
    """Return the comparisons that fit into `budget_s` together, in the order of the rule; empty if
    none fits.

    `groups` has the cells by comparison, in the suite's order, `costs_s` the time of all blocks of
    each. Those in `last` are considered last. A comparison is kept together with its reference
    (`against`). A comparison without a cost, none of whose cells can run here, is always kept: the
    report shows it as not supported.
    """
    import numpy as np

    keys = [key for key in groups if costs_s[key] > 0]
    points = np.array(coordinates(suite, {key: groups[key] for key in keys}), dtype=float).reshape(
        len(keys), -1
    )
    rounds = np.array([2 * (key in last) for key in keys]) + ~np.isin(points, (0.0, 1.0)).all(
        axis=1
    )
    nearest, index_of = np.full(len(keys), math.inf), {key: index for index, key in enumerate(keys)}
    chosen: dict[str, None] = {}
    total_s = 0.0
    for turn in range(4):
        waits = rounds == turn
        while waits.any():
            index = int(np.argmax(np.where(waits, nearest, -1.0)))  # the first of equals
            waits[index] = False
            unit = [
                key
                for key in _with_reference(keys[index], groups)
                if key not in chosen and key in index_of
            ]
            cost_s = math.fsum(costs_s[key] for key in unit)
            if not unit or total_s + cost_s > budget_s * (1 + 1e-12):
                continue
            total_s += cost_s
            for key in reversed(unit):  # the reference first, so that no prefix lacks it
                chosen[key] = None
                nearest = np.minimum(nearest, ((points - points[index_of[key]]) ** 2).sum(axis=1))
    return [*chosen, *(key for key in groups if key not in index_of)] if chosen else []


def coordinates(suite: Suite, groups: Mapping[str, Group]) -> list[tuple[float, ...]]:
    """Return the comparisons as points. The coordinates are the workload and the level of every
    factor, evenly spaced from 0 to 1 in the order of the file."""
    firsts = [group[0] for group in groups.values()]
    workloads = [
        w.name for w in suite.workloads if any(cell.workload.name == w.name for cell in firsts)
    ]
    axes = {
        name: [level for level in levels if any(cell.factors[name] == level for cell in firsts)]
        for name, levels in suite.factors.items()
    }
    return [
        (
            _coordinate(workloads, cell.workload.name),
            *(_coordinate(levels, cell.factors[name]) for name, levels in axes.items()),
        )
        for cell in firsts
    ]


def _coordinate(levels: Sequence[Any], level: Any) -> float:
    return levels.index(level) / max(1, len(levels) - 1)


def _with_reference(key: str, groups: Mapping[str, Group]) -> list[str]:
    """Return the comparison, its reference (`against`) at the same levels, the reference's
    reference, and so on."""
    comparisons = [key]
    while (workload := groups[comparisons[-1]][0].workload).against:
        reference = f"{workload.against}{comparisons[-1].removeprefix(workload.name)}"
        if reference not in groups or reference in comparisons:
            break
        comparisons.append(reference)
    return comparisons


def words(suite: Suite, groups: Mapping[str, Group], run: Collection[str]) -> tuple[str, ...]:
    """Return lines for the comparisons of `groups` that are not in `run`: workloads of which none
    runs, then per workload the levels of which none runs, then the other combinations of levels."""
    points = {
        key: (group[0].workload.name, dict(group[0].factors)) for key, group in groups.items()
    }
    lines: list[str] = []
    missing_workloads = []
    for name in dict.fromkeys(name for name, _ in points.values()):
        levels_of_key = {
            key: levels for key, (workload, levels) in points.items() if workload == name
        }
        levels_run = [levels for key, levels in levels_of_key.items() if key in run]
        if not levels_run:
            missing_workloads.append(name)
            continue
        missing = {
            factor: [
                level
                for level in suite.factors[factor]
                if any(levels[factor] == level for levels in levels_of_key.values())
                and not any(levels[factor] == level for levels in levels_run)
            ]
            for factor in suite.factors
        }
        missing = {factor: levels for factor, levels in missing.items() if levels}
        if missing:
            lines.append(
                f"{name}: "
                + ", ".join(f"all with {_levels({f: levels})}" for f, levels in missing.items())
            )
        rest = [
            levels
            for key, levels in levels_of_key.items()
            if key not in run
            and not any(
                levels[factor] in missing_levels for factor, missing_levels in missing.items()
            )
        ]
        lines += [f"{name} with {_levels(box)}" for box in _boxes(rest, list(suite.factors))]
    if missing_workloads:
        lines.insert(
            0, f"workload{'s' * (len(missing_workloads) > 1)} {', '.join(missing_workloads)}"
        )
    return tuple(lines)


def _boxes(
    points: Sequence[Mapping[str, Any]], factors: Sequence[str]
) -> list[dict[str, list[Any]]]:
    """Return the points as few products of levels: points that differ in one factor alone are
    merged, from the last factor on."""
    boxes = [tuple((point[factor],) for factor in factors) for point in points]
    for axis in reversed(range(len(factors))):
        merged: dict[tuple[Any, ...], list[Any]] = {}
        for box in boxes:
            merged.setdefault((*box[:axis], *box[axis + 1 :]), []).append(box[axis])
        boxes = [
            (*rest[:axis], tuple(chain(*levels_of_axis)), *rest[axis:])
            for rest, levels_of_axis in merged.items()
        ]
    return [{factor: list(box[i]) for i, factor in enumerate(factors)} for box in boxes]


def _levels(box: Mapping[str, Sequence[Any]]) -> str:
    return ", ".join(
        f"{factor}={'|'.join(map(level_text, levels))}" for factor, levels in box.items()
    )
