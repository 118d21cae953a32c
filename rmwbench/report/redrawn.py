"""The figures of a published evaluation, drawn again: the document with the points of each as published, as corrected
and as measured here (docs/formats/figures.md).

What is absent says why in words: the original has no such data, its data cannot tell, nothing was measured yet.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rmwbench.report import format as fmt
from rmwbench.suite.figures import Figure, Figures, Measured, Part, Points, fill

Rows = list[dict[str, Any]]
VERSIONS = ("published", "corrected", "measured")
NOTHING_CHANGES = "the same: no known error touches these points"


def document(
    sources: Sequence[tuple[Figures, Mapping[str, Rows], str]], campaigns: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The figures document. Each source comes with the imported rows of its kinds and in words where those are from;
    `campaigns` are show documents."""
    return {
        "schema": "rmwbench/figures",
        "version": 1,
        "campaigns": [c["campaign"]["name"] for c in campaigns],
        "sources": [_source(file, rows, origin, campaigns) for file, rows, origin in sources],
    }


def of_suite(suite: str, campaign: Mapping[str, Any]) -> bool:
    """Whether a campaign ran that suite; a file `folder/name` may call itself `folder-name` or `name`."""
    return campaign["campaign"]["suite"] in (suite, suite.replace("/", "-"), suite.rpartition("/")[2])


def only_measured(doc: dict[str, Any]) -> dict[str, Any]:
    """The document without figures that have no measured value."""
    for source in doc["sources"]:
        source["figures"] = [f for f in source["figures"] if any(counts(part)["measured"] for part in f["parts"])]
    return doc


def _source(
    file: Figures, rows: Mapping[str, Rows], origin: str, campaigns: Sequence[Mapping[str, Any]]
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
    figure: Figure, file: Figures, rows: Mapping[str, Rows], campaigns: Sequence[Mapping[str, Any]]
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
    part: Part, file: Figures, rows: Mapping[str, Rows], campaigns: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    names = file.names
    shown, right, changed, lacking = _imported(part, names, rows)
    printed = part.printed
    if printed:
        shown = [{"series": s, "x": str(x), "y": y} for s, x, y in printed.points]
    measured, why = _measured(part, names, campaigns)
    return {
        "title": part.title,
        "chart": part.chart,
        "x": part.x.model_dump(exclude_none=True),
        "y": part.y.model_dump(exclude_none=True),
        "series": list(part.series) if part.series else None,
        "columns": part.columns,
        "note": part.note,
        "published": {"points": shown, "read_from": printed.read_from if printed else "data", "absent": lacking},
        "corrected": {"points": right, "changed": changed, "absent": _not_corrected(part, shown, right, lacking)},
        "measured": {"points": measured, "absent": why},
    }


def _imported(part: Part, names: Mapping[str, str], rows: Mapping[str, Rows]) -> tuple[Rows, Rows, int, str | None]:
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
        for row in rows.get(points.figure, ()):
            place = _place(points, row, names)
            if place is None or not _wanted(part, place):
                continue
            pair = []
            for key, into in (("as_published", shown), ("as_corrected", right)):
                point = place | {"y": row[key]} | _ends(points, row, ends, key)
                if key == "as_corrected" and row.get("note") and row[key] is None:
                    point["note"] = row["note"]
                into.append(point)
                pair.append(row[key])
            changed += None not in pair and abs(pair[0] - pair[1]) > 1e-4 * max(map(abs, pair))
    lacking = None
    if not shown:
        lacking = "the data is not here: give the archive with --data PATH (docs/importers.md)"
    elif all(point["y"] is None for point in shown):
        lacking = "the original has no value for these"
    return shown, right, changed, lacking


def _place(points: Points, row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str] | None:
    values = {"series": _named(row["series"], names), "x": _named(row["x"], names)}
    if points.match is not None:
        found = re.fullmatch(points.match, row["series"])
        if found is None:
            return None
        values |= {name: _named(text, names) for name, text in found.groupdict().items()}
    place = {"series": fill(points.series, values), "x": fill(points.x, values)}
    if points.panel:
        place["panel"] = fill(points.panel, values)
    return {key: _named(text, names) for key, text in place.items()}


def _wanted(part: Part, place: Mapping[str, str]) -> bool:
    if part.series is not None and place["series"] not in part.series:
        return False
    known = part.x.order or part.x.positions
    return known is None or place["x"] in known


def _ends(points: Points, row: Mapping[str, Any], ends: Sequence[Mapping], key: str) -> dict[str, float]:
    low, high, spread = (end.get((row["series"], row["x"]), {}).get(key) for end in ends)
    if points.spread and spread is not None and row[key] is not None:
        low, high = row[key] - spread, row[key] + spread
    return {} if low is None or high is None else {"low": low, "high": high}


def _not_corrected(part: Part, shown: Rows, right: Rows, lacking: str | None) -> str | None:
    if part.printed:
        return "only these numbers are printed: nothing to correct them by"
    if not right:
        return lacking
    if all(point["y"] is None for point in right):
        notes = dict.fromkeys(point["note"] for point in right if point.get("note"))
        return "; ".join(notes) or "no data: the original's data cannot tell"
    return None


def _measured(part: Part, names: Mapping[str, str], campaigns: Sequence[Mapping[str, Any]]) -> tuple[Rows, str | None]:
    if not part.measured:
        return [], part.not_measured
    points: Rows = []
    ran: set[str] = set()
    for measured in part.measured:
        for campaign in campaigns:
            if of_suite(measured.suite, campaign):
                ran.add(measured.suite)
                points += _cells(measured, campaign, names)
    known = part.x.order or part.x.positions
    if known is not None:
        points = [p for p in points if p["x"] in known] if part.chart != "heat" else points
    if points:
        return points, None
    suites = list(dict.fromkeys(m.suite for m in part.measured))
    if not ran:
        return [], f"not yet: `rmwbench run {suites[0]} --short`, then --campaign DIR (or --short left out: all levels)"
    levels = "; ".join(
        dict.fromkeys(", ".join(f"{k} {_level(v)}" for k, v in m.at.items()) or m.suite for m in part.measured)
    )
    return [], f"the campaign has no cell for it ({levels})"


def _level(value: Any) -> str:
    return " or ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _cells(measured: Measured, campaign: Mapping[str, Any], names: Mapping[str, str]) -> Rows:
    points: Rows = []
    for workload in campaign["workloads"]:
        # A comparison is named by its workload, with its levels in brackets where the suite has factors.
        plain = workload["workload"].partition(" [")[0]
        if measured.workload and plain not in measured.workload:
            continue
        for arm in workload["arms"]:
            values = _values(plain, arm)
            if arm.get("role") == "floor" or not _at(measured, values):
                continue
            if measured.metric == "delivered":
                points += _over_time(measured, workload, arm, values, names)
                continue
            entry = arm["metrics"].get(measured.metric) or {"no_data": "not measured for this arm"}
            place = _templates(measured, values, names)
            if place is None:
                continue
            point = place | {"y": _scaled(entry.get("value"), measured.factor), "arm": arm["arm"]}
            point["middleware"] = arm["middleware"]
            if entry.get("low") is not None and entry.get("high") is not None:
                low, high = (_scaled(entry[end], measured.factor) for end in ("low", "high"))
                if low is not None and high is not None:
                    point |= {"low": low, "high": high}
            why = arm.get("not_supported") or entry.get("no_data")
            if point["y"] is None:
                point["note"] = str(why or "never arrived")
            points.append(point)
    return points


def _values(workload: str, arm: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {"workload": workload, "arm": arm["arm"], **arm["factors"]}
    if arm.get("pair"):
        values |= dict(zip(("talker", "listener"), arm["pair"], strict=True))
    for name, value in list(values.items()):
        if isinstance(value, int | float) and not isinstance(value, bool):
            values[f"{name}%"] = f"{100 * value:g}"
            values[f"{name}+2"] = value + 2
    return values


def _at(measured: Measured, values: Mapping[str, Any]) -> bool:
    return all(
        name in values and values[name] in (wanted if isinstance(wanted, tuple) else (wanted,))
        for name, wanted in measured.at.items()
    )


def _templates(measured: Measured, values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str] | None:
    """Where a cell belongs; None for one without a factor that a template names (a pair in one process, a suite of
    another form)."""
    templates = {"series": measured.series, "x": measured.x} | ({"panel": measured.panel} if measured.panel else {})
    needed = {name for text in templates.values() for name in re.findall(r"\{([^{}]+)\}", text)}
    if not needed <= set(values):
        return None
    return {key: _named(fill(text, values), names) for key, text in templates.items()}


def _over_time(
    measured: Measured,
    workload: Mapping[str, Any],
    arm: Mapping[str, Any],
    values: Mapping[str, Any],
    names: Mapping[str, str],
) -> Rows:
    """What arrived in each whole second, the mean over trials: the originals have a value per second."""
    place = _templates(measured, values, names)
    series = next((s for s in workload.get("charts", {}).get("delivered", ()) if s["arm"] == arm["arm"]), None)
    if place is None or series is None:
        return []
    seconds: dict[int, list[float]] = {}
    for time, rate in zip(series["time_s"], series["rate_hz"], strict=True):
        seconds.setdefault(int(time) + 1, []).append(rate)
    return [
        place | {"x": str(second), "y": sum(rates) / len(rates), "arm": arm["arm"], "middleware": arm["middleware"]}
        for second, rates in sorted(seconds.items())
    ]


def _scaled(value: Any, factor: float) -> float | None:
    number = fmt.finite(value)
    return None if number is None else number * factor


def _named(text: str, names: Mapping[str, str]) -> str:
    return names.get(text, text)


def counts(part: Mapping[str, Any]) -> dict[str, int]:
    """How many points each version has."""
    return {v: sum(p["y"] is not None for p in part[v]["points"]) for v in VERSIONS}


def lines(doc: Mapping[str, Any]) -> Iterable[tuple[str, str, str, int, int, int, int]]:
    """A line per figure: source, id, title, and how many points are published, changed by correction, left without a
    value by it, and measured."""
    for source in doc["sources"]:
        for figure in source["figures"]:
            found = [counts(part) for part in figure["parts"]]
            changed = sum(part["corrected"]["changed"] for part in figure["parts"])
            gone = sum(
                max(0, n["published"] - n["corrected"])
                for n, part in zip(found, figure["parts"], strict=True)
                if part["published"]["read_from"] == "data"
            )
            shown, measured = (sum(n[version] for n in found) for version in ("published", "measured"))
            yield source["source"], figure["id"], figure["title"], shown, changed, gone, measured
