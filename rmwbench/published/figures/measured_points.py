"""What was measured of a part of a figure: points of campaigns and of the shipped summaries, where
they are from, and how many of the cells of the whole suite they are.

A figure is measured by the cells of a suite with its workload and levels. `asked_for` multiplies
levels out and applies exclusions, and does no more: loading a suite also checks every cell, which
takes seconds for the large ones. Where a cell was measured several times, the first campaign with a
value stands: those that were given come before the shipped ones, and of these the newest first
(`shipped_summaries`). Of shipped ones a part takes those of one machine.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

from rmwbench.errors import UserError
from rmwbench.published.campaign import OVER_TIME, CampaignArm, MeasuredCampaign
from rmwbench.published.figures.drawn_figures import (
    CampaignSource,
    CellCounts,
    MeasuredPoint,
    MeasuredPoints,
    Place,
    place_in,
)
from rmwbench.published.figures.figures_file import FigurePart, MeasuredFigure
from rmwbench.published.summaries import FOLDER, expanded, shipped
from rmwbench.results.model import Estimate
from rmwbench.suite.file.interop_pairs import ARROW
from rmwbench.suite.file.load import plain
from rmwbench.suite.file.places import find, read, shown, sources_with
from rmwbench.words import numbers as fmt

Values = dict[str, Any]
Key = tuple[Any, ...]
Drawn = tuple[list[MeasuredPoint], CampaignSource]
"""The points of a cell, and where they are from."""
NOT_MEASURED = Estimate(unit="", no_data="not measured for this arm")


def shipped_summaries() -> list[MeasuredCampaign]:
    """What was measured for the shipped ledger, as campaigns that figures can be drawn from, the
    newest first: all of `suites/published/*/measured/*.json`, since one source's cells may have
    been measured for another's claims. Raises UserError for a file that is not a summary."""
    campaigns = [
        campaign
        for source in sources_with(FOLDER)
        for file in shipped(source)
        for campaign in expanded(file)
    ]
    return sorted(campaigns, key=lambda campaign: campaign.created_utc or "", reverse=True)


def measured(
    part: FigurePart, names: Mapping[str, str], campaigns: Sequence[MeasuredCampaign]
) -> MeasuredPoints:
    if not part.measured:
        return MeasuredPoints(absent=part.not_measured)
    # What two machines measured is not compared within a picture: that which measured most of it,
    # the newest of equals.
    drawn = max(
        (_drawn(part, names, chosen) for chosen in _of_one_machine(campaigns)),
        key=lambda cells: sum(not _is_empty(points) for points, _ in cells.values()),
    )
    points, sources = _together(drawn)
    if not points:
        return MeasuredPoints(absent=_why_none(part, campaigns))
    return MeasuredPoints(points=points, from_=sources, cells=_count(part, names, drawn))


def _of_one_machine(campaigns: Sequence[MeasuredCampaign]) -> list[list[MeasuredCampaign]]:
    """The campaigns that were given, each time with what is shipped of one machine, the newest
    machine first."""
    hosts = dict.fromkeys(x.host for x in campaigns if x.shipped) or {None: None}
    return [[x for x in campaigns if not x.shipped or x.host == name] for name in hosts]


def _drawn(
    part: FigurePart, names: Mapping[str, str], campaigns: Sequence[MeasuredCampaign]
) -> dict[Key, Drawn]:
    """By cell, its points of the first campaign that has a value."""
    drawn: dict[Key, Drawn] = {}
    for number, figure in enumerate(part.measured):
        for campaign in campaigns:
            if not campaign.ran(figure.suite):
                continue
            for cell, every in _cells(figure, campaign, names):
                points = [point for point in every if _is_on_axes(part, point.x)]
                old = drawn.get((number, *cell))
                if points and (old is None or (_is_empty(old[0]) and not _is_empty(points))):
                    drawn[number, *cell] = points, _source(campaign)
    return drawn


def _together(
    drawn: Mapping[Key, Drawn],
) -> tuple[list[MeasuredPoint], list[CampaignSource]]:
    sources = list(dict.fromkeys(source for _, source in drawn.values()))
    points = [
        replace(point, from_=sources.index(source))
        for of_cell, source in drawn.values()
        for point in of_cell
    ]
    return points, sources


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


def _count(
    part: FigurePart, names: Mapping[str, str], drawn: Mapping[Key, Drawn]
) -> CellCounts | None:
    """None for a suite that is not here: nobody knows how many cells it has."""
    valued = {key: points for key, (points, _) in drawn.items() if not _is_empty(points)}
    every: set[Key] = set(valued)
    places: set[str] = set()
    for number, figure in enumerate(part.measured):
        try:
            cells = list(asked_for(figure))
        except UserError:
            return None
        for cell in cells:
            place = place_of(figure, cell, names)
            if place is not None and _is_on_axes(part, place.x):
                every.add((number, *_key(cell)))
                places.add(place.x)
    at = dict.fromkeys(p.x for points in valued.values() for p in points if p.x in places)
    return CellCounts(measured=len(valued), asked=len(every), at=list(at), places=len(places))


def _why_none(part: FigurePart, campaigns: Sequence[MeasuredCampaign]) -> str:
    suites = list(dict.fromkeys(figure.suite for figure in part.measured))
    here = [campaign for campaign in campaigns if any(map(campaign.ran, suites))]
    if any(not campaign.shipped for campaign in here):
        levels = " or ".join(
            dict.fromkeys(
                ", ".join(f"{k} {_level(v)}" for k, v in m.at.items()) or m.suite
                for m in part.measured
            )
        )
        return f"the campaign has no cell for it ({levels})"
    metrics = ", ".join(dict.fromkeys(name for figure in part.measured for name in figure.metrics))
    run = (
        f"not yet: `rmwbench run {suites[0]} --short` (without --short: all levels), then "
        "--campaign DIR"
    )
    return f"{run}; the shipped summaries of it keep no {metrics} of these cells" if here else run


def _level(value: Any) -> str:
    return " or ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _key(cell: Mapping[str, Any]) -> Key:
    """Identifies a cell, whatever the order of its factors and however it is known to be a pair."""
    own = (
        name
        for name in cell
        if name not in ("talker", "listener") and not name.endswith(("%", "+2"))
    )
    return tuple(sorted((name, str(cell[name])) for name in own))


def _cells(
    figure: MeasuredFigure, campaign: MeasuredCampaign, names: Mapping[str, str]
) -> Iterator[tuple[Key, list[MeasuredPoint]]]:
    """The points of each cell that the figure asks for."""
    for workload in campaign.workloads:
        for arm in workload.arms:
            if arm.is_floor:
                continue
            cell = cell_values(workload.name, arm.arm, arm.factors, arm.pair)
            place = place_of(figure, cell, names) if is_asked(figure, cell) else None
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
    """The one point of a metric, for one of all that have the cell's value together; none where
    a shipped summary does not keep the metric of this cell."""
    if campaign.shipped and any(name not in arm.metrics for name in figure.metrics):
        return []
    estimates = [arm.metrics.get(name, NOT_MEASURED) for name in figure.metrics]
    threads = _threads(campaign) if figure.of_machine else 1
    among = None if threads is None else threads * parts_of(figure, cell)
    value = _computed(figure, estimates, among)
    note = None
    if value.y is None:
        reason = arm.not_supported or next((e.no_data for e in estimates if e.no_data), None)
        note = str(reason or _infinite(figure, estimates))
    return [point(**value._asdict(), note=note, blocks=estimates[0].trials)]


class _Value(NamedTuple):
    y: float | None = None
    low: float | None = None
    high: float | None = None


def _computed(figure: MeasuredFigure, estimates: Sequence[Estimate], among: float | None) -> _Value:
    """y, with low and high of a metric that stands alone. `among`: how many threads and readers it
    is divided by; None where that is not known."""
    first = estimates[0]
    value, low, high = (fmt.finite(x) for x in (first.value, first.low, first.high))
    if among is None:
        return _Value()
    if figure.inverse is not None:
        ends = [figure.inverse / end if end else None for end in (value, high, low)]
        return _Value(ends[0]) if None in ends else _Value(*ends)
    if value is None:
        return _Value()
    if figure.times:
        other = fmt.finite(estimates[1].value)
        return _Value(None if other is None else value * other * figure.factor / among)
    y = value * figure.factor / among
    if low is None or high is None:
        return _Value(y)
    return _Value(y, low * figure.factor / among, high * figure.factor / among)


def _infinite(figure: MeasuredFigure, estimates: Sequence[Estimate]) -> str:
    """Why a metric that has data has no value here."""
    if figure.inverse is not None and estimates[0].value == 0:
        return "nothing arrived"
    if any(estimate.at_least is not None for estimate in estimates):
        return "only a lower bound"
    if figure.of_machine and all(fmt.finite(x.value) is not None for x in estimates):
        return "the machine's hardware threads are not known"
    return "never arrived"


def _threads(campaign: MeasuredCampaign) -> int | None:
    """How many hardware threads the machine has: `2 of 4` is two usable ones of four."""
    last = (campaign.fact("cores") or "").rpartition(" ")[2]
    return int(last) if last.isdigit() and int(last) else None


def _over_time(
    figure: MeasuredFigure, arm: CampaignArm, point: Callable[..., MeasuredPoint]
) -> list[MeasuredPoint]:
    """A value for each whole second, as the originals have."""
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
    """What the templates of a figure know of a cell: its levels, each number also in percent
    (`NAME%`) and two more (`NAME+2`), `workload`, `arm`, and of a pair `talker` and `listener`."""
    values: Values = {"workload": workload, "arm": arm, **factors}
    if pair or ARROW in arm:
        values |= dict(zip(("talker", "listener"), pair or arm.split(ARROW), strict=True))
    for name, value in list(values.items()):
        if isinstance(value, int | float) and not isinstance(value, bool):
            values[f"{name}%"] = f"{100 * value:g}"
            values[f"{name}+2"] = value + 2
    return values


def is_asked(measured: MeasuredFigure, cell: Mapping[str, Any]) -> bool:
    """Whether the figure is measured by the cell of these values, at `measured`."""
    if measured.workload and cell["workload"] not in measured.workload:
        return False
    return all(
        name in cell and cell[name] in _levels(wanted) for name, wanted in measured.at.items()
    )


def place_of(
    measured: MeasuredFigure, cell: Mapping[str, Any], names: Mapping[str, str]
) -> Place | None:
    """None for a cell without a factor that a template or `per` names (a pair in one process, a
    suite of another form)."""
    templates = (measured.series, measured.x, measured.panel or "")
    needed = {name for text in templates for name in re.findall(r"\{([^{}]+)\}", text)}
    needed |= {measured.per} if measured.per else set()
    return place_in(measured, cell).named(names) if needed <= set(cell) else None


def parts_of(measured: MeasuredFigure, cell: Mapping[str, Any]) -> float:
    """How many have the cell's value together, of whom one is drawn: its level of `per`, 1 without.
    UserError for a level that nothing can be divided by."""
    level = cell[measured.per] if measured.per else 1
    if isinstance(level, bool) or not isinstance(level, int | float) or level <= 0:
        raise UserError(
            f"nothing can be divided by `{measured.per}`",
            where=measured.suite,
            expected="a factor whose levels are numbers above 0",
            actual=str(level),
        )
    return level


def asked_for(measured: MeasuredFigure) -> Iterator[Values]:
    """Every cell of the whole suite that the figure would be measured by. UserError for a suite
    that there is not."""
    tree = _tree(measured.suite)
    factors = {
        name: [level for level in levels if _wanted(measured, name, level)]
        for name, levels in tree[2].items()
    }
    for workload, levels, arm in product(tree[0], product(*factors.values()), tree[1]):
        at = dict(zip(factors, levels, strict=True))
        cell = cell_values(workload, arm, at)
        here = {"workload": workload, "arm": arm, **at}
        if is_asked(measured, cell) and not any(
            all(here.get(k) == v for k, v in rule.items()) for rule in tree[3]
        ):
            yield cell


def _wanted(measured: MeasuredFigure, name: str, level: Any) -> bool:
    return name not in measured.at or level in _levels(measured.at[name])


def _levels(wanted: Any) -> tuple[Any, ...]:
    return wanted if isinstance(wanted, tuple) else (wanted,)


@lru_cache(maxsize=32)
def _tree(suite: str) -> tuple[list[str], list[str], dict[str, list[Any]], list[dict[str, Any]]]:
    """Workloads, arms without the floor, factors and exclusions of a suite."""
    path = find(suite)
    tree = plain(read(path), where=shown(path))
    workloads = [str(workload["name"]) for workload in tree.get("workloads", ())]
    arms = [
        str(arm["name"])
        for arm in tree.get("arms", ())
        if (arm.get("role") or arm.get("middleware")) != "floor"
    ]
    return workloads, arms, dict(tree.get("factors") or {}), list(tree.get("exclude") or ())
