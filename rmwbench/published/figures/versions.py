"""The figures of published evaluations and campaigns -> the points of each figure as published, as
corrected and as measured here.

What is absent says why in words: the original has no such data, its data cannot tell, nothing was
measured yet.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.figures.drawn_figures import (
    CorrectedPoints,
    DrawnFigure,
    DrawnFigures,
    DrawnPart,
    DrawnSource,
    FigurePoint,
    Place,
    PublishedPoints,
    place_in,
)
from rmwbench.published.figures.figures_file import FigurePart, Figures, Points
from rmwbench.published.figures.measured_points import measured

Rows = list[dict[str, Any]]


def draw(
    sources: Sequence[tuple[Figures, Mapping[str, Rows], str]],
    campaigns: Sequence[MeasuredCampaign] = (),
) -> DrawnFigures:
    """Each source comes with the imported rows of its kinds and in words where those are from;
    behind the `campaigns` that were given stand the shipped summaries
    (`measured_points.shipped_summaries`)."""
    drawn = [_source(file, rows, origin, campaigns) for file, rows, origin in sources]
    used = [
        campaign
        for source in drawn
        for figure in source.figures
        for part in figure.parts
        for campaign in part.measured.from_
    ]
    return DrawnFigures(
        campaigns=[campaign.name for campaign in campaigns if not campaign.shipped],
        shipped=list(dict.fromkeys((x.machine, x.date) for x in used if x.shipped)),
        sources=drawn,
    )


def _source(
    file: Figures, rows: Mapping[str, Rows], origin: str, campaigns: Sequence[MeasuredCampaign]
) -> DrawnSource:
    by_figure: dict[str, Rows] = {}
    for kind in file.kinds:
        for row in rows.get(kind, ()):
            by_figure.setdefault(row["figure"], []).append(row)
    figures = [
        DrawnFigure(
            original=figure,
            parts=[_part(part, file.names, by_figure, campaigns) for part in figure.parts],
        )
        for figure in file.all()
    ]
    return DrawnSource(file=file, data=origin, figures=figures)


def _part(
    part: FigurePart,
    names: Mapping[str, str],
    rows: Mapping[str, Rows],
    campaigns: Sequence[MeasuredCampaign],
) -> DrawnPart:
    published, corrected = _imported(part, names, rows)
    if part.printed:
        published = PublishedPoints(
            points=[FigurePoint(series=s, x=str(x), y=y) for s, x, y in part.printed.points],
            read_from=part.printed.read_from,
            absent=published.absent,
        )
    return DrawnPart(
        original=part,
        published=published,
        corrected=corrected,
        measured=measured(part, names, campaigns),
    )


def _imported(
    part: FigurePart, names: Mapping[str, str], rows: Mapping[str, Rows]
) -> tuple[PublishedPoints, CorrectedPoints]:
    shown: list[FigurePoint] = []
    right: list[FigurePoint] = []
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
        row_at = dict(placed)
        for place, row in placed:
            if not _is_drawn(part, place):
                continue
            true_series = points.mislabelled.get(place.series, place.series)
            true_row = row_at.get(place._replace(series=true_series), row)
            shown.append(_point(points, place, true_row, ends, "as_published"))
            right.append(_point(points, place, row, ends, "as_corrected"))
            pair = (true_row["as_published"], row["as_corrected"])
            changed += None not in pair and abs(pair[0] - pair[1]) > 1e-4 * max(map(abs, pair))
    lacking = _why_none(part, shown)
    return (
        PublishedPoints(points=shown, read_from="data", absent=lacking),
        CorrectedPoints(points=right, changed=changed, absent=_not_corrected(part, right, lacking)),
    )


def _point(
    points: Points,
    place: Place,
    row: Mapping[str, Any],
    ends: Sequence[Mapping[Any, Any]],
    version: str,
) -> FigurePoint:
    """The value of a row in one version, with the ends of its error bar; why a corrected one has no
    value."""
    y = row[version]
    low, high, spread = (end.get((row["series"], row["x"]), {}).get(version) for end in ends)
    if points.spread and spread is not None and y is not None:
        low, high = y - spread, y + spread
    has_ends = low is not None and high is not None
    return FigurePoint(
        **place._asdict(),
        y=y,
        low=low if has_ends else None,
        high=high if has_ends else None,
        note=row.get("note") or None if version == "as_corrected" and y is None else None,
    )


def _place(points: Points, row: Mapping[str, Any], names: Mapping[str, str]) -> Place | None:
    values = {"series": row["series"], "x": row["x"]}
    if points.match is not None:
        match = re.fullmatch(points.match, row["series"])
        if match is None:
            return None
        values |= match.groupdict()
    named = {name: names.get(text, text) for name, text in values.items()}
    return place_in(points, named).named(names)


def _is_drawn(part: FigurePart, place: Place) -> bool:
    return (part.series is None or place.series in part.series) and part.is_on_axis(place.x)


def _why_none(part: FigurePart, shown: Sequence[FigurePoint]) -> str | None:
    if not part.points:
        return part.not_published
    if not shown:
        return "the data is not here: give the archive with --data PATH (docs/importers.md)"
    if all(point.y is None for point in shown):
        return "the original has no value for these"
    return None


def _not_corrected(
    part: FigurePart, right: Sequence[FigurePoint], lacking: str | None
) -> str | None:
    if part.printed:
        return "only these numbers are printed: nothing to correct them by"
    if not right:
        return lacking
    if all(point.y is None for point in right):
        notes = dict.fromkeys(point.note for point in right if point.note)
        return "; ".join(notes) or "no data: the original's data cannot tell"
    return None
