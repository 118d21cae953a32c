"""Every metric, a declaration each: its names, its meaning, its uses, and, where it follows from a
trial's messages, its computation. A new metric is a declaration here, under its subject."""

from functools import partial
from math import inf
from typing import TYPE_CHECKING

from rmwbench.analysis.metrics.glossary.metric import (
    BESIDE,
    COMPARED,
    EFFECT,
    GROWTH,
    HIGHER,
    LIMIT,
    LOWER,
    MEDIAN,
    NEITHER,
    OWN_COST,
    PRIMARY,
    Clocks,
    Fate,
    Group,
    Metric,
    MetricScope,
    TopicScope,
    fraction,
    percentiles,
)
from rmwbench.analysis.stats.estimate import needed

if TYPE_CHECKING:
    from rmwbench.analysis.metrics.latency import Messages

LATENCY = Group("Latency")
ALONG_CHAIN = Group(
    "Along the chain",
    "From the source's intended time to the last subscription, once per way between the two.",
)
BY_LAYER = Group(
    "By layer",
    "Shares of the time from the publish call to the last callback, in trials that trace the "
    "layers.",
)
DELIVERY = Group("Delivery")
RATES = Group("Rates")
START_UP = Group("Start-up")
COSTS = Group("Costs")
ON_LINKS = Group(
    "On the links",
    "What crossed the links between hosts in the steady window, for each payload byte that "
    "reached another host.",
)
OTHERS = Group(
    "Cross traffic",
    "TCP between hosts that are not the robot's, over the same network: what its receivers read "
    "in the steady window, all of it together. The CPU is that of its own processes, which run "
    "on this machine, too.",
)
INTERFACES = Group(
    "Further interfaces",
    "What hosts sent from before the first session until the window's end that could reach no "
    "other host: into interfaces that lead nowhere, and over the loopback to an address that two "
    "hosts have.",
)
DISCOVERY = Group(
    "Discovery or delivery",
    "Where messages for or from nodes that joined within the window were lost, as shares of all "
    "that were published for them. Messages under way at the end are not lost.",
)
AROUND_OUTAGE = Group(
    "Around the interruption",
    "Messages per trial, once per reader and for all interruptions together. A reader has recovered "
    "when it gets a message that was published after the link or node was back.",
)
BRING_UP = Group("Bring-up")

NO_HISTORY = "no late reader had a history to be given"

_duration = partial(Metric, better=LOWER, unit="ns", kind="positive")
_amount = partial(Metric, better=LOWER, kind="amount")
_count = partial(_amount, unit="messages")
_delay = partial(_duration, scope=MetricScope.MESSAGES, group=LATENCY)
_delay_percentiles = partial(percentiles, metric=_delay, topics=TopicScope.APART)
_chain = partial(_count, scope=MetricScope.CHAIN, group=ALONG_CHAIN)
_chain_share = partial(fraction, metric=_chain, use=LIMIT)
_chain_percentiles = partial(percentiles, metric=_chain)
_fate = partial(_count, scope=MetricScope.MESSAGES, group=DELIVERY)
_fate_share = partial(fraction, metric=_fate, topics=TopicScope.ALSO)
_rate = partial(_amount, unit="hz", scope=MetricScope.MESSAGES, group=RATES, whole_window=True)
_start = partial(_duration, scope=MetricScope.START, group=START_UP)
_discovery_time = partial(_start, clocks=Clocks.EVENTS, failed_value=inf)
_start_amount = partial(_start, kind="amount")
_start_percentiles = partial(percentiles, metric=_start)
_cost = partial(_amount, scope=MetricScope.PROCESSES, group=COSTS)
_per_message = partial(_cost, per_message=True)
_cpu = partial(_cost, unit="cores")
_memory = partial(_cost, unit="bytes", kind="positive", load_independent=True)
_link = partial(_amount, scope=MetricScope.LINKS, group=ON_LINKS)
_link_share = partial(fraction, metric=_link, items="frames")
_cross_traffic = partial(_amount, unit="bytes/s", scope=MetricScope.CROSS_TRAFFIC, group=OTHERS)
_stray = partial(_amount, unit="bytes", scope=MetricScope.INTERFACES, group=INTERFACES)
_outage = partial(_duration, scope=MetricScope.OUTAGES, group=AROUND_OUTAGE)
_outage_amount = partial(_outage, kind="amount")
_joiner_share = partial(
    fraction, metric=_outage, scope=MetricScope.JOINERS, group=DISCOVERY, without_under_way=True
)
_node = partial(_duration, scope=MetricScope.NODES, group=BRING_UP)
_node_share = partial(fraction, metric=_node, items="nodes")


def _mean_of_arrived(messages: "Messages", _: float) -> float | None:
    service = messages.samples.get("service_latency")
    return None if service is None else service.mean_of_arrived


def _longest_call(messages: "Messages", _: float) -> float | None:
    if messages.never_returned:
        return inf
    calls = messages.samples.get("publish_call")
    return float(calls.values[-1]) if calls is not None and calls.count else None


def _periods(side: str, text: str, too_few: str, no_data: str) -> tuple[Metric, ...]:
    """The metrics of periods of a `side`, publisher or subscription; `too_few` says what an
    endpoint without a period did."""
    stem = f"{side}_period"
    return (
        *_delay_percentiles(
            stem,
            f"period of a {side}",
            text,
            (0.5, 0.99),
            items="periods",
            no_data=no_data,
        ),
        _delay(
            f"{stem}_longest",
            f"mean period of the slowest {side}",
            f"The mean period of the slowest {side}. It shows whether each of them keeps its "
            "period, which a common rate does not show. A period that an edge of the window cuts "
            f"counts if it is longer than every whole period. A {side} that {too_few} counts with "
            "the time that it was there, and is in no percentile.",
            source=stem,
            topics=TopicScope.APART,
            whole_window=True,
            no_data=no_data,
            measure=lambda messages, _: messages.longest_period_ns.get(stem),
        ),
    )


METRICS: tuple[Metric, ...] = (
    # Times of single messages and calls: what a schedule, a writer and a reader of one hop see.
    *_delay_percentiles(
        "response_latency",
        "response latency",
        "From the time the schedule wanted the message sent until it is in the reader's hands; of "
        "a service's client, until the reply is in its hands. A publisher that falls behind does "
        "not hide it, and a message that never arrives counts as infinitely late.",
        (0.5, 0.9, 0.99, 0.999),
        clocks=Clocks.ONE_WAY,
        words=("response",),
        column={0.5: "response p50", 0.9: "tail", 0.99: "tail"},
        use={
            0.5: LIMIT | PRIMARY | BESIDE | OWN_COST,
            0.9: LIMIT | PRIMARY | BESIDE,
            0.99: LIMIT | PRIMARY | BESIDE,
            0.999: LIMIT,
        },
    ),
    *_delay_percentiles(
        "consumed_latency",
        "latency until consumed",
        "From the intended send time until the consumer has read the payload: shows what taking by "
        "reference postpones.",
        (0.5, 0.9, 0.99),
        clocks=Clocks.ONE_WAY,
        words=("consumed",),
        column={0.5: "consumed p50"},
        use={0.5: LIMIT | OWN_COST, 0.9: LIMIT, 0.99: LIMIT},
        no_data="the consumer's reading was not stamped",
    ),
    *_delay_percentiles(
        "service_latency",
        "service latency",
        "From the publish call until the message is taken: the middleware alone, without the wait "
        "before the call and without our writing of the payload, into a loan, too. Messages that "
        "were never sent are not in it.",
        (0.5, 0.9, 0.99),
        clocks=Clocks.ONE_WAY,
        words=("service",),
        column={0.5: "service p50"},
        use={0.5: LIMIT | PRIMARY | OWN_COST, 0.9: LIMIT | PRIMARY, 0.99: LIMIT | PRIMARY},
    ),
    _delay(
        "service_latency_mean",
        "service latency, mean",
        "The mean service latency of the messages that arrived, as published evaluations print it. "
        "Lost messages are not in it, so it favours an arm that loses more; no verdict rests on "
        "it.",
        source="service_latency",
        topics=TopicScope.APART,
        clocks=Clocks.ONE_WAY,
        no_data="no message arrived",
        measure=_mean_of_arrived,
    ),
    *_delay_percentiles(
        "publish_call",
        "publish call",
        "How long the publish call keeps its caller, calls that return an error included.",
        (0.5, 0.9, 0.99),
        words=("publish",),
        column={0.5: "publish"},
        use={0.5: LIMIT | PRIMARY | BESIDE | EFFECT, 0.9: LIMIT, 0.99: LIMIT | PRIMARY},
    ),
    *_delay_percentiles(
        "writing",
        "writing the payload",
        "From the moment that a message is taken up until its payload is written, or how long "
        "writing into a loan took: the instrument's own work, as much in every arm. It is part of "
        "the response latency and of the processor time per message, and not of the service "
        "latency.",
        (0.5,),
        column={0.5: "writing p50"},
    ),
    _delay(
        "publish_call_max",
        "longest publish call",
        "The longest publish call of a trial's steady messages, calls that return an error "
        "included; infinite where one never returned. Where a history is full, compare it with "
        "max_blocking_time.",
        use=PRIMARY,
        no_data="no publish call was made",
        measure=_longest_call,
    ),
    *_delay_percentiles(
        "arrival_jitter",
        "arrival jitter",
        "How far the distance of two consecutive messages' arrivals is from the distance intended "
        "(RFC 3550, |D|). Where one of the two did not arrive there is none.",
        (0.5, 0.99),
    ),
    *_periods(
        "publisher",
        "From one publish call of a publisher to its next, within the steady window. A publisher "
        "that was held back catches up with its schedule, so one long period is followed by short "
        "ones.",
        "made fewer than two calls",
        "no publisher made two calls within the steady window",
    ),
    *_periods(
        "subscription",
        "From one sound arrival at a subscription to its next, within the steady window, all its "
        "writers together. A lost message makes a period longer.",
        "got fewer than two messages",
        "no subscription got two messages within the steady window",
    ),
    *_delay_percentiles(
        "request_leg",
        "request leg",
        "From a client's call until its service has the request in its hands: the first of a "
        "service's two legs.",
        (0.5, 0.99),
        clocks=Clocks.LEG,
        no_data="the workload has no service, or no request was sent",
    ),
    *_delay_percentiles(
        "reply_leg",
        "reply leg",
        "From the service's call that sends the reply until the client has it in its hands.",
        (0.5, 0.99),
        clocks=Clocks.LEG,
        no_data="the workload has no service, or it replied to nothing",
    ),
    # What relays pass on: from its source to the last reader of a chain, and where the time goes by
    # layer.
    *_chain_percentiles(
        "end_to_end_latency",
        "end-to-end latency",
        "From the time the schedule wanted a source's message sent until the last subscription of "
        "the chain has what the relays made of it, along the causes that each relay records; of a "
        "service's client, until it has the reply. Once per way from a source to a last "
        "subscription. What a hop lost never arrives.",
        (0.5, 0.9, 0.95, 0.99, 0.999),
        clocks=Clocks.ENDS,
        use=dict.fromkeys((0.5, 0.9, 0.95, 0.99), LIMIT | PRIMARY),
        heading={0.5: "median", 0.95: "p95", 0.99: "p99"},
    ),
    _chain(
        "end_to_end_latency_max",
        "end-to-end latency, longest",
        "The slowest message of a trial; infinite where one never reached the end.",
        unit="ns",
        kind="positive",
        heading="slowest",
        clocks=Clocks.ENDS,
        failed_value=inf,
    ),
    *_chain_percentiles(
        "end_to_end_service_latency",
        "end-to-end service latency",
        "The end-to-end latency from the source's publish call, without the wait before it. "
        "Messages that the call did not accept are not in it.",
        (0.5, 0.9, 0.95, 0.99),
        clocks=Clocks.ENDS,
    ),
    *_chain_percentiles(
        "hop_transport",
        "transport time of a hop",
        "From a publish call on the chain until the next node has the message; all hops together.",
        (0.5, 0.95, 0.99),
        clocks=Clocks.HOP,
    ),
    *_chain_percentiles(
        "hop_relay",
        "own time of a relay",
        "From the moment a relay has a message until its own publish call for it: reading the "
        "payload, making the next message. All relays together; of a service, until the call that "
        "replies.",
        (0.5, 0.95, 0.99),
    ),
    *_chain_percentiles(
        "chain_transport",
        "all transports of a chain",
        "What a message spends between publish calls and arrivals, over all hops of its way.",
        (0.5, 0.95),
        clocks=Clocks.ENDS,
        heading={0.5: "all transports"},
    ),
    *_chain_percentiles(
        "chain_relay",
        "all relays of a chain",
        "What a message spends within relays, over all of its way.",
        (0.5, 0.95),
        heading={0.5: "all relays"},
    ),
    _chain_share(
        "end_to_end_loss",
        "loss along the chain",
        "Of the messages that the source's publish call accepted, once per way: those that "
        "the next node never had or that a relay did not publish on. What was late is not lost.",
        fate=Fate.LOST,
        without_under_way=True,
        failed_value=1.0,
    ),
    _chain_share(
        "end_to_end_late_share",
        "late along the chain",
        "Of the messages that the source's publish call accepted, once per way: those still under "
        "way when the trial stopped waiting.",
        fate=Fate.LATE,
    ),
    _chain_share(
        "end_to_end_never_sent_share",
        "never sent by the source",
        "Of the messages that the source's schedule wanted, once per way: those that no publish "
        "call accepted.",
        fate=Fate.NEVER_SENT,
    ),
    _chain_share(
        "end_to_end_undelivered",
        "undelivered along the chain",
        "Of the messages that the source's schedule wanted, once per way: those that did not reach "
        "the end for any reason except being under way. Verdicts on an end-to-end metric judge this "
        "first.",
        heading="undelivered",
        judged_first=True,
        without_under_way=True,
        failed_value=1.0,
    ),
    *(
        _chain(name, title, text + " Once per way, per trial.", heading=title)
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
        _chain(
            f"layer_share_{name}",
            f"share of {title}",
            "Of the time from the source's publish call to the last callback, over all hops: "
            f"{text}. Of messages around the median, in traced trials alone.",
            unit="fraction",
            scope=MetricScope.LAYERS,
            group=BY_LAYER,
            heading=heading,
            better=NEITHER,
            ranked_by="end_to_end_service_latency_p50",
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
    # What did not arrive, and what became of it: shares, counts, and the longest silence.
    _fate(
        "longest_stall",
        "longest stall",
        "The longest time in the steady window in which a reader got nothing sound from one of its "
        "writers, counted to the window's edges, or to where either of the two joined or left; a "
        "stall that lasts until an edge is at least as long. "
        "Never below the workload's own period.",
        unit="ns",
        kind="positive",
        use=LIMIT | BESIDE,
        words=("stall", "longest stall"),
        whole_window=True,
        failed_value=inf,
        no_data="the trial has no reader",
        measure=lambda m, _: m.longest_stall_ns,
    ),
    _fate_share(
        "loss",
        "loss",
        "Of the messages that publish calls accepted, once per reader: the fraction of which "
        "nothing sound ever arrived: no copy at all (vanished at the start, in the middle or at the "
        "end), or only corrupt ones. What was late is not lost. Of a service's clients: requests "
        "that got no reply.",
        fate=Fate.LOST,
        without_under_way=True,
        failed_value=1.0,
        use=LIMIT,
        words=("loss", "lost"),
        no_data="no publish call succeeded",
        counts=lambda ledger: (ledger.lost, ledger.published),
        column="lost",
    ),
    _fate_share(
        "late_share",
        "late",
        "Of the messages that publish calls accepted, once per reader: the fraction that was on its "
        "way when the trial stopped waiting (under way, or arrived after the drain). Infinitely "
        "late in every latency, and not lost.",
        fate=Fate.LATE,
        use=LIMIT,
        words=("late",),
        no_data="no publish call succeeded",
        counts=lambda ledger: (ledger.late, ledger.published),
        column="late",
    ),
    _fate_share(
        "never_sent_share",
        "never sent",
        "Of the messages that the schedule wanted, once per reader: the fraction that was not "
        "sent, because the publisher did not come to it before the schedule's grace ended, or "
        "because the publish call returned an error. What held the publisher stands beside it.",
        fate=Fate.NEVER_SENT,
        use=LIMIT,
        words=("never sent",),
        no_data="no message was wanted from any reader",
        counts=lambda ledger: (ledger.never_sent, ledger.wanted),
        column="never sent",
    ),
    _fate_share(
        "undelivered",
        "undelivered",
        "Of the messages that the schedule wanted, once per reader: the fraction that was lost, "
        "never sent, or, on a best-effort stream, arrived after the drain. Messages under way do "
        "not count. Verdicts judge this first.",
        judged_first=True,
        without_under_way=True,
        failed_value=1.0,
        use=LIMIT,
        words=("undelivered", "not delivered"),
        no_data="no message was wanted from any reader",
        counts=lambda ledger: (ledger.undelivered, ledger.wanted),
    ),
    _fate(
        "delivery",
        "delivery",
        "Of the messages that the schedule wanted, once per reader: the fraction that arrived sound "
        "and in time, or was under way. A workload may be judged by it alone.",
        unit="fraction",
        better=HIGHER,
        use=PRIMARY,
        failed_value=0.0,
        complement="undelivered",
        no_data="no message was wanted from any reader",
    ),
    # Where nothing is undelivered, the bound of the count holds for its longest run, too.
    _fate(
        "undelivered_in_a_row",
        "undelivered in a row",
        "The longest run of consecutive messages of one publisher that one reader did not get, "
        "for any reason except that they were under way; that of the worst pair of a trial.",
        no_data="the trial has no reader",
        measure=lambda m, _: m.undelivered_in_a_row,
    ),
    *(
        _fate(name, title, text + " Per trial.", measure=measure)
        for name, title, text, measure in (
            (
                "under_way",
                "under way",
                "Messages of reliable streams that had not arrived when the trial stopped waiting, "
                "while messages were still coming. They are infinitely late in every latency, and "
                "not lost.",
                lambda m, _: float(m.ledger.under_way),
            ),
            (
                "lost_start",
                "vanished at the start",
                "Messages before the first delivery of the steady window of which no copy came, "
                "not even a corrupt one; all of them where nothing was delivered.",
                lambda m, _: float(m.ledger.vanished_start),
            ),
            (
                "lost_middle",
                "vanished in the middle",
                "Messages between the first and the last delivery of the steady window of which "
                "no copy came, not even a corrupt one.",
                lambda m, _: float(m.ledger.vanished_middle),
            ),
            (
                "lost_end",
                "vanished at the end",
                "Messages after the last delivery of the steady window of which no copy came, not "
                "even a corrupt one.",
                lambda m, _: float(m.ledger.vanished_end),
            ),
            (
                "late",
                "arrived after the drain",
                "Messages of best-effort streams of which a sound copy arrived, but only after the "
                "drain had ended.",
                lambda m, _: float(m.ledger.after_drain),
            ),
            (
                "corrupt",
                "corrupt copies",
                "Copies that arrived with a wrong checksum or size.",
                lambda m, _: float(m.ledger.corrupt_copies),
            ),
            (
                "duplicates",
                "duplicates",
                "Copies that arrived sound and in time, but not as the first; of a client, "
                "requests that were answered again.",
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
                "not attempted",
                "Messages that the schedule wanted, and to whose publish calls the publisher had "
                "not come when the schedule's grace ended. Each counts once for all readers.",
                lambda m, _: float(m.not_attempted),
            ),
            (
                "publish_failures",
                "failed publishes",
                "Publish calls that returned an error. Each counts once for all readers.",
                lambda m, _: float(m.failed_calls),
            ),
        )
    ),
    # How many messages and bytes were due, sent and received per second.
    _rate(
        "offered_rate",
        "offered rate",
        "Messages per second that the schedule wanted, over the steady window, all publishers "
        "together.",
        kind="positive",
        better=HIGHER,
        measure=lambda m, s: m.scheduled / s if s > 0 else None,
    ),
    _rate(
        "sent_rate",
        "sent rate",
        "Publish calls made within the steady window, per second of it, all publishers together: a "
        "publisher that is held back stays below the offered rate. A single publisher's mean "
        "period is one divided by it.",
        better=HIGHER,
        use=PRIMARY,
        measure=lambda m, s: m.calls_in_window / s if s > 0 else None,
    ),
    _rate(
        "sent_rate_variation",
        "variation of the sent rate",
        "The standard deviation of the messages published in each whole second of the window, over "
        "their mean; of windows of six seconds at least.",
        unit="count",
    ),
    _rate(
        "sent_rate_early",
        "sent rate of the beginning over that of the end",
        "Messages published per second in the second and third second of the window, divided by "
        "those in its last third: above 1 where a full history or link holds the publisher back.",
        unit="count",
    ),
    _rate(
        "other_replies",
        "replies to others, per reply of one's own",
        "Replies that reached a client that had not asked, for each reply that a client got, over "
        "the whole trial with its barrier; only workers that count them have it.",
        unit="count",
        whole_window=False,
    ),
    _rate(
        "achieved_rate",
        "achieved rate",
        "First sound arrivals within the closed steady window per second, all readers together.",
        better=HIGHER,
        use=PRIMARY,
        counts_arrivals=True,
        failed_value=0.0,
        measure=lambda m, s: m.arrived_in_window / s if s > 0 else None,
    ),
    _rate(
        "achieved_throughput",
        "throughput",
        "Payload bytes of the first sound arrivals within the closed steady window, per second; of "
        "a service those of its replies.",
        unit="bytes/s",
        better=HIGHER,
        use=PRIMARY,
        counts_arrivals=True,
        failed_value=0.0,
        measure=lambda m, s: m.bytes_in_window / s if s > 0 else None,
    ),
    # How long a trial takes to come up, what finding each other costs, and what late readers are
    # given.
    _discovery_time(
        "match_time",
        "time to match",
        "From the last endpoint's creation until every endpoint sees all its peers.",
        use=LIMIT | PRIMARY | EFFECT,
    ),
    _discovery_time(
        "first_message_time",
        "time to the first message",
        "From the last endpoint's creation until every reader has got a message from each of its "
        "writers.",
        use=PRIMARY,
    ),
    _discovery_time(
        "late_match_time",
        "time to match of a late joiner",
        "From the command by which a reader joins within the steady window until it sees all its "
        "peers, the longest of a trial; infinite where it never did. It includes the opening of "
        "its process's session, and the start of a process that was killed.",
        use=PRIMARY | LIMIT,
        no_data="no reader joined within the window",
    ),
    _discovery_time(
        "graph_time",
        "time to the complete graph",
        "From the command that creates the endpoints until every endpoint sees all its peers: how "
        "long a system of many nodes takes to come up, once its processes run and their sessions "
        "are open.",
        use=LIMIT | PRIMARY | GROWTH,
    ),
    _start(
        "ready_time",
        "time to open and match",
        "From the command that opens the sessions until every endpoint sees all its peers, as the "
        "orchestrator saw it. It includes what a session does while it opens, such as a TLS "
        "handshake.",
        use=LIMIT | PRIMARY | EFFECT,
        failed_value=inf,
    ),
    _start(
        "daemon_time",
        "time to start the daemons",
        "The time to start the middleware's daemons (RouDi, routers, a discovery server), one "
        "after the other and each until it serves, before the first node's process starts. No "
        "other time includes it. A daemon that starts again after it was killed does not count.",
    ),
    *_start_percentiles(
        "endpoint_match",
        "time to match of an endpoint",
        "From the moment when its process had created all of its endpoints until an endpoint sees "
        "all its peers; 0 where it saw them before.",
        (0.5, 0.9, 0.99),
        items="endpoints",
        use={0.5: PRIMARY},
        no_data="the trial recorded no creation of an endpoint",
    ),
    _start_amount(
        "discovery_bytes",
        "bytes until the graph was complete",
        "Bytes that all interfaces of the host sent from before the first session opened until "
        "every endpoint saw all its peers.",
        unit="bytes",
        use=GROWTH,
    ),
    _start_amount(
        "discovery_packets",
        "packets until the graph was complete",
        "Packets that all interfaces of the host sent from before the first session opened "
        "until every endpoint saw all its peers.",
        unit="count",
        use=GROWTH,
    ),
    _start_amount(
        "multicast_frames",
        "multicast frames",
        "Frames with discovery, data or acknowledgements that hosts sent to everybody over the whole "
        "trial, each once; of trials with a whole log of frames.",
        unit="count",
    ),
    _start_amount(
        "history_wanted",
        "history that late joiners may expect",
        "Messages that were sent before a late transient-local reader was matched: the last ones, "
        "as many as its history holds, of which those that pass its content filter. A lifespan is "
        "not taken off. Per trial.",
        unit="messages",
        better=NEITHER,
        ranked_by="history_delivered",
        no_data=NO_HISTORY,
    ),
    _start_amount(
        "history_delivered",
        "history delivered",
        "How many messages of its history a late transient-local reader was given. Per trial.",
        unit="messages",
        better=HIGHER,
        no_data=NO_HISTORY,
    ),
    _start(
        "history_time",
        "time to the history",
        "From a late reader's creation until the last message of its history is in its hands; "
        "infinite where one never came.",
        use=PRIMARY,
        no_data=NO_HISTORY,
        failed_value=inf,
    ),
    # What processes, their host and the machine spend: processor time, memory, bytes on the wire,
    # energy.
    _per_message(
        "cpu_per_message",
        "CPU per message",
        "CPU time of all worker processes, of their middleware's daemons and of whatever else it "
        "started, in the steady window for each message delivered: kernel time in their system "
        "calls included, interrupts that hit other processes not.",
        unit="ns",
        kind="positive",
        use=PRIMARY | COMPARED | EFFECT | OWN_COST,
        column="CPU/msg",
    ),
    _per_message(
        "cpu_per_message_publisher",
        "CPU per message, publisher",
        "CPU time of the publishing processes for each message that publishers published.",
        unit="ns",
        kind="positive",
    ),
    _per_message(
        "cpu_per_message_subscription",
        "CPU per message, subscription",
        "CPU time of the receiving processes for each message that subscriptions got.",
        unit="ns",
        kind="positive",
    ),
    _cost(
        "cpu_per_gigabyte",
        "CPU per gigabyte",
        "CPU time of all worker processes, daemons and other processes of the middleware for each "
        "gigabyte (10⁹ bytes) of payload delivered; of a service of its replies.",
        unit="s/GB",
        kind="positive",
    ),
    _cpu(
        "cpu_cores",
        "CPU",
        "CPU time of all worker processes, daemons and what else the middleware started, per "
        "second of the steady window.",
        kind="positive",
        use=LIMIT | PRIMARY,
        column="CPU",
    ),
    *(
        _cost(
            f"cpu_by_second_p{q * 100:g}",
            f"CPU by second, {name}",
            "CPU time of all workers, daemons and other processes of the middleware in each second "
            "of the steady window, where a time series was asked for (`sampling: {series_hz: 1}`). "
            f"{share} of the seconds take more. Printed from {needed(q)} seconds on; below that a "
            "bound.",
            unit="cores",
            kind="quantile",
            source="cpu_by_second",
            q=q,
            items="seconds",
            no_data="no time series was recorded (`sampling: {series_hz: 1}`)",
        )
        for q, name, share in ((0.5, "median", "Half"), (0.95, "p95", "5 %"))
    ),
    _cpu(
        "cpu_cores_daemon",
        "CPU, daemons",
        "CPU time of brokers, routers and other daemons per second of the window.",
    ),
    _cpu(
        "cpu_cores_other",
        "CPU, other processes",
        "CPU time, per second of the window, of processes in the hosts that are no workers and no "
        "daemons: a middleware started them.",
    ),
    _cpu(
        "cpu_cores_harness",
        "CPU, harness",
        "CPU time of our own processes beside the workers (orchestrator, sampler, the host's init) "
        "per second of the steady window. In no other figure.",
    ),
    _cpu("cpu_cores_sampler", "CPU, sampler", "CPU time of the samplers per second of the window."),
    _cpu(
        "softirq_cores",
        "soft interrupts",
        "Processor time of the whole machine (of all together where hosts are machines) in soft "
        "interrupts, mostly its network receive path, "
        "per second of the steady window; in steps of 10 ms. On most kernels the part that runs "
        "within a process's system call is in that process's CPU time too, so the two must not be "
        "added.",
        scope=MetricScope.MACHINE,
    ),
    _per_message(
        "context_switches_per_message",
        "context switches per message",
        "Voluntary and involuntary context switches of the workers, daemons and other processes of "
        "the middleware for each message delivered.",
        unit="count",
        column="switches",
        use=MEDIAN,
    ),
    _per_message(
        "page_faults_per_message",
        "page faults per message",
        "Minor and major page faults of the workers, daemons and other processes of the middleware "
        "in the steady window for each message delivered: memory that is mapped anew for each "
        "message shows here.",
        unit="count",
    ),
    *(
        _per_message(
            f"{stem}_per_message_{side}",
            f"{title} per message, {side}",
            text + " " + of,
            unit=unit,
            column=short and f"{short} {side[:3]}",
            on_request=True,
        )
        for side, of in (
            ("publisher", "Of the publishing processes, for each message published."),
            ("subscription", "Of the receiving processes, for each message delivered."),
        )
        for stem, title, short, unit, text in (
            (
                "allocations",
                "allocations",
                "allocs",
                "count",
                "Calls of malloc and its like (operator new and Rust's allocator end there) in the "
                "steady window, of all threads of the middleware; what the harness does is left "
                "out. Only untimed trials count them.",
            ),
            (
                "allocated_bytes",
                "bytes allocated",
                "",
                "bytes",
                "The bytes that those calls asked for.",
            ),
        )
    ),
    _cost(
        "wake_ups",
        "wake-ups",
        "How often per second of the steady window threads of the workers, daemons and other "
        "processes of the middleware gave the processor back and were woken again (voluntary "
        "context switches): the cost of an idle node on a sleeping machine.",
        unit="hz",
        column="wake-ups",
    ),
    _per_message(
        "processor_wait_per_message",
        "wait for a processor per message",
        "How long threads of the workers, daemons and other processes of the middleware wanted to "
        "run and had no processor, for each message delivered: large where the machine, not the "
        "middleware, sets the latency.",
        unit="ns",
    ),
    _cost(
        "wire_bytes_per_payload_byte",
        "bytes on the wire per payload byte",
        "Bytes that all interfaces of the host sent in the steady window for each byte of payload "
        "delivered: headers, acknowledgements, discovery. Near 0 where messages travel in shared "
        "memory. Without what a background load of ours sent; on the shared host the loopback "
        "alone.",
        unit="1",
        use=EFFECT,
    ),
    _cost(
        "wire_bytes_per_payload_byte_lo",
        "bytes on the wire per payload byte, loopback",
        "Bytes that the loopback of the host sent in the steady window for each byte of payload "
        "delivered.",
        unit="1",
    ),
    _cost(
        "wire_bytes_per_payload_byte_eth0",
        "bytes on the wire per payload byte, eth0",
        "Bytes that eth0 of the host sent in the steady window for each byte of payload delivered.",
        unit="1",
    ),
    _per_message(
        "packets_per_message",
        "packets per message",
        "Packets that all interfaces sent in the steady window for each message delivered; a "
        "packet on the loopback holds up to 64 KiB.",
        unit="count",
        use=MEDIAN | EFFECT,
        column="packets",
    ),
    _cost(
        "power",
        "power",
        "Power of the processor packages and their memory (RAPL), or at the board's input, over "
        "the steady window: the whole machine, idle consumption included. Of all machines "
        "together where hosts are machines.",
        unit="W",
        kind="positive",
        scope=MetricScope.MACHINE,
    ),
    _per_message(
        "energy_per_message",
        "energy per message",
        "Energy of the whole machine in the steady window for each message delivered, idle "
        "consumption included.",
        unit="J",
        kind="positive",
        scope=MetricScope.MACHINE,
    ),
    _memory(
        "pss",
        "memory (PSS)",
        "Proportional set size of all worker processes, daemons and what else the middleware "
        "started, without record buffers and without shared segments, which stand apart.",
        use=LIMIT | PRIMARY | COMPARED | EFFECT,
        counter="pss",
        column="PSS",
    ),
    _memory("pss_publisher", "memory (PSS), publisher", "PSS of the publishing processes."),
    _memory("pss_subscription", "memory (PSS), subscription", "PSS of the receiving processes."),
    _memory("pss_daemon", "memory (PSS), daemons", "PSS of the middleware's daemons."),
    *(
        _per_message(
            f"pss_growth_per_message_{side}",
            f"memory growth per message, {title}",
            "How fast the PSS grows in the second half of the window (Theil–Sen slope), without "
            "files, with shared segments, per "
            f"message {done}. About 0 where nothing leaks.",
            unit="bytes",
            column=column,
            on_request=True,
        )
        for side, title, done, column in (
            ("publisher", "publisher", "published", "growth pub"),
            ("subscription", "subscription", "delivered", "growth sub"),
            ("daemon", "daemons", "delivered", ""),
        )
    ),
    *(
        _memory(
            f"pss_at_{place}",
            f"memory (PSS), {place} of the window",
            "Median PSS of all worker processes and daemons in that part of the window, with all "
            "that they map but files: the recorder's buffers and shared segments too, so that only "
            "the difference between two parts says anything.",
        )
        for place in ("begin", "middle", "end")
    ),
    _memory(
        "rss",
        "memory (RSS)",
        "Resident set size of all worker processes, daemons and what else the middleware started, "
        "without record buffers and without shared segments, which stand apart; other pages that "
        "they share count in each.",
        use=PRIMARY,
        counter="rss",
        column="RSS",
    ),
    _memory(
        "peak_rss",
        "peak memory (RSS)",
        "The highest resident set size that each worker process, daemon and other process of the "
        "middleware reached, added up: with shared segments, without record buffers.",
        counter="peak_rss",
        use=PRIMARY,
    ),
    _memory(
        "virtual_memory",
        "virtual memory",
        "Addresses that all worker processes, daemons and other processes of the middleware have "
        "asked for, used or not, without record buffers.",
        counter="virtual",
        column="virtual",
    ),
    _cost(
        "threads",
        "threads",
        "Threads of all worker processes, daemons and other processes of the middleware at the end, "
        "the harness's included.",
        unit="count",
        counter="threads",
        column="threads",
    ),
    _cost(
        "shared_memory",
        "shared segments",
        "Proportional share of the shared-memory segments mapped by all worker processes, daemons "
        "and what else the middleware started, in use (resident).",
        unit="bytes",
        counter="shared_pss",
        load_independent=True,
    ),
    # What hosts send to each other and into interfaces, and what cross traffic gets.
    _link(
        "link_bytes_per_payload_byte",
        "bytes on the links per payload byte",
        "What all hosts sent into the network in the steady window, whole Ethernet frames, each "
        "counted once, for each payload byte that reached another host. 1 would be payload alone; "
        "several readers on other hosts can make it less, and so can compression.",
        unit="1",
        kind="positive",
        heading="bytes per byte",
    ),
    *(
        _link(
            f"link_bytes_per_payload_byte_{kind}",
            f"bytes on the links per payload byte, {title}",
            "Bytes that hosts sent into the network in the steady window in frames that carry "
            f"{what}, for each payload byte that reached another host.",
            unit="1",
            # Averaged as the whole is, or it would exceed the whole where trials scatter; the
            # others may be 0.
            kind="positive" if kind == "data" else "amount",
            heading=kind,
        )
        for kind, title, what in (
            ("data", "data", "messages, with all headers, repeats included"),
            (
                "acknowledgement",
                "acknowledgements",
                "nothing but acknowledgements, heartbeats and gaps",
            ),
            ("discovery", "discovery", "the middleware's own discovery"),
            ("resolution", "resolution", "address resolution and group membership"),
            ("other", "other", "anything else"),
        )
    ),
    _link_share(
        "retransmitted_frames",
        "frames sent again",
        "Of the frames with data that hosts sent: those whose content the same host had sent "
        "before.",
        heading="sent again",
        column="sent again",
        use=MEDIAN,
    ),
    _link(
        "retransmitted_bytes",
        "bytes sent again",
        "Of the bytes in frames with data that hosts sent: those in frames whose content the same "
        "host had sent before. A repeated fragment of an image weighs more than a repeated small "
        "message.",
        unit="fraction",
    ),
    _link_share(
        "frames_lost",
        "frames lost",
        "Of the frames that met a link, once per destination: those that the network did not "
        "deliver, for any reason (loss, full queue, out of range, too large). A multicast frame "
        "that was lost on its way up counts for every other host of its network. The report says "
        "on which link.",
        heading="frames lost",
    ),
    _link(
        "link_utilisation",
        "use of the links",
        "The share of the steady window in which the busiest direction of a link with a constant "
        "rate had a frame on the wire. A frame that was lost behind the rate had taken its time, "
        "one that found the queue full had not.",
        unit="fraction",
        heading="busiest link",
    ),
    _cross_traffic(
        "cross_goodput",
        "cross-traffic goodput",
        "What the receivers of the network's cross traffic (TCP between hosts of its own) read per "
        "second of the steady window, all flows together, without headers.",
        heading="goodput",
        better=HIGHER,
    ),
    _cross_traffic(
        "cross_goodput_least",
        "cross-traffic goodput, worst second",
        "What the receivers of the network's cross traffic read in that whole second of the window "
        "in which they read least.",
        heading="worst second",
        better=HIGHER,
    ),
    _cross_traffic(
        "cross_cpu_cores",
        "cross-traffic CPU",
        "Processor time of its senders and receivers, which are on this machine too, per second of "
        "the window. It is in no figure of a middleware; the link's own time for its frames is "
        "among our processes'.",
        unit="cores",
        heading="CPU",
        better=NEITHER,
        ranked_by="cross_goodput",
    ),
    _stray(
        "stray_bytes",
        "bytes sent to unconnected interfaces",
        "What all hosts sent into the further interfaces that their network gives them, from "
        "before the first session opened until the steady state's end.",
        heading="into them",
    ),
    _stray(
        "loopback_bytes",
        "bytes that hosts sent to themselves",
        "What went over the loopback interfaces of all hosts from before the first session opened "
        "until the steady state's end, in trials with further interfaces. It includes what was "
        "meant for another host and sent to an address that the sender has too.",
        heading="to itself",
    ),
    # What is lost around nodes that join late, outages and their ends, and what is left behind.
    *(
        _joiner_share(
            name,
            title,
            text
            + " A share of all messages published between two nodes of which one joined within "
            "the window.",
            heading=heading,
        )
        for name, heading, title, text in (
            (
                "lost_in_discovery",
                "before the first delivery",
                "lost before the first delivery",
                "Messages that were lost before the first one came through: the cost of discovery.",
            ),
            (
                "lost_unmatched",
                "of these unmatched",
                "lost before the match",
                "Messages that were lost before the first one came through, and were due before the "
                "reader saw all its writers. Subscriptions alone: late clients report no match.",
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
    _joiner_share(
        "lost_after_first",
        "loss from the first delivery on",
        "Of the messages published from the first delivered one on: those that were lost, those "
        "under way apart. It is what a loss figure would be if it did not count discovery.",
        heading="loss from the first on",
        use=LIMIT,
    ),
    _outage(
        "recovery_time",
        "time to recover",
        "From the moment when a link or a node is back until a reader has its first message that "
        "was published after it; of several readers and outages the slowest. Infinite where none "
        "came until the end, or the node that should publish them never came up; about half a "
        "message's period at best. A reader for which none was due is not asked.",
        heading="time to recover",
        use=PRIMARY | LIMIT,
        clocks=Clocks.EVENTS,
        failed_value=inf,
    ),
    _outage(
        "outage_stall",
        "silence around an outage",
        "The longest time without an arrival that contains an outage: the outage and what it "
        "took to recover, counted to the window's edges. Of a stream that did not recover it is "
        "the least that it can be.",
        heading="silence",
        failed_value=inf,
    ),
    _outage(
        "stall_outside_outages",
        "longest stall outside of outages",
        "The longest time without an arrival that contains no outage, of trials in which "
        "something was interrupted or joined late.",
        scope=MetricScope.MESSAGES,
        heading="longest other stall",
    ),
    *(
        _outage_amount(
            name,
            title,
            text + " Once per reader, all outages of a trial together, those under way apart.",
            unit="messages",
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
    _outage_amount(
        "recovery_bytes",
        "bytes spent on recovering",
        "What hosts sent between an outage's end and the recovery of its last reader, without new "
        "data: discovery, acknowledgements, address resolution, repeats.",
        unit="bytes",
        heading="bytes to recover",
    ),
    _outage_amount(
        "leftover_files",
        "files left behind",
        "Files and sockets in /dev/shm and /tmp of all hosts after every process that still ran "
        "had exited in order. Directories are not counted.",
        unit="count",
        scope=MetricScope.HOSTS,
        heading="files left behind",
    ),
    _outage_amount(
        "leftover_bytes",
        "bytes left behind",
        "The memory that the files left behind in /dev/shm and /tmp of all hosts take.",
        unit="bytes",
        scope=MetricScope.HOSTS,
        heading="bytes in them",
        load_independent=True,
    ),
    # How lifecycle nodes come up: until when, where they stop, and what that costs.
    _node(
        "bring_up_time",
        "time until all nodes are active",
        "From the launch of a workload's lifecycle nodes until their manager knows that the last "
        "one is active; infinite where one never is within the window. It includes the opening of "
        "sessions, and not the start of programs.",
        heading="all",
        use=LIMIT | PRIMARY | GROWTH,
        clocks=Clocks.EVENTS,
        failed_value=inf,
        column="all active",
    ),
    _node(
        "half_up_time",
        "time until half of the nodes are active",
        "From the launch of a workload's lifecycle nodes until their manager knows that half of "
        "them are active; infinite where this never happens within the window.",
        heading="half",
        clocks=Clocks.EVENTS,
        failed_value=inf,
        column="half active",
    ),
    _node_share(
        "never_active",
        "never active",
        "The fraction of the lifecycle nodes that were not active when the window ended.",
        heading="never active",
        column="never",
    ),
    *(
        _node_share(name, title, text)
        for name, title, text in (
            (
                "stopped_at_session",
                "session did not open",
                "The fraction of the lifecycle nodes whose process could not open its session.",
            ),
            (
                "stopped_at_service",
                "service not available",
                "The fraction of the lifecycle nodes whose session opened, and whose services the "
                "manager did not see in time.",
            ),
            (
                "stopped_at_configure",
                "not configured",
                "The fraction of the lifecycle nodes that did not answer in time when they were to "
                "be configured, or refused, or had not been configured when the window ended.",
            ),
            (
                "stopped_at_activate",
                "not activated",
                "The fraction of the lifecycle nodes that did not answer in time when they were to "
                "be activated, or refused, or had not been activated when the window ended.",
            ),
        )
    ),
    _node(
        "longest_change",
        "longest change of state",
        "The longest time that the manager waited for one node to be configured or activated, in a "
        "trial; infinite where one was not answered in time. A service time-out of that length "
        "would have been enough.",
        heading="longest change",
    ),
    _node(
        "cpu_per_node",
        "CPU time per lifecycle node",
        "CPU time of all processes and daemons in the whole window, the start of their sessions, "
        "the bring-up and the rest after it, divided by the number of lifecycle nodes. Windows of "
        "different lengths are not comparable.",
        heading="CPU per node",
        column="CPU/node",
    ),
    _node(
        "pss_per_node",
        "memory per lifecycle node",
        "Proportional set size of all processes and daemons after the window, divided by the "
        "number of lifecycle nodes.",
        unit="bytes",
        heading="PSS per node",
        use=GROWTH,
        load_independent=True,
        column="PSS/node",
    ),
)
"""In the order in which a report lists them."""

FAILED_TRIALS = Metric(
    "failed_trials",
    "failed trials",
    "Of the trials that ran, those that failed.",
    unit="fraction",
    kind="fraction",
    better=LOWER,
    scope=MetricScope.TRIALS,
    group=DELIVERY,
)
"""A metric of campaigns and not of a trial, so it is in no list of metrics: `compare` judges it."""
