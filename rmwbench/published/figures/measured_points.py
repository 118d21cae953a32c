"""What was measured of a part of a figure: points of campaigns and of the shipped summaries, where
they are from, and how many of the cells of the whole suite they are.

A figure is measured by the cells of a suite with its workload and levels. `asked_for` multiplies
levels out and applies exclusions, and does no more: loading a suite also checks every cell, which
takes seconds for the large ones. Where a cell was measured several times, the first campaign with a
value stands: those that were given come before the shipped ones, and of these the newest first
(`shipped_summaries`). Of shipped ones a part takes those of one machine.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.published.campaign import OVER_TIME, CampaignArm, MeasuredCampaign
from rmwbench.published.figures.figures_file import FigurePart, MeasuredFigure, fill
from rmwbench.published.summaries import FOLDER, expanded, shipped
from rmwbench.results.model import Estimate
from rmwbench.suite.file.interop_pairs import ARROW
from rmwbench.suite.file.load import plain
from rmwbench.suite.file.places import find, read, shown, sources_with
from rmwbench.words import numbers as fmt

Rows = list[dict[str, Any]]
Values = dict[str, Any]
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
    campaigns = [
        campaign
        for source in sources
        for file in shipped(source, directory)
        for campaign in expanded(file)
    ]
    return sorted(campaigns, key=lambda campaign: campaign.created_utc or "", reverse=True)


def measured(
    part: FigurePart, names: Mapping[str, str], campaigns: Sequence[MeasuredCampaign]
) -> dict[str, Any]:
    """`measured` of a part in the figures document: points, `from` which campaigns, how many
    `cells`, or why there are none."""
    if not part.measured:
        return {"points": [], "from": [], "cells": None, "absent": part.not_measured}
    tried = [_entries(part, names, chosen) for chosen in _of_one_machine(campaigns)]
    # What two machines measured is not compared within a picture: that which measured most of it,
    # the newest of equals.
    cells, sources = max(
        tried, key=lambda one: sum(not _empty(entry["rows"]) for entry in one[0].values())
    )
    points, used = _together(cells, sources)
    if points:
        return {
            "points": points,
            "from": used,
            "cells": _count(part, names, cells),
            "absent": None,
        }
    return {"points": [], "from": [], "cells": None, "absent": _why_none(part, campaigns)}


def _of_one_machine(campaigns: Sequence[MeasuredCampaign]) -> list[list[MeasuredCampaign]]:
    """The campaigns that were given, each time with what is shipped of one machine, the newest
    machine first."""
    hosts = dict.fromkeys(one.host for one in campaigns if one.shipped) or {None: None}
    return [[x for x in campaigns if not x.shipped or x.host == name] for name in hosts]


def _entries(
    part: FigurePart, names: Mapping[str, str], campaigns: Sequence[MeasuredCampaign]
) -> tuple[dict[Key, dict[str, Any]], Rows]:
    """Cell -> its rows and their place among the sources; the sources."""
    entries: dict[Key, dict[str, Any]] = {}
    sources: Rows = []
    for number, one in enumerate(part.measured):
        for campaign in campaigns:
            if not campaign.ran(one.suite):
                continue
            place = len(sources)
            drawn = [
                (cell, rows)
                for cell, every in _cells(one, campaign, names)
                if (rows := _on_axes(part, every))
            ]
            for cell, rows in drawn:
                old = entries.get((number, *cell))
                if old is None or (_empty(old["rows"]) and not _empty(rows)):
                    entries[number, *cell] = {"rows": rows, "from": place}
            if drawn:
                sources.append(_source(campaign))
    return entries, sources


def _together(entries: Mapping[Key, Mapping[str, Any]], sources: Rows) -> tuple[Rows, Rows]:
    """The points in the order in which they were found, with the campaigns that are left of
    them."""
    used: Rows = []
    points: Rows = []
    for entry in entries.values():
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
    part: FigurePart, names: Mapping[str, str], entries: Mapping[Key, Mapping[str, Any]]
) -> dict[str, Any] | None:
    """How many cells have a value, of how many of the whole suites; the places on the x axis of
    both."""
    valued = {key: entry["rows"] for key, entry in entries.items() if not _empty(entry["rows"])}
    every: set[Key] = set(valued)
    places: dict[str, None] = {}
    for number, one in enumerate(part.measured):
        try:
            cells = list(asked_for(one))
        except UserError:  # a suite that is not here: nobody knows how many cells it has
            return None
        for cell in cells:
            where = place_of(one, cell)
            if where is not None and _on_axes(part, [{"x": names.get(where["x"], where["x"])}]):
                every.add((number, *_key(cell)))
                places[names.get(where["x"], where["x"])] = None
    at = dict.fromkeys(row["x"] for rows in valued.values() for row in rows if row["x"] in places)
    return {
        "measured": len(valued),
        "asked": len(every),
        "at": list(at),
        "places": len(places),
    }


def _why_none(part: FigurePart, campaigns: Sequence[MeasuredCampaign]) -> str:
    suites = list(dict.fromkeys(one.suite for one in part.measured))
    here = [campaign for campaign in campaigns if any(map(campaign.ran, suites))]
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
            cell = cell_values(workload.name, arm.arm, arm.factors, arm.pair)
            place = place_of(one, cell) if is_asked(one, cell) else None
            if place is None:
                continue
            place = {key: names.get(text, text) for key, text in place.items()}
            over_time = one.metric in OVER_TIME
            rows = _over_time(one, arm) if over_time else _value(one, campaign, arm, cell)
            about: dict[str, Any] = {
                "arm": arm.arm,
                "middleware": arm.middleware,
                "layer": arm.layer,
            }
            if arm.machine_bound:
                about["machine_bound"] = True
            if rows:
                yield _key(cell), [place | row | about for row in rows]


def _value(one: MeasuredFigure, campaign: MeasuredCampaign, arm: CampaignArm, cell: Values) -> Rows:
    """The one point of a metric, for one of all that have the cell's value together; none where
    a shipped summary does not keep the metric of this cell."""
    if campaign.shipped and any(name not in arm.metrics for name in one.metrics):
        return []
    entries = [arm.metrics.get(name, NOT_MEASURED) for name in one.metrics]
    threads = _threads(campaign) if one.of_machine else 1
    point = _computed(one, entries, None if threads is None else threads * parts_of(one, cell))
    if point["y"] is None:
        reason = arm.not_supported or next((e.no_data for e in entries if e.no_data), None)
        point["note"] = str(reason or _infinite(one, entries))
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
    seconds = arm.by_second[one.metric]
    if seconds is None:
        why = "too many messages: the document keeps some, and the slowest"
        return [{"x": "1", "y": None, "note": why}]
    blocks = arm.done or max(map(len, arm.per_trial.values()), default=None)
    if one.metric not in ("sent", "delivered"):
        blocks = 1
    return [
        {"x": str(second), "y": one.factor * value, "blocks": blocks} for second, value in seconds
    ]


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


def place_of(measured: MeasuredFigure, cell: Mapping[str, Any]) -> dict[str, str] | None:
    """Series, x and panel of a cell; None for one without a factor that a template or `per` names
    (a pair in one process, a suite of another form)."""
    templates = {"series": measured.series, "x": measured.x} | (
        {"panel": measured.panel} if measured.panel else {}
    )
    needed = {name for text in templates.values() for name in re.findall(r"\{([^{}]+)\}", text)}
    needed |= {measured.per} if measured.per else set()
    return (
        {key: fill(text, cell) for key, text in templates.items()} if needed <= set(cell) else None
    )


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
    workloads = [str(one["name"]) for one in tree.get("workloads", ())]
    arms = [
        str(one["name"])
        for one in tree.get("arms", ())
        if (one.get("role") or one.get("middleware")) != "floor"
    ]
    return workloads, arms, dict(tree.get("factors") or {}), list(tree.get("exclude") or ())
