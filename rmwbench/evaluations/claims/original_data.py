"""What a source's own data says of a claim: points of an importer's figures -> a verdict. Pure."""

from collections.abc import Mapping
from typing import Literal

from rmwbench.evaluations.claims.model import RANGES, Check, Data

Column = Literal["as_published", "as_corrected"]
Points = Mapping[tuple[str, str, str], Mapping[str, float | None]]
"""(figure, series, x) -> the two columns of the bundle's table `figures`."""


def settled(data: Data, points: Points, column: Column) -> str:
    """`supported` where every check holds, `contradicted` where none does, `partly supported`
    between; `no data` where a point is absent or has no such value."""
    found = [holds(check, points, column) for check in data.checks]
    if None in found:
        return "no data"
    return "supported" if all(found) else "partly supported" if any(found) else "contradicted"


def holds(check: Check, points: Points, column: Column) -> bool | None:
    """Whether one comparison holds; None where a side has no value."""
    left = _value(points, check.figure, check.of, column)
    right = (
        check.than
        if isinstance(check.than, float)
        else _value(points, check.figure, check.than, column)
    )
    if left is None or right is None:
        return None
    if check.relation in RANGES:
        low, high = sorted((right / check.factor, right * check.factor))
        return (low <= left <= high) == (check.relation == "within")
    return left < check.factor * right if check.relation == "less" else left > check.factor * right


def _value(points: Points, figure: str, at: tuple[str, str], column: Column) -> float | None:
    point = points.get((figure, *at))
    return None if point is None else point[column]
