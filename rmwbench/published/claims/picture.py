"""A claim's answer as a small picture: per cell the ratio (or the value) with its interval on a
logarithmic axis, the side that the claim says shaded, its bar in the middle; a difference on a
linear one, 0 in the middle. Numbers for an SVG; the template draws them.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from rmwbench.published.claims.amounts import POINTS, RATIO, UNITLESS, amount, unit_of
from rmwbench.published.claims.claims_file import ClaimTest
from rmwbench.published.claims.judging.decision_rules import bar_of
from rmwbench.published.claims.judging.today import CellAnswer
from rmwbench.suite.predicate import RANGES

WIDTH, ROW, TOP, FOOT = 220, 14, 4, 15
MOST_ROWS = 8
"""The most cells that are drawn; the others are in the text."""
NARROWEST, WIDEST = math.log(1.5), math.log(1000.0)
"""Half of the axis, as the logarithm of a ratio to the bar."""
Place = Callable[[float], float]
"""A value -> x."""
EDGE = 6
"""What lies beyond the axis ends in an arrow within this margin."""


def picture(test: ClaimTest, cells: Sequence[CellAnswer]) -> dict[str, Any] | None:
    """What to draw of the `cells` of an answer, those of one test; None where no cell has an
    interval."""
    drawn = [cell for cell in cells if cell.low is not None and cell.high is not None][:MOST_ROWS]
    bar = bar_of(test)
    if not drawn:
        return None
    if test.by == "difference":
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


def _logarithmic(bar: float, cells: Sequence[CellAnswer], test: ClaimTest) -> Place:
    spread = [abs(math.log(x / bar)) for cell in cells for x in _ends(cell) if 0 < x < math.inf]
    factor = abs(math.log(test.factor)) * 1.6 if test.relation in RANGES else 0.0
    half = min(WIDEST, max(NARROWEST, factor, *(1.15 * x for x in spread), 0.0))

    def place(x: float) -> float:
        if x <= 0 or math.isinf(x):
            return 0.0 if x <= 0 else WIDTH
        return WIDTH / 2 + (WIDTH / 2 - EDGE) * max(-1.1, min(1.1, math.log(x / bar) / half))

    return place


def _linear(cells: Sequence[CellAnswer]) -> Place:
    """Ratios around a bar of 0 do not exist, so the range begins at 0."""
    largest = max((x for cell in cells for x in _ends(cell) if x < math.inf), default=0)
    return lambda x: (
        WIDTH if math.isinf(x) else EDGE + (WIDTH - 2 * EDGE) * (x / largest if largest else 0.0)
    )


def _both_sides(bar: float, cells: Sequence[CellAnswer]) -> Place:
    """0 in the middle, as far to either side as anything reaches."""
    half = max(abs(bar), *(abs(x) for cell in cells for x in _ends(cell))) or 1.0
    return lambda x: WIDTH / 2 + (WIDTH / 2 - EDGE) * x / half


def _ends(cell: CellAnswer) -> tuple[float, float, float]:
    """Low, value and high; NaN for one that there is not."""
    low, value, high = (math.nan if x is None else x for x in (cell.low, cell.value, cell.high))
    return low, value, high


def _bars(test: ClaimTest, bar: float) -> list[float]:
    return [bar / test.factor, bar * test.factor] if test.relation in RANGES else [bar]


def _shade(test: ClaimTest, bar: float, place: Place) -> tuple[float, float]:
    """x and width of the side that the claim says."""
    if test.relation in RANGES:  # of what differs the middle is shaded too: what it is not
        low, high = (place(at) for at in _bars(test, bar))
        return low, high - low
    return (0.0, place(bar)) if test.relation == "less" else (place(bar), WIDTH - place(bar))


def _row(cell: CellAnswer, place: Place, y: float) -> dict[str, Any]:
    low, value, high = _ends(cell)
    return {
        "y": y,
        "low": max(EDGE / 2, min(WIDTH - EDGE / 2, place(low))),
        "high": max(EDGE / 2, min(WIDTH - EDGE / 2, place(high))),
        "value": None if math.isnan(value) else max(EDGE / 2, min(WIDTH - EDGE / 2, place(value))),
        "open_left": place(low) < EDGE / 2,
        "open_right": place(high) > WIDTH - EDGE / 2,
        "answer": cell.answer,
        "title": cell.workload,
    }


def _text(at: float, test: ClaimTest) -> str:
    if test.by == "difference":
        return amount(at, POINTS)
    if test.by == "exponent" or test.times_metric:
        return amount(at, UNITLESS)
    return amount(at, unit_of(test.metric) if test.right is None else RATIO)
