"""Comma-separated values, strictly: the columns are those expected, every row has all of them, a
number is a number, and one that a column can have.

An error names the file, the line and the column. Spreadsheets that people made have quotes over
several lines, so a row's line is the one that it begins in. What the values of a column can be is
declared once per format, as a range and an order between columns: a value outside is not a
measurement, and an error names it, instead of a mean that holds it."""

import csv
import hashlib
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from rmwbench.errors import UserError, nearest
from rmwbench.published.importers.data_source import Placed, SourceFile, malformed


def number(text: str, where: str, what: str) -> float:
    """A finite decimal number. UserError otherwise."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise malformed(where, f"{what} is not a number", "a finite decimal number", text)
    return value


MOST = 10**12
"""The largest whole number: beyond any size, count or length of time that is published here."""


def whole(text: str, where: str, what: str, least: int = -MOST, most: int = MOST) -> int:
    """A whole number within bounds, also written as 30.0. UserError otherwise."""
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
        """Raises UserError unless the cell is a finite number."""
        return number(self.cells[column], self.where, f"column {column!r}")

    def number_or_none(self, column: str) -> float | None:
        """The same, None for an empty cell."""
        return self.number(column) if self.cells[column].strip() else None

    def whole(self, column: str, least: int = -MOST, most: int = MOST) -> int:
        """Raises UserError unless the cell is a whole number within these bounds."""
        return whole(self.cells[column], self.where, f"column {column!r}", least, most)

    def one_of(self, column: str, allowed: Sequence[str]) -> str:
        """Raises UserError unless the cell is one of these texts."""
        text = self.cells[column]
        if text not in allowed:
            near = nearest(text, allowed)
            hint = f" (nearest: {near})" if near else ""
            raise malformed(
                self.where,
                f"column {column!r} has an unknown value",
                ", ".join(allowed) + hint,
                text,
            )
        return text


def rows(
    item: SourceFile,
    columns: Sequence[str] | None = None,
    *,
    at_least: bool = False,
    plausible: "Plausible | None" = None,
) -> Iterator[SheetRow]:
    """The rows of a file whose first line names its columns. `columns` are those that must be
    there, in any order; others are an error unless `at_least`; `plausible` checks every row.
    UserError for anything else, and for no row.
    """
    lines = parsed(item)
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
    """Raises UserError unless a table is separated by commas and has each of the `columns` once,
    and no others unless `at_least`."""
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


def parsed(item: SourceFile) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) for every row, the number being that of the line that it begins in. UserError
    for broken quotes."""
    reader = csv.reader(io.StringIO(item.text(), newline=""), strict=True)
    while True:
        begins = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what = "not comma-separated values"
            expected = "quotes that are closed, in the row that begins here"
            raise malformed(f"{item.where}:{begins}", what, expected, str(error)) from None
        yield begins, cells


def columns(line: str) -> tuple[str, ...]:
    """The names in the first line of a table."""
    return tuple(line.split(","))


def unlike(item: SourceFile, what: str, expected: str) -> UserError:
    """The error for a file whose first line is that of no table of its format."""
    return malformed(f"{item.where}:1", what, expected, ", ".join(item.header)[:120])


class Once:
    """Refuses a second of what may be there once: the same key, whatever it is called."""

    def __init__(self, what: str):
        self._what = what
        self._seen: dict[object, str] = {}

    def __call__(self, key: object, where: str) -> None:
        """Raises UserError where this key was there before, naming both places."""
        first = self._seen.setdefault(key, where)
        if first != where:
            raise malformed(where, f"{self._what} twice", "once", f"also in {first}")

    def content(self, item: SourceFile) -> None:
        """The same of a file, by what it says."""
        self(hashlib.sha256(item.data).digest(), item.where)


SLACK = 1e-6
"""Relative: of an order between values that were printed with six digits."""


@dataclass(frozen=True)
class Range:
    """From `least` to `most`, in the column's own unit."""

    least: float
    most: float

    def holds(self, values: np.ndarray | np.float64) -> Any:
        """Which values lie within, shape of `values`; NaN does, being absent."""
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
    are texts that stand for no value.
    """

    ranges: Mapping[str, Range]
    orders: Sequence[tuple[str, ...]] = ()
    absent: tuple[str, ...] = field(default=("",))

    def check_row(self, row: SheetRow) -> None:
        """Raises UserError for a cell that is not a number, out of range or out of order. Columns
        that the row lacks are passed over.
        """
        present = [
            c for c in self._columns() if c in row.cells and row[c].strip() not in self.absent
        ]
        self.check_values({column: row.number(column) for column in present}, row.where)

    def check_values(self, values: Mapping[str, float], where: str) -> None:
        """The same for numbers; columns that are not there are passed over."""
        for column, allowed in self.ranges.items():
            if column in values and not allowed.holds(np.float64(values[column])):
                _refuse(where, column, allowed, values[column])
        for order in self.orders:
            for lower, upper in pairwise([column for column in order if column in values]):
                if values[lower] > values[upper] + SLACK * abs(values[upper]):
                    _refuse_order(where, lower, upper, values[lower], values[upper])

    def _columns(self) -> list[str]:
        return list(dict.fromkeys((*self.ranges, *(c for order in self.orders for c in order))))

    def check_columns(
        self, columns: Mapping[str, np.ndarray], where: str, first_line: int | None
    ) -> None:
        """The same for columns of shape (rows,); row i is line `first_line` + i of the file
        `where`, or without a line where that is None. NaN is absent.
        """

        def place(row: int) -> str:
            return f"{where} (row {row})" if first_line is None else f"{where}:{first_line + row}"

        for column, allowed in self.ranges.items():
            values = columns.get(column)
            if values is None:
                continue
            bad = ~allowed.holds(values)
            if bad.any():
                row = int(np.argmax(bad))
                _refuse(place(row), column, allowed, float(values[row]))
        for order in self.orders:
            for lower, upper in pairwise([column for column in order if column in columns]):
                low, high = columns[lower], columns[upper]
                bad = low > high + SLACK * np.abs(high)
                if bad.any():
                    row = int(np.argmax(bad))
                    _refuse_order(place(row), lower, upper, float(low[row]), float(high[row]))


def _refuse(where: str, column: str, allowed: Range, value: float) -> NoReturn:
    expected = f"a value from {allowed.least:g} to {allowed.most:g}"
    raise malformed(where, f"column {column!r} has an impossible value", expected, f"{value:g}")


def _refuse_order(where: str, lower: str, upper: str, low: float, high: float) -> NoReturn:
    expected = f"{lower} ≤ {upper}"
    raise malformed(
        where, f"column {lower!r} is above column {upper!r}", expected, f"{low:g} and {high:g}"
    )
