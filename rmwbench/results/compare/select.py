"""What the two sides of a comparison are: `DIR`, or `DIR:SELECTION` for some of its cells.

A selection is an arm's name, or `KEY=VALUE` pairs with commas between them: `arm`, `workload`,
`middleware`, `layer`, `version`, `profile`, `cell`, or one of the suite's factors. A key given
twice allows either value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rmwbench.analysis.metrics.comparisons import is_compared, loads
from rmwbench.bundle import Bundle
from rmwbench.errors import UserError, did_you_mean
from rmwbench.results.imported import refuse_imported

COLUMNS = ("arm", "workload", "middleware", "layer", "version", "profile", "cell")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Side:
    """`text` as typed; `cells` (rows of `cells`) chosen from `bundle`; `wanted`: key -> values, as
    selected."""

    text: str
    bundle: Bundle
    cells: Sequence[Row]
    wanted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def side(text: str) -> Side:
    """Raises UserError for a directory that is not a campaign, and for a selection that is unknown
    or empty."""
    directory, selection = _split(text)
    bundle = Bundle(directory)
    refuse_imported(bundle)
    cells = bundle.rows("cells")
    if not cells:
        raise UserError(
            "the campaign has no cells yet", where=str(directory), fix="wait until it has begun"
        )
    wanted = _wanted(selection, cells, text) if selection is not None else {}
    chosen = [c for c in cells if all(_value(c, key) in values for key, values in wanted.items())]
    if not chosen:
        raise UserError(
            "no cell has all of this",
            where=text,
            expected=", ".join(f"{k} {' or '.join(v)}" for k, v in wanted.items()),
            actual=f"{len(cells)} cells that each lack some of it",
            fix="`rmwbench show` lists a campaign's arms and workloads",
        )
    compared = [cell for cell in chosen if is_compared(cell)]
    if not compared:
        raise UserError(
            "these cells tell which ROS variables are obeyed, and nothing of them is compared",
            where=text,
            expected="cells without ros_variables",
            actual=f"{len(chosen)} with",
            fix="`rmwbench show` has the table of each campaign",
        )
    return Side(text, bundle, compared, wanted)


def _split(text: str) -> tuple[Path, str | None]:
    """A directory may have a colon in its name: the longest part that exists is the directory."""
    if Path(text).is_dir() or ":" not in text:
        return Path(text), None
    at = len(text)
    while (at := text.rfind(":", 0, at)) >= 0:
        if Path(text[:at]).is_dir():
            return Path(text[:at]), text[at + 1 :]
    directory, _, selection = text.partition(":")
    return Path(directory), selection


def _wanted(selection: str, cells: Sequence[Row], where: str) -> dict[str, tuple[str, ...]]:
    known = {
        key: sorted({value for c in cells if (value := _value(c, key)) is not None})
        for key in (*COLUMNS, *_factors(cells))
    }
    if selection in known["arm"] or "=" not in selection:
        pairs = [("arm", selection)]  # an arm's name may contain commas
    else:
        pairs = []
        for part in selection.split(","):
            key, equals, value = (x.strip() for x in part.partition("="))
            if not equals:
                raise UserError(
                    f"{part.strip()!r} is not part of a selection",
                    where=where,
                    expected="KEY=VALUE",
                    fix="an arm alone needs no key: DIR:ARM",
                )
            pairs.append((key, value))
    found: dict[str, tuple[str, ...]] = {}
    for key, value in pairs:
        if key not in known:
            raise UserError(
                f"cells have no {key!r}",
                where=where,
                expected=", ".join(known),
                fix=did_you_mean(key, known)
                or "the suite's factors are keys too, where it has some",
            )
        if value not in known[key]:
            raise UserError(
                f"no cell has the {key} {value!r}" if value else "an empty selection",
                where=where,
                expected=", ".join(known[key][:12]) + (", …" if len(known[key]) > 12 else ""),
                fix=did_you_mean(value, known[key]),
            )
        found[key] = (*found.get(key, ()), value)
    return found


def _factors(cells: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(k for c in cells for k in loads(c["factors"]) if k not in COLUMNS))


def _value(cell: Row, key: str) -> str | None:
    value = cell[key] if key in COLUMNS else loads(cell["factors"]).get(key)
    return None if value is None else str(value)


@dataclass(frozen=True)
class Match:
    """Two cells to compare. `chosen`: what the selections set apart on purpose, such as `size 1k,
    in B 1m`."""

    a: Row
    b: Row
    chosen: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alone:
    """A cell without counterpart. `counts`: A has it, so that a regression may hide in its
    absence."""

    cell: str
    reason: str
    counts: bool


def match(a: Side, b: Side) -> tuple[list[Match], list[Alone]]:
    """Cells of equal workload, factors and arm. Where each side is one arm, the arms may differ; so
    may a workload or a level of which each side selects one.
    """
    apart = [
        key
        for key in _ordered(a, b)
        if _single(a, key) and _single(b, key) and _single(a, key) != _single(b, key)
    ]
    keys = [k for k in ("workload", "arm", *_factors([*a.cells, *b.cells])) if k not in apart]
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
        found = others.get(_key(cell, keys), [])
        if len(found) == 1:
            matches.append(Match(cell, found.pop(), chosen))
        elif found:
            alone.append(
                Alone(f"{name(cell)} (A)", f"{len(found)} cells of B could be it: select one", True)
            )
        else:
            alone.append(Alone(f"{name(cell)} (A)", _why(cell, b, keys), True))
    alone += [
        Alone(f"{name(cell)} (B)", _why(cell, a, keys, "A"), False)
        for rest in others.values()
        for cell in rest
        if rest
    ]
    return matches, alone


def name(cell: Row) -> str:
    """`camera [size=1m], zenoh tuned`."""
    factors = ", ".join(f"{k}={v}" for k, v in loads(cell["factors"]).items())
    return f"{cell['workload']}{f' [{factors}]' if factors else ''}, {cell['arm']}"


def _ordered(a: Side, b: Side) -> list[str]:
    return [*COLUMNS, *_factors([*a.cells, *b.cells])]


def _single(side: Side, key: str) -> str | None:
    """The value that all chosen cells share. An arm need not be selected: a campaign of one arm is
    one arm. Anything else must be, because two suites that differ are not to be compared by
    accident.
    """
    if key != "arm" and key not in side.wanted:
        return None
    values = {_value(c, key) for c in side.cells}
    return values.pop() if len(values) == 1 else None


def _key(cell: Row, keys: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(_value(cell, k) for k in keys)


def _why(cell: Row, other: Side, keys: Sequence[str], side: str = "B") -> str:
    for key in keys:
        value = _value(cell, key)
        if value is not None and value not in {_value(c, key) for c in other.cells}:
            return f"{side} has no {key} {value}"
    return f"{side} has no such cell"
