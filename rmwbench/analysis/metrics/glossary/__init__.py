"""Every metric, in one place: the analysis computes a metric by its declaration, suites and limits
name it, reports explain it. A new metric is a declaration in `metrics_table.py`.

Imports `analysis.stats.estimate` alone, no computation: a suite is read with it."""

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
from rmwbench.analysis.metrics.glossary.metrics_table import (
    BRING_UP,
    FAILED_TRIALS,
    METRICS,
    RATES,
)

__all__ = [
    "BRING_UP",
    "FAILED_TRIALS",
    "GLOSSARY",
    "METRICS",
    "RATES",
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

GLOSSARY: dict[str, Metric] = {metric.name: metric for metric in METRICS}


def names_for(use: Use) -> tuple[str, ...]:
    """The metrics with this use."""
    return tuple(metric.name for metric in METRICS if use in metric.use)


def names_of(scope: MetricScope) -> tuple[str, ...]:
    """The metrics with this scope."""
    return tuple(metric.name for metric in METRICS if metric.scope is scope)
