"""What relays pass on: from its source to the last reader of a chain, and where the time goes by
layer."""

from functools import partial
from math import inf

from rmwbench.analysis.metrics.glossary.metric import (
    LIMIT,
    LOWER,
    NEITHER,
    NOTHING_COUNTED,
    PRIMARY,
    Clocks,
    Fate,
    Group,
    Metric,
    MetricScope,
    percentiles,
)

GROUP = Group(
    "Along the chain",
    "From the source's intended time to the last subscription, once per way between the two.",
)
BY_LAYER = Group(
    "By layer",
    "Shares of the time from the publish call to the last callback, in trials that trace the "
    "layers.",
)
_metric = partial(Metric, better=LOWER, of=MetricScope.CHAIN, group=GROUP)
_percentiles = partial(percentiles, metric=_metric)

METRICS = (
    *_percentiles(
        "end_to_end_latency",
        "end-to-end latency",
        "From the time the schedule wanted a source's message sent until the last subscription of "
        "the chain has what the relays made of it, along the causes that each relay records; of a "
        "service's client, until it has the reply. Once per way from a source to a last "
        "subscription. What a hop lost never arrives.",
        (0.5, 0.9, 0.95, 0.99, 0.999),
        clocks=Clocks.ENDS,
        use={
            0.5: LIMIT | PRIMARY,
            0.9: LIMIT | PRIMARY,
            0.95: LIMIT | PRIMARY,
            0.99: LIMIT | PRIMARY,
        },
        headings={0.5: "median", 0.95: "p95", 0.99: "p99"},
    ),
    _metric(
        "end_to_end_latency_max",
        "end-to-end latency, longest",
        "ns",
        "positive",
        "The slowest message of a trial; infinite where one never reached the end.",
        heading="slowest",
        clocks=Clocks.ENDS,
        failed=inf,
    ),
    *_percentiles(
        "end_to_end_service_latency",
        "end-to-end service latency",
        "The same from the source's publish call, without the wait before it. Messages that the "
        "call did not accept are not in it.",
        (0.5, 0.9, 0.95, 0.99),
        clocks=Clocks.ENDS,
    ),
    *_percentiles(
        "hop_transport",
        "a hop's transport",
        "From a publish call on the chain until the next node has the message; all hops together.",
        (0.5, 0.95, 0.99),
        clocks=Clocks.HOP,
    ),
    *_percentiles(
        "hop_relay",
        "a relay's own time",
        "From the moment a relay has a message until its own publish call for it: reading the "
        "payload, making the next message. All relays together; of a service, until the call that "
        "replies.",
        (0.5, 0.95, 0.99),
    ),
    *_percentiles(
        "chain_transport",
        "all transports of a chain",
        "What a message spends between publish calls and arrivals, over all hops of its way.",
        (0.5, 0.95),
        clocks=Clocks.ENDS,
        headings={0.5: "all transports"},
    ),
    *_percentiles(
        "chain_relay",
        "all relays of a chain",
        "What a message spends within relays, over all of its way.",
        (0.5, 0.95),
        headings={0.5: "all relays"},
    ),
    _metric(
        "end_to_end_loss",
        "loss along the chain",
        "fraction",
        "fraction",
        "Of the messages that the source's publish call accepted, once per way: those that did not "
        "reach the end, those under way apart.",
        fate=Fate.LOST,
        without_under_way=True,
        failed=1.0,
        use=LIMIT,
        absent=NOTHING_COUNTED,
    ),
    _metric(
        "end_to_end_late_share",
        "late along the chain",
        "fraction",
        "fraction",
        "Of the messages that the source's publish call accepted, once per way: those under way "
        "when the trial stopped waiting.",
        fate=Fate.LATE,
        use=LIMIT,
        absent=NOTHING_COUNTED,
    ),
    _metric(
        "end_to_end_never_sent_share",
        "never sent by the source",
        "fraction",
        "fraction",
        "Of the messages that the source's schedule wanted, once per way: those that no publish "
        "call accepted.",
        fate=Fate.NEVER_SENT,
        use=LIMIT,
        absent=NOTHING_COUNTED,
    ),
    _metric(
        "end_to_end_undelivered",
        "undelivered along the chain",
        "fraction",
        "fraction",
        "Of the messages that the source's schedule wanted, once per way: those that did not reach "
        "the end for any reason except being under way. Verdicts on an end-to-end metric judge this "
        "first.",
        heading="never arrived",
        judged_first=True,
        without_under_way=True,
        failed=1.0,
        use=LIMIT,
        absent=NOTHING_COUNTED,
    ),
    *(
        _metric(
            name,
            title,
            "messages",
            "amount",
            text + " Once per way, per trial.",
            heading=title,
        )
        for name, title, text in (
            (
                "lost_in_transport",
                "lost in transport",
                "Published on the chain, and the next node never had them.",
            ),
            ("lost_in_relays", "lost in relays", "A relay had them and did not publish them on."),
        )
    ),
    *(
        _metric(
            f"layer_share_{name}",
            f"share of {title}",
            "fraction",
            "amount",
            "Of the time from the source's publish call to the last callback, over all hops: "
            f"{text}. Of messages around the median, in traced trials alone.",
            of=MetricScope.LAYERS,
            group=BY_LAYER,
            heading=heading,
            better=NEITHER,
            instead="end_to_end_service_latency_p50",
        )
        for name, heading, title, text in (
            (
                "ros2",
                "ROS 2",
                "ROS 2's layers",
                "what rclcpp, rcl and rmw take on both sides, without the notification",
            ),
            (
                "ros2_largest",
                "its largest part",
                "the largest part of ROS 2's layers",
                "the largest of four parts, which are what rmw takes to publish, what lies above "
                "it there, what rmw takes to take, and what lies above it there",
            ),
            (
                "notification",
                "notification",
                "the notification",
                "from rmw_wait's return until rcl_take begins",
            ),
            (
                "middleware",
                "middleware",
                "the middleware",
                "from its own write until rmw_wait returns",
            ),
            ("relays", "relays", "relays", "from a relay's callback until its next publish call"),
            ("remainder", "remainder", "the remainder", "what could not be told apart"),
        )
    ),
)
