"""Makes of the figures of published evaluations and of campaigns the points of each figure as
published, as corrected and as measured here.

For whatever is absent, words say why: the original has no such data, its data cannot tell, or
nothing was measured yet.
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
from rmwbench.published.figures.figures_file import FigurePart, Figures, Points, Rows
from rmwbench.published.figures.measured_points import measured


def draw(
    sources: Sequence[tuple[Figures, Mapping[str, Rows], str]],
    campaigns: Sequence[MeasuredCampaign] = (),
) -> DrawnFigures:
    """Return the figures with their points. Each source comes with the imported rows of its kinds,
    and with words that say where those come from. The shipped summaries
    (`measured_points.shipped_summaries`) follow the given `campaigns`."""
    drawn = [_source(file, rows, origin, campaigns) for file, rows, origin in sources]
    origins = [
        campaign
        for source in drawn
        for figure in source.figures
        for part in figure.parts
        for campaign in part.measured.from_
    ]
    return DrawnFigures(
        campaigns=[campaign.name for campaign in campaigns if not campaign.shipped],
        shipped=list(dict.fromkeys((x.machine, x.date) for x in origins if x.shipped)),
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
    published, corrected = _imported_points(part, names, rows)
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


def _imported_points(
    part: FigurePart, names: Mapping[str, str], rows: Mapping[str, Rows]
) -> tuple[PublishedPoints, CorrectedPoints]:
    published: list[FigurePoint] = []
    corrected: list[FigurePoint] = []
    changed = 0
    for points in part.points:
        ends = [
            {(row["series"], row["x"]): row for row in rows.get(name, ())} if name else {}
            for name in (points.low, points.high, points.spread)
        ]
        rows_at = [
            (place, row)
            for row in rows.get(points.figure, ())
            if (place := _place(points, row, names))
        ]
        row_by_place = dict(rows_at)
        for place, row in rows_at:
            is_other_series = part.series is not None and place.series not in part.series
            if is_other_series or not part.is_on_axis(place.x):
                continue
            true_series = points.mislabelled.get(place.series, place.series)
            true_row = row_by_place.get(place._replace(series=true_series), row)
            published.append(_point(points, place, true_row, ends, "as_published"))
            corrected.append(_point(points, place, row, ends, "as_corrected"))
            pair = (true_row["as_published"], row["as_corrected"])
            changed += None not in pair and abs(pair[0] - pair[1]) > 1e-4 * max(map(abs, pair))
    why_none = _why_none(part, published)
    why_not_corrected = _why_not_corrected(part, corrected, why_none)
    return (
        PublishedPoints(points=published, read_from="data", absent=why_none),
        CorrectedPoints(points=corrected, changed=changed, absent=why_not_corrected),
    )


def _point(
    points: Points,
    place: Place,
    row: Mapping[str, Any],
    ends: Sequence[Mapping[Any, Any]],
    version: str,
) -> FigurePoint:
    """Return the point of a row in one version, with the ends of its error bar, or why a corrected
    one has no value."""
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


def _why_none(part: FigurePart, published: Sequence[FigurePoint]) -> str | None:
    if not part.points:
        return part.not_published
    if not published:
        return "the data is not here: give the archive with --data PATH (docs/importers.md)"
    if all(point.y is None for point in published):
        return "the original has no value for these"
    return None


def _why_not_corrected(
    part: FigurePart, corrected: Sequence[FigurePoint], why_none: str | None
) -> str | None:
    if part.printed:
        return "only these numbers are printed: nothing to correct them by"
    if not corrected:
        return why_none
    if all(point.y is None for point in corrected):
        notes = dict.fromkeys(point.note for point in corrected if point.note)
        return "; ".join(notes) or "no data: the original's data cannot tell"
    return None
