"""Rows whose decimal point was written as a comma, between commas: `27,5,26,5` is 27.5 and 26.5, or
27, 5.26 and 5.

A row is cut into its values in every way that has one or two parts per value. What remains after
two rules is the reading: an order that the values must have (a minimum is not above a mean), and
the number of decimals that rows of the same file with only one reading have. A row with more than
one reading left has none.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

MOST_DECIMALS = 2

Values = tuple[float, ...]


def readings(parts: Sequence[str], values: int) -> Iterator[tuple[Values, tuple[int, ...]]]:
    """Every way to read `parts` as that many values: (values, decimals of each)."""
    whole = 2 * values - len(parts)
    if not 0 <= whole <= values or not all(p.isdigit() for p in parts):
        return
    for alone in combinations(range(values), whole):
        found, decimals, at = [], [], 0
        for k in range(values):
            if k in alone:
                found.append(float(parts[at]))
                decimals.append(0)
                at += 1
            elif len(parts[at + 1]) > MOST_DECIMALS:
                break
            else:
                found.append(float(f"{parts[at]}.{parts[at + 1]}"))
                decimals.append(len(parts[at + 1]))
                at += 2
        else:
            yield tuple(found), tuple(decimals)


def restore(
    rows: Sequence[Sequence[str]], values: int, ordered: Callable[[Values], bool]
) -> list[Values | None]:
    """The values of each row, None where more than one reading is left. [] of readings gives None
    as well; the caller tells the two apart with `readings`.
    """
    possible = [[r for r in readings(row, values) if ordered(r[0])] for row in rows]
    sure = {d for found in possible if len(found) == 1 for d in found[0][1]}
    out: list[Values | None] = []
    for found in possible:
        if len(found) > 1 and sure:
            found = [r for r in found if set(r[1]) <= sure | {0}]
        out.append(found[0][0] if len(found) == 1 else None)
    return out
