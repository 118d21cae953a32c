"""How lifecycle nodes come up: until when, where they stop, and what that costs."""

from functools import partial
from math import inf

from rmwbench.analysis.metrics.glossary.metric import (
    GROWTH,
    LIMIT,
    LOWER,
    NOTHING_COUNTED,
    PRIMARY,
    Group,
    Metric,
    MetricScope,
)

GROUP = Group("Bring-up")
_metric = partial(Metric, better=LOWER, of=MetricScope.NODES, group=GROUP)

METRICS = (
    _metric(
        "bring_up_time",
        "time until all nodes are active",
        "ns",
        "positive",
        "From the launch of a workload's lifecycle nodes until their manager knows that the last "
        "one is active; infinite where one never is within the window. Starting the programs is "
        "not in it, opening their sessions is.",
        heading="all",
        use=LIMIT | PRIMARY | GROWTH,
        failed=inf,
    ),
    _metric(
        "half_up_time",
        "time until half of the nodes are active",
        "ns",
        "positive",
        "The same until half of the nodes are active.",
        heading="half",
        failed=inf,
    ),
    *(
        _metric(
            name,
            title,
            "fraction",
            "fraction",
            text,
            heading=heading,
            absent=NOTHING_COUNTED,
        )
        for name, heading, title, text in (
            (
                "never_active",
                "never active",
                "never active",
                "Lifecycle nodes that were not active when the window ended.",
            ),
            (
                "stopped_at_session",
                "",
                "session did not open",
                "The part of these whose process could not open its session.",
            ),
            (
                "stopped_at_service",
                "",
                "service not available",
                "The part of these whose session opened, and whose services the manager did not "
                "see in time.",
            ),
            (
                "stopped_at_configure",
                "",
                "not configured",
                "The part of these that did not answer in time, or refused, or had not been "
                "configured when the window ended.",
            ),
            ("stopped_at_activate", "", "not activated", "The same of activating."),
        )
    ),
    _metric(
        "longest_change",
        "longest change of state",
        "ns",
        "positive",
        "The longest time that the manager waited for one node to be configured or activated, in a "
        "trial; infinite where one was not answered in time. A service time-out of that length "
        "would have been enough.",
        heading="longest change",
    ),
    _metric(
        "cpu_per_node",
        "CPU time per lifecycle node",
        "ns",
        "positive",
        "CPU time of all processes and daemons in the whole window, the start of their sessions, "
        "the bring-up and the rest after it, divided by the number of lifecycle nodes. Windows of "
        "different lengths are not comparable.",
        heading="CPU per node",
    ),
    _metric(
        "pss_per_node",
        "memory per lifecycle node",
        "bytes",
        "positive",
        "Proportional set size of all processes and daemons after the window, divided by the "
        "number of lifecycle nodes.",
        heading="PSS per node",
        use=GROWTH,
        whatever_load=True,
    ),
)
