"""What of a suite runs where its budget does not hold the minimum of blocks of everything: whole
comparisons, chosen before anything is measured.

The rule: kept are first the comparisons at the ends of every factor, then those between, each time
the one whose workload and levels lie farthest from all that are kept, and one that does not fit is
passed over. So any prefix covers the range of every factor. Never an arm of a comparison is left
out: what is compared is compared whole.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rmwbench.suite.cells import Cell
from rmwbench.suite.suite import Suite

Group = Sequence[Cell]
LINES = 8
"""So many lines name what was not run; what is beyond them stands in the plan document."""
WHOLE, SHORT = "whole", "short"


@dataclass(frozen=True)
class Cut:
    """What a budget left out. `version` is the suite's that runs, `whole` or `short`; `asked_version`
    is the one that was asked for: `all_comparisons` counts its comparisons, and its minimum of
    blocks takes `whole_minimum_s`. `not_run` are keys of comparisons."""

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
    """The comparisons that fit into `budget_s` together, in the order of the rule; none where not
    even one does.

    `groups` are the cells by comparison, in the suite's order, `costs_s` what each takes in all its
    blocks. Those in `last` are kept only where room is left. A comparison comes with what it is
    held `against`; one that costs nothing, since none of its cells can run here, is always kept, to
    be shown as not supported.
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
            index = int(np.argmax(np.where(waits, nearest, -1.0)))  # of equals the suite's first
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
    """The comparisons as points, each by its workload and its level of every factor, evenly spaced
    from 0 to 1 in the order of the file."""
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
    """The comparison, and what its workload is held `against` at the same levels, and so on."""
    comparisons = [key]
    while (workload := groups[comparisons[-1]][0].workload).against:
        reference = f"{workload.against}{comparisons[-1].removeprefix(workload.name)}"
        if reference not in groups or reference in comparisons:
            break
        comparisons.append(reference)
    return comparisons


def words(suite: Suite, groups: Mapping[str, Group], run: Collection[str]) -> tuple[str, ...]:
    """What of `groups` is not in `run`, grouped: workloads that are gone whole, then per workload
    the levels that are gone whole, then the combinations of levels that are left."""
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
    """The points as few products of levels: those alike in all factors but one become one, from the
    last factor on."""
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
        f"{factor}={'|'.join(_word(level) for level in levels)}" for factor, levels in box.items()
    )


def _word(level: Any) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)
