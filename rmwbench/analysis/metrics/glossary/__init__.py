"""Every metric, in one place: the analysis computes by its declaration, suites and limits name it
by
that, reports explain it by that. A new one is a declaration in the file of its subject.

Imports `analysis.stats.quantile` alone, nothing that computes: a suite is read with it."""

from rmwbench.analysis.metrics.glossary import (
    chains,
    costs,
    delays,
    interruptions,
    link_traffic,
    losses,
    nodes,
    rates,
    start_up,
)
from rmwbench.analysis.metrics.glossary.metric import (
    Better,
    Clocks,
    Fate,
    Group,
    Kind,
    Metric,
    MetricScope,
    TopicScope,
    Use,
)

__all__ = [
    "GLOSSARY",
    "METRICS",
    "Better",
    "Clocks",
    "Fate",
    "Group",
    "Kind",
    "Metric",
    "MetricScope",
    "TopicScope",
    "Use",
    "names_for",
    "names_of",
]

METRICS: tuple[Metric, ...] = (
    *delays.METRICS,
    *chains.METRICS,
    *losses.METRICS,
    *rates.METRICS,
    *start_up.METRICS,
    *costs.METRICS,
    *link_traffic.METRICS,
    *interruptions.METRICS,
    *nodes.METRICS,
)
"""In the order in which a report lists them."""
GLOSSARY: dict[str, Metric] = {metric.name: metric for metric in METRICS}


def names_for(use: Use) -> tuple[str, ...]:
    """The metrics that are taken up for that."""
    return tuple(metric.name for metric in METRICS if use in metric.use)


def names_of(of: MetricScope) -> tuple[str, ...]:
    """The metrics that measure that."""
    return tuple(metric.name for metric in METRICS if metric.of is of)
