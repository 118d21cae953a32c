"""What did not arrive, and what became of it: shares, counts, and the longest silence."""

from functools import partial
from math import inf

from rmwbench.analysis.metrics.glossary.metric import (
    BESIDE,
    HIGHER,
    LIMIT,
    LOWER,
    PRIMARY,
    Fate,
    Group,
    Metric,
    MetricScope,
    TopicScope,
)

GROUP = Group("Delivery")
_metric = partial(Metric, better=LOWER, of=MetricScope.MESSAGES, group=GROUP)

METRICS = (
    _metric(
        "longest_stall",
        "longest stall",
        "ns",
        "positive",
        "The longest time in the steady window in which a reader got nothing sound from one of its "
        "writers, counted to the window's edges, or to where either of the two joined or left; a "
        "stall that lasts until an edge is at least as long. "
        "Never below the workload's own period.",
        use=LIMIT | BESIDE,
        words=("stall", "longest stall"),
        whole_window=True,
        failed=inf,
        absent="the trial has no reader",
        measure=lambda m, _: m.longest_stall_ns,
    ),
    _metric(
        "loss",
        "loss",
        "fraction",
        "fraction",
        "Of the messages that publish calls accepted, once per reader: the fraction of which "
        "nothing sound ever arrived. What was late is not lost. Of a service's clients: requests "
        "that got no reply.",
        topics=TopicScope.ALSO,
        fate=Fate.LOST,
        without_under_way=True,
        failed=1.0,
        use=LIMIT,
        words=("loss", "lost"),
        absent="no publish call succeeded",
        counts=lambda ledger: (ledger.gone, ledger.published),
    ),
    _metric(
        "late_share",
        "late",
        "fraction",
        "fraction",
        "Of the messages that publish calls accepted, once per reader: the fraction that was still "
        "under way when the trial stopped waiting. Infinitely late in every latency, and not lost.",
        topics=TopicScope.ALSO,
        fate=Fate.LATE,
        use=LIMIT,
        words=("late",),
        absent="no publish call succeeded",
        counts=lambda ledger: (ledger.behind, ledger.published),
    ),
    _metric(
        "never_sent_share",
        "never sent",
        "fraction",
        "fraction",
        "Of the messages that the schedule wanted, once per reader: the fraction that was not "
        "sent, because the publisher did not come to it before the schedule's grace ended, or "
        "because the publish call returned an error. What held the publisher stands beside it.",
        topics=TopicScope.ALSO,
        fate=Fate.NEVER_SENT,
        use=LIMIT,
        words=("never sent",),
        absent="no message was wanted from any reader",
        counts=lambda ledger: (ledger.unsent, ledger.wanted),
    ),
    _metric(
        "undelivered",
        "undelivered",
        "fraction",
        "fraction",
        "Of the messages that the schedule wanted, once per reader: the fraction that did not "
        "arrive for any reason (lost, late, corrupt, failed, never sent) except being under way. "
        "Verdicts judge this first.",
        topics=TopicScope.ALSO,
        judged_first=True,
        without_under_way=True,
        failed=1.0,
        use=LIMIT,
        words=("undelivered", "not delivered"),
        absent="no message was wanted from any reader",
        counts=lambda ledger: (ledger.undelivered, ledger.wanted),
    ),
    _metric(
        "delivery",
        "delivery",
        "fraction",
        "amount",
        "Of the messages that the schedule wanted, once per reader: the fraction that arrived sound "
        "and in time, or was under way. A workload may be judged by it alone.",
        better=HIGHER,
        use=PRIMARY,
        failed=0.0,
        absent="no message was wanted from any reader",
        measure=lambda m, _: (
            1 - m.ledger.undelivered / m.ledger.wanted if m.ledger.wanted else None
        ),
    ),
    # Where nothing is undelivered, the bound of the count holds for its longest run, too.
    _metric(
        "undelivered_in_a_row",
        "undelivered in a row",
        "messages",
        "amount",
        "The longest run of consecutive messages of one publisher that one reader did not get, "
        "for any reason but that they were under way: how long a consumer had to do without. Of "
        "the worst pair of a trial.",
        absent="the trial has no reader",
        measure=lambda m, _: m.undelivered_in_a_row,
    ),
    *(
        _metric(
            name,
            title,
            "messages",
            "amount",
            text + " Per trial.",
            measure=measure,
        )
        for name, title, text, measure in (
            (
                "under_way",
                "under way",
                "Of reliable streams: not arrived when the trial stopped waiting, while messages "
                "were still coming. Infinitely late in every latency, and not lost.",
                lambda m, _: float(m.ledger.under_way),
            ),
            (
                "lost_start",
                "lost at the start",
                "Lost before the first delivery of the steady window; all of them where nothing "
                "was delivered.",
                lambda m, _: float(m.ledger.lost_start),
            ),
            (
                "lost_middle",
                "lost in the middle",
                "Lost between the first and the last delivery.",
                lambda m, _: float(m.ledger.lost_middle),
            ),
            (
                "lost_end",
                "lost at the end",
                "Lost after the last delivery.",
                lambda m, _: float(m.ledger.lost_end),
            ),
            (
                "late",
                "arrived late",
                "Of best-effort streams: arrived only after the drain had ended.",
                lambda m, _: float(m.ledger.late),
            ),
            (
                "corrupt",
                "corrupt",
                "Arrived with a wrong checksum or size, every copy counted.",
                lambda m, _: float(m.ledger.corrupt_copies),
            ),
            (
                "duplicates",
                "duplicates",
                "Arrived sound and in time, but not for the first time; of a client: requests "
                "answered again.",
                lambda m, _: float(m.ledger.duplicates),
            ),
            (
                "reordered",
                "reordered",
                "First arrivals after a message with a higher sequence number of the same writer.",
                lambda m, _: float(m.ledger.reordered),
            ),
            (
                "foreign",
                "foreign",
                "Arrivals that do not belong to this trial.",
                lambda m, _: float(m.ledger.foreign),
            ),
            (
                "never_sent",
                "messages never sent",
                "Wanted by the schedule, but the publisher had not come to them when the "
                "schedule's grace ended.",
                lambda m, _: float(m.never_sent),
            ),
            (
                "publish_failures",
                "failed publishes",
                "Publish calls that returned an error.",
                lambda m, _: float(m.failed_calls),
            ),
        )
    ),
)

FAILED_TRIALS = Metric(
    "failed_trials",
    "failed trials",
    "fraction",
    "fraction",
    "Of the trials that ran, those that failed.",
    better=LOWER,
    of=MetricScope.TRIALS,
    group=GROUP,
)
"""A metric of campaigns and not of a trial, so it is in no list of metrics: `compare` judges it."""
