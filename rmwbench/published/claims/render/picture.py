"""A claim's answer as a small picture: per cell the ratio (or the value) with its interval on a
logarithmic axis, the side that the claim says shaded, its bar in the middle; a difference on a
linear one, 0 in the middle. Numbers for an SVG; the template draws them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.published.claims.model import RANGES
from rmwbench.published.claims.words import POINTS, RATIO, UNITLESS, amount, unit_of

WIDTH, ROW, TOP, FOOT = 220, 14, 4, 15
MOST_ROWS = 8
"""Of cells that are drawn; the others are in the text."""
NARROWEST, WIDEST = math.log(1.5), math.log(1000.0)
"""Half of the axis, as the logarithm of a ratio to the bar."""
EDGE = 6
"""What lies beyond the axis ends in an arrow within this margin."""


def picture(test: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What to draw of the `cells` of a `today` entry of the ledger, those of one test; None where
    no cell has an interval."""
    drawn = [cell for cell in cells if cell["low"] is not None and cell["high"] is not None][
        :MOST_ROWS
    ]
    level = test["level"]
    bar = (
        level
        if level is not None
        else test["times"]
        if test["relation"] in RANGES
        else test["factor"]
    )
    if not drawn or bar is None:
        return None
    if test.get("by") == "difference":
        place = _both_sides(bar, drawn)
    else:
        place = _logarithmic(bar, drawn, test) if bar > 0 else _linear(drawn)
    bottom = TOP + ROW * len(drawn)
    return {
        "width": WIDTH,
        "height": bottom + FOOT,
        "bottom": bottom,
        "shade": _shade(test, bar, place),
        "bars": [(place(at), _text(at, test)) for at in _bars(test, bar)],
        "rows": [_row(cell, place, TOP + ROW * n + ROW / 2) for n, cell in enumerate(drawn)],
    }


def _logarithmic(bar: float, cells: Sequence[Mapping[str, Any]], test: Mapping[str, Any]):
    spread = [
        abs(math.log(x / bar))
        for cell in cells
        for key in ("low", "value", "high")
        if 0 < (x := _number(cell[key])) < math.inf
    ]
    factor = abs(math.log(test["factor"])) * 1.6 if test["relation"] in RANGES else 0.0
    half = min(WIDEST, max(NARROWEST, factor, *(1.15 * x for x in spread), 0.0))

    def place(x: float) -> float:
        if x <= 0 or math.isinf(x):
            return 0.0 if x <= 0 else WIDTH
        return WIDTH / 2 + (WIDTH / 2 - EDGE) * max(-1.1, min(1.1, math.log(x / bar) / half))

    return place


def _linear(cells: Sequence[Mapping[str, Any]]):
    """Ratios around a bar of 0 do not exist, so the range begins at 0."""
    largest = max(
        (
            x
            for cell in cells
            for key in ("low", "value", "high")
            if (x := _number(cell[key])) < math.inf
        ),
        default=0,
    )
    return lambda x: (
        WIDTH if math.isinf(x) else EDGE + (WIDTH - 2 * EDGE) * (x / largest if largest else 0.0)
    )


def _both_sides(bar: float, cells: Sequence[Mapping[str, Any]]):
    """0 in the middle, as far to either side as anything reaches."""
    half = (
        max(abs(bar), *(abs(cell[key]) for cell in cells for key in ("low", "value", "high")))
        or 1.0
    )
    return lambda x: WIDTH / 2 + (WIDTH / 2 - EDGE) * x / half


def _number(value: float | str | None) -> float:
    return math.inf if value == "inf" else math.nan if value is None else float(value)


def _bars(test: Mapping[str, Any], bar: float) -> list[float]:
    return [bar / test["factor"], bar * test["factor"]] if test["relation"] in RANGES else [bar]


def _shade(test: Mapping[str, Any], bar: float, place) -> tuple[float, float]:
    """x and width of the side that the claim says."""
    if test["relation"] in RANGES:  # of what differs the middle is shaded too: what it is not
        low, high = (place(at) for at in _bars(test, bar))
        return low, high - low
    return (0.0, place(bar)) if test["relation"] == "less" else (place(bar), WIDTH - place(bar))


def _row(cell: Mapping[str, Any], place, y: float) -> dict[str, Any]:
    low, value, high = (_number(cell[key]) for key in ("low", "value", "high"))
    return {
        "y": y,
        "low": max(EDGE / 2, min(WIDTH - EDGE / 2, place(low))),
        "high": max(EDGE / 2, min(WIDTH - EDGE / 2, place(high))),
        "value": None if math.isnan(value) else max(EDGE / 2, min(WIDTH - EDGE / 2, place(value))),
        "open_left": place(low) < EDGE / 2,
        "open_right": place(high) > WIDTH - EDGE / 2,
        "answer": cell["answer"],
        "title": cell["workload"],
    }


def _text(at: float, test: Mapping[str, Any]) -> str:
    if test.get("by") == "difference":
        return amount(at, POINTS)
    if test.get("by") == "exponent" or test.get("times_metric"):
        return amount(at, UNITLESS)
    return amount(at, unit_of(test["metric"]) if test["right"] is None else RATIO)
