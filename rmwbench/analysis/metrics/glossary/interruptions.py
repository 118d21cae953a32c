"""What is lost around nodes that join late, outages and their ends, and what is left behind."""

from functools import partial
from math import inf

from rmwbench.analysis.metrics.glossary.metric import (
    HIGHER,
    LIMIT,
    LOWER,
    NOTHING_COUNTED,
    PRIMARY,
    Clocks,
    Group,
    Metric,
    MetricScope,
)

DISCOVERY = Group(
    "Discovery or delivery",
    "Where messages for or from nodes that joined within the window were lost, as shares of all "
    "that were published for them. What was still under way at the end is lost nowhere.",
)
GROUP = Group(
    "Around the interruption",
    "Messages per trial, once per reader and for all interruptions together. Recovered is who has "
    "a message that was published after the link or node was back.",
)
_metric = partial(Metric, better=LOWER, of=MetricScope.OUTAGES, group=GROUP)

METRICS = (
    *(
        _metric(
            name,
            title,
            "fraction",
            "fraction",
            text + " Of all messages published for readers of which either side joined within the "
            "window.",
            of=MetricScope.JOINERS,
            group=DISCOVERY,
            heading=heading,
            without_under_way=True,
            absent=NOTHING_COUNTED,
        )
        for name, heading, title, text in (
            (
                "lost_in_discovery",
                "before the first delivery",
                "lost before the first delivery",
                "Messages that were lost before the first one came through: what finding each "
                "other cost.",
            ),
            (
                "lost_unmatched",
                "of these unmatched",
                "lost before the match",
                "The part of these that was due before the reader saw all its writers. Of "
                "subscriptions alone: nobody asks a late client.",
            ),
            (
                "lost_in_delivery",
                "between first and last",
                "lost between first and last delivery",
                "What the established stream lost.",
            ),
            (
                "lost_in_tail",
                "after the last",
                "lost after the last delivery",
                "What was lost when nothing came through any more.",
            ),
        )
    ),
    _metric(
        "lost_after_first",
        "loss from the first delivery on",
        "fraction",
        "fraction",
        "Of the messages published from the first delivered one on: those that were lost, those "
        "under way apart. It is what a loss figure would be if it did not count discovery.",
        of=MetricScope.JOINERS,
        group=DISCOVERY,
        heading="loss from the first on",
        without_under_way=True,
        use=LIMIT,
        absent=NOTHING_COUNTED,
    ),
    _metric(
        "recovery_time",
        "time to recover",
        "ns",
        "positive",
        "From the moment when a link or a node is back until a reader has its first message that "
        "was published after it; of several readers and outages the slowest. Infinite where none "
        "came until the end, or the node that should publish them never came up; about half a "
        "message's period at best. A reader for which none was due is not asked.",
        heading="time to recover",
        use=PRIMARY | LIMIT,
        clocks=Clocks.EVENTS,
        failed=inf,
    ),
    _metric(
        "outage_stall",
        "silence around an outage",
        "ns",
        "positive",
        "The longest time without an arrival that an outage falls into: the outage and what it "
        "took to recover, counted to the window's edges. Of a stream that did not recover it is "
        "the least that it can be.",
        heading="silence",
        failed=inf,
    ),
    _metric(
        "stall_outside_outages",
        "longest stall outside of outages",
        "ns",
        "positive",
        "The longest time without an arrival that no outage falls into, of trials in which "
        "something was interrupted or joined late.",
        of=MetricScope.MESSAGES,
        heading="longest other stall",
    ),
    *(
        _metric(
            name,
            title,
            "messages",
            "amount",
            text + " Once per reader, all outages of a trial together, those under way apart.",
            heading=heading,
            better=HIGHER if name == "repaired_after_outage" else LOWER,
        )
        for name, heading, title, text in (
            (
                "lost_in_outage",
                "lost in it",
                "lost in the outage",
                "Published while a link, a daemon or a service was away, and never delivered.",
            ),
            (
                "repaired_after_outage",
                "delivered after it",
                "delivered after the outage",
                "Published while a link, a daemon or a service was away, and delivered once it was "
                "back: late, not lost.",
            ),
            (
                "lost_before_recovery",
                "lost before recovery",
                "lost before the recovery",
                "Published when it was back but before the first new message came, and never "
                "delivered.",
            ),
            (
                "lost_after_recovery",
                "lost afterwards",
                "lost after the recovery",
                "Published after the first new message had come, and never delivered.",
            ),
            (
                "duplicates_after_outage",
                "duplicates",
                "duplicates after the outage",
                "Delivered again, after it was back.",
            ),
        )
    ),
    _metric(
        "recovery_bytes",
        "bytes spent on recovering",
        "bytes",
        "amount",
        "What hosts sent between an outage's end and the recovery of its last reader, without new "
        "data: discovery, acknowledgements, address resolution, repeats.",
        heading="bytes to recover",
    ),
    _metric(
        "leftover_files",
        "files left behind",
        "count",
        "amount",
        "Files and sockets in /dev/shm and /tmp of all hosts after every process that still ran "
        "had exited in order. Directories are not counted.",
        of=MetricScope.HOSTS,
        heading="files left behind",
    ),
    _metric(
        "leftover_bytes",
        "bytes left behind",
        "bytes",
        "amount",
        "What those files take of the memory that /dev/shm and /tmp lie in.",
        of=MetricScope.HOSTS,
        heading="bytes in them",
        whatever_load=True,
    ),
)
