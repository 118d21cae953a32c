"""The titles of the metrics of claims, and the units of values that are made of them. Pure."""

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.words.level_names import set_quantity

RATIO = "×"
UNITLESS = ""
"""The unit of an exponent, and of a product of two metrics."""
POINTS = "points"
"""The unit of a difference of two fractions: percentage points."""


def unit_of(metric: str) -> str:
    """Return the unit of a metric; empty for a metric that this version does not know."""
    return GLOSSARY[metric].unit if metric in GLOSSARY else ""


def title_of(metric: str) -> str:
    """Return the metric's name in reports: `service latency, median`."""
    return GLOSSARY[metric].title if metric in GLOSSARY else metric


def bar_text(value: float, unit: str) -> str:
    """Return a claim's bar without unneeded zeros: `630 µs`, `0.1 %`, `2×`."""
    if unit in (RATIO, UNITLESS):
        return f"{value:.3g}{unit}"
    return set_quantity(float(f"{value:.3g}"), unit).rstrip()
