"""Which cells of two selections are compared with each other, and which have no counterpart."""

from collections.abc import Sequence
from dataclasses import dataclass

from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.results.selection import COLUMNS, Row, Selection, factor_names, value_of


@dataclass(frozen=True)
class Match:
    """Two cells to compare. `chosen`: what the selections set apart on purpose, such as `size 1k,
    in B 1m`."""

    a: Row
    b: Row
    chosen: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unmatched:
    """A cell without counterpart. `counts`: A has it, so that a regression may hide in its
    absence."""

    cell: str
    reason: str
    counts: bool


def match(a: Selection, b: Selection) -> tuple[list[Match], list[Unmatched]]:
    """Cells of equal workload, factors and arm. Where each side is one arm, the arms may differ; so
    may a workload or a level of which each side selects one.
    """
    factors = factor_names([*a.cells, *b.cells])
    apart = [
        key
        for key in (*COLUMNS, *factors)
        if _single(a, key) and _single(b, key) and _single(a, key) != _single(b, key)
    ]
    keys = [k for k in ("workload", "arm", *factors) if k not in apart]
    chosen = tuple(
        f"{key} {_single(a, key)}, in B {_single(b, key)}"
        for key in apart
        if key not in COLUMNS or key == "workload"
    )
    others: dict[tuple[str | None, ...], list[Row]] = {}
    for cell in b.cells:
        others.setdefault(_key(cell, keys), []).append(cell)
    matches, alone = [], []
    for cell in a.cells:
        same = others.get(_key(cell, keys), [])
        if len(same) == 1:
            matches.append(Match(cell, same.pop(), chosen))
            continue
        reason = f"{len(same)} cells of B could be it: select one" if same else _why(cell, b, keys)
        alone.append(Unmatched(f"{name(cell)} (A)", reason, True))
    alone += [
        Unmatched(f"{name(cell)} (B)", _why(cell, a, keys, "A"), False)
        for rest in others.values()
        for cell in rest
    ]
    return matches, alone


def name(cell: Row) -> str:
    """`camera [size=1m], zenoh tuned`."""
    factors = ", ".join(f"{k}={v}" for k, v in json_column(cell["factors"]).items())
    return f"{cell['workload']}{f' [{factors}]' if factors else ''}, {cell['arm']}"


def _single(side: Selection, key: str) -> str | None:
    """The value that all chosen cells share. An arm need not be selected: a campaign of one arm is
    one arm. Anything else must be, because two suites that differ are not to be compared by
    accident.
    """
    if key != "arm" and key not in side.wanted:
        return None
    values = {value_of(c, key) for c in side.cells}
    return values.pop() if len(values) == 1 else None


def _key(cell: Row, keys: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(value_of(cell, k) for k in keys)


def _why(cell: Row, other: Selection, keys: Sequence[str], side: str = "B") -> str:
    for key in keys:
        value = value_of(cell, key)
        if value is not None and value not in {value_of(c, key) for c in other.cells}:
            return f"{side} has no {key} {value}"
    return f"{side} has no such cell"
