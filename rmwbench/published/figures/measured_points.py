"""What was measured of a part of a figure: points of campaigns and of the shipped summaries, where
they are from, and how many of the cells of the whole suite they are.

Of a cell that was measured several times the first campaign with a value stands: those that were
given come before the shipped ones, and of these the newest first (`shipped_summaries`). Of shipped
ones a part takes those of one machine."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.published.about import is_suite
from rmwbench.published.campaign import OVER_TIME, CampaignArm, MeasuredCampaign
from rmwbench.published.figures import figure_cells as figure_cells
from rmwbench.published.figures.figures_file import FigurePart, MeasuredFigure
from rmwbench.published.summaries import FOLDER, expanded, shipped
from rmwbench.results.model import Estimate
from rmwbench.suite.file.places import sources_with
from rmwbench.words import numbers as fmt

Rows = list[dict[str, Any]]
Key = tuple[Any, ...]
NOT_MEASURED = Estimate(unit="", no_data="not measured for this arm")


def shipped_summaries(directory: Path | None = None) -> list[MeasuredCampaign]:
    """What was measured for the shipped ledger, as campaigns that figures can be drawn from, the
    newest first: all of `suites/published/*/measured/*.json`, since one source's cells may have
    been measured for another's claims. Raises UserError for a file that is not a summary."""
    if directory is None:
        sources = sources_with(FOLDER)
    else:
        sources = sorted(path.parent.name for path in directory.glob(f"*/{FOLDER}"))
    found = [
        one for source in sources for file in shipped(source, directory) for one in expanded(file)
    ]
    return sorted(found, key=lambda one: one.created_utc or "", reverse=True)


def of_suite(suite: str, campaign: MeasuredCampaign) -> bool:
    """Whether a campaign ran that suite; a file `folder/name` may call itself `folder-name` or
    `name`."""
    return is_suite(suite, str(campaign.suite))


def measured(
    part: FigurePart, names: Mapping[str, str], campaigns: Sequence[MeasuredCampaign]
) -> dict[str, Any]:
    """`measured` of a part in the figures document: points, `from` which campaigns, how many
    `cells`, or why there are none."""
    if not part.measured:
        return {"points": [], "from": [], "cells": None, "absent": part.not_measured}
    tried = [_found(part, names, chosen) for chosen in _of_one_machine(campaigns)]
    # What two machines measured is not compared within a picture: that which measured most of it,
    # the newest of equals.
    found, sources = max(
        tried, key=lambda one: sum(not _empty(entry["rows"]) for entry in one[0].values())
    )
    points, used = _together(found, sources)
    if points:
        return {"points": points, "from": used, "cells": _count(part, names, found), "absent": None}
    return {"points": [], "from": [], "cells": None, "absent": _why_none(part, campaigns)}


def _of_one_machine(campaigns: Sequence[MeasuredCampaign]) -> list[list[MeasuredCampaign]]:
    """The campaigns that were given, each time with what is shipped of one machine, the newest
    machine first."""
    hosts = dict.fromkeys(one.host for one in campaigns if one.shipped) or {None: None}
    return [[x for x in campaigns if not x.shipped or x.host == name] for name in hosts]


def _found(
    part: FigurePart, names: Mapping[str, str], campaigns: Sequence[MeasuredCampaign]
) -> tuple[dict[Key, dict[str, Any]], Rows]:
    """Cell -> its rows and their place among the sources; the sources."""
    found: dict[Key, dict[str, Any]] = {}
    sources: Rows = []
    for number, one in enumerate(part.measured):
        for campaign in campaigns:
            if not of_suite(one.suite, campaign):
                continue
            place = len(sources)
            kept = [
                (cell, rows)
                for cell, every in _cells(one, campaign, names)
                if (rows := _on_axes(part, every))
            ]
            for cell, rows in kept:
                old = found.get((number, *cell))
                if old is None or (_empty(old["rows"]) and not _empty(rows)):
                    found[number, *cell] = {"rows": rows, "from": place}
            if kept:
                sources.append(_source(campaign))
    return found, sources


def _together(found: Mapping[Key, Mapping[str, Any]], sources: Rows) -> tuple[Rows, Rows]:
    """The points in the order in which they were found, with the campaigns that are left of
    them."""
    used: Rows = []
    points: Rows = []
    for entry in found.values():
        source = sources[entry["from"]]
        if source not in used:
            used.append(source)
        place = used.index(source)
        points += [row | {"from": place} for row in entry["rows"]]
    return points, used


def _source(campaign: MeasuredCampaign) -> dict[str, Any]:
    return {
        "campaign": campaign.name,
        "suite": campaign.suite,
        "date": campaign.date,
        "machine": campaign.machine,
        "shipped": campaign.shipped,
    }


def _on_axes(part: FigurePart, rows: Rows) -> Rows:
    known = part.x.order or part.x.positions
    return (
        rows
        if known is None or part.chart == "heat"
        else [row for row in rows if row["x"] in known]
    )


def _empty(rows: Any) -> bool:
    return all(row["y"] is None for row in rows)


def _count(
    part: FigurePart, names: Mapping[str, str], found: Mapping[Key, Mapping[str, Any]]
) -> dict[str, Any] | None:
    """How many cells have a value, of how many of the whole suites; the places on the x axis of
    both."""
    valued = {key: entry["rows"] for key, entry in found.items() if not _empty(entry["rows"])}
    asked: set[Key] = set(valued)
    places: dict[str, None] = {}
    for number, one in enumerate(part.measured):
        try:
            cells = list(figure_cells.asked_for(one))
        except UserError:  # a suite that is not here: nobody knows how many cells it has
            return None
        for cell in cells:
            where = figure_cells.place(one, cell)
            if where is not None and _on_axes(part, [{"x": names.get(where["x"], where["x"])}]):
                asked.add((number, *_key(cell)))
                places[names.get(where["x"], where["x"])] = None
    at = dict.fromkeys(row["x"] for rows in valued.values() for row in rows if row["x"] in places)
    return {"measured": len(valued), "asked": len(asked), "at": list(at), "places": len(places)}


def _why_none(part: FigurePart, campaigns: Sequence[MeasuredCampaign]) -> str:
    suites = list(dict.fromkeys(one.suite for one in part.measured))
    here = [
        campaign for campaign in campaigns if any(of_suite(suite, campaign) for suite in suites)
    ]
    if any(not campaign.shipped for campaign in here):
        levels = " or ".join(
            dict.fromkeys(
                ", ".join(f"{k} {_level(v)}" for k, v in m.at.items()) or m.suite
                for m in part.measured
            )
        )
        return f"the campaign has no cell for it ({levels})"
    metrics = ", ".join(dict.fromkeys(name for one in part.measured for name in one.metrics))
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
    one: MeasuredFigure, campaign: MeasuredCampaign, names: Mapping[str, str]
) -> Iterator[tuple[Key, Rows]]:
    """The points of each cell that the figure asks for."""
    for workload in campaign.workloads:
        for arm in workload.arms:
            if arm.is_floor:
                continue
            cell = figure_cells.values(workload.name, arm.arm, arm.factors, arm.pair)
            place = figure_cells.place(one, cell) if figure_cells.chosen(one, cell) else None
            if place is None:
                continue
            place = {key: names.get(text, text) for key, text in place.items()}
            if one.metric in OVER_TIME:
                rows = _over_time(one, arm)
            else:
                rows = _value(one, campaign, arm, figure_cells.parts(one, cell))
            about: dict[str, Any] = {
                "arm": arm.arm,
                "middleware": arm.middleware,
                "layer": arm.layer,
            }
            if arm.machine_bound:
                about["machine_bound"] = True
            if rows:
                yield _key(cell), [place | row | about for row in rows]


def _value(one: MeasuredFigure, campaign: MeasuredCampaign, arm: CampaignArm, parts: float) -> Rows:
    """The one point of a metric, for one of so many `parts`; none where a shipped summary does not
    keep the metric of this cell."""
    if campaign.shipped and any(name not in arm.metrics for name in one.metrics):
        return []
    entries = [arm.metrics.get(name, NOT_MEASURED) for name in one.metrics]
    threads = _threads(campaign) if one.of_machine else 1
    point = _computed(one, entries, None if threads is None else threads * parts)
    if point["y"] is None:
        told = arm.not_supported or next((e.no_data for e in entries if e.no_data), None)
        point["note"] = str(told or _infinite(one, entries))
    return [point | {"blocks": entries[0].trials}]


def _computed(
    one: MeasuredFigure, entries: Sequence[Estimate], among: float | None
) -> dict[str, Any]:
    """y, with low and high of a metric that stands alone. `among`: how many threads and readers it
    is divided by; None where that is not known."""
    first = entries[0]
    value, low, high = (fmt.finite(x) for x in (first.value, first.low, first.high))
    if among is None:
        return {"y": None}
    if one.inverse is not None:
        ends = [one.inverse / end if end else None for end in (value, high, low)]
        return {"y": ends[0]} | ({"low": ends[1], "high": ends[2]} if None not in ends else {})
    if one.times:
        other = fmt.finite(entries[1].value)
        return {"y": None if value is None or other is None else value * other * one.factor / among}
    point: dict[str, Any] = {"y": None if value is None else value * one.factor / among}
    if value is not None and low is not None and high is not None:
        point |= {"low": low * one.factor / among, "high": high * one.factor / among}
    return point


def _infinite(one: MeasuredFigure, entries: Sequence[Estimate]) -> str:
    """Why a metric that has data has no value here."""
    if one.inverse is not None and entries[0].value == 0:
        return "nothing arrived"
    if any(entry.at_least is not None for entry in entries):
        return "only a lower bound"
    if one.of_machine and all(fmt.finite(entry.value) is not None for entry in entries):
        return "the machine's hardware threads are not known"
    return "never arrived"


def _threads(campaign: MeasuredCampaign) -> int | None:
    """How many hardware threads the machine has: `2 of 4` is two usable ones of four."""
    last = (campaign.fact("cores") or "").rpartition(" ")[2]
    return int(last) if last.isdigit() and int(last) else None


def _over_time(one: MeasuredFigure, arm: CampaignArm) -> Rows:
    """A value for each whole second, as the originals have."""
    if one.metric not in arm.by_second:
        return []
    found = arm.by_second[one.metric]
    if found is None:
        why = "too many messages: the document keeps some, and the slowest"
        return [{"x": "1", "y": None, "note": why}]
    blocks = arm.done or max(map(len, arm.per_trial.values()), default=None)
    if one.metric not in ("sent", "delivered"):
        blocks = 1
    return [
        {"x": str(second), "y": one.factor * value, "blocks": blocks} for second, value in found
    ]
