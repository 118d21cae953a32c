"""The points of each figure as published, as corrected and as measured here. For whatever is absent,
words say why: the original has no such data, its data cannot tell, or nothing was measured yet.

A figure is measured by the cells of a suite with its workload and levels. `cells_of_suite` only
multiplies levels out and applies exclusions: loading a suite also checks every cell, which takes
seconds for the large ones. If a cell was measured several times, the first campaign with a value
stands: the given ones come before the shipped ones, and the shipped ones are sorted newest first
(`shipped_summaries`). Of the shipped ones, a part takes those of one machine.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

from rmwbench.errors import UserError
from rmwbench.published.campaign import OVER_TIME, CampaignArm, MeasuredCampaign
from rmwbench.published.claims.derived_suite import is_excluded
from rmwbench.published.figures.drawn_figures import (
    CampaignSource,
    CellCounts,
    CorrectedPoints,
    DrawnFigure,
    DrawnFigures,
    DrawnPart,
    DrawnSource,
    FigurePoint,
    MeasuredPoint,
    MeasuredPoints,
    Place,
    PublishedPoints,
    place_in,
)
from rmwbench.published.figures.figures_file import (
    FigurePart,
    Figures,
    MeasuredFigure,
    Points,
    Rows,
)
from rmwbench.published.summaries import FOLDER, campaigns_of, shipped
from rmwbench.results.model import Estimate
from rmwbench.suite.file.interop_pairs import ARROW
from rmwbench.suite.file.load import plain
from rmwbench.suite.file.suite_files import find, path_text, read, sources_with
from rmwbench.words import numbers as fmt

Values = dict[str, Any]
CellKey = tuple[Any, ...]
CellPoints = tuple[list[MeasuredPoint], CampaignSource]
"""The points of a cell, and where they come from."""
NOT_MEASURED = Estimate(unit="", no_data="not measured for this arm")


def shipped_summaries() -> list[MeasuredCampaign]:
    """Return what was measured for the shipped ledger, as campaigns that figures can be drawn from,
    the newest first: all of `suites/published/*/measured/*.json`, because one source's cells may
    have been measured for another's claims. Raise UserError for a file that is not a summary."""
    campaigns = [
        campaign
        for source in sources_with(FOLDER)
        for summary in shipped(source)
        for campaign in campaigns_of(summary)
    ]
    return sorted(campaigns, key=lambda campaign: campaign.created_utc or "", reverse=True)


def measured(
    part: FigurePart, names: Mapping[str, str], campaigns: Sequence[MeasuredCampaign]
) -> MeasuredPoints:
    if not part.measured:
        return MeasuredPoints(absent=part.not_measured)
    # A picture does not compare two machines: it has the one that measured most of it, the newest
    # of equals.
    by_cell = max(
        (_points_by_cell(part, names, of_machine) for of_machine in _by_machine(campaigns)),
        key=lambda cells: sum(not _is_empty(points) for points, _ in cells.values()),
    )
    if not by_cell:
        return MeasuredPoints(absent=_why_none(part, campaigns))
    sources = list(dict.fromkeys(source for _, source in by_cell.values()))
    points = [
        replace(point, from_=sources.index(source))
        for points_of_cell, source in by_cell.values()
        for point in points_of_cell
    ]
    return MeasuredPoints(points=points, from_=sources, cells=_counts(part, names, by_cell))


def _by_machine(campaigns: Sequence[MeasuredCampaign]) -> list[list[MeasuredCampaign]]:
    """Return the given campaigns together with the shipped ones of one machine, once for each
    machine, the newest machine first."""
    hosts = dict.fromkeys(x.host for x in campaigns if x.shipped) or {None: None}
    return [[x for x in campaigns if not x.shipped or x.host == name] for name in hosts]


def _points_by_cell(
    part: FigurePart, names: Mapping[str, str], campaigns: Sequence[MeasuredCampaign]
) -> dict[CellKey, CellPoints]:
    """Return for each cell its points from the first campaign that has a value."""
    by_cell: dict[CellKey, CellPoints] = {}
    for number, figure in enumerate(part.measured):
        for campaign in campaigns:
            if not campaign.ran(figure.suite):
                continue
            for cell, cell_points in _cells(figure, campaign, names):
                points = [point for point in cell_points if _is_on_axes(part, point.x)]
                earlier = by_cell.get((number, *cell))
                if points and (
                    earlier is None or (_is_empty(earlier[0]) and not _is_empty(points))
                ):
                    by_cell[number, *cell] = points, _source(campaign)
    return by_cell


def _source(campaign: MeasuredCampaign) -> CampaignSource:
    return CampaignSource(
        campaign=campaign.name,
        suite=campaign.suite,
        date=campaign.date,
        machine=campaign.machine,
        shipped=campaign.shipped,
    )


def _is_on_axes(part: FigurePart, x: str) -> bool:
    return part.chart == "heat" or part.is_on_axis(x)


def _is_empty(points: Sequence[MeasuredPoint]) -> bool:
    return all(point.y is None for point in points)


def _counts(
    part: FigurePart, names: Mapping[str, str], by_cell: Mapping[CellKey, CellPoints]
) -> CellCounts | None:
    """Return how many cells have a value; None for a suite that is not here, whose number of cells
    is unknown."""
    with_value = {key: points for key, (points, _) in by_cell.items() if not _is_empty(points)}
    every_cell: set[CellKey] = set(with_value)
    places: set[str] = set()
    for number, figure in enumerate(part.measured):
        try:
            cells = list(cells_of_suite(figure))
        except UserError:
            return None
        for cell in cells:
            place = place_of(figure, cell, names)
            if place is not None and _is_on_axes(part, place.x):
                every_cell.add((number, *_key(cell)))
                places.add(place.x)
    at = dict.fromkeys(p.x for points in with_value.values() for p in points if p.x in places)
    return CellCounts(
        measured=len(with_value), total=len(every_cell), at=list(at), places=len(places)
    )


def _why_none(part: FigurePart, campaigns: Sequence[MeasuredCampaign]) -> str:
    suites = list(dict.fromkeys(figure.suite for figure in part.measured))
    of_suites = [campaign for campaign in campaigns if any(map(campaign.ran, suites))]
    if any(not campaign.shipped for campaign in of_suites):
        texts = (
            ", ".join(f"{name} {' or '.join(map(str, _levels(at)))}" for name, at in x.at.items())
            or x.suite
            for x in part.measured
        )
        return f"the campaign has no cell for it ({' or '.join(dict.fromkeys(texts))})"
    metrics = ", ".join(dict.fromkeys(name for figure in part.measured for name in figure.metrics))
    text = (
        f"not yet: `rmwbench run {suites[0]} --short` (without --short: all levels), then "
        "--campaign DIR"
    )
    no_metric = f"; the shipped summaries of it keep no {metrics} of these cells"
    return text + no_metric if of_suites else text


def _key(cell: Mapping[str, Any]) -> CellKey:
    """Return what identifies a cell, whatever the order of its factors and however it is known to
    be a pair."""
    names = (
        name
        for name in cell
        if name not in ("talker", "listener") and not name.endswith(("%", "+2"))
    )
    return tuple(sorted((name, str(cell[name])) for name in names))


def _cells(
    figure: MeasuredFigure, campaign: MeasuredCampaign, names: Mapping[str, str]
) -> Iterator[tuple[CellKey, list[MeasuredPoint]]]:
    """Yield the points of each cell that the figure asks for."""
    for workload in campaign.workloads:
        for arm in workload.arms:
            if arm.is_floor:
                continue
            cell = cell_values(workload.name, arm.arm, arm.factors, arm.pair)
            place = place_of(figure, cell, names) if is_drawn_by(figure, cell) else None
            if place is None:
                continue
            point = partial(
                MeasuredPoint,
                series=place.series,
                panel=place.panel,
                arm=arm.arm,
                middleware=arm.middleware,
                layer=arm.layer,
                machine_bound=True if arm.machine_bound else None,
            )
            if figure.metric in OVER_TIME:
                points = _over_time(figure, arm, point)
            else:
                points = _value(figure, campaign, arm, cell, partial(point, x=place.x))
            if points:
                yield _key(cell), points


def _value(
    figure: MeasuredFigure,
    campaign: MeasuredCampaign,
    arm: CampaignArm,
    cell: Values,
    point: Callable[..., MeasuredPoint],
) -> list[MeasuredPoint]:
    """Return the one point of a metric, for one of all readers that have the cell's value together;
    None if a shipped summary does not keep the metric of this cell."""
    if campaign.shipped and any(name not in arm.metrics for name in figure.metrics):
        return []
    estimates = [arm.metrics.get(name, NOT_MEASURED) for name in figure.metrics]
    threads = _threads(campaign) if figure.of_machine else 1
    divisor = None if threads is None else threads * readers_of(figure, cell)
    value = _compute(figure, estimates, divisor)
    note = None
    if value.y is None:
        reason = arm.not_supported or next((x.no_data for x in estimates if x.no_data), None)
        note = str(reason or _why_no_value(figure, estimates))
    return [point(**value._asdict(), note=note, blocks=estimates[0].trials)]


class _Value(NamedTuple):
    y: float | None = None
    low: float | None = None
    high: float | None = None


def _compute(
    figure: MeasuredFigure, estimates: Sequence[Estimate], divisor: float | None
) -> _Value:
    """Return y, with low and high for a metric that stands alone. `divisor`: the number of threads
    and readers that it is divided by; None if that is not known."""
    first = estimates[0]
    value, low, high = (fmt.finite(x) for x in (first.value, first.low, first.high))
    if divisor is None:
        return _Value()
    if figure.inverse is not None:
        ends = [figure.inverse / end if end else None for end in (value, high, low)]
        return _Value(ends[0]) if None in ends else _Value(*ends)
    if value is None:
        return _Value()
    if figure.times:
        other = fmt.finite(estimates[1].value)
        return _Value(None if other is None else value * other * figure.factor / divisor)
    y = value * figure.factor / divisor
    if low is None or high is None:
        return _Value(y)
    return _Value(y, low * figure.factor / divisor, high * figure.factor / divisor)


def _why_no_value(figure: MeasuredFigure, estimates: Sequence[Estimate]) -> str:
    """Return why a metric that has data has no value here."""
    if figure.inverse is not None and estimates[0].value == 0:
        return "nothing arrived"
    if any(estimate.at_least is not None for estimate in estimates):
        return "only a lower bound"
    if figure.of_machine and all(fmt.finite(x.value) is not None for x in estimates):
        return "the machine's hardware threads are not known"
    return "never arrived"


def _threads(campaign: MeasuredCampaign) -> int | None:
    """Return how many hardware threads the machine has; `2 of 4` means two usable ones of four."""
    last = (campaign.fact("cores") or "").rpartition(" ")[2]
    return int(last) if last.isdigit() and int(last) else None


def _over_time(
    figure: MeasuredFigure, arm: CampaignArm, point: Callable[..., MeasuredPoint]
) -> list[MeasuredPoint]:
    """Return a value for each whole second, as the originals have."""
    if figure.metric not in arm.by_second:
        return []
    seconds = arm.by_second[figure.metric]
    if seconds is None:
        why = "too many messages: the document keeps some, and the slowest"
        return [point(x="1", y=None, note=why)]
    blocks = arm.done or max(map(len, arm.per_trial.values()), default=None)
    if figure.metric not in ("sent", "delivered"):
        blocks = 1
    factor = figure.factor
    return [point(x=str(second), y=factor * value, blocks=blocks) for second, value in seconds]


def cell_values(
    workload: str, arm: str, factors: Mapping[str, Any], pair: Sequence[str] | None = None
) -> Values:
    """Return what the templates of a figure know of a cell: its levels, each number also in percent
    (`NAME%`) and two more (`NAME+2`), `workload`, `arm`, and for a pair `talker` and `listener`."""
    values: Values = {"workload": workload, "arm": arm, **factors}
    if pair or ARROW in arm:
        values |= dict(zip(("talker", "listener"), pair or arm.split(ARROW), strict=True))
    for name, value in list(values.items()):
        if isinstance(value, int | float) and not isinstance(value, bool):
            values[f"{name}%"] = f"{100 * value:g}"
            values[f"{name}+2"] = value + 2
    return values


def is_drawn_by(figure: MeasuredFigure, cell: Mapping[str, Any]) -> bool:
    """Whether the figure draws the cell with these values."""
    if figure.workload and cell["workload"] not in figure.workload:
        return False
    return all(name in cell and cell[name] in _levels(at) for name, at in figure.at.items())


def place_of(
    figure: MeasuredFigure, cell: Mapping[str, Any], names: Mapping[str, str]
) -> Place | None:
    """Return the place of the cell's point; None if the cell lacks a factor that a template or
    `per` names (a pair in one process, a suite of another form)."""
    templates = (figure.series, figure.x, figure.panel or "")
    needed = {name for text in templates for name in re.findall(r"\{([^{}]+)\}", text)}
    needed |= {figure.per} if figure.per else set()
    return place_in(figure, cell).named(names) if needed <= set(cell) else None


def readers_of(figure: MeasuredFigure, cell: Mapping[str, Any]) -> float:
    """Return how many readers have the cell's value together, of which one is drawn: its level of
    `per`, or 1 without it. Raise UserError for a level that nothing can be divided by."""
    level = cell[figure.per] if figure.per else 1
    if isinstance(level, bool) or not isinstance(level, int | float) or level <= 0:
        raise UserError(
            f"nothing can be divided by `{figure.per}`",
            where=figure.suite,
            expected="a factor whose levels are numbers above 0",
            actual=str(level),
        )
    return level


def cells_of_suite(figure: MeasuredFigure) -> Iterator[Values]:
    """Yield every cell of the whole suite that the figure would be measured by. Raise UserError if
    there is no such suite."""
    workloads, arms, factors, exclusions = _suite_design(figure.suite)
    levels_of_factor = {
        name: [x for x in levels if name not in figure.at or x in _levels(figure.at[name])]
        for name, levels in factors.items()
    }
    for workload, levels, arm in product(workloads, product(*levels_of_factor.values()), arms):
        at = dict(zip(levels_of_factor, levels, strict=True))
        cell = cell_values(workload, arm, at)
        here = {"workload": workload, "arm": arm, **at}
        if is_drawn_by(figure, cell) and not is_excluded(exclusions, here):
            yield cell


def _levels(at: Any) -> tuple[Any, ...]:
    return at if isinstance(at, tuple) else (at,)


@lru_cache(maxsize=32)
def _suite_design(
    suite: str,
) -> tuple[list[str], list[str], dict[str, list[Any]], list[dict[str, Any]]]:
    """Return workloads, arms without the floor, factors and exclusions of a suite."""
    path = find(suite)
    tree = plain(read(path), where=path_text(path))
    workloads = [str(workload["name"]) for workload in tree.get("workloads", ())]
    arms = [
        str(arm["name"])
        for arm in tree.get("arms", ())
        if (arm.get("role") or arm.get("middleware")) != "floor"
    ]
    return workloads, arms, dict(tree.get("factors") or {}), list(tree.get("exclude") or ())


def draw(
    sources: Sequence[tuple[Figures, Mapping[str, Rows], str]],
    campaigns: Sequence[MeasuredCampaign] = (),
) -> DrawnFigures:
    """Return the figures with their points. Each source comes with the imported rows of its kinds,
    and with words that say where those come from. The shipped summaries
    (`shipped_summaries`) follow the given `campaigns`."""
    drawn = [_drawn_source(file, rows, origin, campaigns) for file, rows, origin in sources]
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


def _drawn_source(
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
    why_none = _why_not_published(part, published)
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


def _why_not_published(part: FigurePart, published: Sequence[FigurePoint]) -> str | None:
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
