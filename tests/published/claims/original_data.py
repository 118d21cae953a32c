"""The verdict of a source's own data on a claim, from points of an importer's figures. Pure."""

from collections.abc import Mapping
from typing import Literal

from scipy.stats import fisher_exact

from rmwbench.published.claims.claims_file import SIGNIFICANT, Data, OriginalCheck
from rmwbench.published.community.ordinal import mann_whitney
from rmwbench.suite.predicate import RANGES

Column = Literal["as_published", "as_corrected"]
Points = Mapping[tuple[str, str, str], Mapping[str, float | None]]
"""(figure, series, x) -> the two columns of the bundle's table `figures`, and its `count`."""
Answer = Literal["holds", "does not hold", "undecided", "no data"]


def verdict_of(data: Data, points: Points, column: Column) -> str:
    """Return `supported` if every check holds, `contradicted` if none does, otherwise `partly
    supported`; `no data` if a point is absent or has no such value. If the data does not decide a
    check, the verdict is `undecided`, or `partly supported` if another check holds."""
    answers = {holds(check, points, column) for check in data.checks}
    if "no data" in answers:
        return "no data"
    if answers == {"holds"}:
        return "supported"
    if "holds" in answers:
        return "partly supported"
    return "undecided" if "undecided" in answers else "contradicted"


def holds(check: OriginalCheck, points: Points, column: Column) -> Answer:
    """Return the answer of one comparison."""
    left = _value(points, check.figure, check.of, column)
    right = (
        check.than
        if isinstance(check.than, float)
        else _value(points, check.figure, check.than, column)
    )
    if left is None or right is None:
        return "no data"
    if (check.counts or check.answers) and not _distinguishes(check, points, column):
        return "undecided"
    return "holds" if _is_so(check, left, right) else "does not hold"


def _is_so(check: OriginalCheck, left: float, right: float) -> bool:
    if check.relation in RANGES:
        low, high = sorted((right / check.factor, right * check.factor))
        return (low <= left <= high) == (check.relation == "within")
    return left < check.factor * right if check.relation == "less" else left > check.factor * right


def _distinguishes(check: OriginalCheck, points: Points, column: Column) -> bool:
    """Whether a test distinguishes the two groups."""
    if check.answers is not None and column == "as_published":
        return True
    p = fisher(check, points, column) if check.counts else ranks(check, points, column)
    return p is not None and p < SIGNIFICANT


def fisher(check: OriginalCheck, points: Points, column: Column) -> float | None:
    """Return p of two counts of so many runs; None if a number is not known."""
    table = []
    for at in _groups(check):
        count, of = _value(points, check.figure, at, column), points[check.figure, *at]["count"]
        if count is None or of is None:
            return None
        table.append([round(count), round(of - count)])
    return float(fisher_exact(table).pvalue)


def ranks(check: OriginalCheck, points: Points, column: Column) -> float | None:
    """Return p of the answers of two groups; None if they are not known or all alike."""
    groups = []
    for series, x in _groups(check):
        of = [point for key, point in points.items() if key[:2] == (check.answers, f"{x} {series}")]
        groups.append([round((p[column] or 0.0) * (p["count"] or 0.0) / 100) for p in of])
    test = mann_whitney(*groups) if len(set(map(len, groups))) == 1 else None
    return None if test is None else test[0]


def _groups(check: OriginalCheck) -> tuple[tuple[str, str], tuple[str, str]]:
    assert not isinstance(check.than, float), "checked when the file was read"
    return check.of, check.than


def _value(points: Points, figure: str, at: tuple[str, str], column: Column) -> float | None:
    point = points.get((figure, *at))
    return None if point is None else point[column]
