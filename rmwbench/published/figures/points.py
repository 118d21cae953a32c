"""The points of a source's figures as one small CSV file, so that they can be drawn without the
archive they come from.

Numbers only, a line per series: `kind, figure, series, unit, x, as_published, as_corrected, count,
why`, where x and values are lists joined by `|`, an empty place means `no data`, `=` stands for the
same values as published, and a count stands once where it is the same for the whole line. `why`
says why points have no corrected value, once where that is the same for all of them. Five digits:
more than any figure shows.
"""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError

HEADER = ("kind", "figure", "series", "unit", "x", "as_published", "as_corrected", "count", "why")
SAME, JOIN = "=", "|"

Rows = list[dict[str, Any]]


def written(found: dict[str, Rows], figures: Iterable[str]) -> str:
    """The file's text: the rows of these figures, in the importers' order."""
    wanted = set(figures)
    lines: dict[tuple[str, str, str, str], Rows] = {}
    for kind in sorted(found):
        for row in found[kind]:
            if row["figure"] in wanted:
                lines.setdefault((kind, row["figure"], row["series"], row["unit"]), []).append(row)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for key, rows in lines.items():
        published, corrected = (
            JOIN.join(_number(row[name]) for row in rows) for name in HEADER[5:7]
        )
        counts = JOIN.join("" if row["count"] is None else str(row["count"]) for row in rows)
        once = counts.split(JOIN)
        if len(set(once)) == 1:
            counts = once[0]
        xs = JOIN.join(row["x"] for row in rows)
        whys = ["" if row["as_corrected"] is not None else row["note"] or "" for row in rows]
        told = {why for why in whys if why}
        why = next(iter(told), "") if len(told) < 2 else JOIN.join(whys)
        writer.writerow(
            [*key, xs, published, SAME if corrected == published else corrected, counts, why]
        )
    return out.getvalue()


def read(path: Path) -> dict[str, Rows]:
    """The rows of such a file, by kind. Raises UserError with the line for one that is not of this
    form."""
    found: dict[str, Rows] = {}
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        header = next(lines, [])
        if tuple(header) != HEADER:
            raise UserError(
                "not a file of figures",
                where=f"{path}:1",
                expected=", ".join(HEADER),
                actual=str(header),
            )
        for line in lines:
            where = f"{path}:{lines.line_num}"
            if len(line) != len(HEADER):
                raise UserError(
                    "a line of another length",
                    where=where,
                    expected=f"{len(HEADER)} cells",
                    actual=str(len(line)),
                )
            kind, figure, series, unit, xs, published, corrected, counts, why = line
            places = xs.split(JOIN)
            shown = _values(published, len(places), where)
            right = shown if corrected == SAME else _values(corrected, len(places), where)
            count = counts.split(JOIN) if JOIN in counts else [counts] * len(places)
            whys = why.split(JOIN) if JOIN in why else [why] * len(places)
            for x, a, b, n, text in zip(places, shown, right, count, whys, strict=True):
                row = {
                    "figure": figure,
                    "series": series,
                    "x": x,
                    "unit": unit,
                    "as_published": a,
                    "as_corrected": b,
                }
                note = text if b is None and text else None
                found.setdefault(kind, []).append(
                    row | {"count": int(n) if n else None, "note": note}
                )
    return found


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def _values(text: str, count: int, where: str) -> list[float | None]:
    try:
        values = [float(value) if value else None for value in text.split(JOIN)]
    except ValueError as error:
        raise UserError("a value is not a number", where=where, actual=str(error)) from None
    if len(values) != count:
        raise UserError(
            "values and x differ in number",
            where=where,
            expected=f"{count} values",
            actual=str(len(values)),
        )
    return values
