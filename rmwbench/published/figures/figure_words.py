"""What a figure has and has not, in words: beside a chart, on a picture that is taken away, and as
one line in the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rmwbench.published.figures.versions import NOTHING_CHANGES, VERSIONS, counts
from rmwbench.words import numbers as fmt

READ_FROM = {
    "data": "",
    "text": "as printed in the text",
    "table": "as printed in a table",
    "plot": "read off the plot by eye, 2 % of the axis at best",
}
_MOST_PLACES = 4


def words(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What stands beside a chart: (version, sentence) for each version that has something to
    say."""
    found = counts(part)
    published, corrected, measured = (part[v] for v in VERSIONS)
    if published["absent"]:
        yield "published", published["absent"]
    elif READ_FROM[published["read_from"]]:
        yield "published", READ_FROM[published["read_from"]]
    if found["published"]:
        yield "corrected", corrected["absent"] or _corrected(part, found)
    told = (
        [measured["absent"]]
        if measured["absent"]
        else [*origins(measured), partly(part), _bound(measured), _lacking(measured)]
    )
    if any(told):
        yield "measured", "; ".join(text for text in told if text)


def origins(measured: Mapping[str, Any]) -> list[str]:
    """Machine, date, layers and blocks of what was measured, for each machine and day."""
    grouped: dict[tuple[Any, ...], list[int]] = {}
    for place, one in enumerate(measured["from"]):
        key = (one["machine"], one["date"], None if one["shipped"] else one["campaign"])
        grouped.setdefault(key, []).append(place)
    found = []
    for (machine, date, campaign), places in grouped.items():
        points = [p for p in measured["points"] if p["from"] in places]
        layers = dict.fromkeys(str(p["layer"]) for p in points if p.get("layer"))
        blocks = sorted({p["blocks"] for p in points if p.get("blocks")})
        texts = [
            machine or "",
            f"{date}, shipped" if date and not campaign else date or "",
            f"campaign {campaign}" if campaign else "",
            f"layer {' and '.join(layers)}" if layers else "",
            _range(blocks),
        ]
        found.append(", ".join(text for text in texts if text))
    return found


def partly(part: Mapping[str, Any]) -> str:
    """Where only some of the cells were measured: how many, and at which places of the x axis;
    empty otherwise."""
    cells = part["measured"]["cells"]
    if cells is None or cells["measured"] == cells["asked"]:
        return ""
    text = f"only {cells['measured']} of {fmt.counted(cells['asked'], 'cell')} of the whole suite"
    if not cells["at"] or len(cells["at"]) == cells["places"]:
        return text
    many = len(cells["at"]) > _MOST_PLACES
    at = f"{len(cells['at'])} of {cells['places']}" if many else ", ".join(cells["at"])
    return f"{text} ({part['x']['title']}: {at})"


def line(figure: Mapping[str, Any]) -> str:
    """What a figure has, as one line: points published, corrected, measured, or why there are
    none."""
    if figure["not_drawn"]:
        return f"not drawn: {figure['not_drawn']}"
    parts = figure["parts"]
    found = [counts(part) for part in parts]
    sums = {version: sum(n[version] for n in found) for version in VERSIONS}
    texts = [_has("published", sums, parts)]
    if sums["published"]:
        changed = sum(part["corrected"]["changed"] for part in parts)
        same = sums["corrected"] == sums["published"] and not changed
        differ = f" ({changed} differ)" if changed else ""
        texts.append("corrected the same" if same else _has("corrected", sums, parts) + differ)
    cells = [part["measured"]["cells"] for part in parts if part["measured"]["cells"]]
    told = (
        f" ({sum(c['measured'] for c in cells)} of {sum(c['asked'] for c in cells)} cells)"
        if cells
        else ""
    )
    texts.append(_has("measured", sums, parts) + told)
    return "; ".join(texts)


def _has(version: str, sums: Mapping[str, int], parts: Sequence[Mapping[str, Any]]) -> str:
    if sums[version]:
        return f"{version} {sums[version]}"
    why = list(dict.fromkeys(part[version]["absent"] or "no point has a value" for part in parts))
    more = f" (and {fmt.counted(len(why) - 1, 'other reason')})" if len(why) > 1 else ""
    return f"{version} none: {why[0].partition('; ')[0]}{more}"


def _corrected(part: Mapping[str, Any], found: Mapping[str, int]) -> str:
    corrected = part["corrected"]
    gone = found["published"] - found["corrected"]
    if not corrected["changed"] and gone <= 0:
        return NOTHING_CHANGES
    texts = [f"{corrected['changed']} of {found['published']} points change"]
    if gone > 0:
        notes = dict.fromkeys(p["note"] for p in corrected["points"] if p.get("note"))
        texts.append(
            f"{gone} have no value" + (f" ({'; '.join(list(notes)[:3])})" if notes else "")
        )
    return ", ".join(texts)


def _bound(measured: Mapping[str, Any]) -> str:
    """Where the processors were busy throughout: such points say little of a network, and nothing
    of scaling."""
    points = [p for p in measured["points"] if p["y"] is not None]
    bound = sum(bool(p.get("machine_bound")) for p in points)
    return (
        f"{bound} of {fmt.counted(len(points), 'point')} on processors that were busy throughout"
        if bound
        else ""
    )


def _lacking(measured: Mapping[str, Any]) -> str:
    """Arms without a value, where on the x axis, and why."""
    told: dict[tuple[str, str], dict[str, None]] = {}
    for p in measured["points"]:
        if p["y"] is None and p.get("note"):
            told.setdefault((p["arm"], p["note"]), {})[p["x"]] = None
    return "; ".join(
        f"{arm} at {_some(list(at))}: {note}"
        for (arm, note), at in list(told.items())[:_MOST_PLACES]
    )


def _some(places: Sequence[str]) -> str:
    return ", ".join(places) if len(places) <= _MOST_PLACES else f"{len(places)} places"


def _range(blocks: Sequence[int]) -> str:
    if not blocks:
        return ""
    low, high = blocks[0], blocks[-1]
    return fmt.counted(high, "block") if low == high else f"{low} to {high} blocks"
