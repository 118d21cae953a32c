"""A comparison as one HTML file without any script: answer, environment, and a forest plot whose
marks are boxes placed by per cent, so that the same markup fits a phone, a wide screen, a dark page
and paper.
"""

from dataclasses import dataclass
from math import exp, log
from pathlib import Path

from markupsafe import Markup

from rmwbench.report.compare import terminal as words
from rmwbench.report.page import asset, environment
from rmwbench.results.compare.model import Compared
from rmwbench.results.model import Ratio
from rmwbench.whole_file import write_whole
from rmwbench.words import numbers as fmt

_TICKS = (0.05, 0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_LEAST, _MOST = log(1.3), log(200.0)
_NEAREST_TICKS = 9.0  # per cent of the axis: closer labels would touch on a phone


@dataclass(frozen=True)
class Axis:
    """A log axis of ratios; places are per cent from the left. `band`: (left, width) of the
    margin."""

    half: float
    band: tuple[float, float]
    ticks: list[tuple[float, str]]

    def place(self, ratio: float) -> float:
        return round(100 * (min(max(log(ratio) / self.half, -1), 1) + 1) / 2, 3)


@dataclass(frozen=True)
class Mark:
    """A row's estimate and interval, in per cent; the flags say which ends run off the axis."""

    at: float
    low: float
    high: float
    off_left: bool
    off_right: bool


def write_html(found: Compared, path: Path | str) -> None:
    """Writes one file of some 100 kB."""
    write_whole(path, render_html(found))


def render_html(found: Compared) -> str:
    made = environment()
    axis = axis_of(found)
    cells = [
        (cell, rows, [(row, mark(row.ratio, axis), *words.effect(row)) for row in rows])
        for cell, rows in words.by_cell(found.rows)
    ]
    return made.get_template("compare.html.j2").render(
        doc=found,
        axis=axis,
        cells=cells,
        words=words,
        fmt=fmt,
        style=Markup(asset("page.css") + asset("compare.css")),
    )


def axis_of(found: Compared) -> Axis:
    """Symmetric around 1, wide enough for every estimate and for intervals up to twice as far."""
    estimates, ends = [_LEAST], []
    for ratio in (row.ratio for row in found.rows if row.ratio is not None):
        if (value := fmt.finite(ratio.value)) and value > 0:
            estimates.append(abs(log(value)))
            ends += [
                abs(log(v)) for end in (ratio.low, ratio.high) if (v := fmt.finite(end)) and v > 0
            ]
    half = min(
        max(max(estimates) * 1.15, min(max(ends, default=0.0) * 1.05, 2 * max(estimates))), _MOST
    )
    axis = Axis(half, (0.0, 0.0), [])
    margin = found.rules.margin
    left, right = axis.place(1 / (1 + margin)), axis.place(1 + margin)
    ticks: list[tuple[float, str]] = [(50.0, "1")]
    for value in sorted(_TICKS, key=lambda t: abs(log(t))):
        at = axis.place(value)
        if (
            value != 1
            and abs(log(value)) < half
            and all(abs(at - other) >= _NEAREST_TICKS for other, _ in ticks)
        ):
            ticks.append((at, f"{value:g}"))
    return Axis(half, (left, round(right - left, 3)), sorted(ticks))


def mark(ratio: Ratio | None, axis: Axis) -> Mark | None:
    value = None if ratio is None else fmt.finite(ratio.value)
    if ratio is None or not value or value <= 0:
        return None
    low, high = fmt.finite(ratio.low), fmt.finite(ratio.high)
    low, high = low or 0.0, float("inf") if high is None else high
    edge = exp(axis.half)
    return Mark(
        axis.place(value),
        axis.place(max(low, 1 / edge)),
        axis.place(min(high, edge)),
        low < 1 / edge,
        high > edge,
    )
