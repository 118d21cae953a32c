"""Pairs the cells of two selections that are compared with each other, and names the cells that
have no counterpart."""

from collections.abc import Sequence
from dataclasses import dataclass

from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.results.selection import COLUMNS, Row, Selection, factor_names, value_of
from rmwbench.words.level_names import named_level


@dataclass(frozen=True)
class Match:
    """Two cells to compare. `chosen`: the differences that the selections make on purpose, such as
    `size 1k, in B 1m`."""

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
    """Return the pairs of cells with equal workload, factors and arm, and the other cells. The arms
    may differ if each side is one arm; so may a workload or a level if each side selects one."""
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
    of_a, of_b = _grouped(a.cells, keys), _grouped(b.cells, keys)
    matches, alone = [], []
    for key in of_a | of_b:
        in_a, in_b = of_a.get(key, []), of_b.get(key, [])
        if len(in_a) == len(in_b) == 1:
            matches.append(Match(in_a[0], in_b[0], chosen))
            continue
        several = f"{len(in_a)} cells of A and {len(in_b)} of B are alike: select one of each"
        both = bool(in_a and in_b)
        alone += [
            Unmatched(f"{name(c)} (A)", several if both else _why(c, b, keys, "B"), True)
            for c in in_a
        ]
        alone += [
            Unmatched(f"{name(c)} (B)", several if both else _why(c, a, keys, "A"), False)
            for c in in_b
        ]
    return matches, alone


def name(cell: Row) -> str:
    """Return `camera [size=1m], zenoh tuned`."""
    factors = ", ".join(named_level(*level) for level in json_column(cell["factors"]).items())
    return f"{cell['workload']}{f' [{factors}]' if factors else ''}, {cell['arm']}"


def _single(side: Selection, key: str) -> str | None:
    """Return the value that all chosen cells share; None if they have several. An arm need not be
    selected, since a campaign may have one arm only. Any other key must be selected, so that two
    suites that differ are not compared by accident."""
    if key != "arm" and key not in side.wanted:
        return None
    values = {value_of(c, key) for c in side.cells}
    return values.pop() if len(values) == 1 else None


def _grouped(cells: Sequence[Row], keys: Sequence[str]) -> dict[tuple[str | None, ...], list[Row]]:
    groups: dict[tuple[str | None, ...], list[Row]] = {}
    for cell in cells:
        groups.setdefault(tuple(value_of(cell, k) for k in keys), []).append(cell)
    return groups


def _why(cell: Row, other: Selection, keys: Sequence[str], side: str) -> str:
    for key in keys:
        value = value_of(cell, key)
        if value is not None and value not in {value_of(c, key) for c in other.cells}:
            return f"{side} has no {key} {value}"
    return f"{side} has no such cell"
