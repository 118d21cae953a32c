"""Comma-separated values, strictly: the columns are those expected, every row has all of them, a
number is a number.

An error names the file, the line and the column. Spreadsheets that people made have quotes over
several lines, so a row's line is the one that it begins in.
"""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rmwbench.errors import UserError, nearest
from rmwbench.published.importers.source.data_source import SourceFile


def malformed(
    where: str, what: str, expected: str, actual: object = None, fix: str | None = None
) -> UserError:
    """The error for data that is not as its format says; `where` is FILE or FILE:LINE."""
    text = None if actual is None else repr(actual) if isinstance(actual, str) else str(actual)
    return UserError(what, where=where, expected=expected, actual=text and text[:200], fix=fix)


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
class SheetRow:
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


class Checked(Protocol):
    """What says whether the values of a row are possible (plausible.py)."""

    def check_row(self, row: "SheetRow") -> None: ...


def rows(
    item: SourceFile,
    columns: Sequence[str] | None = None,
    *,
    at_least: bool = False,
    plausible: Checked | None = None,
) -> Iterator[SheetRow]:
    """The rows of a file whose first line names its columns. `columns` are those that must be
    there, in any order; others are an error unless `at_least`; `plausible` checks every row.
    UserError for anything else, and for no row.
    """
    lines = parsed(item)
    try:
        _, header = next(lines)
    except StopIteration:
        raise malformed(item.where, "an empty file", "a line of column names") from None
    _check_header(f"{item.where}:1", header, columns, at_least)
    found = False
    for line, cells in lines:
        if not cells:
            continue
        where = f"{item.where}:{line}"
        if len(cells) != len(header):
            raise malformed(where, "a row of another length", f"{len(header)} cells", len(cells))
        found = True
        row = SheetRow(where, dict(zip(header, cells, strict=True)))
        if plausible is not None:
            plausible.check_row(row)
        yield row
    if not found:
        raise malformed(item.where, "a table without rows", "a row after the line of column names")


def _check_header(
    where: str, header: list[str], columns: Sequence[str] | None, at_least: bool
) -> None:
    if len(header) == 1 and header[0].count(";") >= 2:
        what, fix = "semicolons between the cells", "save it with commas between the cells"
        raise malformed(where, what, "comma-separated values", header[0], fix)
    doubled = next((name for name in header if header.count(name) > 1), None)
    if doubled is not None:
        raise malformed(where, "a column is named twice", "distinct column names", doubled)
    if columns is None:
        return
    wanted, there = ", ".join(columns), ", ".join(header)
    missing = next((name for name in columns if name not in header), None)
    if missing is not None:
        raise malformed(where, f"column {missing!r} is missing", wanted, there)
    extra = next((name for name in header if name not in columns), None)
    if extra is not None and not at_least:
        raise malformed(where, f"column {extra!r} is unknown", wanted, there)


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


def header_of(head: bytes) -> list[str]:
    """The cells of the first line, [] where it is not one of a table: for recognising a format. The
    reader of the rows reports what is not UTF-8.
    """
    try:
        first = head.partition(b"\n")[0].decode("utf-8-sig", errors="replace")
        return next(csv.reader([first]), [])
    except csv.Error:
        return []
