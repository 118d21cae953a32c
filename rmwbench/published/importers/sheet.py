"""Comma-separated values, read strictly: the columns are the expected ones, every row has all of
them, and every number is a number that its column can have.

An error names the file, the line and the column. Tables that people made in a spreadsheet have
quotes over several lines, so the line of a row is the one that it begins in. Each format declares
once what the values of a column can be, as a range and an order between columns. A value outside is
not a measurement; an error names it, so that it never becomes part of a mean.
"""

import csv
import hashlib
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from rmwbench.errors import UserError, nearest
from rmwbench.published.importers.data_source import Placed, SourceFile, malformed


def number(text: str, where: str, what: str) -> float:
    """Return a finite decimal number. Raise UserError for any other text."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise malformed(where, f"{what} is not a number", "a finite decimal number", text)
    return value


MOST = 10**12
"""The largest whole number: more than any size, count or length of time that is published here."""


def whole(text: str, where: str, what: str, least: int = -MOST, most: int = MOST) -> int:
    """Return a whole number within bounds, which may be written as 30.0. Raise UserError for any
    other text."""
    value = number(text, where, what)
    if value != int(value) or not least <= value <= most:
        bounds = f" from {least} to {most}" if (least, most) != (-MOST, MOST) else ""
        raise malformed(where, f"{what} is not a whole number", f"a whole number{bounds}", text)
    return int(value)


@dataclass(frozen=True)
class SheetRow(Placed):
    """One row: `where` is FILE:LINE."""

    where: str
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells[column]

    def number(self, column: str) -> float:
        """Return the number in the cell. Raise UserError unless it is finite."""
        return number(self.cells[column], self.where, f"column {column!r}")

    def number_or_none(self, column: str) -> float | None:
        """Return the number in the cell, or None for an empty cell."""
        return self.number(column) if self.cells[column].strip() else None

    def whole(self, column: str, least: int = -MOST, most: int = MOST) -> int:
        """Return the whole number in the cell. Raise UserError unless it lies within these
        bounds."""
        return whole(self.cells[column], self.where, f"column {column!r}", least, most)

    def one_of(self, column: str, allowed: Sequence[str]) -> str:
        """Return the text in the cell. Raise UserError unless it is one of these texts."""
        text = self.cells[column]
        if text not in allowed:
            near = nearest(text, allowed)
            expected = ", ".join(allowed) + (f" (nearest: {near})" if near else "")
            raise self.wrong(f"column {column!r} has an unknown value", expected, text)
        return text


def rows(
    item: SourceFile,
    columns: Sequence[str] | None = None,
    *,
    at_least: bool = False,
    plausible: "Plausible | None" = None,
) -> Iterator[SheetRow]:
    """Yield the rows of a file whose first line names its columns. `columns` must all be there, in
    any order; others are an error unless `at_least`; `plausible` checks every row. Raise UserError
    for anything else, and for a file without rows."""
    lines = parse_rows(item)
    try:
        _, header = next(lines)
    except StopIteration:
        raise item.wrong("an empty file", "a line of column names") from None
    check_header(f"{item.where}:1", header, columns, at_least=at_least)
    has_rows = False
    for line, cells in lines:
        if not cells:
            continue
        where = f"{item.where}:{line}"
        if len(cells) != len(header):
            raise malformed(where, "a row of another length", f"{len(header)} cells", len(cells))
        has_rows = True
        row = SheetRow(where, dict(zip(header, cells, strict=True)))
        if plausible is not None:
            plausible.check_row(row)
        yield row
    if not has_rows:
        raise item.wrong("a table without rows", "a row after the line of column names")


def check_header(
    where: str, header: list[str], columns: Sequence[str] | None, *, at_least: bool
) -> None:
    """Raise UserError unless a table is separated by commas and has each of the `columns` once, and
    no others unless `at_least`."""
    if len(header) == 1 and header[0].count(";") >= 2:
        what, fix = "semicolons between the cells", "save it with commas between the cells"
        raise malformed(where, what, "comma-separated values", header[0], fix)
    doubled = next((name for name in header if header.count(name) > 1), None)
    if doubled is not None:
        raise malformed(where, "a column is named twice", "distinct column names", doubled)
    if columns is None:
        return
    wanted, named = ", ".join(columns), ", ".join(header)
    missing = next((name for name in columns if name not in header), None)
    if missing is not None:
        raise malformed(where, f"column {missing!r} is missing", wanted, named)
    extra = next((name for name in header if name not in columns), None)
    if extra is not None and not at_least:
        raise malformed(where, f"column {extra!r} is unknown", wanted, named)


def parse_rows(item: SourceFile) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) for every row; `line` is the number of the line that it begins in. Raise
    UserError for broken quotes."""
    reader = csv.reader(io.StringIO(item.text(), newline=""), strict=True)
    while True:
        first_line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what = "not comma-separated values"
            expected = "quotes that are closed, in the row that begins here"
            raise malformed(f"{item.where}:{first_line}", what, expected, str(error)) from None
        yield first_line, cells


def columns(line: str) -> tuple[str, ...]:
    return tuple(line.split(","))


def unlike(item: SourceFile, what: str, expected: str) -> UserError:
    """Return the error for a file whose first line is that of no table of its format."""
    return malformed(f"{item.where}:1", what, expected, ", ".join(item.header)[:120])


class Once:
    """Refuses a second occurrence of what may occur once: the same key, under whatever name."""

    def __init__(self, what: str):
        self._what = what
        self._seen: dict[object, str] = {}

    def __call__(self, key: object, where: str) -> None:
        """Raise UserError, naming both places, if this key occurred before."""
        first = self._seen.setdefault(key, where)
        if first != where:
            raise malformed(where, f"{self._what} twice", "once", f"also in {first}")

    def content(self, item: SourceFile) -> None:
        """Raise UserError if a file with the same content occurred before."""
        self(hashlib.sha256(item.data).digest(), item.where)


SLACK = 1e-6
"""The relative error allowed in an order between values that were printed with six digits."""


@dataclass(frozen=True)
class Range:
    """The values from `least` to `most`, in the column's own unit."""

    least: float
    most: float

    def holds(self, values: np.ndarray | np.float64) -> Any:
        """Return which values lie within, shape of `values`; NaN does, because it is absent."""
        return ~((values < self.least) | (values > self.most))


COUNT = Range(0, 1e12)
PERCENT = Range(0, 100)
RATE = Range(0, 1e9)
"""Messages per second."""
BYTES_PER_SECOND = Range(0, 1e12)
LATENCY_MS = Range(0, 86_400_000)
MIB = Range(0, 1e9)


@dataclass(frozen=True)
class Plausible:
    """Column → range; `orders` are columns whose values may not fall from left to right; `absent`
    are texts that stand for no value."""

    ranges: Mapping[str, Range]
    orders: Sequence[tuple[str, ...]] = ()
    absent: tuple[str, ...] = field(default=("",))

    def check_row(self, row: SheetRow) -> None:
        """Raise UserError for a cell that is not a number, out of range or out of order. Columns
        that the row lacks are ignored."""
        present = [
            c for c in self._columns() if c in row.cells and row[c].strip() not in self.absent
        ]
        self.check_values({column: row.number(column) for column in present}, row.where)

    def check_values(self, values: Mapping[str, float], where: str) -> None:
        """Raise UserError for a number that is out of range or out of order. Absent columns are
        ignored."""
        self._check({name: np.array([x], float) for name, x in values.items()}, lambda row: where)

    def check_columns(
        self, columns: Mapping[str, np.ndarray], where: str, first_line: int | None
    ) -> None:
        """Raise UserError likewise for columns of shape (rows,), whose rows `row_place` names. NaN
        is absent."""
        self._check(columns, lambda row: row_place(where, first_line, row))

    def _columns(self) -> list[str]:
        return list(dict.fromkeys((*self.ranges, *(x for order in self.orders for x in order))))

    def _check(self, columns: Mapping[str, np.ndarray], place: Callable[[int], str]) -> None:
        for name, allowed in self.ranges.items():
            if name in columns:
                values = columns[name]
                expected = f"a value from {allowed.least:g} to {allowed.most:g}"
                what = f"column {name!r} has an impossible value"
                refuse_rows(~allowed.holds(values), place, what, expected, values)
        for order in self.orders:
            for lower, upper in pairwise([name for name in order if name in columns]):
                low, high = columns[lower], columns[upper]
                what, expected = f"column {lower!r} is above column {upper!r}", f"{lower} ≤ {upper}"
                refuse_rows(low > high + SLACK * np.abs(high), place, what, expected, low, high)


def row_place(where: str, first_line: int | None, row: int) -> str:
    """Return FILE:LINE of a row, counted from 0, of the file `where`; only its number if rows are
    not lines."""
    return f"{where} (row {row})" if first_line is None else f"{where}:{first_line + row}"


def refuse_rows(
    bad: np.ndarray,
    place: Callable[[int], str],
    what: str,
    expected: str,
    *columns: np.ndarray,
) -> None:
    """Raise UserError with the values of `columns` in the first row for which `bad` is true, if
    any. All arrays are of shape (rows,)."""
    if bad.any():
        row = int(np.argmax(bad))
        actual = " and ".join(f"{column[row]:g}" for column in columns)
        raise malformed(place(row), what, expected, actual)
