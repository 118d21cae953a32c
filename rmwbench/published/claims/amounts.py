"""A ratio or a value with its interval in a few words, the value in a unit that people read.
Pure."""

import math

from rmwbench.analysis.metrics.glossary import GLOSSARY

SCALES = {
    "ns": (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)),
    "bytes": (("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)),
    "bytes/s": (("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)),
    "fraction": (("%", 0.01),),
    "hz": (("Hz", 1.0),),
    "points": (("points", 0.01),),
}
RATIO = "×"
UNITLESS = ""
"""The unit of an exponent, and of a product of two metrics."""
POINTS = "points"
"""The unit of a difference of two fractions: percentage points."""


def unit_of(metric: str) -> str:
    """Empty for a metric that this version does not know."""
    return GLOSSARY[metric].unit if metric in GLOSSARY else ""


def title_of(metric: str) -> str:
    """As reports call it: `service latency, median`."""
    return GLOSSARY[metric].title if metric in GLOSSARY else metric


def amount(value: float, unit: str) -> str:
    """`630 µs`, `0.1 %`, `2×`."""
    name, scale = _scale([value], unit)
    return _joined(_digits(value / scale), name)


def interval(value: float | None, low: float, high: float, unit: str) -> str:
    """`173 [134–222] µs`, all three in the unit of the value; `0 [-2.6 to 2.6] points` below 0. Too
    few blocks leave both ends open, and then there is no interval."""
    name, scale = _scale([x for x in (value, high, low) if x is not None], unit)
    shown = "–" if value is None else _digits(value / scale)
    if math.isinf(low) and math.isinf(high):
        return f"{_joined(shown, name)}, without an interval"
    between = " to " if low < 0 else "–"
    return _joined(f"{shown} [{_digits(low / scale)}{between}{_digits(high / scale)}]", name)


def _scale(values: list[float], unit: str) -> tuple[str, float]:
    """By the first value that is neither 0 nor infinite."""
    scales = SCALES.get(unit, ((unit, 1.0),))
    first = next((abs(_rounded(x)) for x in values if x and math.isfinite(x)), 0.0)
    return next((one for one in reversed(scales) if first >= one[1]), scales[0])


def _rounded(value: float) -> float:
    """As it is printed: 999.6 is 1000, which belongs to the next unit."""
    return float(f"{value:.3g}")


def _joined(text: str, unit: str) -> str:
    return f"{text}{unit}" if unit == RATIO else f"{text} {unit}".rstrip()


def _digits(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    rounded = abs(_rounded(value))
    return f"{value:.3g}" if rounded < 1000 or rounded >= 1e7 else f"{value:.0f}"
