"""The figures of a published evaluation, drawn again: the document with the points of each as
published, as corrected and as measured here (docs/formats/figures.md).

What is absent says why in words: the original has no such data, its data cannot tell, nothing was
measured yet.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.figures.figures_file import Figure, FigurePart, Figures, Points, fill
from rmwbench.published.figures.measured_points import measured

Rows = list[dict[str, Any]]
VERSIONS = ("published", "corrected", "measured")
NOTHING_CHANGES = "the same: no known error touches these points"


def document(
    sources: Sequence[tuple[Figures, Mapping[str, Rows], str]],
    campaigns: Sequence[MeasuredCampaign] = (),
) -> dict[str, Any]:
    """The figures document. Each source comes with the imported rows of its kinds and in words
    where those are from; behind the `campaigns` that were given stand the shipped summaries
    (`measured_points.shipped_summaries`)."""
    drawn = [_source(file, rows, origin, campaigns) for file, rows, origin in sources]
    used = [
        one
        for source in drawn
        for f in source["figures"]
        for part in f["parts"]
        for one in part["measured"]["from"]
    ]
    shipped = dict.fromkeys((one["machine"], one["date"]) for one in used if one["shipped"])
    return {
        "schema": "rmwbench/figures",
        "version": 1,
        "campaigns": [one.name for one in campaigns if not one.shipped],
        "shipped": [{"machine": machine, "date": date} for machine, date in shipped],
        "sources": drawn,
    }


def only_measured(doc: dict[str, Any]) -> dict[str, Any]:
    """The document without figures that have no measured value."""
    for source in doc["sources"]:
        source["figures"] = [
            f for f in source["figures"] if any(counts(part)["measured"] for part in f["parts"])
        ]
    return doc


def _source(
    file: Figures, rows: Mapping[str, Rows], origin: str, campaigns: Sequence[MeasuredCampaign]
) -> dict[str, Any]:
    by_figure: dict[str, Rows] = {}
    for kind in file.kinds:
        for row in rows.get(kind, ()):
            by_figure.setdefault(row["figure"], []).append(row)
    figures = [_figure(figure, file, by_figure, campaigns) for figure in file.all()]
    return {
        "source": file.figures,
        "title": file.title,
        "published": file.published,
        "data": origin,
        "figures": figures,
    }


def _figure(
    figure: Figure, file: Figures, rows: Mapping[str, Rows], campaigns: Sequence[MeasuredCampaign]
) -> dict[str, Any]:
    return {
        "id": figure.id,
        "place": figure.place,
        "title": figure.title,
        "images": list(figure.images),
        "note": figure.note,
        "not_drawn": figure.not_drawn,
        "parts": [_part(part, file, rows, campaigns) for part in figure.parts],
    }


def _part(
    part: FigurePart, file: Figures, rows: Mapping[str, Rows], campaigns: Sequence[MeasuredCampaign]
) -> dict[str, Any]:
    names = file.names
    shown, right, changed, lacking = _imported(part, names, rows)
    printed = part.printed
    if printed:
        shown = [{"series": s, "x": str(x), "y": y} for s, x, y in printed.points]
    return {
        "title": part.title,
        "chart": part.chart,
        "x": part.x.model_dump(exclude_none=True),
        "y": part.y.model_dump(exclude_none=True),
        "series": list(part.series) if part.series else None,
        "columns": part.columns,
        "note": part.note,
        "published": {
            "points": shown,
            "read_from": printed.read_from if printed else "data",
            "absent": lacking,
        },
        "corrected": {
            "points": right,
            "changed": changed,
            "absent": _not_corrected(part, shown, right, lacking),
        },
        "measured": measured(part, names, campaigns),
    }


def _imported(
    part: FigurePart, names: Mapping[str, str], rows: Mapping[str, Rows]
) -> tuple[Rows, Rows, int, str | None]:
    """Points as published, as corrected, how many of them differ, and why there are none."""
    if not part.points:
        return [], [], 0, part.not_published
    shown: Rows = []
    right: Rows = []
    changed = 0
    for points in part.points:
        ends = [
            {(r["series"], r["x"]): r for r in rows.get(name, ())} if name else {}
            for name in (points.low, points.high, points.spread)
        ]
        placed = [
            (place, row)
            for row in rows.get(points.figure, ())
            if (place := _place(points, row, names))
        ]
        where = {(place["series"], place["x"], place.get("panel")): row for place, row in placed}
        for place, row in placed:
            if not _wanted(part, place):
                continue
            true = (
                points.mislabelled.get(place["series"], place["series"]),
                place["x"],
                place.get("panel"),
            )
            pair = []
            for key, into, of in (
                ("as_published", shown, where.get(true, row)),
                ("as_corrected", right, row),
            ):
                point = place | {"y": of[key]} | _ends(points, of, ends, key)
                if key == "as_corrected" and row.get("note") and row[key] is None:
                    point["note"] = row["note"]
                into.append(point)
                pair.append(of[key])
            changed += None not in pair and abs(pair[0] - pair[1]) > 1e-4 * max(map(abs, pair))
    lacking = None
    if not shown:
        lacking = "the data is not here: give the archive with --data PATH (docs/importers.md)"
    elif all(point["y"] is None for point in shown):
        lacking = "the original has no value for these"
    return shown, right, changed, lacking


def _place(
    points: Points, row: Mapping[str, Any], names: Mapping[str, str]
) -> dict[str, str] | None:
    values = {"series": _named(row["series"], names), "x": _named(row["x"], names)}
    if points.match is not None:
        match = re.fullmatch(points.match, row["series"])
        if match is None:
            return None
        values |= {name: _named(text, names) for name, text in match.groupdict().items()}
    place = {"series": fill(points.series, values), "x": fill(points.x, values)}
    if points.panel:
        place["panel"] = fill(points.panel, values)
    return {key: _named(text, names) for key, text in place.items()}


def _wanted(part: FigurePart, place: Mapping[str, str]) -> bool:
    if part.series is not None and place["series"] not in part.series:
        return False
    known = part.x.order or part.x.positions
    return known is None or place["x"] in known


def _ends(
    points: Points, row: Mapping[str, Any], ends: Sequence[Mapping[Any, Any]], key: str
) -> dict[str, float]:
    low, high, spread = (end.get((row["series"], row["x"]), {}).get(key) for end in ends)
    if points.spread and spread is not None and row[key] is not None:
        low, high = row[key] - spread, row[key] + spread
    return {} if low is None or high is None else {"low": low, "high": high}


def _not_corrected(part: FigurePart, shown: Rows, right: Rows, lacking: str | None) -> str | None:
    if part.printed:
        return "only these numbers are printed: nothing to correct them by"
    if not right:
        return lacking
    if all(point["y"] is None for point in right):
        notes = dict.fromkeys(point["note"] for point in right if point.get("note"))
        return "; ".join(notes) or "no data: the original's data cannot tell"
    return None


def _named(text: str, names: Mapping[str, str]) -> str:
    return names.get(text, text)


def counts(part: Mapping[str, Any]) -> dict[str, int]:
    """How many points each version has."""
    return {v: sum(p["y"] is not None for p in part[v]["points"]) for v in VERSIONS}
