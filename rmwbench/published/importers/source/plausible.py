"""What the values of a column can be, declared once per format: a range, an order between columns.

A value outside is not a measurement: an error names it, instead of a mean that holds it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from rmwbench.published.importers.source.sheet import SheetRow, malformed

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
