"""The titles and units of what claims compare: metrics, and the values that tests make of them.
Pure."""

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.suite.predicate import Predicate
from rmwbench.words.level_names import set_quantity
from rmwbench.words.numbers import concise

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


def value_unit(test: Predicate) -> str:
    """Return the unit of a test's value, and of the bar that it is compared with."""
    if test.by == "difference":
        return POINTS
    if test.by == "exponent" or (test.right is None and test.times_metric):
        return UNITLESS
    return unit_of(test.metric) if test.right is None else RATIO


def side_unit(test: Predicate, metric: str) -> str:
    """Return the unit of a block's value of the side that has this metric."""
    if test.base_at:
        return RATIO
    return UNITLESS if test.times_metric else unit_of(metric)


def side_title(test: Predicate, metric: str) -> str:
    """Return the name of a block's value of the side that has this metric, without the levels by
    which it is divided."""
    return " × ".join(map(title_of, filter(None, (metric, test.times_metric))))


def bar_text(value: float, unit: str) -> str:
    """Return a claim's bar without unneeded zeros: `630 µs`, `0.1 %`, `2×`."""
    if unit in (RATIO, UNITLESS):
        return f"{concise(value)}{unit}"
    return set_quantity(float(f"{value:.3g}"), unit).rstrip()
