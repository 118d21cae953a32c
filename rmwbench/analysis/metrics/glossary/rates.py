"""How many messages and bytes were due, sent and received per second."""

from functools import partial

from rmwbench.analysis.metrics.glossary.metric import (
    HIGHER,
    LOWER,
    PRIMARY,
    Group,
    Metric,
    MetricScope,
)

GROUP = Group("Rates")
_metric = partial(Metric, better=LOWER, of=MetricScope.MESSAGES, group=GROUP)

METRICS = (
    _metric(
        "offered_rate",
        "offered rate",
        "hz",
        "positive",
        "Messages per second that the schedule wanted, over the steady window, all publishers "
        "together.",
        better=HIGHER,
        whole_window=True,
        measure=lambda m, s: m.scheduled / s if s > 0 else None,
    ),
    _metric(
        "sent_rate",
        "sent rate",
        "hz",
        "amount",
        "Publish calls made within the steady window, per second of it, all publishers together: a "
        "publisher that is held back stays below the offered rate. Of a single publisher its "
        "mean period is one divided by it.",
        better=HIGHER,
        use=PRIMARY,
        whole_window=True,
        measure=lambda m, s: m.calls_in_window / s if s > 0 else None,
    ),
    _metric(
        "sent_rate_variation",
        "variation of the sent rate",
        "count",
        "amount",
        "The standard deviation of the messages published in each whole second of the window, over "
        "their mean; of windows of six seconds at least.",
    ),
    _metric(
        "sent_rate_early",
        "sent rate of the beginning over that of the end",
        "count",
        "amount",
        "Messages published per second in the second and third second of the window, over those in "
        "its last third: what a history that fills up, or a link that is full, holds back later.",
    ),
    _metric(
        "other_replies",
        "replies to others, per reply of one's own",
        "count",
        "amount",
        "Replies that reached a client which had not asked, those of the barrier among them, per "
        "reply that a client got, over the whole trial; of workers that count them.",
    ),
    _metric(
        "achieved_rate",
        "achieved rate",
        "hz",
        "amount",
        "First sound arrivals within the closed steady window per second, all readers together.",
        better=HIGHER,
        use=PRIMARY,
        whole_window=True,
        arrivals=True,
        failed=0.0,
        measure=lambda m, s: m.arrived_in_window / s if s > 0 else None,
    ),
    _metric(
        "achieved_throughput",
        "throughput",
        "bytes/s",
        "amount",
        "Payload bytes of those arrivals per second; of a service, of its replies.",
        better=HIGHER,
        use=PRIMARY,
        whole_window=True,
        arrivals=True,
        failed=0.0,
        measure=lambda m, s: m.bytes_in_window / s if s > 0 else None,
    ),
)
