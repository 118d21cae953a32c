"""Which cells a figure is measured by: those of a suite with its workload and levels, and where
each of them stands in the figure. Pure, but for `asked_for`, which reads the suite's file.

`asked_for` multiplies levels out and applies exclusions, and does no more: loading a suite also
checks every cell, which takes seconds for the large ones.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from rmwbench.errors import UserError
from rmwbench.published.figures.figures_file import MeasuredFigure, fill
from rmwbench.suite.file.interop_pairs import ARROW
from rmwbench.suite.file.load import plain
from rmwbench.suite.file.places import find, read, shown

Values = dict[str, Any]


def values(
    workload: str, arm: str, factors: Mapping[str, Any], pair: Sequence[str] | None = None
) -> Values:
    """What the templates of a figure know of a cell: its levels, each number also in percent
    (`NAME%`) and two more (`NAME+2`), `workload`, `arm`, and of a pair `talker` and `listener`."""
    found: Values = {"workload": workload, "arm": arm, **factors}
    if pair or ARROW in arm:
        found |= dict(zip(("talker", "listener"), pair or arm.split(ARROW), strict=True))
    for name, value in list(found.items()):
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[f"{name}%"] = f"{100 * value:g}"
            found[f"{name}+2"] = value + 2
    return found


def chosen(measured: MeasuredFigure, cell: Mapping[str, Any]) -> bool:
    """Whether the figure is measured by the cell of these values, at `measured`."""
    if measured.workload and cell["workload"] not in measured.workload:
        return False
    return all(
        name in cell and cell[name] in _levels(wanted) for name, wanted in measured.at.items()
    )


def place(measured: MeasuredFigure, cell: Mapping[str, Any]) -> dict[str, str] | None:
    """Series, x and panel of a cell; None for one without a factor that a template or `per` names
    (a pair in one process, a suite of another form)."""
    templates = {"series": measured.series, "x": measured.x} | (
        {"panel": measured.panel} if measured.panel else {}
    )
    needed = {name for text in templates.values() for name in re.findall(r"\{([^{}]+)\}", text)}
    needed |= {measured.per} if measured.per else set()
    return (
        {key: fill(text, cell) for key, text in templates.items()} if needed <= set(cell) else None
    )


def parts(measured: MeasuredFigure, cell: Mapping[str, Any]) -> float:
    """How many have the cell's value together, of whom one is drawn: its level of `per`, 1 without.
    UserError for a level that nothing can be divided by."""
    level = cell[measured.per] if measured.per else 1
    if isinstance(level, bool) or not isinstance(level, int | float) or level <= 0:
        raise UserError(
            f"nothing can be divided by `{measured.per}`",
            where=measured.suite,
            expected="a factor whose levels are numbers above 0",
            actual=str(level),
        )
    return level


def asked_for(measured: MeasuredFigure) -> Iterator[Values]:
    """Every cell of the whole suite that the figure would be measured by. UserError for a suite
    that there is not."""
    tree = _tree(measured.suite)
    factors = {
        name: [level for level in levels if _wanted(measured, name, level)]
        for name, levels in tree[2].items()
    }
    for workload, levels, arm in product(tree[0], product(*factors.values()), tree[1]):
        at = dict(zip(factors, levels, strict=True))
        cell = values(workload, arm, at)
        here = {"workload": workload, "arm": arm, **at}
        if chosen(measured, cell) and not any(
            all(here.get(k) == v for k, v in rule.items()) for rule in tree[3]
        ):
            yield cell


def _wanted(measured: MeasuredFigure, name: str, level: Any) -> bool:
    return name not in measured.at or level in _levels(measured.at[name])


def _levels(wanted: Any) -> tuple[Any, ...]:
    return wanted if isinstance(wanted, tuple) else (wanted,)


@lru_cache(maxsize=32)
def _tree(suite: str) -> tuple[list[str], list[str], dict[str, list[Any]], list[dict[str, Any]]]:
    """Workloads, arms without the floor, factors and exclusions of a suite."""
    path = find(suite)
    tree = plain(read(path), where=shown(path))
    workloads = [str(one["name"]) for one in tree.get("workloads", ())]
    arms = [
        str(one["name"])
        for one in tree.get("arms", ())
        if (one.get("role") or one.get("middleware")) != "floor"
    ]
    return workloads, arms, dict(tree.get("factors") or {}), list(tree.get("exclude") or ())
