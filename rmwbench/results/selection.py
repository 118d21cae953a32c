"""Selects cells of a campaign as a user names them: `DIR` for all, or `DIR:SELECTION` for some.

A selection is an arm's name, or `KEY=VALUE` pairs with commas between them: `arm`, `workload`,
`middleware`, `layer`, `version`, `profile`, `cell`, or one of the suite's factors. A key that is
given twice allows either value. The cells of two selections are paired, and those named that have
no counterpart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rmwbench.analysis.metrics.comparisons import is_compared, is_floor, json_column
from rmwbench.bundle import Bundle
from rmwbench.bundle.newest import newest_campaign
from rmwbench.errors import UserError, did_you_mean
from rmwbench.words.level_names import level_text, named_level
from rmwbench.words.numbers import counted

COLUMNS = ("arm", "workload", "middleware", "layer", "version", "profile", "cell")
Row = Mapping[str, Any]


def is_imported(bundle: Bundle) -> bool:
    return bundle.campaign.imported is not None


def is_capacity(bundle: Bundle) -> bool:
    return bundle.campaign.kind == "capacity"


def refuse_imported(bundle: Bundle) -> None:
    """Raise UserError if a verb that needs records was given an imported bundle."""
    if is_imported(bundle):
        raise UserError(
            "this bundle was imported: it has seconds or totals, and this command needs messages",
            where=str(bundle.directory),
            fix="`rmwbench show` has its figures, `rmwbench query` its tables",
        )


@dataclass(frozen=True)
class Selection:
    """The cells that were selected in a bundle. `text`: the selection as it was typed; `cells`:
    their rows of the table `cells`; `wanted`: key -> the values that were named."""

    text: str
    bundle: Bundle
    cells: Sequence[Row]
    wanted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The selection in words: `layer rclcpp`, `arm zenoh or cyclonedds, workload camera`."""
        return ", ".join(f"{key} {' or '.join(values)}" for key, values in self.wanted.items())

    def is_of_campaign(self, other: "Selection") -> bool:
        return self.bundle.directory.resolve() == other.bundle.directory.resolve()

    def with_floors(self) -> list[Row]:
        """Return the cells, and the floors of the same workloads and levels: they are the reference
        of the arms that were selected."""
        numbers = {cell["cell"] for cell in self.cells}
        conditions = {(cell["workload"], cell["factors"]) for cell in self.cells}
        return [
            cell
            for cell in self.bundle.rows("cells")
            if cell["cell"] in numbers
            or (is_floor(cell) and (cell["workload"], cell["factors"]) in conditions)
        ]


def select(text: str) -> Selection:
    """Return the selection that `text` names. Raises UserError for a directory that is not a
    campaign, and for a selection that is unknown or empty."""
    directory, selection = _split(text)
    bundle = Bundle(directory)
    refuse_imported(bundle)
    cells = bundle.rows("cells")
    if not cells:
        raise UserError(
            "the campaign has no cells yet", where=str(directory), fix="wait until it has begun"
        )
    wanted = _wanted(selection, cells, text) if selection is not None else {}
    chosen = [c for c in cells if all(value_of(c, key) in values for key, values in wanted.items())]
    if not chosen:
        raise UserError(
            "no cell has all of this",
            where=text,
            expected=Selection(text, bundle, (), wanted).words,
            actual=f"{counted(len(cells), 'cell')}, none with all of it",
            fix="`rmwbench show` lists a campaign's arms and workloads",
        )
    compared = [cell for cell in chosen if is_compared(cell)]
    if not compared:
        raise UserError(
            "cells with `ros_variables` have no metrics to compare",
            where=text,
            expected="cells without ros_variables",
            actual=f"{len(chosen)} with",
            fix="`rmwbench show` has the table of each campaign",
        )
    return Selection(text, bundle, compared, wanted)


def open_selection(text: str | None) -> tuple[Bundle, Selection | None]:
    """Return the campaign, which is the newest if no text names one, and the selection; None if the
    text has no selection. Raises UserError as `select` does."""
    if text is None:
        return Bundle(newest_campaign()), None
    directory, selection = _split(text)
    if selection is None:
        return Bundle(directory), None
    selected = select(text)
    return selected.bundle, selected


def refuse_selection(selection: Selection | None, instead: str) -> None:
    """Raise UserError if cells were selected of a bundle that has no verdicts; `instead` is the
    command without the selection."""
    if selection is not None:
        raise UserError(
            "a selection is for the verdicts of a campaign alone", where=selection.text, fix=instead
        )


def _split(text: str) -> tuple[Path, str | None]:
    """Return the directory and the selection. A directory may have a colon in its name: the longest
    part that exists is the directory."""
    if Path(text).is_dir() or ":" not in text:
        return Path(text), None
    at = len(text)
    while (at := text.rfind(":", 0, at)) >= 0:
        if Path(text[:at]).is_dir():
            return Path(text[:at]), text[at + 1 :]
    directory, _, selection = text.partition(":")
    return Path(directory), selection


def _wanted(selection: str, cells: Sequence[Row], where: str) -> dict[str, tuple[str, ...]]:
    values_by_key = {
        key: sorted({value for c in cells if (value := value_of(c, key)) is not None})
        for key in (*COLUMNS, *factor_names(cells))
    }
    if selection in values_by_key["arm"] or "=" not in selection:
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
    values: dict[str, tuple[str, ...]] = {}
    for key, value in pairs:
        if key not in values_by_key:
            raise UserError(
                f"cells have no {key!r}",
                where=where,
                expected=", ".join(values_by_key),
                fix=did_you_mean(key, values_by_key)
                or "the suite's factors are keys too, where it has some",
            )
        if value not in values_by_key[key]:
            raise UserError(
                f"no cell has the {key} {value!r}" if value else "an empty selection",
                where=where,
                expected=", ".join(values_by_key[key][:12])
                + (", …" if len(values_by_key[key]) > 12 else ""),
                fix=did_you_mean(value, values_by_key[key]),
            )
        values[key] = (*values.get(key, ()), value)
    return values


def factor_names(cells: Sequence[Row]) -> list[str]:
    return list(
        dict.fromkeys(k for c in cells for k in json_column(c["factors"]) if k not in COLUMNS)
    )


def value_of(cell: Row, key: str) -> str | None:
    value = cell[key] if key in COLUMNS else json_column(cell["factors"]).get(key)
    return None if value is None else level_text(value)


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
            Unmatched(
                f"{cell_name(c)} (A)", several if both else _why_unmatched(c, b, keys, "B"), True
            )
            for c in in_a
        ]
        alone += [
            Unmatched(
                f"{cell_name(c)} (B)", several if both else _why_unmatched(c, a, keys, "A"), False
            )
            for c in in_b
        ]
    return matches, alone


def cell_name(cell: Row) -> str:
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


def _why_unmatched(cell: Row, other: Selection, keys: Sequence[str], side: str) -> str:
    for key in keys:
        value = value_of(cell, key)
        if value is not None and value not in {value_of(c, key) for c in other.cells}:
            return f"{side} has no {key} {value}"
    return f"{side} has no such cell"
